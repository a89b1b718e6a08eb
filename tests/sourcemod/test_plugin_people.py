"""What the plugin tells the daemon of people: their time, their sides, and what forbids moving them."""

import json
from collections.abc import Callable

import pytest

from equipoise.core.model import MOST_PLAYERS
from equipoise.wire.codec import decode_batch
from tests.sourcemod.answerer import (
    Daemon,
    begin,
    crowd,
    ended,
    ids,
    poll,
    roster,
    seat,
    seconds_of_play,
    settle,
    win,
)
from tests.sourcemod.rig import Game, Plugin, play
from tests.sourcemod.rig.game.facts import BLU, RED, Reason, State


def test_a_player_who_leaves_comes_back_or_changes_side_keeps_their_seconds(
    game: Game, daemon: Daemon, plugin: Plugin
) -> None:
    (crosses, leaves, watches, pauses), (returns, _) = begin(game, "koth_harvest_final", 4, 2)
    game.advance(10)
    game.join(crosses, "blue")
    game.join(pauses, "spectate")
    settle(game)
    game.leave(leaves)
    back = game.reconnect(returns)
    game.join(back, "blue")
    settle(game)
    game.advance(10)
    game.join(watches, "spectate")
    game.join(pauses, "red")
    settle(game)
    game.advance(10)
    win(game, BLU)
    assert len(ended(daemon)["players"]) == 6
    lines = {line["id"]: line for line in ended(daemon)["players"]}
    about = lambda seconds: pytest.approx(seconds, abs=0.5)  # noqa: E731
    for player, side, left, red, blu in (
        (crosses, "blu", False, about(10), about(20)),
        (leaves, "red", True, about(10), 0),
        (watches, "red", False, about(20), 0),
        (pauses, "red", False, about(20), 0),
        (back, "blu", False, 0, about(30)),
    ):
        line = lines[str(player.steamid)]
        assert (line["side"], line["left"], line["seconds"]) == (side, left, {"red": red, "blu": blu}), player.name


def test_of_more_players_than_a_round_may_have_those_who_played_longest_are_told(
    game: Game, daemon: Daemon, plugin: Plugin
) -> None:
    red, blu = begin(game, "koth_harvest_final", 2, 2)
    stayed: dict[str, float] = {}
    # As many at a time as there are slots: a batch for each would take seconds.
    for first in range(0, 134, 18):
        guests = [game.connect(f"Guest {number}") for number in range(first, min(first + 18, 134))]
        settle(game)
        for number, guest in enumerate(guests, start=first):
            game.join(guest, ("red", "blue")[number % 2])
            stayed[str(guest.steamid)] = number * 37 % 134 / 50 + 0.2
        settle(game)
        for guest in guests:
            game.command(guest, "joinclass soldier")
        began = game.now
        for guest in sorted(guests, key=lambda guest: stayed[str(guest.steamid)]):
            game.advance(began + stayed[str(guest.steamid)] - game.now)
            game.leave(guest)
    last = seat(game, "Last", "red")
    play.kill(game, blu[1], red[0])
    game.rounds.win(BLU, Reason.POINTS_CAPTURED)
    settle(game)
    lines = {line["id"]: line for line in ended(daemon)["players"]}
    fewest = sorted(stayed, key=lambda guest: stayed[guest])[:10]
    assert len(lines) == MOST_PLAYERS
    assert lines.keys() == {*ids(red), *ids(blu), *stayed} - {*fewest}
    assert str(last.steamid) not in lines
    for player, kills, deaths in ((blu[1], 1, 0), (red[0], 0, 1), (red[1], 0, 0)):
        counts = lines[str(player.steamid)]["counts"]
        assert (counts["kills"], counts["deaths"]) == (kills, deaths)
    for guest in stayed.keys() & lines.keys():
        assert sum(lines[guest]["seconds"].values()) == pytest.approx(stayed[guest], abs=0.5)
    (sent,) = (batch for batch in daemon.batches if ended(daemon) in batch["events"])
    assert decode_batch(json.dumps(sent).encode()).events, "the daemon takes it"
    # The next round begins with nobody of it.
    play.next_round(game)
    game.rounds.win(BLU, Reason.POINTS_CAPTURED)
    settle(game)
    assert {line["id"] for line in daemon.events("round_ended")[-1]["players"]} == {*ids(red), *ids(blu), *ids([last])}


SLOW_ADMINS = """
public Action OnClientPreAdminCheck(int client)
{
	return Plugin_Handled;  // until a database has answered
}
"""


