"""What was typed and what the machines said, with times: a file to read later, and a short account on the screen."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

from tests.walk.blocks import Block


class Transcript:
    """Appends to a file; `typed` counts the commands of each step."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.typed: dict[str, int] = {}
        self._began = time.monotonic()
        self._file = path.open("w")

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.monotonic() - self._began

    def line(self, text: str) -> None:
        """One line, with its time."""
        self._file.write(f"{self.seconds:6.1f}  {text}\n")
        self._file.flush()

    def say(self, text: str) -> None:
        """A line that is on the screen too."""
        self.line(f"# {text}")
        print(f"{self.seconds:6.1f} s  {text}", flush=True)

    def block(self, block: Block) -> None:
        """What is typed next."""
        commands = block.commands()
        assert block.step is not None
        self.typed[block.step] = self.typed.get(block.step, 0) + len(commands)
        self.say(f"{block.step} ({block.place})")
        for command in commands:
            self.line(f"$ {command}" + ("   (typed elsewhere)" if block.elsewhere else ""))

    def table(self, rows: Iterable[tuple[str, object]]) -> None:
        """The figures at the end."""
        for name, value in rows:
            self.line(f"| {name} | {value} |")
            print(f"  {name:<52} {value}", flush=True)
