"""Moves of one player: at their death, their respawn or the deadline, and what makes a move fail."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.sourcemod.answerer import Daemon, Sides, begin, crowd, ids, poll, seat, seconds_of_play, settle
from tests.sourcemod.orders import WHY, assign, move, unharmed
from tests.sourcemod.rig import Game, Plugin, facts, play
from tests.sourcemod.rig.game.facts import BLU, KOTH, RED, Reason, State


def test_nobody_is_moved_in_hell_and_the_round_there_is_still_reported(
    game: Game, daemon: Daemon, plugin: Plugin
) -> None:
    red, blu = begin(game, "plr_hightower_event", 3, 1, facts.MAPS["plr_hightower"])
    move(game, daemon, red[0], "blu", deadline=3, order="comes due in it")
    game.rules.props["m_bHelltowerPlayersInHell"] = 1
    game.advance(1.5)
    settle(game)
    assert daemon.events("hello")[-1]["inactive_reason"] == "hell"
    move(game, daemon, red[1], "blu", deadline=1, order="is given in it")
    seconds_of_play(game, 4)
    assert daemon.results() == {"comes due in it": "off", "is given in it": "off"}
    assert [p.team for p in red + blu] == [RED, RED, RED, BLU]
    assert unharmed(*red)
    game.rounds.win(RED, Reason.POINTS_CAPTURED)
    play.next_round(game)
    game.advance(1.5)
    settle(game)
    assert not daemon.events("round_ended")[0]["partial"]
    assert daemon.events("hello")[-1]["inactive_reason"] == ""


def test_a_flag_is_dropped_before_its_carrier_changes_sides(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    red, _ = begin(game, "ctf_2fort", 3, 1)
    play.pick_up_flag(game, red[0])
    before = len(game.history)
    move(game, daemon, red[0], "blu", deadline=1)
    seconds_of_play(game, 2)
    seen = [(name, fields) for _, name, fields in game.history[before:]]
    names = [name for name, _ in seen if name in ("teamplay_flag_event", "player_team", "player_spawn")]
    assert names == ["teamplay_flag_event", "player_team", "player_spawn"]
    assert red[0].props["m_hItem"] == -1
    assert (red[0].team, red[0].alive) == (BLU, True)


OTHER_MEDIGUN = """
public void OnPluginStart() { HookEvent("player_spawn", Respawned); }
void Respawned(Event event, const char[] name, bool silent)
{
	int client = GetClientOfUserId(event.GetInt("userid"));
	if (client != 0 && TF2_GetPlayerClass(client) == TFClass_Medic && TF2_GetClientTeam(client) == TFTeam_Blue)
	{
		SetEntProp(GetPlayerWeaponSlot(client, 1), Prop_Send, "m_iItemDefinitionIndex", 998);
	}
}
"""


@pytest.mark.parametrize("other", [False, True])
def test_a_medic_who_is_moved_alive_keeps_their_charge_but_not_in_another_medigun(
    game: Game, daemon: Daemon, koth: Plugin, script: Callable[..., Plugin], other: bool
) -> None:
    if other:
        script(OTHER_MEDIGUN)
    red, _ = crowd(game, 3, 1)
    game.advance(1)
    game.command(red[0], "joinclass medic")
    play.go_live(game)
    red[0].charge = 0.75
    move(game, daemon, red[0], "blu", deadline=1)
    seconds_of_play(game, 1.5)
    assert (red[0].team, red[0].alive) == (BLU, True)
    assert red[0].charge == pytest.approx(0 if other else 0.75)


def test_a_move_waits_for_a_death_a_respawn_or_its_deadline(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    (dead, dies, respawns, lives), (killer, *_) = begin(game, "koth_harvest_final", 4, 1)
    play.kill(game, killer, dead)
    for player in (dead, dies, respawns, lives):
        move(game, daemon, player, "blu", deadline=5, order=player.name)
    assert [(p.team, p.alive) for p in (dead, dies, respawns)] == [(BLU, False), (RED, True), (RED, True)]
    play.kill(game, killer, dies)
    game.teams.force_respawn(respawns)
    settle(game)
    assert [(p.team, p.deaths, p.suicides) for p in (dead, dies)] == [(BLU, 1, 0)] * 2
    assert (respawns.team, respawns.alive) == (BLU, True)
    assert "3 wins in a row" in dies.chat[-1]
    game.advance(4.0)
    assert lives.team == RED
    game.advance(1.5)
    settle(game)
    assert (lives.team, lives.alive) == (BLU, True)
    assert unharmed(respawns, lives)
    assert daemon.results() == dict.fromkeys((p.name for p in (dead, dies, respawns, lives)), "")
    seconds_of_play(game, 25)
    assert [(p.alive, p.misplaced) for p in (dead, dies)] == [(True, False)] * 2


@pytest.mark.parametrize(
    ("end", "results"),
    [
        ("the round's", {"m-1": "no_round"}),
        ("they leave", {"m-1": "left"}),
        ("they watch", {"m-1": "left"}),
        ("nobody has this id", {"m-1": "left"}),
        ("an admin's off", {"m-1": "off"}),
        ("a cancel", {}),
    ],
)
def test_a_move_that_makes_no_sense_any_more_fails_and_a_cancelled_one_is_forgotten(
    game: Game, daemon: Daemon, plugin: Plugin, end: str, results: dict[str, str]
) -> None:
    red, _ = begin(game, "koth_harvest_final", 3, 1)
    if end == "nobody has this id":
        red[0].steamid += 5000
    move(game, daemon, red[0], "blu", deadline=3)
    if end == "the round's":
        game.rounds.win(RED, Reason.POINTS_CAPTURED)
    elif end == "they leave":
        game.leave(red[0])
    elif end == "they watch":
        game.join(red[0], "spectate")
    elif end == "an admin's off":
        daemon.sticky["enabled"] = False
        poll(game)
    elif end == "a cancel":
        daemon.order("cancel", order="m-1")
        poll(game)
    seconds_of_play(game, 4)
    assert daemon.results() == results
    assert red[0].team != BLU


# When nobody may be moved.

SHORT = replace(KOTH, length=60)


def sudden_death(game: Game) -> Sides:
    """Four against two in Sudden Death (State_Enter_STALEMATE, teamplayroundbased_gamerules.cpp)."""
    game.sm.convars["mp_stalemate_enable"].set("1")
    return begin(game, "cp_badlands", 4, 2)


@pytest.mark.parametrize("when", ["before", "death", "in it"])
def test_in_sudden_death_nobody_is_moved_nor_respawned(game: Game, daemon: Daemon, plugin: Plugin, when: str) -> None:
    """The game balances in RND_RUNNING alone (BalanceTeams), and nobody respawns."""
    red, blu = sudden_death(game)
    if when != "in it":
        move(game, daemon, red[0], "blu", deadline=3)
    game.rounds.stalemate()
    assert game.rounds.state is State.STALEMATE
    if when == "in it":
        move(game, daemon, red[0], "blu", deadline=0)
    if when == "death":
        play.kill(game, blu[0], red[0])
    seconds_of_play(game, 5)
    assert daemon.results() == {"m-1": "no_moves"}
    assert (red[0].team, red[0].alive) == (RED, when != "death")


def test_in_sudden_death_no_split_is_made_nobody_gains_a_life_and_joiners_are_placed(
    game: Game, daemon: Daemon, plugin: Plugin
) -> None:
    red, blu = sudden_death(game)
    game.rounds.stalemate()
    assign(game, daemon, blu, red, moment="now")
    assert daemon.results() == {"a-1": "no_moves"}
    daemon.forget()
    game.command(red[0], "autoteam")
    settle(game)
    assert daemon.events("side_wanted") == []
    assert red[0].alive
    assert [p.team for p in red + blu] == [RED] * 4 + [BLU] * 2
    joiner = seat(game, "Late", "blue")
    assert joiner.team == BLU


def told(daemon: Daemon) -> list[tuple[object, object, object]]:
    """What the rosters said of the round's end and of moves; ends are rounded to a second."""
    said = []
    for event in daemon.events("roster"):
        ends = event.get("ends_in")
        said.append((None if ends is None else round(ends), event.get("moves"), event.get("moves_reason")))
    return said


