"""Power loss: what a daemon wrote, replayed up to a moment, with any part lost that no sync had made safe by then.

Run as a program it is the recorder, `python -m tests.chaos.power --folder DIR --log FILE -- …`: the tracer, stopped at
the same calls and at those that make files, writes down every change of a folder with its bytes, and every answer.
`image` makes the folder of a moment from that record as a disk might have it after the power is back. A file has what
was written before its last sync began; of every later write each sector of 512 bytes may be there or not, of later
truncations each. Files that were made, renamed and removed since the last sync of the folder are so in order, up to
any of these changes: file systems with a journal keep it. That is harsher than ext4, which syncs a new file's name too.
"""

from __future__ import annotations

import argparse
import os
import pickle
import platform
import re
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import BinaryIO, NamedTuple, TextIO

from tests.chaos.book import Key
from tests.chaos.tracer import CALLS, CONT, Points, begin, calls, follow, ptrace

ROOT = Path(__file__).parents[2]
PATHS = os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), str(ROOT))))
"""A mutant's package comes first."""
RECORDER = ("env", f"PYTHONPATH={PATHS}", sys.executable, "-S", "-m", "tests.chaos.power")
OPENAT = {"x86_64": 257, "aarch64": 56}
SECTOR = 512


class Change(NamedTuple):
    """A call that changed the folder, or an answer."""

    call: str
    name: str
    """Of the file; empty for the folder itself, and for an answer."""
    data: bytes = b""
    """What was written, or answered."""
    at: int = 0
    """Where it was written; -1: at the end. The length of a truncation."""
    to: str = ""
    """The new name."""
    when: float = 0.0
    """Seconds since the epoch."""


class Recorder(Points):
    """Writes down what the points of a process are about."""

    def __init__(self, folder: Path, log: TextIO, record: BinaryIO) -> None:
        super().__init__(folder, log)
        self._record = record

    def at(self, thread: int) -> None:
        call, args = self._call(thread)
        change = self._change(thread, call, args)
        if change is not None:
            pickle.dump(tuple(change._replace(when=time.time())), self._record)
            self._record.flush()

    def _change(self, thread: int, call: str, args: tuple[int, ...]) -> Change | None:
        if call == "openat" or "rename" in call or "unlink" in call:
            return self._of_names(thread, call, args)
        path = os.readlink(f"/proc/{thread}/fd/{args[0]}")
        if path.startswith("socket:"):
            data = self._memory(thread, args[1], args[2]) if call in ("sendto", "write") else b""
            return Change("answer", "", data) if data.startswith(b"HTTP/") else None
        if (name := self._inside(thread, path)) is None:
            return None
        match call:
            case "pwrite64":
                return Change("write", name, self._memory(thread, args[1], args[2]), args[3])
            case "write":
                return Change("write", name, self._memory(thread, args[1], args[2]), self._place(thread, args[0]))
            case "ftruncate":
                return Change("truncate", name, at=args[1])
            case "fallocate":
                return Change("allocate", name, at=args[2] + args[3])
            case "fsync" | "fdatasync":
                return Change("sync", name)
        raise NotImplementedError(f"{call} of {name} cannot be recorded")

    def _of_names(self, thread: int, call: str, args: tuple[int, ...]) -> Change | None:
        """A file that is made, renamed or removed."""
        places = {"openat": (1,), "rename": (0, 1), "unlink": (0,), "unlinkat": (1,)}.get(call, (1, 3))
        names = [self._inside(thread, self._text(thread, args[place])) for place in places]
        if not all(names) or (call == "openat" and not args[2] & os.O_CREAT):
            return None
        kind = call.removesuffix("2").removesuffix("at")
        if kind == "open":
            kind = "truncate" if args[2] & os.O_TRUNC else "create"
        return Change(kind, names[0] or "", to=names[-1] or "" if kind == "rename" else "")

    def _inside(self, thread: int, path: str) -> str | None:
        """The path within the folder, empty for the folder itself; None: it is elsewhere."""
        path = os.path.join(os.readlink(f"/proc/{thread}/cwd"), path)
        if path == self._folder:
            return ""
        return path.removeprefix(f"{self._folder}/") if path.startswith(f"{self._folder}/") else None

    def _text(self, thread: int, address: int) -> str:
        return self._memory(thread, address, 4096).partition(b"\0")[0].decode(errors="replace")

    @staticmethod
    def _place(thread: int, file: int) -> int:
        told = Path(f"/proc/{thread}/fdinfo/{file}").read_text()
        values = {name: value for name, _, value in (line.partition(":") for line in told.splitlines())}
        return -1 if int(values["flags"], 8) & os.O_APPEND else int(values["pos"])


@dataclass
class File:
    """What is safe of a file, and what was done to it since."""

    safe: bytearray = field(default_factory=bytearray)
    since: list[Change] = field(default_factory=list)

    def sync(self) -> None:
        for change in self.since:
            done(self.safe, change)
        self.since = []


