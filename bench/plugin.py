"""Cost of the TF2 plugin in a server's frames: 32 players, real bytecode, a real daemon, an evening of five rounds.

Counted are the bytecode instructions that the plugin executes in each frame of the game, whatever called it: events,
commands, timers, answers. Natives count one each. The milliseconds are those of the tests' virtual machine, which is
written in Python and some hundred times slower than SourceMod's: they compare frames with each other and nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from tests.daemons import RealDaemon
from tests.sourcemod.rig import Game, compile_plugin, play
from tests.sourcemod.rig.game.facts import SIDES
from tests.sourcemod.rig.machine import Machine
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
    """Count what every machine executes."""
    frames = Frames()
    execute, call_native = Machine._execute, Machine._nativecall

    def counting(machine: Machine, code_offs: int) -> int:
        machine.halted = False
        machine.CIP = code_offs
        count, start = 0, perf_counter()
        frames.depth += 1
        try:
            while not machine.halted:
                machine.instr_addr = at = machine.CIP
                if at not in machine._decoded:
                    machine._decoded[at] = machine._decode(at)
                perform, machine.CIP = machine._decoded[at]
                perform()
                count += 1
        finally:
            frames.depth -= 1
            frames.instructions[frames.number] += count
            if not frames.depth:
                frames.seconds[frames.number] += perf_counter() - start
        return machine.PRI

    def native(machine: Machine, index: int, paramoffs: int) -> int:
        frames.natives[frames.number] += 1
        return call_native(machine, index, paramoffs)

    Machine._execute, Machine._nativecall = counting, native  # type: ignore[method-assign]
    try:
        yield frames
    finally:
        Machine._execute, Machine._nativecall = execute, call_native  # type: ignore[method-assign]


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
