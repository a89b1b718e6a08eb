"""What is typed, what is read, and what other plugins may ask."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from equipoise.core.commands import COMMANDS
from equipoise.core.model import Outlook
from equipoise.core.phrases import Phrase, with_chance
from tests.sourcemod.answerer import Daemon, ids, poll, seat, settle
from tests.sourcemod.conftest import SCRIPTING
from tests.sourcemod.rig import Game, Player, Plugin, compile_text

GENERIC, KICK, ROOT = 1 << 1, 1 << 2, 1 << 14


@pytest.fixture
def ann(game: Game, daemon: Daemon, plugin: Plugin) -> Player:
    """A player on RED; the events before are no longer in `daemon.batches`."""
    game.start_map("koth_harvest_final")
    player = seat(game, "Ann", "red")
    settle(game)
    daemon.forget()
    return player


def commands(game: Game, daemon: Daemon) -> list[tuple[list[str], str, bool]]:
    """Words, caller and right of every command the daemon heard."""
    settle(game)
    return [(event["words"], event["by"], event["admin"]) for event in daemon.events("command")]


CHAT_WORDS = [
    (word, command.word)
    for command in COMMANDS
    if command.who == "players"
    for word in ((command.word,) if command.tf2 is None else command.tf2)
]


@pytest.mark.parametrize(("typed", "word"), [*CHAT_WORDS, ("TEAMS", "teams")])
def test_players_ask_in_chat(game: Game, daemon: Daemon, ann: Player, typed: str, word: str) -> None:
    game.say(ann, f"!{typed}")
    assert commands(game, daemon) == [([word], str(ann.steamid), False)]


def test_a_players_words_within_a_second_are_one_question(game: Game, daemon: Daemon, ann: Player) -> None:
    bob = seat(game, "Bob", "blue")
    settle(game)
    daemon.forget()
    posts = len(daemon.batches)
    for _ in range(40):
        for _ in range(10):
            game.command(ann, "sm_top")
        game.command(bob, "sm_rank")
        game.advance(0.25)
        settle(game)
    heard = [(words, by) for words, by, _ in commands(game, daemon)]
    assert heard.count((["top"], str(ann.steamid))) == 10, "one a second, in ten seconds"
    assert heard[0] == (["top"], str(ann.steamid)), "the first is heard"
    assert heard.count((["rank"], str(bob.steamid))) == 10, "another player's are their own"
    assert len(daemon.batches) - posts <= 10 + 10 + 2, "their polls included"


def test_admins_and_the_console_are_heard_every_time(game: Game, daemon: Daemon, ann: Player) -> None:
    ann.flags = GENERIC
    for _ in range(5):
        game.command(ann, "sm_top")
        game.command(ann, "sm_eq_status")
        game.rcon("sm_top")
    assert len(commands(game, daemon)) == 15


def test_a_word_that_another_plugin_owns_gets_another_name(game: Game, daemon: Daemon, ann: Player) -> None:
    bob = seat(game, "Bob", "blue")
    settle(game)
    daemon.forget()
    game.sm.convars["equipoise_words"].set("rank=skill  top= nonsense scramble=Even buddy=mate swap=")
    given_up = ("!rank", "!top", "!scramble", "!buddy Bob", "!swap Bob")
    for typed in (*given_up, "!skill", "!even", "!rating", "!mate Bob", "!eq swap Bob"):
        game.say(ann, typed)
        game.advance(1)
    named = [["friend", str(bob.steamid)], ["swap", str(bob.steamid)]]
    assert [words for words, _, _ in commands(game, daemon)] == [["rank"], ["vote"], ["rating"], *named]
    game.sm.convars["equipoise_words"].set("")
    daemon.forget()
    for typed in ("!rank", "!skill"):
        game.say(ann, typed)
        game.advance(1)
    assert [words for words, _, _ in commands(game, daemon)] == [["rank"]]


RANKME = """
public void OnPluginStart()
{
	RegConsoleCmd("sm_rank", Command_Rank);
}

