"""Decisions as a menu, and Equipoise in SourceMod's admin menu."""

import pytest

from tests.sourcemod.answerer import Daemon, Json, obliging, seat, seconds_of_play, settle
from tests.sourcemod.rig import Game, Player, Plugin

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


def test_the_console_reads_decisions_as_text(game: Game, daemon: Daemon, ann: Player) -> None:
    daemon.answers["command"] = decisions
    game.rcon("sm_eq_why")
    settle(game)
    assert game.sm.console[-10] == f"move: {LONG}"
    assert game.sm.console[-1] == "place: reason 7"


def test_other_answers_stay_in_the_chat(game: Game, daemon: Daemon, ann: Player) -> None:
    daemon.order("tell", id=str(ann.steamid), lines=[{"phrase": "Equipoise_WhyNone", "args": []}])
    game.rcon("equipoise_poll")
    settle(game)
    assert sees(game, ann) == []
    assert ann.chat[-1].endswith("Nothing has been decided yet.")


@pytest.mark.parametrize("keys", [(), (10,), (1, 10), (1, 8, 10), (1, 8, 2, 8)])
@pytest.mark.parametrize("end", ["again", "wait", "leave", "map"])
def test_however_decisions_are_left_no_handle_stays(
    game: Game, daemon: Daemon, ann: Player, plugin: Plugin, keys: tuple[int, ...], end: str
) -> None:
    before = game.sm.handles.live(plugin)
    why(game, daemon, ann)
    for key in keys:
        press(game, ann, key)
    if end == "again":
        why(game, daemon, ann)
    elif end == "leave":
        game.leave(ann)
    elif end == "map":
        game.start_map("cp_gorge")
    seconds_of_play(game, 130)
    settle(game)
    assert sees(game, ann) == []
    after = game.sm.handles.live(plugin)
    assert {kind: after.get(kind, 0) for kind in ("Menu", "Panel")} == {
        kind: before.get(kind, 0) for kind in ("Menu", "Panel")
    }
