"""The process: answers requests from standard input, one at a time, until that is closed.

It is closed however the daemon ends. The jobs that can look at a watch on the way end then, too.
"""

from __future__ import annotations

import os
import resource
import select
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from equipoise.errors import RatingError, ScriptError, SplitError, StoreError
from equipoise.workers import LENGTH_BYTES, Answer, Job, Limits, Refusal, framed, length_of

LEAST_PRIORITY = 19


def main(job: Job) -> None:
    """Serve until the daemon has gone."""
    # Before the job's module is imported: numpy and the rest count, too.
    limit(job.limits)
    daemon = select.poll()
    daemon.register(sys.stdin, 0)

    def watch() -> float:
        if daemon.poll(0):
            raise BrokenPipeError
        return time.monotonic()

    module, _, function = job.function.partition(":")
    kind, work = getattr(import_module(module), function)(watch)
    with suppress(BrokenPipeError):
        serve(sys.stdin.buffer, sys.stdout.buffer, kind, work)
    os._exit(0)  # without another try to write what nobody reads


def limit(limits: Limits) -> None:
    """Keep this process within its share."""
    if limits.gives_way:
        with suppress(OSError):  # a sandbox may refuse it
            os.setpriority(os.PRIO_PROCESS, 0, LEAST_PRIORITY)
    if limits.mapped_bytes is not None:
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        most = limits.mapped_bytes if hard == resource.RLIM_INFINITY else min(limits.mapped_bytes, hard)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    if limits.data_bytes is not None:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_DATA, (limits.data_bytes, limits.data_bytes))
        with suppress(OSError):  # of all processes of the service it is one that can be done without
            Path("/proc/self/oom_score_adj").write_text("1000")


def serve(requests: BinaryIO, answers: BinaryIO, kind: Any, work: Callable[[Any], object]) -> None:
    """Answer request after request, until there are no more or half of one: the daemon was killed meanwhile."""
    decoder = msgspec.msgpack.Decoder(kind)
    while len(head := requests.read(LENGTH_BYTES)) == LENGTH_BYTES:
        size = length_of(head)
        if len(request := requests.read(size)) < size:
            return
        try:
            answer = Answer(work(decoder.decode(request)))
        except (ScriptError, SplitError, StoreError, RatingError) as error:
            answer = Answer(refusal=Refusal.by(error))
        answers.write(framed(answer))
        answers.flush()


if __name__ == "__main__":
    main(Job[sys.argv[1].upper()])
