"""`sm_eq_probe`: what the plugin writes about the server it runs on, for those who have none."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.sourcemod.answerer import Daemon, begin, crowd, go_live, in_freeze, poll, seat, seconds_of_play, settle
from tests.sourcemod.conftest import SCRIPTING
from tests.sourcemod.rig import Game, Plugin, facts, play
from tests.sourcemod.rig.game.facts import BLU, RED, Reason

Script = Callable[..., Plugin]
ROOT = 1 << 14
WATCHED = re.compile(r'^\t\{"(\w+)", "[^"]*", (true|false)\}', re.MULTILINE)
RECORDER = (SCRIPTING / "equipoise" / "recorder.sp").read_text(encoding="utf-8")


@pytest.fixture
def folder(game: Game) -> Path:
    """SourceMod's folder of logs, which is there on every server that ran before."""
    logs = game.sm.root / "logs"
    logs.mkdir()
    return logs


def written(folder: Path) -> str:
    """The one file that was written."""
    (file,) = folder.iterdir()
    return file.read_text(encoding="utf-8")


def whole_round(game: Game) -> None:
    """Go on from a running round until a whole one was played and the next is live."""
    for _ in range(2):
        game.rounds.win(RED, Reason.POINTS_CAPTURED)
        in_freeze(game)
        play.go_live(game)
    settle(game)


def recorded(text: str, when: str) -> list[str]:
    """The names of the recorded events, in order."""
    return re.findall(rf": (\w+) {when}(?:,|$)", text, re.MULTILINE)


def test_a_record_has_the_events_of_a_whole_round_in_their_order_and_costs_nothing_before_and_after(
    game: Game, daemon: Daemon, plugin: Plugin, folder: Path
) -> None:
    begin(game, "cp_badlands", 2, 2)
    hooks = {name: len(hooked) for name, hooked in game.sm.events.hooks.items() if hooked}
    handles = game.sm.handles.live(plugin)
    assert not [one for one in game.sm.http.sent if one.url.endswith("/healthz")]
    game.rcon("sm_eq_probe")
    assert sum(map(len, game.sm.events.hooks.values())) > sum(hooks.values())
    before = len(game.history)
    whole_round(game)
    assert {name: len(hooked) for name, hooked in game.sm.events.hooks.items() if hooked} == hooks
    assert game.sm.handles.live(plugin) - handles == {"Timer": 1}  # the hour that a record takes at the most
    rare = {name for name, frequent in WATCHED.findall(RECORDER) if frequent == "false"}
    text = written(folder)
    assert len(rare) > 20
    assert [name for name in recorded(text, "fired") if name in rare] == [
        name for _, name, _ in game.history[before:] if name in rare
    ]
    assert "S3 W0 U0 O0, over: teamplay_round_start fired, full_reset 1\n" in text
    assert "S3 W0 U0 O0, freeze: teamplay_round_start heard, full_reset 1\n" in text
    assert re.search(r"\d, S3 W0 U0 O0, freeze: batch \d+ is answered: status 200\n", text)
    assert text.endswith("== the end: a whole round was played ==\n")
    ends = len(text)
    game.rounds.win(RED, Reason.POINTS_CAPTURED)
    in_freeze(game)
    assert len(written(folder)) == ends


def test_the_rest_of_a_round_the_command_came_into_is_no_whole_one(
    game: Game, daemon: Daemon, plugin: Plugin, folder: Path
) -> None:
    game.start_map("cp_badlands")
    crowd(game, 2, 2)
    game.rcon("sm_eq_probe")  # in Waiting For Players
    go_live(game)
    assert "W1" in written(folder)
    assert re.search(r"W0 .*: TF2_OnWaitingForPlayersEnd\n", written(folder))
    assert "the end" not in written(folder)
    game.rounds.win(RED, Reason.POINTS_CAPTURED)
    go_live(game)
    assert "the end: a whole round" in written(folder)


def test_from_a_restart_to_the_start_that_follows_in_the_same_frame_there_is_no_round(
    game: Game, daemon: Daemon, plugin: Plugin, folder: Path
) -> None:
    """Only a record sees this moment: the start would void the round too."""
    begin(game, "cp_badlands", 1, 1)
    game.rcon("sm_eq_probe")
    game.rcon("mp_restartgame 1")
    game.until(lambda: game.events("teamplay_restart_round")[1:])
    text = written(folder)
    assert "S6 W0 U0 O0, running: teamplay_restart_round fired\n" in text
    assert "S6 W0 U0 O0, idle: teamplay_restart_round heard\n" in text
    assert "S3 W0 U0 O0, idle: teamplay_round_start fired, full_reset 1\n" in text


