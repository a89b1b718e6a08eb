"""The worker process: answers questions from standard input, one at a time, until that is closed.

It is closed however the daemon ends. A question in work ends then, too: its clock looks whether the daemon is there.
"""

from __future__ import annotations

import os
import resource
import select
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import BinaryIO

import msgspec

from equipoise.solving.question import LENGTH_BYTES, Answer, Request, answer, framed, length_of

MEMORY_BYTES = 400 << 20
"""All that the process may ever map; a solve takes half of it at most."""


def main() -> None:
    """Serve until the daemon has gone."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    most = MEMORY_BYTES if hard == resource.RLIM_INFINITY else min(MEMORY_BYTES, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    daemon = select.poll()
    daemon.register(sys.stdin, 0)

    def clock() -> float:
        if daemon.poll(0):
            raise BrokenPipeError
        return time.monotonic()

    with suppress(BrokenPipeError):
        _serve(sys.stdin.buffer, sys.stdout.buffer, clock)
    os._exit(0)  # without another try to write what nobody reads


def _serve(questions: BinaryIO, answers: BinaryIO, clock: Callable[[], float]) -> None:
    while head := questions.read(LENGTH_BYTES):
        request = msgspec.msgpack.decode(questions.read(length_of(head)), type=Request)
        try:
            result = answer(request, clock)
        except MemoryError:
            result = Answer(refusal="so many players with such groups and costs need more memory than there is")
        answers.write(framed(result))
        answers.flush()


main()