class Disk:
    """The files of a folder, as they are replayed."""

    def __init__(self) -> None:
        self.now: dict[str, File] = {}
        self._safe: dict[str, File] = {}
        self._since: list[Change] = []
        """What was made, renamed and removed since the folder was synced."""
        self._made: list[File] = []
        """Of these the files that were made, in order."""

    def take(self, change: Change) -> None:
        match change.call:
            case "answer":
                return
            case "create" | "truncate" if change.name not in self.now:
                self.now[change.name] = File()
                self._made.append(self.now[change.name])
                self._since.append(Change("create", change.name))
            case "create":
                return
            case "rename":
                self.now[change.to] = self.now.pop(change.name)
                self._since.append(change)
            case "unlink":
                if self.now.pop(change.name, None) is not None:
                    self._since.append(change)
            case "sync" if not change.name:
                self._safe, self._since, self._made = dict(self.now), [], []
            case "sync":
                self.now[change.name].sync()
            case _:
                self.now[change.name].since.append(change)

    def lost(self, rng: Random) -> Iterator[tuple[str, bytes]]:
        """Yield the files that are there after the power was lost now."""
        names, made = dict(self._safe), iter(self._made)
        for change in self._since[: rng.randint(0, len(self._since))]:
            match change.call:
                case "create":
                    names[change.name] = next(made)
                case "rename":
                    names[change.to] = names.pop(change.name)
                case "unlink":
                    del names[change.name]
        # How much of what is not safe is there: now and then nothing or all, else a part of it.
        share = rng.choice((0.0, 1.0, rng.random(), rng.random()))
        for name, file in names.items():
            content = bytearray(file.safe)
            for change in file.since:
                if rng.random() < share:
                    done(content, change, rng if rng.random() < 0.5 else None)
            yield name, bytes(content)


def done(content: bytearray, change: Change, torn: Random | None = None) -> None:
    """Do to a file's content what a call did; `torn`: with a write of which some sectors are missing."""
    if change.call == "allocate":
        content.extend(bytes(max(0, change.at - len(content))))
    elif change.call == "truncate":
        content.extend(bytes(max(0, change.at - len(content))))
        del content[change.at :]
    else:
        at = len(content) if change.at < 0 else change.at
        content.extend(bytes(max(0, at + len(change.data) - len(content))))
        end = at + len(change.data)
        while at < end:
            until = min(end, (at // SECTOR + 1) * SECTOR)
            if torn is None or torn.random() < 0.5:
                content[at:until] = change.data[len(change.data) - (end - at) : len(change.data) - (end - until)]
            at = until


class Loss(NamedTuple):
    """A moment at which the power is lost."""

    at: int
    """How many of the changes were before it."""
    owed: frozenset[Key]
    """Rounds that were answered until then."""
    edits: int
    """Edits that were answered until then."""


SAID = re.compile(rb'"(\d+-\d+)":"(?:stored|kept)"')
EDITED = b'"skill_by":'
"""In the answer to an edit, and in no other of these."""


def losses(changes: Sequence[Change], server: str, rng: Random, most: int, since: int = 0) -> list[Loss]:
    """Moments, in order: of four one right after rounds that are kept and are nowhere else, one right after an answer
    or before a sync, where most can go wrong, and two at random.
    """
    answers = [at for at, change in enumerate(changes, 1) if change.call == "answer" and at >= since]
    kept = [at for at in answers if b':"kept"' in changes[at - 1].data]
    likely = answers + [at for at, change in enumerate(changes) if change.call == "sync" and at >= since]
    chosen = [at for each in (kept, likely) for at in rng.sample(each, min(len(each), most // 4))]
    moments = sorted(chosen + rng.choices(range(since, len(changes)), k=most - len(chosen)))
    owed: set[Key] = set()
    edits, seen, found = 0, 0, []
    for at in moments:
        for change in changes[seen:at]:
            if change.call == "answer":
                owed |= {(server, name.decode()) for name in SAID.findall(change.data)}
                edits += EDITED in change.data
        seen = max(seen, at)
        found.append(Loss(at, frozenset(owed), edits))
    return found


def images(
    changes: Sequence[Change], moments: Sequence[Loss], folder: Path, rng: Random
) -> Iterator[tuple[Path, Loss]]:
    """Yield a folder with the files of each moment, for its user to change and to remove."""
    disk, seen = Disk(), 0
    for number, loss in enumerate(moments):
        for change in changes[seen : loss.at]:
            disk.take(change)
        seen = loss.at
        image = folder / f"image-{number}"
        image.mkdir(parents=True)
        for name, content in disk.lost(rng):
            (image / name).parent.mkdir(exist_ok=True)
            (image / name).write_bytes(content)
            (image / name).chmod(0o600)
        yield image, loss


def read(record: Path) -> list[Change]:
    """Return what was written down."""
    changes = []
    with record.open("rb") as file, suppress(EOFError):
        while True:
            changes.append(Change(*pickle.load(file)))
    return changes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="changes of files in it are written down")
    parser.add_argument("--log", type=Path, required=True, help="the process id is written here, the record beside it")
    parser.add_argument("command", nargs="+")
    asked = parser.parse_args()
    CALLS[platform.machine()]["openat"] = OPENAT[platform.machine()]
    if not calls():
        print(f"no table of system calls for {platform.machine()}", file=sys.stderr)
        return 2
    with asked.log.open("w") as log, asked.log.with_name(f"{asked.log.name}.record").open("wb") as record:
        pid = begin(asked.command)
        log.write(f"pid {pid}\n")
        log.flush()
        ptrace(CONT, pid)
        return follow(pid, Recorder(asked.folder, log, record), None)


if __name__ == "__main__":
    sys.exit(main() % 256)