Action Command_Rank(int client, int args)
{
	PrintToChat(client, "RankMe: 1 of 2");
	return Plugin_Handled;
}
"""


def test_a_word_that_was_given_up_from_the_start_is_the_other_plugins_alone(
    game: Game, daemon: Daemon, plugin: Plugin, script: Callable[..., Plugin]
) -> None:
    config = game.sm.root.parent.parent / "cfg" / "sourcemod" / "equipoise.cfg"
    config.write_text(config.read_text() + 'equipoise_words "rank=skill"\n')
    script(RANKME, "rankme")
    game.start_map("koth_harvest_final")
    bob = seat(game, "Bob", "red")
    settle(game)
    daemon.forget()
    game.say(bob, "!rank")
    assert bob.chat[-1] == "RankMe: 1 of 2"
    game.say(bob, "!skill")
    assert [words for words, _, _ in commands(game, daemon)] == [["rank"]]


def game_name(player: Player) -> str:
    """A player as `%L` writes them."""
    return f"{player.name}<{player.userid}><{player.steam2}><>"


@pytest.mark.parametrize(
    ("line", "flag", "words", "log", "shown"),
    [
        ("sm_eq_status", GENERIC, ["status"], "", ""),
        ("sm_eq_why", GENERIC, ["why"], "", ""),
        ("sm_eq_rating Ann", GENERIC, ["rating", "ANN"], "", ""),
        ("sm_eq_scramble dry", KICK, ["scramble", "dry"], "", ""),
        (
            "sm_eq_scramble", KICK, ["scramble"],
            "Asked for a scramble now.", "Hat eine sofortige Neuverteilung verlangt.",
        ),
        ("sm_EQ_Scramble NOW", KICK, ["scramble", "now"], "Asked for a scramble now.", ""),
        ("SM_EQ_SCRAMBLE next", KICK, ["scramble", "next"], "Asked for a scramble at the next round start.", ""),
        ("sm_eq_scramble cancel", KICK, ["scramble", "cancel"], "Cancelled scrambles and votes.", ""),
        ("sm_eq_balance", KICK, ["balance"], "Asked to close the gap between the sides.", ""),
        (
            "sm_eq_move Bob", KICK, ["move", "BOB"],
            "Asked to move Bob to the other side.", "Hat verlangt, Bob ins andere Team zu versetzen.",
        ),
        ("sm_eq_on", ROOT, ["on"], "Switched balancing on.", ""),
        ("sm_eq_off", ROOT, ["off"], "Switched balancing off.", ""),
        (
            "sm_eq_set Bob 1500", ROOT, ["set", "BOB", "1500"],
            "Set the rating of Bob to 1500.", "Hat die Wertung von Bob auf 1500 gesetzt.",
        ),
        ("sm_eq_reset Bob", ROOT, ["reset", "BOB"], "Made Bob a newcomer again.", ""),
        (
            "sm_eq_reset 76561198000000001", ROOT, ["reset", "76561198000000001"],
            "Made 76561198000000001 a newcomer again.", "",
        ),
    ],
)  # fmt: skip
def test_a_command_of_admins_needs_its_right_and_what_it_changes_is_logged_and_shown(
    game: Game, daemon: Daemon, ann: Player, line: str, flag: int, words: list[str], log: str, shown: str
) -> None:
    bob = seat(game, "Bob", "blue")
    bob.language = "de"
    ann.flags = {GENERIC: 0, KICK: GENERIC, ROOT: GENERIC | KICK}[flag]
    game.command(ann, line)
    assert commands(game, daemon) == []
    ann.flags = flag | GENERIC
    game.command(ann, line)
    told = {"ANN": str(ann.steamid), "BOB": str(bob.steamid)}
    expected = [told.get(word, word) for word in words]
    assert commands(game, daemon) == [(expected, str(ann.steamid), True)]
    whom = bob.index if "Bob" in line else -1
    assert game.sm.log.actions == [(ann.index, whom, f'"{game_name(ann)}": {log}')] * bool(log)
    if log:
        assert bob.chat[-1].startswith("[Equipoise] ADMIN: ")  # sm_show_activity: who is no admin reads no name
        assert shown in bob.chat[-1]
    game.rcon(line)
    assert commands(game, daemon)[1:] == [(expected, "", True)]
    assert len(game.sm.log.actions) == 2 * bool(log)


@pytest.mark.parametrize("off", [False, True], ids=["silence", "switched off by the operator"])
def test_what_nobody_hears_is_answered_here_and_not_logged_as_done(
    game: Game, daemon: Daemon, ann: Player, off: bool
) -> None:
    if off:
        game.rcon("equipoise_enabled 0")
    else:
        game.sm.http.offline = True
        game.advance(10)
    ann.flags = ROOT
    game.command(ann, "sm_eq_on")
    assert game.sm.log.actions == []
    answer = "Equipoise is off on this server." if off else "The Equipoise daemon does not answer."
    assert ann.console[-1] == answer
    game.say(ann, "!rating")
    assert answer in ann.chat[-1]


@pytest.mark.parametrize(
    "line",
    ["sm_eq_rating", "sm_eq_set Ann", "sm_eq_set Ann high", 'sm_eq_set Ann ""', "sm_eq_set Ann 12x", "sm_eq_reset"],
)
def test_a_command_without_its_target_says_how_it_is_used(game: Game, daemon: Daemon, ann: Player, line: str) -> None:
    (answer,) = game.rcon(line)
    assert answer.startswith(f"[SM] Usage: {line.split()[0]} <#userid|name|steamid64>")
    assert commands(game, daemon) == []
    assert game.sm.log.actions == []


def test_who_may_use_a_command_by_an_override_is_an_admin_to_the_daemon(
    game: Game, daemon: Daemon, ann: Player
) -> None:
    game.sm.overrides["sm_eq_scramble"] = 0
    game.command(ann, "sm_eq_scramble next")
    game.say(ann, "!rank")
    assert [admin for _, _, admin in commands(game, daemon)] == [True, False]


def test_targets_are_those_of_every_command_of_sourcemod_and_sent_as_ids(
    game: Game, daemon: Daemon, ann: Player
) -> None:
    ann.flags = ROOT
    people = [ann, seat(game, "Bob", "blue"), seat(game, "Bobby", "red")]
    game.add_bot("Chell", 3)
    daemon.forget()
    for target in ("@me", f"#{people[1].userid}", "bobb"):
        game.command(ann, f"sm_eq_rating {target}")
    assert [words for words, _, _ in commands(game, daemon)] == [["rating", player] for player in ids(people)]
    daemon.forget()
    refused = ("@all", "Bob", "Chell", "#99999")
    for target in refused:
        game.command(ann, f"sm_eq_reset {target}")
    assert len(set(ann.console[-len(refused) :])) > 2  # each with its own of SourceMod's phrases
    assert game.rcon("sm_eq_set Nobody 3") == ["[SM] Nobody matches"]
    assert commands(game, daemon) == []
    assert game.sm.log.actions == []


def test_every_player_reads_their_own_language(game: Game, daemon: Daemon, ann: Player) -> None:
    bob = seat(game, "Bob", "blue")
    ann.language, bob.language = "de", "chi"
    daemon.order("say", text={"phrase": "Equipoise_ReasonStreak", "args": ["3"]})
    streak = {"phrase": "Equipoise_ReasonStreak", "args": ["3"]}
    daemon.order("say", text={"phrase": "Equipoise_Scrambled", "args": ["RED", "52", streak]})
    poll(game)
    assert [line.split("\x01 ")[1] for line in ann.chat[-2:]] == [
        "3 Siege in Folge",
        "Die Teams sind ausgeglichen (3 Siege in Folge). Gewinnchance von RED: 52 %.",
    ]
    assert "已连胜 3 局" in bob.chat[-2]
    assert ann.chat[-1].startswith("\x04[Equipoise]\x01 ")


@pytest.mark.parametrize("prefix", ["[Equipoise]", "[Fair teams on our servers]", "[Fair teams on our servers!]"])
@pytest.mark.parametrize("name", ["Я", "Яr"])
def test_a_line_that_is_too_long_ends_with_a_whole_character(
    game: Game, daemon: Daemon, ann: Player, prefix: str, name: str
) -> None:
    """SourceMod fills its buffers byte by byte (atcprintf, AddString)."""
    ann.language = "ru"
    game.sm.convars["equipoise_chat_prefix"].set(prefix)
    reason = {"phrase": "Equipoise_ReasonRounds", "args": ["12"]}
    nested = {"phrase": "Equipoise_Scrambled", "args": [name, "52", reason]}
    rules = {"phrase": "Equipoise_CauseRules", "args": []}
    daemon.order("say", text={"phrase": "Equipoise_ScrambledUneven", "args": [name * 8, "61", nested, rules]})
    daemon.order("say", text={"phrase": "Equipoise_Scrambled", "args": [name * 90, "61", reason]})
    poll(game)
    for line in ann.chat[-2:]:
        assert line.startswith(f"\x04{prefix}\x01 ")
        assert len(line.encode()) > 200  # no half of a character, which encode() refuses


@pytest.mark.parametrize("language", ["en", "de", "es", "fr", "pl", "pt", "ru", "chi"])
def test_players_read_how_sure_a_chance_is_in_every_language(
    game: Game, daemon: Daemon, ann: Player, language: str
) -> None:
    ann.language = language
    known = Outlook(0.52, 0.3, 0.73, 0.14)
    texts = [
        with_chance(Phrase.TEAMS_CHANCE, ("RED",), known),
        with_chance(Phrase.DRY_RUN, ("2", "RED", "61"), known),
    ]
    lines = [{"phrase": text.phrase.key, "args": list(text.args)} for text in texts]
    daemon.order("tell", id=str(ann.steamid), lines=lines)
    poll(game)
    told = ann.chat[-len(lines) :]
    assert all("RED" in line and "52 %" in line and re.search(r"30( \w+ |–)73 %", line) for line in told)
    assert not any("Equipoise_" in line or "{" in line for line in told)
    assert "61" in told[-1]


def test_ids_are_read_as_names(game: Game, daemon: Daemon, ann: Player) -> None:
    lines = [
        {"phrase": "Equipoise_TopLine", "args": ["1", f"@{ann.steamid}", "1600"]},
        {"phrase": "Equipoise_TopLine", "args": ["2", "@76561198000000001", "1500"]},
    ]
    daemon.order("tell", id=str(ann.steamid), lines=lines)
    daemon.order("tell", id="", lines=lines)
    poll(game)
    lines = ["1. Ann: 1600", "2. 76561198000000001: 1500"]
    assert [line.split("\x01 ")[1] for line in ann.chat[-2:]] == lines
    assert game.sm.console[-2:] == lines


def test_a_phrase_of_a_newer_daemon_is_shown_as_it_is_and_an_argument_is_never_a_format(
    game: Game, daemon: Daemon, ann: Player
) -> None:
    daemon.order("say", text={"phrase": "Equipoise_Later", "args": ["%s %d", "2"]})
    daemon.order("say", text={"phrase": "Equipoise_UnknownPlayer", "args": ["%s%n%T {1} 100%"]})
    poll(game)
    later, unknown = ann.chat[-2:]
    assert later.endswith("Equipoise_Later %s %d 2")
    assert unknown.endswith("No player is known as %s%n%T {1} 100%.")


NATIVES = """
#include <sourcemod>
#include <equipoise>
#pragma semicolon 1
#pragma newdecls required

