"""Decisions as a menu, and Equipoise in SourceMod's admin menu."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.sourcemod.answerer import (
    Daemon,
    Json,
    install,
    obliging,
    poll,
    seat,
    seconds_of_play,
    settle,
)
from tests.sourcemod.rig import Game, Player, Plugin

Opener = Callable[[Game, Daemon, Player], None]
GENERIC, KICK, ROOT = 1 << 1, 1 << 2, 1 << 14

LONG = "2 against 4: this move leaves the sides closest in skill, and it is the only one that does not touch a builder"
BLOCKS = "移动后双方实力最接近" * 6


@pytest.fixture
def ann(game: Game, daemon: Daemon, plugin: Plugin) -> Player:
    """An admin on RED."""
    daemon.answers["side_wanted"] = obliging
    game.start_map("koth_harvest_final")
    settle(game)
    player = seat(game, "Ann", "red")
    player.flags = ROOT
    daemon.forget()
    return player


def decisions(event: Json) -> list[Json]:
    """The daemon's answer to `why`: more than a page."""
    if event["words"] != ["why"]:
        return []
    reasons = [("move", LONG), ("scramble", BLOCKS), *(("place", f"reason {n}") for n in range(8))]
    lines = [{"phrase": "Equipoise_WhyLine", "args": list(reason)} for reason in reasons]
    return [{"kind": "tell", "id": event["by"], "lines": lines}]


def sees(game: Game, player: Player) -> list[str]:
    """Title and lines of what a player sees; empty when there is no menu."""
    panel = game.sm.menus.of(player.index)
    return [] if panel is None else [panel.title, *panel.lines]


def time_passes(game: Game, seconds: int) -> None:
    """The clocks go on by this, a tenth of it in frames: a minute of them takes longer than all else of a test."""
    for _ in range(0, seconds, 10):
        game.now, game.map_time = game.now + 9.0, game.map_time + 9.0
        seconds_of_play(game, 1)


def press(game: Game, player: Player, key: int) -> None:
    """A player presses a key of a menu."""
    game.command(player, f"menuselect {key}")
    settle(game)


def why(game: Game, daemon: Daemon, player: Player) -> None:
    """An admin asks for the last decisions."""
    daemon.answers["command"] = decisions
    game.command(player, "sm_eq_why")
    settle(game)


def test_decisions_come_in_pages_and_each_in_full(game: Game, daemon: Daemon, ann: Player) -> None:
    chat = list(ann.chat)
    why(game, daemon, ann)
    title, first, second, *_ = sees(game, ann)
    assert title == "Last decisions"
    assert first == "->1. move: 2 against 4: this move leaves the sides..."
    assert second.startswith("->2. scramble: 移动")
    assert "->7. place: reason 4" in sees(game, ann)
    assert ann.chat == chat
    press(game, ann, 1)
    assert sees(game, ann)[:4] == [
        "Last decisions",
        "move: 2 against 4: this move leaves the sides closest in",
        "skill, and it is the only one that does not touch a",
        "builder",
    ]
    press(game, ann, 8)
    press(game, ann, 9)
    assert sees(game, ann)[1:4] == ["->1. place: reason 5", "->2. place: reason 6", "->3. place: reason 7"]


def test_a_long_text_without_spaces_is_cut_between_characters(game: Game, daemon: Daemon, ann: Player) -> None:
    ann.language = "chi"
    why(game, daemon, ann)
    item = sees(game, ann)[2].removeprefix("->2. ").removesuffix("...")
    assert f"scramble：{BLOCKS}".startswith(item)
    press(game, ann, 2)
    lines = sees(game, ann)[1:-2]
    assert "".join(lines) == f"scramble：{BLOCKS}"


def test_the_console_reads_decisions_as_text_and_other_answers_stay_in_the_chat(
    game: Game, daemon: Daemon, ann: Player
) -> None:
    daemon.answers["command"] = decisions
    game.rcon("sm_eq_why")
    settle(game)
    assert game.sm.console[-10] == f"move: {LONG}"
    assert game.sm.console[-1] == "place: reason 7"
    daemon.order("tell", id=str(ann.steamid), lines=[{"phrase": "Equipoise_WhyNone", "args": []}])
    poll(game)
    assert sees(game, ann) == []
    assert ann.chat[-1].endswith("Nothing has been decided yet.")


