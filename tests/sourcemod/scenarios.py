"""What the scenario tests share: a listener in SourcePawn, and people on two sides."""

from __future__ import annotations

from collections.abc import Callable

from tests.sourcemod.rig import Game, Player, Plugin, play

Script = Callable[..., Plugin]

_WATCHER = """
public void OnPluginStart()
{
    char names[][] = { %s };
    for (int i = 0; i < sizeof(names); i++)
    {
        HookEvent(names[i], Event_Any);
    }
}
void Say(const char[] what)
{
    PrintToServer("%%s S%%d W%%d U%%d", what, GameRules_GetRoundState(), GameRules_GetProp("m_bInWaitingForPlayers"),
        GameRules_GetProp("m_bInSetup"));
}
void Event_Any(Event event, const char[] name, bool silent) { Say(name); }
public void TF2_OnWaitingForPlayersStart() { Say("waiting starts"); }
public void TF2_OnWaitingForPlayersEnd() { Say("waiting ends"); }
public void OnClientDisconnect(int client) { Say("client leaves"); }
public void OnMapEnd() { Say("map ends"); }
"""
_ROUND = (
    "teamplay_round_start", "teamplay_round_active", "teamplay_restart_round", "teamplay_round_restart_seconds",
    "teamplay_setup_finished", "teamplay_point_captured", "teamplay_win_panel", "arena_win_panel", "pve_win_panel",
    "teamplay_round_win", "teamplay_round_stalemate", "teamplay_round_selected", "arena_round_start", "teamplay_alert",
    "tf_game_over", "teamplay_game_over", "mvm_begin_wave",
)  # fmt: skip


def watch(script: Script, **options: Game) -> None:
    """Load a plugin that prints the round's events and forwards with round state, waiting and setup."""
    script(_WATCHER % ", ".join(f'"{name}"' for name in _ROUND), name="watcher", **options)


def seen(game: Game) -> list[str]:
    """What it printed since the last look."""
    lines = game.sm.console[:]
    game.sm.console.clear()
    return lines


def names(game: Game) -> list[str]:
    """The same, names only."""
    return [line.rsplit(" ", 3)[0] for line in seen(game)]


def people(game: Game, count: int = 4) -> list[Player]:
    """Players on alternating sides, RED first, each with a class."""
    return [game.add(f"player {i}", "blue" if i % 2 else "red") for i in range(count)]


def live(game: Game, map_name: str, count: int = 4) -> list[Player]:
    """A map whose waiting and setup are over, and its players: RED's and BLU's in turns."""
    game.start_map(map_name)
    players = people(game, count)
    play.go_live(game)
    return players


def when(game: Game, name: str) -> float:
    """The time of the last event of that name."""
    return next(now for now, event, _ in reversed(game.history) if event == name)


def fields(game: Game, name: str) -> dict[str, object]:
    """The fields of the last event of that name."""
    return dict(next(values for _, event, values in reversed(game.history) if event == name))


def since(game: Game, mark: int, *wanted: str) -> list[str]:
    """Names of events after history's first `mark`, only those wanted if any are."""
    return [name for _, name, _ in game.history[mark:] if not wanted or name in wanted]


def running(game: Game, *sides: str, map_name: str = "koth_harvest_final", cls: str = "soldier") -> list[Player]:
    """Players on those sides, however uneven, in a running round, without arena's queue; the past is forgotten."""
    game.sm.convars["mp_teams_unbalance_limit"].set("0")
    game.start_map(map_name)
    game.sm.convars["tf_arena_use_queue"].set("0")
    players = [game.add(f"player {number}", side, cls) for number, side in enumerate(sides, 1)]
    play.go_live(game)
    game.sm.convars["mp_teams_unbalance_limit"].set("1")
    game.history.clear()
    game.sm.console.clear()
    return players