public void OnPluginStart()
{
	RegServerCmd("ask", Ask);
}

public void Equipoise_OnRated(int client, float rating, int rounds, bool visible)
{
	PrintToServer("rated %N %.1f %d %d", client, rating, rounds, visible);
}

Action Ask(int args)
{
	float rating;
	int rounds;
	bool visible;
	bool known = Equipoise_GetRating(1, rating, rounds, visible);
	PrintToServer("%d %d %d %d %d", Equipoise_IsEnabled(), Equipoise_IsAnswering(), Equipoise_IsPending(),
		Equipoise_GetLock(1), Equipoise_IsWaiting(1));
	PrintToServer("%d %.1f %d %d", known, rating, rounds, visible);
	PrintToServer("%d", Equipoise_RequestScramble(true));
	return Plugin_Handled;
}
"""


def test_other_plugins_ask_and_hear(game: Game, daemon: Daemon, ann: Player, tmp_path: Path) -> None:
    game.load(compile_text(NATIVES, tmp_path, "natives", SCRIPTING / "include"))
    assert game.rcon("ask")[:2] == ["1 1 0 0 0", "0 0.0 0 0"]
    daemon.once |= {
        "pending": True,
        "players": [{"id": str(ann.steamid), "rating": 1234.5, "rounds": 7, "visible": True}],
    }
    daemon.order("lock", id=str(ann.steamid), side="red", seconds=60.0)
    settle(game)
    assert game.sm.console[-1] == "rated Ann 1234.5 7 1"
    daemon.sticky["pending"] = True
    assert game.rcon("ask") == ["1 1 1 2 0", "1 1234.5 7 1", "1"]
    assert commands(game, daemon)[-1] == (["scramble", "now"], "", True)
    assert ("equipoise.smx", "natives.smx asks for a scramble.") in game.sm.log.messages
    game.sm.http.offline = True
    game.advance(10)
    assert game.rcon("ask")[0].startswith("1 0 ")
    assert game.sm.console[-1] == "0"


def test_a_rated_player_is_known_until_they_leave_and_a_rating_of_nobody_is_an_error(
    game: Game, daemon: Daemon, ann: Player, tmp_path: Path
) -> None:
    game.load(compile_text(NATIVES, tmp_path, "natives", SCRIPTING / "include"))
    daemon.once["players"] = [{"id": str(ann.steamid), "rating": 1.0, "rounds": 1, "visible": False}]
    poll(game)
    game.leave(ann)
    game.rcon("ask")
    assert [fault for fault in game.sm.log.take_faults() if "Client 1 is not in game" in fault]
    seat(game, "Bob", "red")
    assert game.rcon("ask")[1] == "0 0.0 0 0"


@pytest.mark.parametrize("name", ["%s%n%d{1}", 'a"; quit', "\\", "@me", "#1", "é" * 16, "cut \udcc3"])
def test_no_name_is_taken_for_anything_else(game: Game, daemon: Daemon, ann: Player, name: str) -> None:
    """Formats, quotes, targets, and a name that the engine cut inside a character (as its bytes are)."""
    ann.flags = ROOT
    odd = seat(game, name, "blue")
    settle(game)
    daemon.order("say", text={"phrase": "Equipoise_RankNone", "args": [f"@{odd.steamid}"]})
    poll(game)
    assert ann.chat[-1].endswith(f" {name} has no rank yet.")
    game.command(ann, f"sm_eq_reset #{odd.userid}")
    settle(game)
    assert daemon.events("command")[-1]["words"] == ["reset", str(odd.steamid)]
    assert ann.chat[-1] == f"[Equipoise] Made {name} a newcomer again."
    client, target, line = game.sm.log.actions[-1]
    assert (client, target) == (ann.index, odd.index)
    assert line.endswith(f"Made {name} a newcomer again.")


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("!buddy", ["friend"]),
        ("!buddy none", ["friend", "none"]),
        ("!buddy big b", ["friend", "BOB"]),
        ('!buddy "Big Bob"', ["friend", "BOB"]),
        ("!swap BIG", ["swap", "BOB"]),
        ("!swap NONE", ["swap", "none"]),
        ("!eq friend big bob", ["friend", "BOB"]),
        ("!eq buddy big bob", ["friend", "BOB"]),
        ("!eq swap", ["swap"]),
        ("!eq scramble", ["vote"]),
        ("!eq Rank", ["rank"]),
        ("!eq nonsense", ["nonsense"]),
    ],
)
def test_a_player_is_named_in_chat_as_for_every_command_of_sourcemod(
    game: Game, daemon: Daemon, ann: Player, typed: str, words: list[str]
) -> None:
    bob = seat(game, "Big Bob", "blue")
    settle(game)
    daemon.forget()
    game.say(ann, typed)
    expected = [str(bob.steamid) if word == "BOB" else word for word in words]
    assert commands(game, daemon) == [(expected, str(ann.steamid), False)]


def test_of_two_players_with_one_name_the_userid_says_who(game: Game, daemon: Daemon, ann: Player) -> None:
    twins = [seat(game, "漢" * 31, "blue") for _ in range(2)]
    settle(game)
    daemon.forget()
    for name in ("漢" * 31, "Chell", "@all"):
        game.say(ann, f"!swap {name}")
    assert commands(game, daemon) == []
    game.say(ann, f"!swap #{twins[1].userid}")
    assert [words for words, _, _ in commands(game, daemon)] == [["swap", str(twins[1].steamid)]]