# The admin menu.

ITEMS = [
    ("Scramble now", ["scramble", "now"], "Asked for a scramble now."),
    ("Scramble at the next round start", ["scramble", "next"], "Asked for a scramble at the next round start."),
    ("Preview a scramble", ["scramble", "dry"], ""),
    ("Cancel a scramble or vote", ["scramble", "cancel"], "Cancelled scrambles and votes."),
    ("Close a gap between the sides", ["balance"], "Asked to close the gap between the sides."),
    ("Switch balancing on", ["on"], "Switched balancing on."),
    ("Switch balancing off", ["off"], "Switched balancing off."),
]


def items(game: Game, player: Player) -> list[str]:
    """What a player can choose in the menu that they see, on all its pages."""
    seen: list[str] = []
    while True:
        panel = game.sm.menus.of(player.index)
        assert panel is not None
        seen += [text for text in panel.texts.values() if text not in ("Back", "Previous", "Next", "Exit")]
        if "Next" not in panel.texts.values():
            return seen
        game.sm.menus.choose(player, "Next")


def open_menu(game: Game, player: Player) -> None:
    """An admin types `sm_admin` and chooses Equipoise."""
    game.command(player, "sm_admin")
    game.sm.menus.choose(player, "Equipoise")


def pick(game: Game, player: Player, text: str) -> None:
    """Choose an item, on the next page if it is there."""
    panel = game.sm.menus.of(player.index)
    assert panel is not None
    if text not in panel.texts.values():
        game.sm.menus.choose(player, "Next")
    game.sm.menus.choose(player, text)


@pytest.mark.parametrize(("text", "words", "log"), ITEMS)
def test_each_item_of_the_admin_menu_does_what_its_command_does(
    game: Game, daemon: Daemon, ann: Player, text: str, words: list[str], log: str
) -> None:
    game.sm.admin_menu.load()
    open_menu(game, ann)
    pick(game, ann, text)
    settle(game)
    (event,) = daemon.events("command")
    assert (event["words"], event["by"], event["admin"]) == (words, str(ann.steamid), True)
    assert [line.split(": ", 1)[1] for _, _, line in game.sm.log.actions] == ([log] if log else [])
    assert text in items(game, ann)


def test_the_admin_menu_shows_what_an_admin_may_in_their_language(game: Game, daemon: Daemon, ann: Player) -> None:
    game.sm.admin_menu.load()
    ann.flags = GENERIC | KICK
    open_menu(game, ann)
    assert set(items(game, ann)) == {"Last decisions", *(text for text, _, _ in ITEMS[:5])}
    ann.flags = GENERIC
    open_menu(game, ann)
    assert items(game, ann) == ["Last decisions"]
    daemon.answers["command"] = decisions
    pick(game, ann, "Last decisions")
    settle(game)
    assert sees(game, ann)[1].startswith("->1. move: ")
    ann.flags, ann.language = ROOT, "de"
    open_menu(game, ann)
    assert "Teams jetzt neu verteilen" in items(game, ann)


def test_silence_is_answered_in_the_chat_of_who_used_the_menu(game: Game, daemon: Daemon, ann: Player) -> None:
    game.sm.admin_menu.load()
    game.sm.http.offline = True
    game.advance(10)
    open_menu(game, ann)
    pick(game, ann, "Scramble now")
    assert ann.chat[-1].endswith("The Equipoise daemon does not answer.")
    assert game.sm.log.actions == []


