"""Files of `config://`: a folder, written as the game writes: truncated first, then filled."""

from __future__ import annotations

from pathlib import Path


class Files:
    """The folder behind `config://`; it outlives virtual machines."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.read_only = False
        self.writes = 0
        """How often a file was opened for writing."""
        self.written: list[tuple[str, bytes | None]] = []
        """What was done to files, in order: bytes behind those that are there, or None: it was emptied."""
        self._left: int | None = None
        self._dead = False

    def path(self, name: str) -> Path:
        path = (self.folder / name).resolve()
        if not path.is_relative_to(self.folder.resolve()):
            raise ValueError(f"{name}: outside config://")
        return path

    def text(self, name: str) -> str | None:
        """What a file holds; None if there is none."""
        path = self.path(name)
        return path.read_text(errors="surrogateescape") if path.is_file() else None

    def put(self, name: str, text: str) -> None:
        self.path(name).parent.mkdir(parents=True, exist_ok=True)
        self.path(name).write_text(text, errors="surrogateescape")

    def remove(self, name: str) -> None:
        self.path(name).unlink(missing_ok=True)

    def names(self) -> list[str]:
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file())

    def cut_after(self, size: int) -> None:
        """The server dies in the middle of the next write: that many more bytes reach the disk, then nothing does.

        `whole` ends it: the server that is started next writes again.
        """
        self._left = size

    def whole(self) -> None:
        self._left, self._dead = None, False

    # The engine's side; its strings are bytes as Latin-1.

    def read(self, name: str) -> str | None:
        path = self.path(name)
        return path.read_bytes().decode("latin-1") if path.is_file() else None

    def truncate(self, name: str) -> bool:
        if self.read_only:
            return False
        self.writes += 1
        self.written.append((name, None))
        if not self._dead:
            self.path(name).parent.mkdir(parents=True, exist_ok=True)
            self.path(name).write_bytes(b"")
        return True

    def append(self, name: str, text: str) -> None:
        data = text.encode("latin-1")
        self.written.append((name, data))
        if self._dead:
            return
        if self._left is not None:
            self._dead = len(data) > self._left
            data = data[: self._left]
            self._left -= len(data)
        with self.path(name).open("ab") as file:
            file.write(data)