def test_the_daemon_hears_at_once_of_sudden_death(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    sudden_death(game)
    seconds_of_play(game, 2)
    daemon.forget()
    game.rounds.stalemate()
    seconds_of_play(game, 2)
    ((ends, word, why),) = told(daemon)
    assert (word, why) == ("no", "sudden_death")
    assert 235 <= ends <= 240  # type: ignore[operator]  # mp_stalemate_timelimit's own clock
    daemon.forget()
    game.rounds.win(RED, Reason.OPPONENTS_DEAD)
    play.next_round(game)
    play.go_live(game)
    seconds_of_play(game, 2)
    assert [(word, why) for _, word, why in told(daemon)] == [(None, None)]


def test_koths_end_is_that_of_the_owners_clock_and_told_when_it_changes(
    game: Game, daemon: Daemon, plugin: Plugin
) -> None:
    """CKothLogic::InputRoundSpawn (tf_gamerules.cpp): two clocks, m_hRedKothTimer and m_hBlueKothTimer, both paused."""
    begin(game, "koth_harvest_final", 4, 2, SHORT)
    seconds_of_play(game, 3)
    assert told(daemon)[-1][0] is None  # nobody owns the hill
    daemon.forget()
    play.capture(game, BLU, 0)
    seconds_of_play(game, 20)
    (first,) = told(daemon)
    assert 58 <= first[0] <= 60  # type: ignore[operator]
    daemon.forget()
    play.capture(game, RED, 0)
    seconds_of_play(game, 2)
    assert [58 <= ends <= 60 for ends, _, _ in told(daemon)] == [True]  # type: ignore[operator]
    daemon.forget()
    play.capture(game, BLU, 0)
    seconds_of_play(game, 2)
    assert [36 <= ends <= 41 for ends, _, _ in told(daemon)] == [True]  # type: ignore[operator]


def test_overtime_is_told_and_so_is_its_end(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    """m_bInOvertime: CTeamRoundTimer::RoundTimerThink (teamplay_round_timer.cpp)."""
    red, _ = begin(game, "koth_harvest_final", 4, 2, SHORT)
    play.capture(game, BLU, 0)
    seconds_of_play(game, 55)
    game.points.start_capture(0, RED, red[:1])
    daemon.forget()
    seconds_of_play(game, 20)
    assert game.rules.props["m_bInOvertime"]
    assert told(daemon) == [(0, "no", "overtime")]
    move(game, daemon, red[1], "blu", deadline=0)
    assert daemon.results() == {"m-1": "no_moves"}
    assert red[1].team == RED
    daemon.forget()
    game.points.stop_capture(0)
    play.capture(game, RED, 0)
    seconds_of_play(game, 2)
    assert [(58 <= ends <= 60, word) for ends, word, _ in told(daemon)] == [(True, None)]  # type: ignore[operator]


def test_a_capture_that_adds_time_is_told(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    begin(game, "cp_gorge", 3, 3)
    seconds_of_play(game, 2)
    before = told(daemon)[-1][0]
    daemon.forget()
    timer = game.clocks.active
    assert timer is not None
    timer.add_time(60)
    seconds_of_play(game, 2)
    assert [ends - before >= 55 for ends, _, _ in told(daemon)] == [True]  # type: ignore[operator]


@pytest.mark.parametrize("reloaded", [False, True], ids=["", "after a reload"])
@pytest.mark.parametrize(("quiet", "result"), [(30.0, "quiet"), (0.0, "")])
def test_a_clock_that_began_to_run_meanwhile_stops_a_move(
    game: Game, daemon: Daemon, plugin: Plugin, quiet: float, result: str, reloaded: bool
) -> None:
    """The order came while the other side's clock ran: the daemon does not know yet that the round ends soon."""
    red, _ = begin(game, "koth_harvest_final", 4, 2, SHORT)
    play.capture(game, BLU, 0)
    seconds_of_play(game, 45)
    play.capture(game, RED, 0)
    seconds_of_play(game, 2)
    daemon.order("move", order="m-1", reason=WHY, id=ids(red)[0], side="blu", deadline=1.0, quiet=quiet)
    poll(game)
    if reloaded:
        game.reload(plugin)
    play.capture(game, BLU, 0)
    seconds_of_play(game, 3)
    assert daemon.results() == {"m-1": result}
    assert red[0].team == (RED if result else BLU)
