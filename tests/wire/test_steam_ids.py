"""A player's id in the forms in which people write it, checked against the arithmetic of Valve's page on it."""

from __future__ import annotations

import re

import pytest

from equipoise.wire.scalars import written_id

INDIVIDUAL = 0x0110000100000000
"""Valve's identifier of a person's account in the public universe, called V in its formula W = 2·Z + V + Y."""


@pytest.mark.parametrize("account", [1, 2, 22202, 2**31 - 1, 2**31, 2**32 - 1])
def test_every_form_of_an_account_is_valves_number(account: int) -> None:
    y, z = account % 2, account // 2
    expected = str(2 * z + INDIVIDUAL + y)
    forms = [f"STEAM_{universe}:{y}:{z}" for universe in (0, 1)]
    forms += [f"[U:1:{account}]", f"U:1:{account}", f"u:1:{account}", str(account), expected, f"  {expected} "]
    for start in ("https://steamcommunity.com", "http://www.steamcommunity.com", "steamcommunity.com"):
        forms += [f"{start}/profiles/{expected}{end}" for end in ("", "/", "/games/?tab=all", "#top")]
    assert {form: written_id(form) for form in forms} == dict.fromkeys(forms, expected)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("STEAM_0:2:11101", "is no Steam id: write"),
        ("STEAM_2:0:11101", "is no Steam id: write"),
        ("STEAM_0:0:", "is no Steam id: write"),
        ("STEAM_0: 0:11101", "is no Steam id: write"),
        ("STEAM_0:0:\u0661\u0662", "is no Steam id: write"),
        ("STEAM_ID_PENDING", "is no Steam id: write"),
        ("STEAM_0:0:0", "the numbers are 1 to 4294967295"),
        ("STEAM_0:0:2147483648", "the numbers are 1 to 4294967295"),
        ("[U:1:4294967296]", "the numbers are 1 to 4294967295"),
        ("[U:1:22202:1]", "is no Steam id: write"),
        ("[U:2:22202]", "is no Steam id: write"),
        ("[g:1:4]", "is no Steam id: write"),
        ("bot:7", "is no Steam id: write"),
        ("0", "the numbers are 1 to 4294967295"),
        ("4294967296", "the numbers are 1 to 4294967295"),
        ("76561197960265728", "is no SteamID64 of a player"),
        ("76561202301376826", "is no SteamID64 of a player"),
        ("9" * 200, "is no SteamID64 of a player"),
        ("https://steamcommunity.com/id/gabelogannewell", "add ?xml=1 to its address"),
        ("https://steamcommunity.com/groups/valve", "is no profile of a player"),
        ("https://steamcommunity.com/profiles/22202", "a SteamID64 has 17 digits"),
        ("https://example.org/profiles/76561197960287930", "is no Steam id: write"),
        ("", "1 to 256 characters"),
        (" \t", "1 to 256 characters"),
        ("7656119796028\x007930", "all of which can be seen"),
        ("\u202e76561197960287930", "all of which can be seen"),
        ("9" * 5000, "1 to 256 characters"),
    ],
)
def test_what_is_meant_as_an_id_and_is_none_says_why(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        written_id(text)


@pytest.mark.parametrize("text", ["gaben", "U: boat", "D:3", "\uff17\uff16\uff15", "steam", "a:b", "U:1:x", "7up"])
def test_anything_else_may_be_a_name(text: str) -> None:
    assert written_id(text) is None
