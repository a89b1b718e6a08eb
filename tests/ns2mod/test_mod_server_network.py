"""The mod on a fake server: a daemon that is dead, slow, somebody else, or refuses, and what outlives a map."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from equipoise.game.peers import NUDGE
from tests.ns2mod.conftest import MOD
from tests.ns2mod.rig import Game
from tests.ns2mod.scripted import Start, assign


def test_a_round_that_ends_while_the_daemon_is_dead_is_reported_when_it_is_back(scene: Start) -> None:
    one = scene()
    one.round()
    one.game.http.failure = ("Couldn't connect to server", 7)
    one.game.run(20)
    one.game.end_game(1)
    one.game.run(40)
    assert one.daemon.events("round_ended") == []
    one.game.http.failure = None
    one.game.run(8)
    assert [event["winner"] for event in one.daemon.events("round_ended")] == ["marines"]
    assert sum("does not answer" in line for line in one.game.messages) == 1
    assert sum("answers again" in line for line in one.game.messages) == 1


@pytest.mark.parametrize("body", ["", "<html>Bad gateway</html>", "{}", '{"ok":true}' + " " * 70000])
def test_an_answer_that_is_no_reply_is_no_answer(scene: Start, body: str) -> None:
    one = scene()
    sides = one.people()
    one.game.http.body = body
    one.game.run(20)
    one.game.http.body = None
    one.daemon.orders = [assign("o1", [101, 102, 103], [201, 202, 203], "now")]
    one.game.run(8)
    assert one.daemon.outcome("o1") == "done"
    assert [client.team for client in sides[0]] == [1, 1, 1]


@pytest.mark.parametrize("status", [True, False])
@pytest.mark.parametrize(
    ("failure", "body", "words"),
    [
        (("Failed to connect to 127.0.0.1 port 27500", 7), None, "no connection: Failed to connect to {}, code 7"),
        (None, "<html>Bad gateway</html>", "the answer is no JSON"),
        (None, "", "the answer is empty"),
        (None, "[]", "the answer is not Equipoise's"),
    ],
)
def test_a_complaint_names_what_the_engine_said(
    scene: Start, failure: tuple[str, int] | None, body: str | None, words: str, status: bool
) -> None:
    one = scene(switches={"callback_has_status": status})
    one.game.http.failure, one.game.http.body = failure, body
    one.game.run(20)
    (line,) = [text for text in one.game.messages if "does not answer" in text]
    if not status and body == "":
        words = "no connection"  # an older build tells no more
    elif status and not failure:
        words += ", HTTP status 200"
    assert f"({words.format('127.0.0.1 port 27500')})" in line


def test_a_slow_daemon_has_one_batch_at_a_time_and_a_late_answer_changes_nothing(scene: Start) -> None:
    one = scene()
    sides = one.people()
    one.game.http.delay = 20
    one.daemon.orders = [assign("o1", [101, 202, 203], [201, 102, 103], "now")]
    one.game.run(60)
    assert one.game.http.most_running <= 2
    assert [client.team for client in sides[0]] == [1, 1, 1]
    numbers = [batch["seq"] for batch in one.daemon.batches]
    assert numbers == sorted(numbers)


def test_requests_that_are_never_answered_leave_six_of_eight_slots_to_other_mods(scene: Start) -> None:
    one = scene()
    one.game.http.drop = True
    one.game.run(300)
    assert len(one.game.http.sent) >= 5
    assert one.game.http.most_running <= 8
    assert len([exchange for exchange in one.game.http.sent if one.game.system - exchange.sent_at < 60]) <= 2


def test_a_refused_secret_is_said_once_and_asked_again_half_a_minute_later(scene: Start) -> None:
    one = scene()
    one.people(1, 1)
    one.daemon.fields = {"ok": False, "error": {"code": "unauthorized", "message": "The secret is wrong."}}
    one.game.run(2)
    before = len(one.daemon.batches)
    one.game.run(65)
    assert 2 <= len(one.daemon.batches) - before <= 3
    assert sum("compare url, server and secret" in line for line in one.game.messages) == 1


def test_without_settings_the_mod_writes_them_sends_nothing_and_says_what_to_do(tmp_path: Path) -> None:
    game = Game([MOD], config=tmp_path).boot()
    game.run(10)
    assert game.http.sent == []
    assert '"secret"' in (game.files.text("Equipoise.json") or "")
    assert any("config://Equipoise.json" in line for line in game.messages)
    assert game.connect(301, "Ann").joins(1)
    before = len(game.messages)
    game.console("sv_eq_status")
    assert game.messages[before] == "[Equipoise] The Equipoise daemon does not answer."
    assert "Set server and secret in config://Equipoise.json" in game.messages[before + 1]
    assert game.errors == []


def configured(folder: Path, settings: str | dict[str, object] | None) -> Game:
    """A server that has started with these settings, or can have none, and whose daemon cannot be reached."""
    game = Game([MOD], config=folder)
    game.files.read_only = settings is None
    if settings is not None:
        game.files.put("Equipoise.json", settings if isinstance(settings, str) else json.dumps(settings))
    game.http.failure = ("Couldn't connect to server", 7)
    game.boot()
    game.run(5)
    assert game.errors == []
    return game


SETTINGS: dict[str, object] = {"url": "http://127.0.0.1:9", "server": "eu-1", "secret": "s3cret"}
WRONG: list[tuple[str, object]] = [
    ("url", "127.0.0.1:27500"),
    ("url", "https://127.0.0.1:27500"),
    ("url", "http://"),
    ("url", "http://127.0.0.1:27500 "),
    ("url", ""),
    ("url", 27500),
    ("server", 7),
    ("secret", 12345678),
    ("language", ["de"]),
]


@pytest.mark.parametrize(("key", "value"), WRONG)
def test_a_setting_that_cannot_be_is_named_with_its_file_and_value_and_nothing_is_sent(
    tmp_path: Path, key: str, value: object
) -> None:
    game = configured(tmp_path, SETTINGS | {key: value})
    assert game.http.sent == []
    (said,) = (line for line in game.messages if "config://Equipoise.json" in line)
    assert f'"{key}" is ' in said
    assert "must be" in said
    if key == "secret":
        assert str(value) not in said, "a log is read by more people than the settings"
    elif not isinstance(value, list):
        assert f"is {json.dumps(value)}" in said
    if key == "url":
        assert "http://127.0.0.1:27500" in said


@pytest.mark.parametrize("url", ["HTTP://localhost:9", "http://[::1]:9/", "http://daemon.example/equipoise"])
def test_any_address_of_http_will_do(tmp_path: Path, url: str) -> None:
    game = configured(tmp_path, SETTINGS | {"url": url})
    assert game.http.sent[0].url == url.rstrip("/") + "/v1/events"
    (said,) = (line for line in game.messages if "does not answer" in line)
    assert url.rstrip("/") + " (no connection: Couldn't connect to server, code 7)" in said


@pytest.mark.parametrize(
    ("settings", "words"), [('{"url": "http://127', "no JSON"), (None, "can be neither read nor written")]
)
def test_settings_that_cannot_be_read_are_said_to_be_so_and_left_as_they_are(
    tmp_path: Path, settings: str | None, words: str
) -> None:
    game = configured(tmp_path, settings)
    (said,) = (line for line in game.messages if "config://Equipoise.json" in line)
    assert words in said
    assert game.files.text("Equipoise.json") == settings


def test_settings_that_an_editor_marked_as_unicode_are_read(tmp_path: Path) -> None:
    """Editors of Windows begin a file with a byte order mark."""
    game = configured(tmp_path, "\ufeff" + json.dumps(SETTINGS))
    assert game.http.sent[0].form["secret"] == "s3cret"


def test_a_language_that_does_not_exist_is_english_and_said(tmp_path: Path) -> None:
    game = configured(tmp_path, SETTINGS | {"language": "german"})
    (said,) = (line for line in game.messages if "german" in line)
    assert "de en es" in said
    client = game.connect(301, "Ann")
    client.says("!eq dance")
    assert any("Write !eq" in line for line in client.chat)


@pytest.mark.parametrize(("what", "most"), [("n", 1), ("string.rep('x', n)", 60)])
def test_errors_of_ours_do_not_flood_the_log(scene: Start, what: str, most: int) -> None:
    """Texts that differ in a number only, as that of an entity, are one."""
    one = scene()
    one.game.execute(f"local n = 0 Server.GetOwner = function() n = n + 1 error('entity ' .. {what}) end")
    for _ in range(200):
        one.game.execute("ProcessSayCommand({}, 'hello')")
    assert most / 6 <= sum("Error in" in line for line in one.game.messages) <= most


@pytest.mark.parametrize(
    "broken",
    [
        "Server.SetConfigSetting",
        "GetClientCanRunCommand",
        "GetTournamentModeEnabled",
        *(f"Equipoise.{name}" for name in ("Rival.Look", "Joins.Expire", "Orders.Frame", "Orders.Alone")),
    ],
)
def test_what_fails_in_every_frame_is_said_once_and_stops_nothing_else(scene: Start, broken: str) -> None:
    one = scene()
    one.game.execute(f"{broken} = function() error('broken in frame ' .. Shared.GetTime()) end")
    one.game.setting("auto_team_balance", True)
    one.round()
    one.game.run(61)
    one.game.end_game(1)
    one.game.run(2)
    assert sum("broken in frame" in line for line in one.game.messages) == 1
    assert one.daemon.last("round_ended")["winner"] == "marines"


def test_an_order_that_fails_is_answered_and_the_others_are_carried_out(scene: Start) -> None:
    one = scene()
    marines, _ = one.people()
    one.game.execute(
        "local was = BuildChatMessage BuildChatMessage = function(...) BuildChatMessage = was error('no') end"
    )
    reason = {"phrase": "Equipoise_ReasonAdmin", "args": []}
    one.daemon.orders = [
        {"kind": "say", "text": reason},
        assign("o1", [102, 103, 201], [101, 202, 203], "now"),
    ]
    one.game.run(2)
    assert one.daemon.outcome("o1") == "done"
    assert marines[0].team == 2
    one.game.execute("Equipoise.Plan.Moves = function() error('no') end")
    one.daemon.orders = [assign("o2", [101, 102, 103], [201, 202, 203], "now"), {"kind": "say", "text": reason}]
    one.game.run(2)
    assert one.daemon.outcome("o2") == "error"


def test_an_error_of_ours_never_reaches_the_game(scene: Start) -> None:
    one = scene()
    one.game.execute(
        "for name in pairs(Equipoise.People) do Equipoise.People[name] = function() error('broken') end end"
    )
    client = one.game.connect(301, "Ann")
    one.game.run(3)
    assert client.joins(1)
    one.game.start_without_pregame()
    one.game.start_round()
    one.game.end_game(1)
    one.game.run(10)
    client.disconnects()
    assert len([line for line in one.game.messages if "broken" in line]) == len(
        {line for line in one.game.messages if "broken" in line}
    )


SWITCHES = [
    {"rules_before_hooks": False},
    {"replies_before_frame": False},
    {"disconnect_at_map_change": True},
    {"no_player_at_disconnect": True},
    {"join_logs_commander_out": True},
    {"bots_join_inside": False},
    {"reset_state_first": False},
    {"pregame_seconds": 5.0},
    {"json_digits": 17},
    {"won_states_swapped": True},
    {"form_is_encoded": False},
]


@pytest.mark.parametrize("shine", ["none", "outside", "inside"])
@pytest.mark.parametrize("switches", SWITCHES, ids=lambda switches: next(iter(switches)))
def test_what_the_sources_cannot_say_changes_nothing_that_the_daemon_hears(
    scene: Start, shine: str, switches: dict[str, Any]
) -> None:
    one = scene(shine=shine, switches=switches)
    marines, aliens = one.round()
    one.game.run(10)
    aliens[1].disconnects()
    one.game.join(marines[0], 0)
    one.game.run(5)
    one.game.end_game(2)
    one.game.run(2)
    kinds = [event["kind"] for batch in one.daemon.batches for event in batch["events"]]
    story = [kind for kind in kinds if kind.startswith("round_")]
    assert story == ["round_started", "round_live", "round_ended"]
    ended = one.daemon.last("round_ended")
    assert ended["winner"] == "aliens"
    assert {line["id"]: int(line["spans"][-1]["to"]) for line in ended["players"]} == {
        "101": 10, "102": 15, "103": 15, "201": 15, "202": 10, "203": 15,
    }  # fmt: skip


@pytest.mark.parametrize("encoded", [True, False])
def test_names_that_mean_something_in_a_form_arrive_as_they_are(scene: Start, encoded: bool) -> None:
    """Whether the game encodes the fields of a form is not known."""
    one = scene(switches={"form_is_encoded": encoded})
    one.game.connect(301, "50%41&data=x&é")
    one.game.run(2)
    assert one.daemon.last("player_joined")["name"] == "50%41&data=x&é"


def test_a_map_that_was_left_alone_and_is_no_more_is_described_anew(scene: Start) -> None:
    one = scene()
    one.people(2, 2)
    one.daemon.fields = {"level": "off"}
    one.game.run(8)
    assert one.game.join(one.game.connect(301, "Ann"), 2, force=True)
    one.game.run(8)
    assert "301" not in one.daemon.sides()
    one.daemon.fields = {}
    one.game.run(8)
    assert one.daemon.sides()["301"] == "aliens"


def test_another_mod_that_throws_when_it_is_asked_does_not_blind_ours(scene: Start) -> None:
    one = scene(shine="outside")
    one.game.shine_plugin("voterandom")
    one.game.execute("Shine.Plugins.voterandom.EnforcementPolicy.IsActive = function() error('no policy') end")
    client = one.game.connect(301, "Ann")
    one.game.run(2)
    client.moves()
    one.game.run(2)
    assert one.daemon.last("roster")["players"][0]["waiting"]
    assert sum("no policy" in line for line in one.game.messages) == 1


def test_the_daemons_nudge_by_the_servers_console_makes_the_mod_ask_at_once_and_a_players_does_not(
    scene: Start,
) -> None:
    one = scene()
    one.daemon.fields = {"next": 5.0}
    one.people(1, 1)
    one.game.run(12)
    before = len(one.daemon.batches)
    one.game.clients[0].console(NUDGE)
    one.game.run(0.2)
    assert len(one.daemon.batches) == before
    one.game.console(NUDGE)
    one.game.run(0.2)
    assert len(one.daemon.batches) == before + 1
    # While an answer is awaited: it may be without the new orders, and one more question follows it.
    one.game.http.delay = 0.5
    one.game.console(NUDGE)
    one.game.run(0.2)
    one.game.console(NUDGE)
    one.game.run(3)
    assert len(one.daemon.batches) == before + 3


def test_a_nudge_does_not_hurry_a_daemon_that_is_lost(scene: Start) -> None:
    one = scene()
    one.people(1, 1)
    one.game.http.failure = ("Couldn't connect to server", 7)
    one.game.run(20)
    before = len(one.game.http.sent)
    for _ in range(20):
        one.game.console(NUDGE)
        one.game.run(0.1)
    assert len(one.game.http.sent) <= before + 1


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"max_players": 18, "whitelisted": True}, ""),
        ({"max_players": 18}, "mods"),
        ({"max_players": 24, "whitelisted": True}, "slots"),
        ({"max_players": 10, "whitelisted": True}, "slots"),
        ({"max_players": 18, "max_spectators": 6, "whitelisted": True}, "spectators"),
        ({"max_players": 24, "max_spectators": 6, "cheats": True}, "cheats"),
    ],
)
def test_the_mod_says_why_the_game_does_not_rank_its_rounds(
    scene: Start, settings: dict[str, Any], reason: str
) -> None:
    one = scene(settings=settings)
    one.people(1, 1)
    assert {hello["unranked"] for hello in one.daemon.events("hello")} == {reason}
    one.game.setting("cheats", True)
    one.game.run(3)
    assert one.daemon.last("hello")["unranked"] == "cheats"
