"""What owners of other balance plugins had: end to end.

Who captured is spared, who went to watch is placed and comes back to their side, a map's last minutes are left alone,
admins move single players.
"""

from __future__ import annotations

import pytest

from tests.sourcemod.rig import play
from tests.sourcemod.rig.game.facts import BLU, RED, SIDES, SPECTATOR, State
from tests.sourcemod.sessions import Evening, NewEvening, leave, live

KICK = 1 << 2
"""The flag c of SourceMod."""


def moved(evening: Evening) -> list[str]:
    """Names of those whom moves were ordered for."""
    return [name for move in evening.decisions("move") for name in evening.named(move["detail"]["players"])]


@pytest.mark.parametrize(("seconds", "spared"), [(60, True), (0, False)])
def test_the_only_player_who_did_not_capture_is_moved(new_evening: NewEvening, seconds: int, spared: bool) -> None:
    evening = live(new_evening, 8, "cp_badlands", f"[autobalance]\nobjective_seconds = {seconds}\n")
    *capped, other = evening.game.teams.members(RED)
    # Those who captured would close the gap better.
    evening.rate(**{other.name: 2000.0} | dict.fromkeys(evening.side(BLU), 1300.0))
    play.capture(evening.game, RED, 2, *capped)
    evening.wait(6.0)
    leave(evening, *evening.game.teams.members(BLU)[:2])
    evening.wait(11.0)
    assert evening.sizes() == [3, 3]
    assert (moved(evening) == [other.name]) == spared


def test_who_steps_aside_from_a_scramble_is_placed_by_it(new_evening: NewEvening) -> None:
    evening = live(new_evening, 8, "koth_harvest_final")
    aside = evening.game.teams.members(RED)[0]
    evening.win(RED)  # the losers captured nothing
    evening.game.command(aside, "spectate")
    evening.game.settle()
    assert aside.team == SPECTATOR
    evening.freeze()
    assert evening.sizes() == [4, 4]
    assert aside.team in SIDES
    evening.live()
    evening.wait(1.0)
    assert aside.alive


def test_who_watches_while_their_gap_is_closed_comes_back_to_their_side(new_evening: NewEvening) -> None:
    evening = live(new_evening, 9, "koth_harvest_final", "[lock]\nminutes = 0\n")
    game = evening.game
    smaller = min(SIDES, key=lambda side: len(game.teams.members(side)))
    away = game.teams.members(smaller)[0]
    game.command(away, "spectate")
    evening.wait(11.0)
    assert sorted(evening.sizes()) == [4, 4]
    assert len(moved(evening)) == 1
    game.join(away, "blue" if smaller == RED else "red")
    evening.wait(1.0)
    assert away.team == smaller
    assert any("you were placed on that side" in line for line in away.chat)


def test_a_maps_last_minutes_are_left_alone_but_by_admins(new_evening: NewEvening) -> None:
    evening = live(new_evening, 8, "koth_harvest_final", "last_minutes = 2.0\n")
    game = evening.game
    admin = game.teams.members(RED)[0]
    admin.flags = KICK
    game.sm.convars["mp_timelimit"].set(str((game.now - game.limits._reset_at + 110.0) / 60))
    evening.wait(2.0)
    leave(evening, *game.teams.members(BLU)[2:])
    evening.wait(12.0)
    assert evening.sizes() == [4, 2]
    assert [one["reason"] for one in evening.decisions("kept")] == [
        "4 against 2: nobody is moved in the last minutes of a map"
    ]
    voter = game.teams.members(RED)[1]
    game.say(voter, "!scramble")
    evening.wait(1.0)
    assert "only an admin's order changes the teams now" in voter.chat[-1]
    game.command(admin, "sm_eq_balance")
    evening.wait(11.0)
    assert evening.sizes() == [3, 3]
    assert any("only an admin's order changes the teams now" in line for line in admin.console + admin.chat)
    evening.win(RED)
    assert evening.status()["pending"] is None


def test_an_admin_moves_one_player_and_all_that_belongs_to_it_is_done(new_evening: NewEvening) -> None:
    evening = live(new_evening, 9, "koth_harvest_final")
    game = evening.game
    larger = max(SIDES, key=lambda side: len(game.teams.members(side)))
    admin, player = game.teams.members(larger)[:2]
    admin.flags = KICK
    deaths = player.deaths
    game.command(admin, f"sm_eq_move {player.name}")
    evening.wait(1.5)
    assert player.team == RED + BLU - larger
    assert (player.alive, player.deaths) == (True, deaths)
    other = "BLU" if larger == RED else "RED"
    assert any(f"An admin moves {player.name} to {other}." in line for line in admin.chat + admin.console)
    assert any("ordered by an admin" in line for line in player.chat)
    (move,) = evening.decisions("move")
    assert (move["reason"], evening.named(move["detail"]["players"])) == ("ordered by an admin", [player.name])
    audit = evening.daemon.ask("audit")["audit"]
    assert any("move" in str(line) and str(player.steamid) in str(line) for line in audit)
    # They are locked, as others who were moved.
    game.join(player, "blue" if larger == BLU else "red")
    evening.wait(1.0)
    assert player.team == RED + BLU - larger
    evening.win(RED)
    game.until(lambda: game.rounds.state is State.TEAM_WIN, within=5)
    game.command(admin, f"sm_eq_move {player.name}")
    evening.wait(1.0)
    assert any("Between two rounds nobody is moved" in line for line in admin.chat + admin.console)


def test_a_gap_is_closed_within_ten_seconds_without_a_death_on_the_score(new_evening: NewEvening) -> None:
    evening, missing = live(new_evening, 10), 4
    leave(evening, *evening.game.teams.members(RED)[:missing])
    assert evening.sizes() == [5 - missing, 5]

    evening.wait(10.5)

    assert evening.sizes() == [5 - missing + missing // 2, 5 - missing // 2]
    assert all(player.suicides == player.deaths == 0 for player in evening.game.humans())
