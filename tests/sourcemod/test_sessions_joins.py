"""Joins, gaps in the middle of a round, and locks: end to end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.sourcemod.answerer import BASECOMMANDS
from tests.sourcemod.rig import compile_text
from tests.sourcemod.rig.game.facts import BLU, RED
from tests.sourcemod.sessions import Evening, leave, live

NewEvening = Callable[..., Evening]


def test_a_gap_is_closed_within_ten_seconds_without_a_death_on_the_score(new_evening: NewEvening) -> None:
    evening, missing = live(new_evening, 10), 4
    leave(evening, *evening.game.teams.members(RED)[:missing])
    assert evening.sizes() == [5 - missing, 5]

    evening.wait(10.5)

    assert evening.sizes() == [5 - missing + missing // 2, 5 - missing // 2]
    assert all(player.suicides == player.deaths == 0 for player in evening.game.humans())


def test_an_admin_who_turns_on_the_games_own_balancing_does_not_get_it_while_we_balance(
    new_evening: NewEvening, tmp_path: Path
) -> None:
    evening = live(new_evening, 8)
    game = evening.game
    game.load(compile_text(BASECOMMANDS, tmp_path, "basecommands", tmp_path))
    admin = game.teams.members(BLU)[0]
    admin.flags = 1 << 14
    for name in ("mp_autoteambalance", "mp_scrambleteams_auto"):
        game.command(admin, f"sm_cvar {name} 1")
        assert game.sm.convars[name].number == 0
    leave(evening, *game.teams.members(RED)[:2])

    evening.wait(90)

    assert not game.events("teamplay_teambalanced_player")
    assert evening.sizes() == [3, 3]
    assert len(evening.decisions("move")) == 1
    evening.win(BLU)
    evening.freeze()
    evening.live()
    evening.win(BLU)
    evening.freeze()
    moved = [one for one in evening.decisions("scramble") if one["detail"]["players"]]
    assert len(game.events("teamplay_alert")) == len(moved), "each is one of ours"
    game.command(admin, "sm_eq_off")
    evening.wait(1.0)
    assert game.sm.convars["mp_autoteambalance"].number == 1
