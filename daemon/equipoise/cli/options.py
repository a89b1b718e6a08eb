"""Options and exit codes that commands share, and the one door to the terminal.

Nothing that a terminal would obey leaves a command. Names of players, consoles of game servers, errors of plugins,
cells of files: all of them are others' text. A command prints by `click.echo` as it likes, and standard output and
standard error let through only what is shown. Colours and the screens of rich are ours: `past` is the way for them,
around the door.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NoReturn

import click

from equipoise.lab.svg import printable

FAILED, WRONG, INTERRUPTED = 1, 2, 130
"""Exit codes; the last one is the shells' for Ctrl-C."""
LONGEST_LINE = 2000
"""Characters of an error's line: a path or a name in it may be of any length."""
MACHINE = Path("/etc/equipoise")
PRIVATE = 0o077
"""The umask of commands that open the store."""


def default_config() -> Path:
    """The user's configuration if there is one, else the machine's."""
    own = _own_directory() / "config.toml"
    return own if own.is_file() else MACHINE / "config.toml"


def new_directory() -> Path:
    """The directory of a new configuration: the machine's for root, else the user's."""
    return MACHINE if os.geteuid() == 0 else _own_directory()


def _own_directory() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "equipoise"


config_option = click.option(
    "--config",
    "-c",
    "path",
    type=click.Path(path_type=Path, dir_okay=False, readable=False),  # reading it says more
    envvar="EQUIPOISE_CONFIG",
    default=default_config,
    help="The configuration file. [env: EQUIPOISE_CONFIG; default: ~/.config/equipoise/config.toml, "
    "else /etc/equipoise/config.toml]",
)


yes_option = click.option("--yes", "-y", is_flag=True, help="Do not ask.")
dry_run_option = click.option("--dry-run", is_flag=True, help="Only show what would change.")


WIDE = "equipoise.wide"


def _remember(context: click.Context, _: click.Parameter, wide: bool) -> None:
    context.meta[WIDE] = wide


wide_option = click.option(
    "--wide",
    is_flag=True,
    expose_value=False,
    callback=_remember,
    help="Show all columns, however wide the terminal is.",
)


def wanted_wide() -> bool:
    """Whether the command that runs was called with `--wide`."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(WIDE))


def agreed(question: str) -> bool:
    """Ask, on a terminal or for a line of standard input; without an answer the command ends."""
    try:
        return click.confirm(question, err=True)
    except click.Abort:
        if sys.stdin.isatty():
            stop("interrupted; nothing was changed", INTERRUPTED)
        stop("nobody answered: say --yes. Nothing was changed", FAILED)


def confirm(question: str, *, yes: bool = False) -> None:
    """Ask, unless `--yes` was said; without a yes the command ends, and nothing is changed."""
    if not yes and not agreed(question):
        stop("nothing was changed", FAILED)


class Stopped(click.ClickException):
    """Ends the command with one line on standard error and an exit code."""

    def __init__(self, reason: Exception | str, code: int) -> None:
        super().__init__(str(reason))
        self.exit_code = code  # type: ignore[misc]  # click declares it for the class

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the line, without what a terminal would obey in it; further lines do not begin like ours."""
        shown = "\n  ".join(printable(line, LONGEST_LINE) for line in self.message.splitlines())
        click.echo(f"equipoise: {shown}", file=file, err=True)


def examples(*lines: str) -> str:
    """The end of a command's `--help`: how it is called. The mark in front keeps click from filling the lines."""
    return "\n  ".join(("\b\nExamples:" if len(lines) > 1 else "\b\nExample:", *lines))


def say_opened(store: Path) -> None:
    """Name the store that a command beside the daemon opened: root's could be another one than the unit's."""
    click.echo(f"equipoise: the store is {store.resolve()}", err=True)


def stop(reason: Exception | str, code: int = WRONG) -> NoReturn:
    """End the command with one line on standard error and an exit code."""
    raise Stopped(str(reason), code)


# The door to the terminal.

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
