"""Cost of the NS2 mod in a server's frames: 12 against 12, real LuaJIT, a real daemon, idle and busy.

The fake server's own frame is measured too, without the mod: what the mod adds is the difference. Counted is the
processor's time of the frame's thread, so a busy machine does not count; a frame of a real server at 30 ticks has
33 ms. In a busy second six players die, two come back as another class, two write, one asks for a rating.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import thread_time

from tests.ns2mod.rig import Client, Game
from tests.ns2mod.sessions import MARINES, Evening

PLAYERS = 24
FRAMES_PER_SECOND = 30
SECONDS = 60
SLOW_SECONDS = 4.0
"""How late a slow daemon answers, in game time."""

Act = Callable[[Game, list[Client], int], None]
"""Events in a second of the game."""


def main() -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        print(f"{'12v12, ms of a frame':44} {'mean':>7} {'p99':>7} {'worst':>7}")
        _evening("without the mod", Game(config=_made(folder / "bare")).boot())
        evening = Evening(folder / "evening")
        try:
            _evening("with the mod", evening.game)
            evening.game.http.delay = SLOW_SECONDS
            _evening("with the mod and a slow daemon", evening.game)
            evening.game.run(30)
            rated = evening.player(evening.game.clients[0])["rounds"]
        finally:
            evening.daemon.kill()
        print(f"{rated} of 2 rounds rated; errors of the mod: {evening.game.errors or 'none'}")


def _evening(name: str, game: Game) -> None:
    """An idle minute, a start, a busy minute of a round, its end."""
    people = _seated(game)
    _row(f"{name}: idle", _frames(game, people, _nothing))
    people[0].commands()
    people[1].commands()
    start = _frames(game, people, _nothing, seconds=12)
    assert game.state == "Started"
    _row(f"{name}: a start", start)
    _row(f"{name}: busy", _frames(game, people, _fight))

    def end(game: Game, _: list[Client], second: int) -> None:
        if second == 0:
            game.end_game(MARINES)

    _row(f"{name}: a round's end", _frames(game, people, end, seconds=12))


def _seated(game: Game) -> list[Client]:
    """The same 24 people, on the sides in turn."""
    people = list(game.clients) or [game.connect(1000 + number, f"player {number}") for number in range(PLAYERS)]
    for number, client in enumerate(people):
        client.moves()
        game.join(client, 1 + number % 2, force=True)
    game.run(5)
    return people


def _frames(game: Game, people: list[Client], act: Act, seconds: int = SECONDS) -> list[float]:
    """Milliseconds of the processor for each frame; what people do between frames is the game's, and is added to it."""
    found = []
    gc.collect()
    gc.disable()
    try:
        for second in range(seconds):
            begun = thread_time()
            act(game, people, second)
            acted = thread_time() - begun
            for _ in range(FRAMES_PER_SECOND):
                game.worst_frame = 0.0
                game.frame()
                found.append(1000 * (game.worst_frame + acted))
                acted = 0.0
    finally:
        gc.enable()
    return found


def _nothing(_game: Game, _people: list[Client], _second: int) -> None:
    """An idle second: the players stand still, so what a frame costs is the mod's own."""


def _fight(game: Game, people: list[Client], second: int) -> None:
    alive = [client for client in people if client.alive and not client.commands_now]
    for client in alive[:6]:
        client.dies()
    for client in alive[6:8]:
        client.becomes("Exo" if client.team == MARINES else "Gorge")
    for client in alive[8:10]:
        client.says(f"line {second}")
    if alive[10:]:
        alive[10].console("eq rating")


def _row(name: str, frames: list[float]) -> None:
    ordered = sorted(frames)
    p99 = ordered[int(0.99 * len(ordered))]
    print(f"{name:44} {sum(frames) / len(frames):7.3f} {p99:7.3f} {ordered[-1]:7.2f}", flush=True)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


if __name__ == "__main__":
    main()
