"""Cost of a heartbeat, a round end and a split in our own code: calls, files touched, depth of the stack.

A whole daemon in this process, 24 players, a real SQLite store: from the bytes of the request to everything that is
written behind the reply, on the event loop and on the store's thread. Counted are frames of our own files alone.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

import equipoise
from bench.scripts import BOOT, hello, roster, round_ended
from equipoise import app, config
from equipoise.service.status import Course

OURS = str(Path(equipoise.__file__).parent)
BEHIND_SECONDS = 1.5
"""Seconds to wait until the work that follows a reply is done: notes are written after one."""
BESIDE = {"service/event_loop.py", "service/log_lines.py"}
"""A thread that looks at the event loop all the time, and its log lines: no part of any story."""
TARGET = "round end: 13 frames"
CONFIG = """
[web]
port = 0
[store]
directory = "{folder}/state"
[pool.main]
balance = "synelo"
[server.bench]
secret_file = "secret"
"""
SCRAMBLE = {"kind": "command", "words": ["scramble", "next"], "by": "", "admin": True}


@dataclass
class Story:
    """Functions and files that one request enters."""

    calls: int = 0
    files: set[str] = field(default_factory=set)
    """Paths within the package."""
    deepest: tuple[str, ...] = ()
    """Names of the deepest stack's functions, outermost first."""


class Profile:
    """Counts every call of a function of ours while it is the profile function of all threads."""

    def __init__(self) -> None:
        self.story: Story | None = None
        """None: nothing is counted."""

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        """Count a call; the signature is that of `sys.setprofile`."""
        story = self.story
        if story is None or event != "call" or not frame.f_code.co_filename.startswith(OURS):
            return
        file = str(Path(frame.f_code.co_filename).relative_to(OURS))
        if file in BESIDE:
            return
        story.calls += 1
        story.files.add(file)
        stack = list(_stack(frame))
        if len(stack) > len(story.deepest):
            story.deepest = tuple(each.f_code.co_qualname for each in reversed(stack))


def _stack(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        if frame.f_code.co_filename.startswith(OURS):
            yield frame
        frame = frame.f_back


class Client:
    """A game script over one kept connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str) -> None:
        self._reader, self._writer, self._host = reader, writer, host
        self._seq = 0

    async def post(self, *events: object) -> dict[str, object]:
        """Post the next batch; returns the reply."""
        self._seq += 1
        batch = {"v": 1, "server": "bench", "boot": BOOT, "seq": self._seq, "at": float(self._seq), "events": events}
        body = json.dumps(batch).encode()
        head = (
            f"POST /v1/events HTTP/1.1\r\nHost: {self._host}\r\nAuthorization: Bearer secret\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self._writer.write(head.encode() + body)
        answer = (await self._reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(answer.partition("content-length: ")[2].partition("\r\n")[0])
        reply: dict[str, object] = json.loads(await self._reader.readexactly(length))
        assert reply["ok"], reply
        return reply


def stories() -> dict[str, Story]:
    """Return what a heartbeat, a round end and a split enter, from the request to what is written behind the reply."""
    profile = Profile()
    with _profiled(profile), TemporaryDirectory() as folder:
        return asyncio.run(_measure(profile, Path(folder)))


def main() -> None:
    for name, story in stories().items():
        print(f"{name:10} {story.calls:6} calls {len(story.files):4} files   depth {len(story.deepest):3}")
        if "-v" in sys.argv:
            print("  ", " > ".join(story.deepest))
            print("  ", *sorted(story.files), sep="\n    ")
    print(f"target: {TARGET}")


@contextmanager
def _profiled(profile: Profile) -> Iterator[None]:
    # Before the daemon starts: a thread takes the function that is set when it begins.
    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


async def _measure(profile: Profile, folder: Path) -> dict[str, Story]:
    (folder / "secret").write_text(hashlib.sha256(b"secret").hexdigest())
    path = folder / "config.toml"
    path.write_text(CONFIG.format(folder=folder))
    found: dict[str, Story] = {}
    async with AsyncExitStack() as stack:
        address = await app.start(config.load(path, {}), stack)
        host, _, port = address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        stack.callback(writer.close)
        script = Client(reader, writer, address)

        async def follow(name: str, *events: object) -> None:
            await asyncio.sleep(BEHIND_SECONDS)
            profile.story = found[name] = Story()
            await script.post(*events)
            await asyncio.sleep(BEHIND_SECONDS)
            profile.story = None

        here = {"kind": "roster", "players": roster()}
        await script.post(hello(), here)
        for number in range(3):
            await script.post(round_ended(number))
        await script.post(here)
        # A line of the map's course is no part of the next story.
        await asyncio.sleep(Course.settle_seconds)
        await follow("heartbeat")
        await follow("round end", round_ended(3))
        await script.post(SCRAMBLE)
        await follow("split", {"kind": "round_started", "players": roster()})
    return found


if __name__ == "__main__":
    main()