@pytest.mark.parametrize("menu_first", [True, False])
def test_the_admin_menu_may_come_go_and_come_again(
    game: Game, daemon: Daemon, equipoise_smx: Path, *, menu_first: bool
) -> None:
    if menu_first:
        game.sm.admin_menu.load()
    plugin = install(game, daemon, equipoise_smx)
    if not menu_first:
        game.sm.admin_menu.load()
    game.start_map("koth_harvest_final")
    ann = seat(game, "Ann", "red")
    ann.flags = ROOT
    for _ in range(2):
        open_menu(game, ann)
        assert len(items(game, ann)) == 8
        game.sm.admin_menu.unload()
        game.sm.admin_menu.load()
    game.unload(plugin)
    game.command(ann, "sm_admin")
    assert not any("Equipoise" in line for line in sees(game, ann))


# The menu of every player.


def chooses(game: Game, player: Player, text: str) -> None:
    """A player presses the key of the line with this text, on a later page if it is not on this one."""
    for _ in range(12):
        lines = sees(game, player)
        found = [line for line in lines if text in line]
        if found:
            press(game, player, int(found[0].removeprefix("->").split(".")[0]))
            return
        press(game, player, 9)
    raise AssertionError(f"{text} is on no page: {lines}")


def sent(game: Game, daemon: Daemon) -> list[list[str]]:
    """The words of every command that the daemon heard."""
    settle(game)
    return [event["words"] for event in daemon.events("command")]


@pytest.fixture
def bob(game: Game, ann: Player, daemon: Daemon) -> Player:
    """A player without rights, on BLU."""
    player = seat(game, "Bob", "blue")
    daemon.forget()
    return player


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (("My rating",), ["rating"]),
        (("My rank",), ["rank"]),
        (("The best players",), ["top"]),
        (("How even the teams are",), ["teams"]),
        (("Ask for new teams",), ["vote"]),
        (("Friends", "Who plays with me"), ["friend"]),
        (("Friends", "End my friendships"), ["friend", "none"]),
        (("Change sides", "Move me when"), ["swap"]),
        (("Change sides", "Take my offers back"), ["swap", "none"]),
    ],
)
def test_the_menu_sends_what_is_typed_too(
    game: Game, daemon: Daemon, bob: Player, lines: tuple[str, ...], words: list[str]
) -> None:
    game.say(bob, "!eq")
    for line in lines:
        chooses(game, bob, line)
    assert sent(game, daemon) == [words]
    (event,) = daemon.events("command")
    assert (event["by"], event["admin"]) == (str(bob.steamid), False)
    assert sees(game, bob) == []


@pytest.mark.parametrize(("line", "word"), [("Friends", "friend"), ("Change sides", "swap")])
def test_a_player_is_picked_from_those_who_are_here(
    game: Game, daemon: Daemon, ann: Player, bob: Player, line: str, word: str
) -> None:
    cid = seat(game, "Cid", "blue")
    game.add_bot("Chell", 2)
    daemon.forget()
    game.say(bob, "!eq")
    chooses(game, bob, line)
    names = [name for name in ("Ann", "Bob", "Cid", "Chell") if any(name in text for text in sees(game, bob))]
    assert names == (["Ann", "Cid"] if word == "friend" else ["Ann"]), "the other side alone can be swapped with"
    chooses(game, bob, "Ann")
    assert sent(game, daemon) == [[word, str(ann.steamid)]]
    assert cid.name == "Cid"


@pytest.mark.parametrize(
    ("phrase", "line", "word"),
    [("FriendAsks", "Friends", "friend"), ("SwapAsks", "Change sides", "swap")],
)
def test_an_invitation_is_accepted_by_its_own_line_while_who_asked_is_here(
    game: Game, daemon: Daemon, ann: Player, bob: Player, phrase: str, line: str, word: str
) -> None:
    lines = [{"phrase": f"Equipoise_{phrase}", "args": [f"@{ann.steamid}"]}]
    daemon.order("tell", id=str(bob.steamid), lines=lines)
    poll(game)
    assert "Ann wants to" in bob.chat[-1]
    game.say(bob, "!eq")
    chooses(game, bob, line)
    chooses(game, bob, "Accept: Ann")
    assert sent(game, daemon) == [[word, str(ann.steamid)]]
    game.leave(ann)
    game.say(bob, "!eq")
    chooses(game, bob, line)
    assert not any("Accept" in text for text in sees(game, bob))


