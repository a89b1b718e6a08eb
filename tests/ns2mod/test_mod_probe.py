"""`sv_eq_probe`: what could not be known here, written into the server's log."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.ns2mod.scripted import Scene, Start


def probed(one: Scene, command: str = "sv_eq_probe") -> list[str]:
    """Type it into the server's console; frames of uneven length go by, and a round is played."""
    assert one.game.console(command)
    for number in range(130):
        one.game.frame(1 / 30 + (number % 3) / 100)
    marines, aliens = one.round()
    one.game.end_game(1)
    one.game.run(1)
    assert [len(marines), len(aliens)] == [3, 3]
    return lines(one)


def lines(one: Scene) -> list[str]:
    """What the probe has written so far."""
    return [text.removeprefix("[Equipoise] probe: ") for text in one.game.messages if "probe: " in text]


@pytest.mark.parametrize("status", [True, False])
def test_the_probe_tells_values_of_callbacks_and_how_long_they_took(scene: Start, status: bool) -> None:
    one = scene(switches={"callback_has_status": status})
    told = probed(one)
    daemon, closed = (line for line in told if line.startswith("HTTP"))
    # The scripted daemon knows no GET.
    count = 4 if status else 1
    assert re.match(rf'HTTP daemon: {count} \("\d+ bytes"', daemon), daemon
    assert daemon.count("501") == status
    assert re.match(rf'HTTP closed port: {4 if status else 3} \("", "Failed to connect to .+, "?7', closed), closed
    assert re.search(r"in \d+\.\d{3} s, \d+ frames, before UpdateServer$", daemon)


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("replies", [True, False])
def test_the_probe_tells_what_comes_first_in_a_frame(scene: Start, first: bool, replies: bool) -> None:
    one = scene(switches={"rules_before_hooks": first, "replies_before_frame": replies})
    told = probed(one)
    (order,) = [line for line in told if line.startswith("in a frame")]
    before, after = map(int, re.findall(r"\d+", order))
    assert (before > 50, after > 50) == (first, not first)
    (answer,) = [line for line in told if line.startswith("HTTP daemon")]
    assert answer.endswith(f"{'before' if replies else 'after'} UpdateServer")


def test_the_probe_tells_how_long_each_state_of_a_round_was(scene: Start) -> None:
    told = probed(scene(switches={"pregame_seconds": 5.0}))
    states = [match.groups() for line in told if (match := re.match(r"state (\w+) after (\d+)\.", line))]
    assert [name for name, _ in states][-4:] == ["PreGame", "Countdown", "Started", "Team1Won"]
    assert ("Countdown", "5") in states
    assert ("Started", "6") in states


@pytest.mark.parametrize("shine", ["none", "outside"])
def test_the_probe_names_shines_plugins_what_the_console_splits_and_how_far_files_were_read(
    scene: Start, shine: str
) -> None:
    one = scene(shine=shine)
    if shine != "none":
        one.game.shine_plugin("mapvote")
        one.game.shine_plugin("voterandom", enabled=False)
    one.people()
    told = probed(one, 'sv_eq_probe "a b" c;d')
    assert told[0] == r"""arguments 3 ("\"a", "b\"", "c;d")"""
    assert ("no Shine" if shine == "none" else "Shine's plugins: mapvote") in told
    (files,) = [line for line in told if line.startswith("functions and last line")]
    for name, count, last in re.findall(r"(\w+) (\d+)/(\d+)", files):
        assert int(count) > 0, name
        assert int(last) > 10, name
    assert "player 1.GetCanJoinTeamNumber 1: true, reason nil" in told
    assert "player 1.GetPlayerSkill: 1 (-1)" in told


def test_the_probe_names_nobody_and_ends_by_itself(scene: Start) -> None:
    one = scene()
    one.people()
    one.game.admins.add(102)
    one.game.clients[1].console("sv_eq_probe")
    one.game.run(1)
    assert one.game.clients[1].prints == [
        "The probe writes into the server's log; play a round, and send us its lines."
    ]
    text = " ".join(lines(one))
    for secret in ("s3cret", "eu-1", "M1", "A1", "101", "201", one.daemon.url):
        assert secret not in text
    one.game.run(1800, 1.0)
    assert lines(one)[-1] == "complete"
    count = len(lines(one))
    one.game.run(60, 1.0)
    assert len(lines(one)) == count


def test_who_is_no_admin_starts_no_probe(scene: Start) -> None:
    one = scene()
    client: Any = one.people()[0][1]
    client.console("sv_eq_probe")
    assert lines(one) == []