def test_a_steamid_that_is_not_known_when_a_player_comes_is_asked_for_until_it_is(
    game: Game, daemon: Daemon, koth: Plugin, script: Callable[..., Plugin]
) -> None:
    crowd(game, 1, 1)
    script(SLOW_ADMINS, "admins")
    late, never = game.connect("Late", authorize=False), game.connect("Never", authorize=False)
    waits_for_admins = game.connect("Waits")
    for player in (late, waits_for_admins):
        game.command(player, "jointeam red")
    game.sm.forward("OnClientPostAdminCheck", late.index)  # Steam has not vouched for them yet
    daemon.forget()
    seconds_of_play(game, 3)
    assert [event["id"] for event in daemon.events("player_joined")] == [str(waits_for_admins.steamid)]
    late.authorized = True
    seconds_of_play(game, 3)
    joined = [event["id"] for event in daemon.events("player_joined")]
    assert joined == [str(waits_for_admins.steamid), str(late.steamid)], "each once"
    assert str(never.steamid) not in str(daemon.batches)
    game.say(late, "!rank")
    settle(game)
    assert [event["by"] for event in daemon.events("command")] == [str(late.steamid)]


def test_a_player_who_connects_while_their_old_connection_times_out_is_there_once(
    game: Game, daemon: Daemon, koth: Plugin
) -> None:
    ghost = seat(game, "Ann", "red")
    settle(game)
    changes = [(event["id"], event["side"], event["ready"]) for event in daemon.events("side_changed")]
    assert changes == [(str(ghost.steamid), "red", False), (str(ghost.steamid), "red", True)]
    daemon.forget()
    ann = game.connect("Ann", ghost.steamid)
    settle(game)
    assert daemon.kinds() == ["player_joined", "roster"]
    seconds_of_play(game, 6)
    assert len(daemon.events("player_joined")) == 1
    game.say(ann, "!rank")
    settle(game)
    assert [event["by"] for event in daemon.events("command")] == [str(ann.steamid)]
    for _ in range(2):
        sides = {player: line["side"] for player, line in roster(game, daemon).items()}
        assert sides == {str(ann.steamid): "none"}
        if ghost in game.humans():
            game.leave(ghost)
            settle(game)
    assert not daemon.events("player_left")


def test_who_takes_a_leavers_slot_and_is_unknown_to_steam_is_not_the_leaver(
    game: Game, daemon: Daemon, plugin: Plugin
) -> None:
    red, _ = begin(game, "koth_harvest_final", 2, 2)
    slot, left = red[0].index, str(red[0].steamid)
    game.leave(red[0])
    stranger = game.connect("Stranger", authorize=False)
    assert stranger.index == slot
    game.teams.change(stranger, BLU)
    daemon.forget()
    assert left not in roster(game, daemon)
    daemon.order("move", order="m", id=left, side="red", deadline=0.1)
    poll(game)
    assert daemon.results() == {"m": "left"}
    assert stranger.team == BLU


def test_bots_are_in_the_lineup_and_sourcetv_is_not(game: Game, daemon: Daemon, koth: Plugin) -> None:
    crowd(game, 1, 1)
    game.add_source_tv()
    bot = game.add_bot("Chell", BLU)
    play.go_live(game)
    win(game)
    game_round = ended(daemon)
    assert {"id": f"bot:{bot.userid}", "side": "blu"} in game_round["lineup"]
    assert len(game_round["lineup"]) == 3
    assert len(game_round["players"]) == 2


def test_switched_sides_are_reported_once_and_before_rosters_show_them(
    game: Game, daemon: Daemon, plugin: Plugin
) -> None:
    red, _ = begin(game, "cp_gorge", 2, 2)
    game.rounds.win(RED, Reason.DEFENDED)
    settle(game)
    daemon.forget()
    play.next_round(game)
    settle(game)
    assert daemon.kinds()[:2] == ["sides_switched", "round_started"]
    assert not daemon.events("side_changed")
    (started,) = daemon.events("round_started")
    assert {line["side"] for line in started["players"] if line["id"] in ids(red)} == {"blu"}


