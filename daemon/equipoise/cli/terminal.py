"""The one door to the terminal: nothing that a terminal would obey leaves a command.

Names of players, consoles of game servers, errors of plugins, cells of files: all of them are others' text. A command
prints by `click.echo` as it likes, and standard output and standard error let through only what is shown. Colours and
the screens of rich are ours: `past` is the way for them, around the door.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import IO, Any

ALLOWED = "\n\t\N{LEFT-TO-RIGHT MARK}"
"""What is not shown and does no harm: output.py sets the mark itself, behind what is written from right to left."""
_PLAIN = re.compile(r"[\n -~]*")


def harmless(text: str) -> str:
    """Return a text without what a terminal obeys: control characters, and those that turn the order of letters.

    >>> harmless("red\\x1b[31m\\u202e alert\\n")
    'red�[31m� alert\\n'
    """
    if _PLAIN.fullmatch(text):
        return text
    return "".join(letter if letter.isprintable() or letter in ALLOWED else "\ufffd" for letter in text)


def one_line(text: str) -> str:
    """Return the same in one line: a name with a line's end in it must not look like a line of ours."""
    return harmless(text).replace("\n", "\ufffd")


class Door:
    """A text stream that passes on what is harmless. It has no `buffer`: bytes would go around it."""

    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream

    def write(self, text: str | bytes) -> int:
        """Write a text; click writes what completes a word as bytes."""
        return self.stream.write(harmless(text if isinstance(text, str) else text.decode("utf-8", "replace")))

    def writelines(self, lines: Iterable[str]) -> None:
        """Write texts, each as `write` does."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":
            raise AttributeError(name)
        return getattr(self.stream, name)


def past(stream: Any) -> Any:
    """Return the stream behind the door: for our own colours and screens, and for bytes."""
    return stream.stream if isinstance(stream, Door) else stream


@contextmanager
def guarded() -> Iterator[None]:
    """Put the door before standard output and standard error."""
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (stream and Door(stream) for stream in streams)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams
