"""The mod on a fake server: what players and admins type, and what they read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from equipoise.core.commands import COMMANDS
from tests.ns2mod.rig import Client, write_mod
from tests.ns2mod.scripted import Scene, Start, steam


def commands(one: Scene) -> list[dict[str, Any]]:
    one.game.run(1)
    return [
        {"words": event["words"], "by": event["by"], "admin": event.get("admin", False)}
        for event in one.daemon.events("command")
    ]


def started(scene: Start, **options: Any) -> tuple[Scene, Client, Client]:
    one = scene(**options)
    marines, aliens = one.people(2, 2)
    return one, marines[0], aliens[0]


def test_the_servers_console_may_everything_and_names_with_blanks_need_no_quotes(scene: Start) -> None:
    one, ann, _ = started(scene)
    one.game.connect(301, "Zoe the 2nd")
    one.game.run(1)
    for line in ("status", "shuffle next", "choice", 'set "Zoe the 2nd" 1500', "set Zoe the 2nd 1600", "reset Zoe the"):
        assert one.game.console(f"sv_eq_{line}")
    ann.console('eq friend "Zoe the 2nd"')
    assert [(event["words"], event["by"], event["admin"]) for event in commands(one)] == [
        (["status"], "", True),
        (["shuffle", "next"], "", True),
        (["choice"], "", True),
        (["set", steam(301), "1500"], "", True),
        (["set", steam(301), "1600"], "", True),
        (["reset", steam(301)], "", True),
        (["friend", steam(301)], "101", False),
    ]


@pytest.mark.parametrize("shine", ["none", "outside"])
def test_an_admins_command_needs_the_right_to_it(scene: Start, shine: str) -> None:
    one, ann, bob = started(scene, shine=shine)
    one.game.admins = {ann.account_id}
    ann.console("sv_eq_off")
    bob.console("sv_eq_off")
    assert commands(one) == [{"words": ["off"], "by": "101", "admin": True}]


@pytest.mark.parametrize("shine", ["none", "outside"])
@pytest.mark.parametrize(
    "line", ["sv_eq_set", "sv_eq_set M2", "sv_eq_set M2 much", "sv_eq_rating Stranger", "sv_eq_reset M"]
)
def test_a_command_without_its_player_or_number_is_explained_where_it_was_typed_and_not_sent(
    scene: Start, line: str, shine: str
) -> None:
    one, ann, _ = started(scene, shine=shine)
    one.game.admins = {ann.account_id}
    before = len(one.game.messages)
    one.game.console(line)
    (explained,) = one.game.messages[before:]
    assert explained.startswith(("[Equipoise] Usage: ", "[Equipoise] No player"))
    ann.console(line)
    assert ann.prints == [explained.removeprefix("[Equipoise] ")]
    assert commands(one) == []


@pytest.mark.parametrize("shine", ["none", "outside"])
@pytest.mark.parametrize(
    ("line", "words"),
    [
        *((each.word, [each.word]) for each in COMMANDS if each.who == "players" and each.ns2 and not each.secret),
        ("RANK", ["rank"]),
        ("prefer marines", ["prefer", "marines"]),
        ("friend A1", ["friend", steam(201)]),
        ("friend none", ["friend", "none"]),
    ],
)
def test_players_ask_in_chat_and_in_their_console(scene: Start, shine: str, line: str, words: list[str]) -> None:
    one, ann, _ = started(scene, shine=shine)
    ann.says(f"!eq {line}")
    ann.console(f"eq {line}")
    assert commands(one) == [{"words": words, "by": "101", "admin": False}] * 2


def test_a_mod_that_loads_later_and_replaces_the_games_chat_function_leaves_the_commands(
    scene: Start, tmp_path: Path
) -> None:
    other = write_mod(tmp_path, "later", "function ProcessSayCommand() heard = (heard or 0) + 1 end", priority=5)
    one, ann, _ = started(scene, mods=[other], own=("Equipoise", "heard"))
    ann.says("!eq vote")
    assert [command["words"] for command in commands(one)] == [["vote"]]
    assert one.game.execute("return heard") == 1


@pytest.mark.parametrize("text", ["!equal teams please", "eq vote", "I say !eq vote", "!"])
def test_other_chat_is_no_command(scene: Start, text: str) -> None:
    one, ann, bob = started(scene)
    ann.says(text)
    assert commands(one) == []
    assert bob.chat[-1] == text


@pytest.mark.parametrize("shine", ["none", "outside"])
def test_a_secret_choice_typed_in_chat_is_not_taken_where_others_read_it_and_with_shine_they_do_not(
    scene: Start, shine: str
) -> None:
    one, ann, bob = started(scene, shine=shine)
    ann.says("!eq choose marines")
    taken = [{"words": ["choose", "marines"], "by": "101", "admin": False}] if shine == "outside" else []
    assert commands(one) == taken
    assert ("eq choose" in " ".join(ann.chat[-1:])) == (shine == "none")
    assert not any("Type it" in line or (shine == "outside" and "choose" in line) for line in bob.chat)
    ann.console("eq choose aliens")
    assert commands(one) == [*taken, {"words": ["choose", "aliens"], "by": "101", "admin": False}]


def test_a_player_chooses_a_language_and_keeps_it_over_a_map_change(scene: Start) -> None:
    one, ann, bob = started(scene)
    ann.says("!eq lang de")
    one.game.change_map("ns2_tram")
    one.game.run(2)
    one.daemon.orders = [{"kind": "say", "text": {"phrase": "Equipoise_VoteTooFew", "args": []}}]
    one.game.run(2)
    assert ann.chat[-1].startswith("Es sind zu wenige") or "wenig" in ann.chat[-1]
    assert bob.chat[-1] == "There are too few players for a vote."


def test_an_unknown_language_or_word_is_answered_with_the_known_ones(scene: Start) -> None:
    one, ann, _ = started(scene)
    ann.says("!eq lang klingon")
    assert "de" in ann.chat[-1]
    ann.says("!eq dance")
    assert "!eq" in "".join(ann.chat[-2:])
    assert commands(one) == []


def test_a_long_text_is_split_where_the_game_would_cut_it(scene: Start) -> None:
    one, ann, _ = started(scene)
    text = {"phrase": "Equipoise_Failed", "args": ["żółć " * 60]}
    one.daemon.orders = [{"kind": "tell", "id": steam(101), "lines": [text]}]
    before = len(ann.chat)
    one.game.run(2)
    pieces = ann.chat[before:]
    assert len(pieces) > 1
    assert all(len(piece.encode()) <= 120 and "�" not in piece for piece in pieces)


@pytest.mark.parametrize("shine", ["none", "outside"])
def test_an_answer_to_the_console_is_in_the_servers_log(scene: Start, shine: str) -> None:
    """Shine keeps what is printed."""
    one, ann, _ = started(scene, shine=shine)
    text = {"phrase": "Equipoise_SetDone", "args": ["@" + steam(102), "1500", "1700"]}
    one.daemon.orders = [{"kind": "tell", "id": "", "lines": [text]}]
    one.game.run(2)
    assert "[Equipoise] M2: ladder points changed from 1500 to 1700." in one.game.messages
    assert not any("1700" in line for line in ann.chat)


SILENT = "The Equipoise daemon does not answer."
LINES = ["sv_eq_status", "sv_eq_why", "sv_eq_shuffle now", "sv_eq_rating A1"]


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("failure", ["dead", "refused"])
def test_an_admin_and_the_servers_console_read_with_a_daemon_that_does_not_answer_what_the_log_said_of_it(
    scene: Start, line: str, failure: str
) -> None:
    one, ann, _ = started(scene)
    one.game.admins = {ann.account_id}
    if failure == "dead":
        one.game.http.failure = ("Couldn't connect to server", 7)
    else:
        one.daemon.fields = {"ok": False, "error": {"code": "unauthorized", "message": "The secret is wrong."}}
    one.game.run(10)
    (trouble,) = (said for said in one.game.messages if one.daemon.url in said or "The secret is wrong." in said)
    chat = list(ann.chat)
    ann.console(line)
    assert ann.chat == chat, "the console asked, and reads the answer"
    assert ann.prints[0] == SILENT
    assert "[Equipoise] " + " ".join(ann.prints[1:]) == trouble
    assert all(len(piece.encode()) <= 120 for piece in ann.prints)
    before = len(one.game.messages)
    one.game.console(line)
    assert one.game.messages[before:] == ["[Equipoise] " + SILENT, trouble]


def test_a_player_reads_that_the_daemon_is_silent_and_no_trouble_of_the_operators(scene: Start) -> None:
    one, ann, _ = started(scene)
    one.game.http.failure = ("Couldn't connect to server", 7)
    one.game.run(10)
    ann.says("!eq teams")
    assert ann.chat[-1] == SILENT
    assert not any(one.daemon.url in line for line in ann.chat + ann.prints)
    one.game.http.failure = None
    one.game.run(8)
    assert commands(one) == [], "an old question is not asked when the daemon is back"


def test_other_mods_read_what_the_daemon_said_of_a_player(scene: Start) -> None:
    one = scene()
    skills = {"marines": 1600.0, "aliens": 1400.5, "commander": 1700.0}
    player = {"id": steam(101), "rating": 1500.0, "rounds": 12, "visible": True, "skills": skills}
    one.daemon.fields = {"players": [player]}
    one.people(1, 1)
    ask = "local skill = Equipoise.GetSkill({}) return skill and skill.rating, skill and skill.aliens"
    assert one.game.execute(ask.format(101)) == (1500.0, 1400.5)
    assert one.game.execute(ask.format(999)) in {(None, None), None}


def test_rights_that_cannot_be_read_keep_no_server_from_the_daemon(scene: Start) -> None:
    """The game's own function throws for a group that ServerAdmin.json does not have."""
    one, _, _ = started(scene)
    one.game.execute("function GetClientCanRunCommand() error('no such group') end")
    one.game.connect(301, "Ann")
    one.game.run(2)
    assert "301" in one.daemon.sides()
    assert sum("no such group" in line for line in one.game.messages) == 1


def test_a_chat_line_of_a_player_without_a_client_is_not_the_servers_console(scene: Start) -> None:
    one, _, _ = started(scene)
    one.game.execute("Server.GetOwner = function() return nil end ProcessSayCommand({}, '!eq rating')")
    assert commands(one) == []


def test_an_admin_reads_the_answer_to_a_console_command_in_the_console(scene: Start) -> None:
    one, ann, _ = started(scene)
    one.game.admins = {ann.account_id}
    line = {"phrase": "Equipoise_WhyLine", "args": ["a", "b"]}
    one.daemon.answers = lambda event: (
        [{"kind": "tell", "id": steam(101), "lines": [line]}] if event["kind"] == "command" else []
    )
    ann.console("sv_eq_why")
    one.game.run(2)
    assert (ann.prints, ann.chat) == (["a: b"], [])
    ann.console("eq top")
    one.game.run(2)
    assert (ann.prints, ann.chat) == (["a: b"], ["a: b"]), "of what players ask the server's log reads nothing"


@pytest.mark.parametrize(
    ("typed", "account"),
    [("42", 303), ("301", 301), ("rainer", 302), ("RAIN", None), ("zoe", 305), ("Twin", None), ("9999", 9999)],
)
def test_a_name_is_one_players_or_none(scene: Start, typed: str, account: int | None) -> None:
    """A number is the id of who is here, else a name, else the id of who is not."""
    one, ann, _ = started(scene)
    names = ("Rain", "Rainer", "42", "rain", "zoe", "Zoe", "Twin", "Twin")
    for number, name in enumerate(names):
        one.game.connect(301 + number, name)
    one.game.run(1)
    ann.console(f"eq friend {typed}")
    found = [event["words"] for event in commands(one)]
    assert found == ([] if account is None else [["friend", steam(account)]])