def test_a_record_goes_on_over_a_change_of_map_and_shows_how_clients_come_and_go(
    game: Game, daemon: Daemon, plugin: Plugin, folder: Path
) -> None:
    (ann,), _ = begin(game, "koth_harvest_final", 1, 1)
    game.rcon("sm_eq_probe")
    game.leave(ann)
    game.start_map("cp_badlands")
    game.advance(1)
    text = written(folder)
    order = ["player_disconnect fired", "OnClientDisconnect, client", "OnMapEnd", "OnMapStart", "OnClientPutInServer"]
    assert sorted(order, key=text.index) == order
    assert "no rules, idle: OnMapStart" in text or re.search(r"S\d W\d U\d O\d, idle: OnMapStart", text)
    assert f"OnClientPutInServer, client 2, userid {game.players[2].userid}\n" in text


def test_a_player_whom_the_daemon_moves_is_named_as_moved_by_us(
    game: Game, daemon: Daemon, plugin: Plugin, folder: Path
) -> None:
    red, _ = begin(game, "koth_harvest_final", 3, 1)
    game.rcon("sm_eq_probe")
    play.kill(game, red[1], red[0])
    daemon.order("move", order="m", id=str(red[0].steamid), side="blu", deadline=0.0)
    poll(game)
    seconds_of_play(game, 1)
    assert red[0].team == BLU
    text = written(folder)
    moved = f"player_team fired, userid {red[0].userid} is client {red[0].index} (team 2, dead, moved by us), team 3"
    assert moved in text
    assert ": order m: done\n" in text


def test_every_property_that_the_plugin_reads_is_looked_for_and_found(
    game: Game, daemon: Daemon, plugin: Plugin, folder: Path
) -> None:
    sources = {path.stem: path.read_text(encoding="utf-8") for path in (SCRIPTING / "equipoise").glob("*.sp")}
    looked_for = set(re.findall(r'\{"C\w+", "(\w+)"\}', sources["probe"])) | {"m_bSwitchTeamsOnWin"}
    reads = r'(?:Prop_(?:Send|Data), |GameRules_GetProp\w*\()"(\w+)"'
    read = {name for text in sources.values() for name in re.findall(reads, text)}
    read |= set(re.findall(r'"(m_i\w+)"', sources["counts"].split("g_Props")[1].split(";")[0]))
    assert len(read) > 35
    assert read <= looked_for
    game.start_map("ctf_2fort", facts.Mode(2, owners=(RED, BLU), length=600, flags=True))
    seat(game, "Medic", "red", "medic")
    engineer = seat(game, "Engineer", "blue", "engineer")
    play.go_live(game)
    play.build(game, engineer, "obj_sentrygun")
    play.build(game, engineer, "obj_teleporter")
    game.rcon("sm_eq_probe")
    assert "NOT FOUND" not in written(folder).split("== variables")[0]
    assert "CTeamRoundTimer m_flTimerEndTime: float," in written(folder)
    assert "CTFObjectiveResource m_iOwner: integer, 32, 1, 8\n" in written(folder)


def test_a_probe_tells_versions_variables_round_trips_and_who_else_may_balance(
    game: Game, daemon: Daemon, plugin: Plugin, folder: Path, script: Script
) -> None:
    script('public Plugin myinfo = { name = "gScramble", version = "3.0.33" };', "gscramble")
    script('public Plugin myinfo = { name = "Fun", version = "1" };', "funcommands")
    tf = game.sm.root.parent.parent
    (tf / "steam.inf").write_text("PatchVersion=9543365\nappID=440\n", encoding="utf-8")
    (tf / "cfg" / "config_arena.cfg").write_text('tf_arena_use_queue "1"\nrcon_password "hunter2"\n', encoding="utf-8")
    game.start_map("koth_harvest_final")
    crowd(game, 1, 1)
    settle(game)
    game.rcon("sm_eq_probe")
    seconds_of_play(game, 3)
    text = written(folder)
    for line in (
        "steam.inf: PatchVersion=9543365", 'cfg/config_arena.cfg: tf_arena_use_queue "1"',
        "gscramble.smx, 0, gScramble, 3.0.33  <- may balance too", "funcommands.smx, 0, Fun, 1",
        "equipoise.smx, 0, Equipoise, source", "    SourceMod Version: 1.11.0.6931", "tick interval 0.015000 s",
        'mp_autoteambalance: "0", "1", held; wanted: 1', 'mp_timelimit: "0", "0"',
        "round trips to the daemon: 20 of 20 answered",
    ):  # fmt: skip
        assert f"{line}\n" in text, line
    (trips,) = re.findall(r"round trips in ticks: min (\d+), median (\d+), max (\d+)", text)
    assert 2 <= int(trips[0]) <= int(trips[1]) <= int(trips[2])
    assert [sent.url for sent in game.sm.http.sent].count(f"http://127.0.0.1:{daemon.port}/healthz") == 20