def test_sides_switched_between_stages_turn_the_whole_round(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    red, blu = begin(game, "cp_dustbowl", 2, 1)
    game.advance(10)
    watcher = ids(red)[1]
    game.join(red[1], "spectate")
    play.capture(game, BLU, 0, blu[0])
    game.rounds.win(BLU, Reason.POINTS_CAPTURED, full_round=False)
    game.sides.switch_pending = True
    play.next_round(game)
    play.go_live(game)
    game.rounds.win(RED, Reason.DEFENDED)
    settle(game)
    game_round = ended(daemon)
    assert game_round["captures"] == {"red": 1, "blu": 0}
    assert [seat["side"] for seat in game_round["lineup"] if seat["id"] == ids(red)[0]] == ["blu"]
    lines = {line["id"]: line for line in game_round["players"]}
    assert {player: line["side"] for player, line in lines.items()} == {
        ids(red)[0]: "blu",
        watcher: "blu",
        ids(blu)[0]: "red",
    }
    assert lines[watcher]["seconds"] == {"red": 0, "blu": pytest.approx(10, abs=0.3)}
    assert lines[ids(red)[0]]["seconds"]["red"] == 0


def test_the_roster_says_what_forbids_moving_a_player(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    game.start_map("ctf_2fort")
    builder = seat(game, "Engie", "red", "engineer")
    sender = seat(game, "Sender", "blue", "engineer")
    feeder = seat(game, "Feeder", "blue", "engineer")
    medic = seat(game, "Medic", "blue", "medic")
    carrier = seat(game, "Scout", "red", "scout")
    admin = seat(game, "Admin", "blue")
    admin.flags = 1 << 14
    play.go_live(game)
    play.build(game, builder, "obj_sentrygun")
    play.build(game, sender, "obj_teleporter")
    play.build(game, feeder, "obj_dispenser")
    medic.charge = 0.75
    play.pick_up_flag(game, carrier)
    play.kill(game, carrier, admin)
    lines = roster(game, daemon)
    flags = lambda player: {k: v for k, v in lines[str(player.steamid)].items() if k not in ("id", "side", "connected")}  # noqa: E731
    assert flags(builder) == flags(sender) == {"building": True}
    assert flags(feeder) == {}
    assert flags(medic) == {"charge": 0.75}
    assert flags(carrier) == {"carrier": True}
    assert flags(admin) == {"immune": True, "immune_from": ["autobalance"], "alive": False}


GENERIC, KICK, ROOT = 1 << 1, 1 << 2, 1 << 14
"""The flags b, c and z of SourceMod."""


@pytest.mark.parametrize(
    ("overrides", "flags", "immune_from"),
    [
        ({}, ROOT, ["autobalance"]),
        ({}, GENERIC, None),
        ({"sm_eq_immune_scramble": GENERIC}, GENERIC, ["scramble"]),
        ({"sm_eq_immune_scramble": GENERIC, "sm_eq_immune_lock": KICK}, KICK, ["lock"]),
        ({"sm_eq_immune_autobalance": GENERIC}, GENERIC, ["autobalance"]),
        ({"sm_eq_immune_lock": 0}, 0, ["lock"]),
        ({"sm_eq_immune_scramble": KICK}, ROOT, ["scramble", "autobalance"]),
        ({"equipoise_immunity": GENERIC}, GENERIC, ["scramble", "autobalance", "lock"]),
        ({"equipoise_immunity": ROOT}, GENERIC, None),
    ],
)
def test_overrides_say_who_is_immune_from_what(
    game: Game,
    daemon: Daemon,
    koth: Plugin,
    overrides: dict[str, int],
    flags: int,
    immune_from: list[str] | None,
) -> None:
    crowd(game, 2, 2)
    admin = game.humans()[0]
    admin.flags = flags
    game.sm.overrides |= overrides
    line = roster(game, daemon)[str(admin.steamid)]
    assert line.get("immune_from") == immune_from
    # All that a daemon of before knows.
    assert line.get("immune", False) == ("autobalance" in (immune_from or ()))


def since(game: Game, daemon: Daemon) -> dict[str, int]:
    """How long ago players captured or defended, as a roster tells, in whole seconds."""
    return {player: round(line["objective"]) for player, line in roster(game, daemon).items() if "objective" in line}


def test_the_roster_says_how_long_ago_a_player_captured_or_defended(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    red, blu = begin(game, "ctf_2fort", 4, 4)
    play.capture_flag(game, red[0])
    game.advance(10)
    play.pick_up_flag(game, red[1])
    play.kill(game, blu[0], red[1])  # the flag is defended
    game.advance(5)
    assert since(game, daemon) == {str(red[0].steamid): 15, str(blu[0].steamid): 5}


def test_all_who_capture_a_point_together_and_who_blocks_a_capture_are_told(
    game: Game, daemon: Daemon, plugin: Plugin
) -> None:
    red, blu = begin(game, "cp_badlands", 4, 4)
    play.capture(game, RED, 2, *red[:3])
    game.advance(4)
    game.fire("teamplay_capture_blocked", cp=2, cpname="point 2", blocker=red[3].index, victim=blu[0].index)
    assert since(game, daemon) == {str(player.steamid): 4 for player in red[:3]} | {str(red[3].steamid): 0}
    game.reload(plugin)
    assert len(since(game, daemon)) == 4


def test_the_roster_says_when_the_maps_time_is_over_and_comes_anew_when_that_changes(
    game: Game, daemon: Daemon, plugin: Plugin
) -> None:
    begin(game, "arena_well", 2, 2)
    roster(game, daemon)
    assert "map_ends_in" not in daemon.events("roster")[-1]
    daemon.forget()
    game.sm.convars["mp_timelimit"].set("30")
    seconds_of_play(game, 3)
    (told,) = daemon.events("roster")
    assert told["map_ends_in"] == pytest.approx(game.limits.time_left, abs=3)
    daemon.forget()
    game.sm.convars["mp_timelimit"].set("0.01")
    seconds_of_play(game, 3)
    assert [event["map_ends_in"] for event in daemon.events("roster")] == [0]


def test_a_capture_is_told_with_the_next_poll_and_that_of_a_player_who_is_to_be_moved_at_once(
    game: Game, daemon: Daemon, plugin: Plugin
) -> None:
    red, _ = begin(game, "ctf_2fort", 4, 4)
    daemon.forget()
    play.capture_flag(game, red[0])
    settle(game)
    assert daemon.kinds() == []
    seconds_of_play(game, 6)
    play.capture_flag(game, red[0])
    seconds_of_play(game, 6)
    assert daemon.kinds().count("roster") == 1
    daemon.order(
        "move", order="m", id=str(red[1].steamid), side="blu", reason={"phrase": "x", "args": []}, deadline=10.0
    )
    poll(game)
    daemon.forget()
    play.capture_flag(game, red[1])
    settle(game)
    assert daemon.kinds() == ["roster"]


@pytest.mark.parametrize("prop", ["m_bIsDisabled", "m_bTimerPaused", ""])
def test_uneven_sides_bring_the_roster_along_and_a_timer_that_runs_says_when_the_round_ends(
    game: Game, daemon: Daemon, plugin: Plugin, prop: str
) -> None:
    _, blu = begin(game, "cp_gorge", 3, 3)
    shown = game.objective.props["m_iTimerToShowInHUD"]  # type: ignore[union-attr]
    timer = game.entities.get(shown)  # type: ignore[arg-type]
    assert timer is not None
    if prop:
        timer.props[prop] = 1
    # Another timer of the map that nobody sees.
    hidden = game.entities.add("team_round_timer", "CTeamRoundTimer", **timer.props)
    hidden.props |= {"m_bIsDisabled": 0, "m_bTimerPaused": 0, "m_flTimerEndTime": game.map_time + 7}
    daemon.forget()
    game.leave(blu[0])
    settle(game)
    assert daemon.kinds() == ["player_left"]
    game.leave(blu[1])
    settle(game)
    assert daemon.kinds() == ["player_left", "player_left", "roster"]
    ends_in = daemon.events("roster")[-1].get("ends_in")
    assert ends_in is None if prop else 30 < ends_in <= 300


def test_what_holds_a_player_is_told_when_it_begins_and_when_it_ends(
    game: Game, daemon: Daemon, plugin: Plugin
) -> None:
    """A duel ends with every win: CTFGameRules::SetWinningTeam (tf_gamerules.cpp), DuelMiniGame_AssignWinners."""
    game.start_map("pass_brickyard")
    ann, bob = seat(game, "Ann", "red"), seat(game, "Bob", "blue")
    coach = seat(game, "Coach", "spectate")
    play.go_live(game)
    seconds_of_play(game, 3)  # the roster with the round's end has gone
    daemon.forget()
    ann.duel = bob.duel = True
    game.teams.coach(coach, ann)
    seconds_of_play(game, 6)
    told = {event["id"]: event.get("held") for event in daemon.events("side_changed")}
    assert told == {str(ann.steamid): "duel", str(bob.steamid): "duel", str(coach.steamid): "coaching"}

    daemon.forget()
    win(game)
    told = {event["id"]: event.get("held") for event in daemon.events("side_changed")}
    assert told == {str(ann.steamid): "coached", str(bob.steamid): None}
    game.until(lambda: game.rounds.state is State.PREROUND, within=60)
    settle(game)
    lines = {line["id"]: line.get("held") for line in daemon.events("round_started")[-1]["players"]}
    assert lines == {str(ann.steamid): "coached", str(bob.steamid): None, str(coach.steamid): "coaching"}

    game.leave(ann)
    play.go_live(game)
    play.pick_up_ball(game, bob)
    lines = roster(game, daemon)
    assert lines[str(bob.steamid)]["held"] == "ball"
    assert "carrier" not in lines[str(bob.steamid)]  # the ball is no item
    assert "held" not in lines[str(coach.steamid)]  # and who has lost the student coaches no more


def test_in_player_destruction_who_holds_points_is_a_carrier(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    game.start_map("pd_watergate")
    ann, bob = seat(game, "Ann", "red"), seat(game, "Bob", "blue")
    play.go_live(game)
    play.pick_up_points(game, ann, 3)
    play.pick_up_points(game, bob, 0)
    carriers = {player: line.get("carrier") for player, line in roster(game, daemon).items()}
    assert carriers == {str(ann.steamid): True, str(bob.steamid): None}
