"""Which rounds the plugin sees: waiting, others' events, restarts in every state, an empty server, setup time."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.sourcemod.answerer import Daemon, begin, crowd, go_live, in_freeze, install, poll, settle, win
from tests.sourcemod.rig import Game, Plugin, facts, play
from tests.sourcemod.rig.game.facts import BLU, RED, Reason, State

ROUND = ("waiting_ended", "round_started", "round_live", "round_ended")


@pytest.fixture(params=[True, False], ids=["forwards seen", "forwards missed"])
def game(new_game: Callable[..., Game], request: pytest.FixtureRequest) -> Game:
    """A fake server whose forwards of Waiting For Players come, or never come: no source says which."""
    return new_game(forwards_seen=request.param)


def reported(daemon: Daemon) -> list[str]:
    """What the daemon was told of rounds, in order."""
    return [kind for kind in daemon.kinds() if kind in ROUND]


def running(game: Game) -> None:
    """Go on until the state machine says that a round runs, waiting or not."""
    game.until(lambda: game.rounds.live, within=200)


def set_number(game: Game, convar: str, value: int) -> None:
    """An admin sets a variable; the game looks at it within a second."""
    game.sm.convars[convar].set(str(value))


# Waiting For Players.


def test_waiting_ends_once_although_every_restart_says_so(game: Game, daemon: Daemon, koth: Plugin) -> None:
    crowd(game, 1, 1)
    running(game)
    settle(game)
    assert reported(daemon) == []
    go_live(game)
    set_number(game, "mp_restartgame", 1)
    game.advance(3)
    go_live(game)
    settle(game)
    assert reported(daemon) == ["waiting_ended", "round_started", "round_live", "round_started", "round_live"]


@pytest.mark.parametrize(
    ("map_name", "moment", "then"),
    [
        # The freeze goes on, and the round in it is a round: teams can be made.
        ("koth_harvest_final", State.PREROUND, ["round_started"]),
        # It is played already: it goes live with those who are there.
        ("koth_harvest_final", State.RUNNING, ["round_live"]),
        ("cp_gorge", State.RUNNING, ["round_started"]),  # the map's timer is shown again, with its setup time
    ],
)
def test_a_wait_that_an_admin_cancels_makes_a_round_of_what_is_played(
    game: Game, daemon: Daemon, plugin: Plugin, map_name: str, moment: State, then: list[str]
) -> None:
    game.start_map(map_name)
    crowd(game, 2, 2)
    game.until(lambda: game.rounds.state is moment, within=60)
    set_number(game, "mp_waitingforplayers_cancel", 1)
    game.advance(2.5)
    settle(game)
    assert reported(daemon) == ["waiting_ended", *then]
    daemon.once["want"] = ["hello"]
    poll(game)
    settle(game)
    phase = "running" if "round_live" in then else "freeze"
    assert (daemon.events("hello")[-1]["phase"], daemon.events("hello")[-1]["waiting"]) == (phase, False)
    go_live(game)
    win(game)
    (ended,) = daemon.events("round_ended")
    assert not ended["partial"]
    assert len(ended["lineup"]) == 4
    assert reported(daemon).count("round_live") == 1


def test_a_wait_that_an_admin_begins_again_voids_the_round(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    begin(game, "koth_harvest_final", 2, 2)
    daemon.forget()
    set_number(game, "mp_waitingforplayers_restart", 1)
    game.advance(2.5)
    settle(game)
    assert (daemon.events("hello")[-1]["phase"], daemon.events("hello")[-1]["waiting"]) == ("idle", True)
    go_live(game)
    win(game)
    assert reported(daemon) == ["waiting_ended", "round_started", "round_live", "round_ended"]


def test_arena_never_waits_and_plays_on_through_a_restart_although_the_game_asks_for_both(
    game: Game, daemon: Daemon, plugin: Plugin
) -> None:
    begin(game, "arena_well", 1, 1)
    game.rounds.set_waiting(True)  # asked for and refused, in the middle of a round
    game.rounds.set_waiting(False)
    set_number(game, "mp_restartgame", 1)
    game.advance(5)
    play.wipe_out(game, BLU)
    settle(game)
    assert reported(daemon) == ["round_started", "round_live", "round_ended"]
    assert not daemon.events("round_ended")[0]["partial"]
    assert not any(hello["waiting"] for hello in daemon.events("hello"))


# Events of other plugins.


def test_events_that_another_plugin_fires_change_nothing(
    game: Game, daemon: Daemon, plugin: Plugin, script: Callable[..., Plugin]
) -> None:
    script(
        """
        public void OnPluginStart() { RegServerCmd("fake", Fake); }
        Action Fake(int args)
        {
            static const char names[][] = { "teamplay_round_start", "teamplay_round_active", "arena_round_start",
                "teamplay_setup_finished", "teamplay_restart_round", "teamplay_round_win" };
            for (int i = 0; i < sizeof(names); i++)
            {
                CreateEvent(names[i], true).Fire();
            }
            return Plugin_Handled;
        }
        """
    )
    game.start_map("koth_harvest_final")
    crowd(game, 1, 1)
    running(game)
    game.rcon("fake")  # while waiting
    go_live(game)
    game.rcon("fake")
    game.advance(1.5)
    game.rounds.win(RED, Reason.POINTS_CAPTURED)
    game.rcon("fake")  # in the bonus time
    settle(game)
    assert reported(daemon) == ["waiting_ended", "round_started", "round_live", "round_ended"]
    assert daemon.events("round_ended")[0]["winner"] == "red"


@pytest.mark.parametrize("played", [0, 255])
def test_events_that_another_plugin_blocks_are_made_up_for(
    game: Game, daemon: Daemon, plugin: Plugin, script: Callable[..., Plugin], played: int
) -> None:
    """Then the number of rounds that were played tells a round from a stage, also when plugins read 0 after 255."""
    script(
        """
        public void OnPluginStart()
        {
            static const char names[][] = { "teamplay_round_start", "teamplay_round_active", "teamplay_restart_round",
                "teamplay_setup_finished", "teamplay_round_win", "player_team" };
            for (int i = 0; i < sizeof(names); i++)
            {
                HookEvent(names[i], Block, EventHookMode_Pre);
            }
        }
        Action Block(Event event, const char[] name, bool silent) { return Plugin_Stop; }
        """
    )
    game.start_map("cp_gorge")
    _, blu = crowd(game, 2, 2)
    game.until(lambda: game.rounds.state is State.PREROUND and not game.rounds.waiting)
    game.rounds.played = played
    go_live(game)
    game.advance(1.5)
    game.teams.change(blu[0], RED)
    game.advance(11)
    game.rounds.win(BLU, Reason.POINTS_CAPTURED)
    game.advance(1.5)
    settle(game)
    assert reported(daemon) == ["waiting_ended", "round_started", "round_live", "round_ended"]
    (ended,) = daemon.events("round_ended")
    assert ended["winner"] == "blu"
    assert not ended["partial"]
    (line,) = [line for line in ended["players"] if line["id"] == str(blu[0].steamid)]
    assert (line["side"], line["seconds"]["red"]) == ("red", pytest.approx(12, abs=1.5))
    in_freeze(game)
    game.advance(1.5)
    settle(game)
    assert reported(daemon)[-1] == "round_started"


# Restarts.


def restarted(game: Game, command: str) -> None:
    """A restart is asked for; the game carries it out when a round runs, and the next one goes live."""
    restarts = len(game.events("teamplay_restart_round"))
    set_number(game, command, 1)
    game.until(lambda: len(game.events("teamplay_restart_round")) > restarts, within=60)
    go_live(game)


@pytest.mark.parametrize(
    ("moment", "command"),
    [
        ("the round", "mp_restartgame"),
        ("the round", "mp_restartround"),
        ("the freeze", "mp_restartgame"),
        ("the bonus time", "mp_restartgame"),
        ("the bonus time", "mp_restartround"),
    ],
)
def test_a_restart_voids_the_round_that_runs_or_that_begins_first_and_none_that_was_won(
    game: Game, daemon: Daemon, koth: Plugin, moment: str, command: str
) -> None:
    red, blu = crowd(game, 1, 1)
    if moment == "the freeze":
        in_freeze(game)
    else:
        go_live(game)
        play.capture(game, BLU, 0, blu[0])
    if moment == "the bonus time":
        win(game, BLU)
        daemon.forget()
    restarted(game, command)
    play.capture(game, RED, 0, red[0])
    win(game)
    rounds = [kind for kind in reported(daemon) if kind != "waiting_ended"]
    assert rounds == ["round_started", "round_live", "round_started", "round_live", "round_ended"]
    (ended,) = daemon.events("round_ended")
    assert (ended["winner"], ended["captures"]) == ("red", {"red": 1, "blu": 0})
    assert ended["round"] == daemon.events("round_live")[1]["round"]


@pytest.mark.parametrize("command", ["mp_restartgame", "mp_restartround"])
def test_a_restart_after_a_stage_voids_the_stage_too(game: Game, daemon: Daemon, plugin: Plugin, command: str) -> None:
    _, blu = begin(game, "cp_dustbowl", 1, 1)
    play.capture(game, BLU, 0, blu[0])
    play.capture(game, BLU, 1, blu[0])
    assert game.rounds.state is State.TEAM_WIN
    restarted(game, command)
    game.rounds.win(RED, Reason.DEFENDED)
    settle(game)
    (ended,) = daemon.events("round_ended")
    assert ended["captures"] == {"red": 0, "blu": 0}
    assert ended["round"] == daemon.events("round_live")[-1]["round"]
    assert len(daemon.events("round_live")) == 2


# An empty server.


@pytest.mark.parametrize("waits", [30, 0])
def test_an_empty_server_is_idle_and_one_that_fills_within_a_second_begins_anew(
    game: Game, daemon: Daemon, plugin: Plugin, waits: int
) -> None:
    red, blu = begin(game, "koth_harvest_final", 1, 1)
    play.capture(game, BLU, 0, blu[0])
    settle(game)
    daemon.forget()
    game.sm.convars["mp_waitingforplayers_time"].set(str(waits))
    for player in red + blu:
        game.leave(player)
    game.frame()
    game.frame()
    assert game.rounds.state is State.PREGAME
    game.teams.change(back := game.connect("Back"), RED)
    game.command(back, "joinclass soldier")
    game.until(lambda: game.rounds.state is State.PREROUND, within=0.5)
    settle(game)
    if waits:
        assert daemon.events("hello")[-1]["phase"] == "idle"
        assert daemon.events("hello")[-1]["waiting"]
    go_live(game)
    win(game)
    assert reported(daemon) == ["waiting_ended"] * bool(waits) + ["round_started", "round_live", "round_ended"]
    assert daemon.events("round_ended")[0]["captures"] == {"red": 0, "blu": 0}
    go_live(game)
    game.leave(back)
    game.advance(2)
    settle(game)
    assert daemon.events("hello")[-1]["phase"] == "idle"
    assert len(daemon.events("round_ended")) == 1


# Setup time.


@pytest.mark.parametrize("flag", [0, 1])
def test_the_timer_in_the_hud_says_whether_setup_runs(game: Game, daemon: Daemon, plugin: Plugin, flag: int) -> None:
    """The map's other timers write m_bInSetup too."""
    mode = facts.MAPS["cp_gorge" if flag == 0 else "cp_badlands"]
    game.start_map("cp_other", mode)
    crowd(game, 1, 1)
    in_freeze(game)
    running_ = game.rounds
    game.until(lambda: running_.state is State.PREROUND and game.now > running_.round_start_at + 4.5, within=10)
    game.rules.props["m_bInSetup"] = flag
    game.advance(2)
    settle(game)
    assert bool(daemon.events("round_live")) == bool(flag)


def test_a_map_without_a_timer_goes_by_the_games_own_flag(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    begin(game, "ctf_2fort", 1, 1)
    settle(game)
    assert len(daemon.events("round_live")) == 1


def test_a_late_load_between_stages_has_not_seen_the_whole_round(
    game: Game, daemon: Daemon, equipoise_smx: object
) -> None:
    game.start_map("cp_dustbowl")
    for side in ("red", "blue"):
        game.add(side, side)
    go_live(game)
    for point in (0, 1):
        play.capture(game, BLU, point)
    install(game, daemon, equipoise_smx)  # type: ignore[arg-type]
    play.next_round(game)
    go_live(game)
    game.rounds.win(RED, Reason.DEFENDED)
    settle(game)
    assert daemon.events("round_ended")[0]["partial"]