def test_a_daemon_that_is_away_leaves_the_round_trips_out(
    game: Game, daemon: Daemon, koth: Plugin, folder: Path
) -> None:
    crowd(game, 1, 1)
    game.sm.http.offline = True
    game.rcon("sm_eq_probe")
    seconds_of_play(game, 3)
    assert "round trips to the daemon: 0 of 20 answered\n" in written(folder)
    assert "round trips in" not in written(folder)


def test_a_probe_names_nobody_and_tells_no_secret(game: Game, daemon: Daemon, plugin: Plugin, folder: Path) -> None:
    game.sm.convars["hostname"].set("Bobs Server")
    red, _ = begin(game, "koth_harvest_final", 2, 2)
    game.rcon("sm_eq_probe")
    newcomer = seat(game, "Zaphod", "red")
    game.say(newcomer, "forty-two")
    play.kill(game, red[0], newcomer)
    game.leave(newcomer)
    whole_round(game)
    text = written(folder)
    people = [*game.players.values(), newcomer]
    secrets = [value for player in people for value in (player.name, str(player.steamid), player.steam2)]
    for secret in (*secrets, "hunter2", "127.0.0.1", str(daemon.port), "test-1", "Bobs", "forty-two"):
        assert secret not in text, secret


def test_only_root_may_probe_one_probe_at_a_time_and_where_files_can_be_written(
    game: Game, daemon: Daemon, plugin: Plugin
) -> None:
    game.start_map("koth_harvest_final")
    ann, bob = game.connect("Ann"), game.connect("Bob")
    ann.flags = ROOT
    settle(game)
    game.command(bob, "sm_eq_probe")
    assert bob.console[-1] == "[SM] You may not use this command"
    game.command(ann, "sm_eq_probe")
    assert re.fullmatch(r"addons/sourcemod/logs/equipoise-probe-\d{8}-\d{6}\.txt cannot be written\.", ann.console[-1])
    (game.sm.root / "logs").mkdir()
    game.command(ann, "sm_eq_probe")
    assert re.match(r"Written to addons/sourcemod/logs/equipoise-probe-\S+\.txt, until", ann.console[-1])
    game.command(ann, "sm_eq_probe")
    assert ann.console[-1].endswith(".txt is still being written: a whole round has to be played.")
    assert len(list((game.sm.root / "logs").iterdir())) == 1


def test_a_probe_ends_after_an_hour_and_with_the_plugin(
    game: Game, daemon: Daemon, plugin: Plugin, koth: Plugin, folder: Path
) -> None:
    game.rcon("sm_eq_probe")
    game.advance(60)
    game.unload(plugin)
    (first,) = folder.iterdir()
    assert first.read_text(encoding="utf-8").endswith("== the end: the plugin ends ==\n")
    first.unlink()
    again = game.load(plugin.path)
    game.rcon("sm_eq_probe")
    game.now += 3590  # an hour of frames takes fifteen seconds
    game.map_time += 3590
    game.advance(5)
    assert "the end" not in written(folder)
    game.advance(6)
    assert written(folder).endswith("== the end: no whole round was played in an hour ==\n")
    assert "complete" in game.sm.log.messages[-1][1]
    assert again in game.sm.plugins


def test_an_error_costs_one_part_of_a_probe(
    game: Game, daemon: Daemon, plugin: Plugin, folder: Path, script: Script
) -> None:
    script(
        """
        public APLRes AskPluginLoad2(Handle self, bool late, char[] error, int size)
        {
            CreateNative("GetPluginStatus", Fails);
            return APLRes_Success;
        }
        any Fails(Handle plugin, int count) { ThrowNativeError(SP_ERROR_NATIVE, "unknown"); return 0; }
        """
    )
    game.start_map("koth_harvest_final")
    settle(game)
    game.rcon("sm_eq_probe")
    assert game.sm.log.take_faults()
    assert "(an error ended this part: the log of errors has it)\n== properties" in written(folder)
    assert "== record ==" in written(folder)
