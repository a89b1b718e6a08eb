"""Cost of the TF2 plugin in a server's frames: 32 players, real bytecode, a real daemon, an evening of five rounds.

Counted are the bytecode instructions that the plugin executes in each frame of the game, whatever called it: events,
commands, timers, answers. Natives count one each. The milliseconds are those of the tests' virtual machine, which is
written in Python and some hundred times slower than SourceMod's: they compare frames with each other and nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from tests.daemons import RealDaemon
from tests.sourcemod.rig import Game, compile_plugin, play
from tests.sourcemod.rig.game.facts import SIDES
from tests.sourcemod.rig.machine import Image, Machine
from tests.sourcemod.rig.plugin import read_image
from tests.sourcemod.rig.translate import Functions, Translation
from tests.sourcemod.sessions import Evening

PLAYERS = 32
ROUNDS = 5
FIGHT_SECONDS = 20.0
SLOW_SECONDS = 4.0
"""How late a slow daemon answers, in game time."""
SCRIPTING = Path(__file__).parents[1] / "sourcemod" / "scripting"


@dataclass
class Frames:
    """Cost of each frame that ran the plugin."""

    instructions: Counter[int] = field(default_factory=Counter)
    """Instructions by frame number."""
    seconds: Counter[int] = field(default_factory=Counter)
    natives: Counter[int] = field(default_factory=Counter)
    number: int = 0
    """Number of the present frame, which is the number of frames so far."""
    depth: int = 0
    """Calls into the plugin that are under way: a native may call it back."""

    def row(self, name: str) -> str:
        """Mean and worst frame as a row of the printed table."""
        worst = max(self.instructions, key=self.instructions.__getitem__)
        mean = sum(self.instructions.values()) / self.number
        return (
            f"{name:12} {self.number:6} frames   mean {mean:6.1f} instructions   worst {self.instructions[worst]:7}"
            f"  ({self.natives[worst]} natives, {1000 * max(self.seconds.values()):.1f} ms in the tests' machine)"
        )


def main() -> None:
    with TemporaryDirectory() as folder:
        smx = compile_plugin(SCRIPTING / "equipoise.sp", Path(folder) / "equipoise.smx", SCRIPTING / "include")
        for name, slow in (("fast daemon", False), ("slow daemon", True)):
            with _counted() as frames:
                _evening(Path(folder) / name.replace(" ", "-"), smx, frames, slow=slow)
            print(frames.row(name), flush=True)


@contextmanager
def _counted() -> Iterator[Frames]:
    """Count what every plugin that is translated meanwhile executes."""
    frames = Frames()
    read_image.cache_clear()  # what was translated before counts for others
    instruction, init, run = Translation._instruction, Functions.__init__, Machine.run

    def counting(translation: Translation) -> int | None:
        translation._line("frames.instructions[frames.number] += 1")
        if translation.functions.native(translation.at) is not None:
            translation._line("frames.natives[frames.number] += 1")
        return instruction(translation)

    def seeing(functions: Functions, image: Image) -> None:
        init(functions, image)
        functions.names["frames"] = frames

    def timed(machine: Machine, code: int, arguments: Sequence[int]) -> int:
        start = perf_counter()
        frames.depth += 1
        try:
            return run(machine, code, arguments)
        finally:
            frames.depth -= 1
            if not frames.depth:
                frames.seconds[frames.number] += perf_counter() - start

    Translation._instruction, Functions.__init__, Machine.run = counting, seeing, timed  # type: ignore[method-assign]
    try:
        yield frames
    finally:
        Translation._instruction, Functions.__init__, Machine.run = instruction, init, run  # type: ignore[method-assign]


class _CountedGame(Game):
    """A game whose frames have numbers."""

    frames: Frames

    def frame(self) -> None:
        self.frames.number += 1
        super().frame()


def _evening(folder: Path, smx: Path, frames: Frames, *, slow: bool) -> None:
    folder.mkdir()
    daemon = RealDaemon(folder / "daemon", forked=True)
    daemon.start()
    game = _CountedGame(folder / "server", slots=PLAYERS + 1)
    game.frames = frames
    try:
        evening = Evening(game, daemon, smx)
        game.start_map("koth_harvest_final")
        game.settle()
        for number in range(PLAYERS):
            evening.seat(f"player {number}")
        for number in range(ROUNDS):
            evening.freeze()
            evening.live()
            _play(evening, slow=slow)
            evening.win(SIDES[number % 2])
    finally:
        game.close()
        daemon.kill()


def _play(evening: Evening, *, slow: bool) -> None:
    """All players fight once a second; a slow daemon's answers come late and all at once."""
    game = evening.game
    end = game.now + FIGHT_SECONDS
    while game.now < end:
        game.sm.http.held = slow and (end - game.now) % (2 * SLOW_SECONDS) > SLOW_SECONDS
        play.fight(game)
        game.advance(1.0)
    game.sm.http.held = False
    game.settle()


if __name__ == "__main__":
    main()
