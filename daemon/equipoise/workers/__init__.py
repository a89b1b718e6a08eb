"""Work in processes beside the daemon: what would take its memory, or keep its event loop from serving.

`process` is the daemon's end, `__main__` the process. A job is a function from a request to its answer, which stands
where its work belongs. Requests and answers are frames: a length, then MessagePack. What both ends know stands here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

import msgspec

from equipoise.errors import EquipoiseError, RatingError, ScriptError, SplitError, StoreError

A = TypeVar("A")

LENGTH_BYTES = 4
LONGEST = 1 << 24
"""Bytes of an answer."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The share of the machine that a process may take from the game."""

    gives_way: bool = True
    """It has the lowest priority: nobody waits for its answer."""
    data_bytes: int | None = None
    """Memory that it may write to. A process with such a limit is also the first to go where memory is short."""
    mapped_bytes: int | None = None
    """Memory that it may map, whether it uses it or not."""


class Job(Enum):
    """The kinds of work: the function that a process calls, the end of "no process can be started that …", limits.

    The function is named, not imported: it may stand above this package. It takes a watch, which returns the time while
    the daemon is there and raises BrokenPipeError afterwards, and returns the type of its requests and a function that
    answers one.
    """

    SPLITS = "equipoise.workers.solving:work", "solves splits", Limits(gives_way=False, mapped_bytes=400 << 20)
    """A solve takes half of this at most."""
    REVISION = "equipoise.service.replayed:work", "replays rounds", Limits()
    REFIT = "equipoise.service.fits:refitting", "fits all rounds", Limits(data_bytes=700 << 20)
    """With the daemon it is less than the unit allows both."""
    LEARNING = "equipoise.service.fits:learning", "learns from its rounds", Limits(data_bytes=700 << 20)
    BACKUP = "equipoise.store.backups:work", "makes a backup", Limits()

    def __init__(self, function: str, purpose: str, limits: Limits) -> None:
        self.function, self.purpose, self.limits = function, purpose, limits


Watch = Callable[[], float]
"""The time, as `time.monotonic` has it; BrokenPipeError once the daemon has gone: nobody needs the answer."""


class ProcessLost(StoreError):
    """A process could not be started, or it died before it answered."""


class Refusal(msgspec.Struct, frozen=True):
    """The reason why a request has no answer: one of our errors, as it is raised again at the other end."""

    message: str
    kind: str = "store"
    code: str = ""
    status: int = 0

    @classmethod
    def by(cls, error: EquipoiseError) -> Refusal:
        """Return the refusal that an error is; the rating system's trouble is the store's."""
        match error:
            case ScriptError():
                return cls(error.message, "script", error.code, error.status)
            case SplitError():
                return cls(str(error), "split")
            case StoreError() | RatingError():
                return cls(str(error))
        raise error

    def error(self) -> EquipoiseError:
        """Return the error to raise."""
        match self.kind:
            case "script":
                return ScriptError(self.code, self.message, status=self.status)
            case "split":
                return SplitError(self.message)
        return StoreError(self.message)


class Answer(msgspec.Struct, Generic[A], frozen=True):
    """The result of a request, or the reason why there is none."""

    result: A | None = None
    refusal: Refusal | None = None


def framed(message: object) -> bytes:
    """Return a message as bytes that say how long they are."""
    data = msgspec.msgpack.encode(message)
    return len(data).to_bytes(LENGTH_BYTES, "big") + data


def length_of(head: bytes) -> int:
    """Return how many bytes follow a frame's head."""
    return int.from_bytes(head, "big")
