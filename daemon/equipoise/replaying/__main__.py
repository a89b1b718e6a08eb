"""The process: one question on standard input, one answer on standard output.

The daemon keeps standard input open while it waits: when that is closed, nobody needs the answer.
"""

from __future__ import annotations

import os
import select
import sys
from contextlib import suppress

import msgspec

from equipoise.replaying.revision import answer
from equipoise.store.sqlite.process import give_way
from equipoise.store.sqlite.replaying import Question


def main() -> None:
    """Answer the one question on standard input; half a line is none, because the daemon was killed meanwhile."""
    give_way()
    line = sys.stdin.buffer.readline()
    if not line.endswith(b"\n"):  # the daemon was killed meanwhile
        return
    question = msgspec.json.decode(line, type=Question)
    daemon = select.poll()
    daemon.register(sys.stdin, 0)

    def advance() -> None:
        if daemon.poll(0):
            raise BrokenPipeError

    with suppress(BrokenPipeError):
        sys.stdout.buffer.write(msgspec.json.encode(answer(question, advance)))
        sys.stdout.buffer.flush()
    os._exit(0)  # without another try to write what nobody reads


if __name__ == "__main__":
    main()
