"""The mod's `config://` folder, whose machine may stop in the middle of a write.

As `io.open(name, "w+")` of the game: what was there is gone before the first byte is written.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


class Crash(Exception):
    """The server's process is gone."""


@dataclass
class Disk:
    files: dict[str, str] = field(default_factory=dict)
    crash_after: float | None = None
    """The part of the next write that reaches the disk before the crash; None: all is well."""
    full: bool = False

    def read(self, name: str) -> str | None:
        return self.files.get(name)

    def write(self, name: str, text: str) -> bool:
        if self.full:
            self.files[name] = text[: len(text) // 2]
            return False
        if self.crash_after is not None:
            self.files[name] = text[: int(len(text) * self.crash_after)]
            raise Crash
        self.files[name] = text
        return True

    def table(self, lua: Any) -> Any:
        return lua.table_from({"read": self.read, "write": self.write})
