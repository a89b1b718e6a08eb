"""NSL's pause and the clocks (ns2_game.md 6.5)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ns2mod.peer import Peer
from tests.ns2mod.probe import seen, two_commanders
from tests.ns2mod.rig import Game, write_mod

CLOCKS = """
    local early = Shared.GetTime
    frames = 0
    Event.Hook("UpdateServer", function() frames = frames + 1 end)
    function Clocks() return Shared.GetTime(), Shared.GetTime(true), early(), Shared.GetSystemTimeReal() end"""


def test_scenario_30_in_a_pause_the_game_stands_still_and_the_frames_go_on(tmp_path: Path) -> None:
    game = Game([write_mod(tmp_path, "clocks", CLOCKS)], nsl=True).boot()
    two_commanders(game)
    game.start_round()
    before, frames = game.execute("return Clocks()"), game.execute("return frames")
    game.pause()
    game.run(60)
    paused = game.execute("return Clocks()")
    assert [now - then for now, then in zip(paused, before, strict=True)] == pytest.approx([0, 60, 60, 60])
    assert game.execute("return frames") - frames == pytest.approx(1800, abs=1)
    game.unpause()
    game.run(1)
    after = game.execute("return Clocks()")
    assert [now - then for now, then in zip(after, before, strict=True)] == pytest.approx([1, 61, 61, 61])
    assert game.state == "Started"


def test_scenario_30_a_countdown_waits_for_the_end_of_a_pause() -> None:
    game = Game(nsl=True).boot()
    two_commanders(game)
    game.until(lambda: game.state == "Countdown")
    game.pause()
    game.run(30)
    assert game.state == "Countdown"
    game.unpause()
    game.run(6.1)
    assert game.state == "Started"


def test_scenario_30_answers_arrive_in_a_pause(tmp_path: Path) -> None:
    source = (
        """function Ask(url) Shared.SendHTTPRequest(url, "GET", function(body) Shared.Message("> " .. body) end) end"""
    )
    game = Game([write_mod(tmp_path, "asks", source)], nsl=True).boot()
    with Peer() as peer:
        game.pause()
        game.execute(f'Ask("{peer.url}")')
        game.frame()
    assert seen(game) == ["yes"]


def test_a_pause_needs_the_league_mod() -> None:
    game = Game().boot()
    with pytest.raises(RuntimeError, match="nsl=True"):
        game.pause()


def test_game_time_changes_between_frames_only_and_starts_anew_with_a_map(tmp_path: Path) -> None:
    game = Game([write_mod(tmp_path, "clocks", CLOCKS)]).boot()
    game.run(10)
    assert game.clock == pytest.approx(10, abs=0.1)
    system = game.system
    game.change_map("ns2_tram")
    assert game.clock < 0.1
    assert game.system >= system
    game.system = 5e9
    assert game.execute("return Shared.GetSystemTime()") == 5_000_000_000