def test_a_hundred_players_with_long_and_equal_names_are_pages_and_the_one_who_is_pressed_is_sent(
    game: Game, daemon: Daemon, bob: Player
) -> None:
    wide = "漢" * 31
    others = [seat(game, wide if n % 2 else "%s%n {1} #1 @me", "red") for n in range(12)]
    settle(game)
    daemon.forget()
    game.say(bob, "!eq")
    chooses(game, bob, "Friends")
    pages, seen = 0, 0
    while True:
        pages += 1
        seen += sum(line.startswith("->") and (wide in line or "%s%n {1} #1 @me" in line) for line in sees(game, bob))
        if not any("Next" in line for line in sees(game, bob)):
            break
        press(game, bob, 9)
    assert pages > 1
    assert seen == len(others)
    keys = [line for line in sees(game, bob) if wide in line]
    press(game, bob, int(keys[-1].removeprefix("->").split(".")[0]))
    assert sent(game, daemon) == [["friend", str(others[-1].steamid)]]


def test_who_left_while_the_menu_was_open_is_not_sent_nor_is_who_took_their_slot(
    game: Game, daemon: Daemon, ann: Player, bob: Player
) -> None:
    game.say(bob, "!eq")
    chooses(game, bob, "Friends")
    game.leave(ann)
    seat(game, "Ann", "red")
    daemon.forget()
    chooses(game, bob, "Ann")
    assert sent(game, daemon) == []
    assert bob.chat[-1].endswith("That player has left")


def test_the_menu_goes_back_and_the_console_has_none(game: Game, daemon: Daemon, bob: Player) -> None:
    game.say(bob, "!eq")
    main = sees(game, bob)
    chooses(game, bob, "Change sides")
    assert sees(game, bob) != main
    press(game, bob, 8)
    assert sees(game, bob) == main
    assert game.rcon("sm_eq") == ["[SM] Only players can do that"]
    assert sent(game, daemon) == []


def open_decisions(game: Game, daemon: Daemon, player: Player) -> None:
    """The first page of the last decisions."""
    why(game, daemon, player)


def open_a_decision(game: Game, daemon: Daemon, player: Player) -> None:
    """A decision in full, behind another one."""
    why(game, daemon, player)
    for key in (1, 8, 2):
        press(game, player, key)


def open_main(game: Game, daemon: Daemon, player: Player) -> None:
    """The menu of every player."""
    game.say(player, "!eq")


def open_friends(game: Game, daemon: Daemon, player: Player) -> None:
    """A list of the same."""
    game.say(player, "!eq")
    chooses(game, player, "Friends")


@pytest.mark.parametrize("end", ["exit", "leave", "map", "wait", "again"])
@pytest.mark.parametrize("opened", [open_decisions, open_a_decision, open_main, open_friends])
def test_however_a_menu_is_left_no_handle_stays(
    game: Game, daemon: Daemon, plugin: Plugin, ann: Player, bob: Player, opened: Opener, end: str
) -> None:
    before = game.sm.handles.live(plugin)
    opened(game, daemon, ann)
    if end == "exit":
        press(game, ann, 10)
    elif end == "leave":
        game.leave(ann)
    elif end == "map":
        game.start_map("cp_gorge")
    elif end == "again":
        opened(game, daemon, ann)
    time_passes(game, 130 if end in ("wait", "again") else 10)
    assert sees(game, ann) == []
    after = game.sm.handles.live(plugin)
    assert [after.get(kind, 0) for kind in ("Menu", "Panel")] == [before.get(kind, 0) for kind in ("Menu", "Panel")]


def test_every_language_has_the_menu(game: Game, bob: Player) -> None:
    texts = {}
    for language in ("en", "de", "es", "fr", "pl", "pt", "ru", "chi"):
        bob.language = language
        game.say(bob, "!eq")
        texts[language] = tuple(sees(game, bob)[1:8])
        press(game, bob, 10)
    assert len(set(texts.values())) == 8
    assert not any("Equipoise_" in line for lines in texts.values() for line in lines)
