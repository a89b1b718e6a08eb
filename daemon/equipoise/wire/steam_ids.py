"""The forms in which people write a player's Steam id, each read as the SteamID64 by which the daemon knows them.

Valve's page on the SteamID (https://developer.valvesoftware.com/wiki/SteamID) has the arithmetic: `STEAM_X:Y:Z` and
`[U:1:W]` are the same account where W = 2·Z + Y, and its SteamID64 is W + 0x0110000100000000. X is the universe: old
games print 0 for the public one, newer games 1.
"""

from __future__ import annotations

import re

from equipoise.core.model import STEAM_ID_BASE, PlayerId
from equipoise.wire.scalars import ACCOUNTS

LONGEST = 256
"""Characters of an id or name: more is neither."""
_NUMBER = "([0-9]{1,20})"
_STEAM2 = re.compile(f"STEAM_([01]):([01]):{_NUMBER}", re.IGNORECASE)
_STEAM3 = re.compile(rf"\[U:1:{_NUMBER}\]|U:1:{_NUMBER}", re.IGNORECASE)
_ADDRESS = re.compile(r"(?:https?://)?(?:www\.)?steamcommunity\.com/(\w+)/([^/?#]+)(?:[/?#].*)?", re.IGNORECASE)
_ATTEMPT = re.compile(r"STEAM_|\[[A-Z]:\d|https?://|\S*steamcommunity\.com|bot:", re.IGNORECASE)
"""How texts begin that are meant as an id, so that a wrong one is not looked for among the names."""

FORMS = "76561197960287930, STEAM_0:0:11101, [U:1:22202] or https://steamcommunity.com/profiles/76561197960287930"
VANITY = (
    "a profile address with a name in it does not contain the id, and the daemon asks nobody on the internet: open the "
    "profile in a browser, add ?xml=1 to its address, and use the number in <steamID64>"
)


def written_id(text: str) -> PlayerId | None:
    """The player whose id the text is; None where it is no id, and so perhaps a name.

    A number of up to ten digits is an account number, as NS2 shows it. ValueError, with a text for the person who wrote
    it: it is meant as an id, and is none.

    >>> written_id("STEAM_0:0:11101"), written_id("[U:1:22202]"), written_id("22202")
    ('76561197960287930', '76561197960287930', '76561197960287930')
    >>> written_id("https://steamcommunity.com/profiles/76561197960287930/")
    '76561197960287930'
    >>> written_id("gaben")
    >>> written_id("https://steamcommunity.com/profiles/22202")
    Traceback (most recent call last):
    ...
    ValueError: https://steamcommunity.com/profiles/22202: a SteamID64 has 17 digits
    """
    text = text.strip()
    if not text or len(text) > LONGEST or not text.isprintable():
        raise ValueError(f"an id or a name has 1 to {LONGEST} characters, all of which can be seen")
    if address := _ADDRESS.fullmatch(text):
        return _in_address(text, *address.groups())
    if number := _STEAM2.fullmatch(text):
        _, low, high = number.groups()
        return _account(text, 2 * int(high) + int(low))
    if number := _STEAM3.fullmatch(text):
        return _account(text, int(number[1] or number[2]))
    if re.fullmatch("[0-9]+", text):
        return _number(text)
    if _ATTEMPT.match(text):
        raise ValueError(f"{text} is no Steam id: write {FORMS}")
    return None


def _in_address(text: str, kind: str, last: str) -> PlayerId:
    if kind.lower() == "id":
        raise ValueError(f"{text}: {VANITY}")
    if kind.lower() != "profiles":
        raise ValueError(f"{text} is no profile of a player")
    if number := _STEAM3.fullmatch(last):
        return _account(text, int(number[1] or number[2]))
    if not re.fullmatch("[0-9]{17}", last):
        raise ValueError(f"{text}: a SteamID64 has 17 digits")
    return _number(last)


def _number(text: str) -> PlayerId:
    if len(text) <= 10:
        return _account(text, int(text))
    # Digits are not limited in a name or number that somebody pastes, and int() reads no more than 4300.
    number = int(text) if len(text) == 17 else 0
    if not STEAM_ID_BASE < number < STEAM_ID_BASE + ACCOUNTS:
        least, most = STEAM_ID_BASE + 1, STEAM_ID_BASE + ACCOUNTS - 1
        raise ValueError(f"{text} is no SteamID64 of a player: these are {least} to {most}")
    return PlayerId(str(number))


def _account(text: str, number: int) -> PlayerId:
    if not 0 < number < ACCOUNTS:
        raise ValueError(f"{text} is no player's account: the numbers are 1 to {ACCOUNTS - 1}")
    return PlayerId(str(STEAM_ID_BASE + number))
