"""The command line: `equipoise …`. Each command's module is imported when it is called, not before."""

from __future__ import annotations

import errno
import io
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

from equipoise.cli.options import INTERRUPTED, WRONG, Stopped, guarded, stop

Table = Mapping[str, tuple[str, str]]
"""Module and summary of each command, so that `--help` imports nothing."""

_BLOCKS: Mapping[str, Table] = {
    "Every day": {
        "status": ("server_commands", "Show what every game server is doing."),
        "page": ("serve", "Open the page in a browser: its address, and a link that logs in."),
        "why": ("decisions", "Show the last decisions and their reasons."),
        "server": (
            "server_commands",
            "Game servers: scramble, balance, cancel, on, off, rcon, add, move, remove, update, secret.",
        ),
        "player": (
            "player_commands",
            "Players: show, find, top, history, set, reset, undo, hide, unhide, export, forget.",
        ),
        "round": ("round_commands", "Rounds: list, show, void."),
        "map": ("round_commands", "Maps: list, show."),
        "pool": (
            "pool_commands",
            "Rating populations: quality, evenness, calibrate, fit-theta, estimate, refit, recompute, export, import, "
            "season start, share, join, leave, upgrade.",
        ),
        "audit": ("decisions", "Show what admins changed."),
        "doctor": ("doctor", "Look for what is wrong, and say what to do."),
    },
    "Setup": {
        "init": ("setup", "Write a configuration, install the plugin."),
        "serve": ("serve", "Run the daemon."),
        "check-config": ("serve", "Read the configuration as the daemon does."),
        "reload": ("server_commands", "Read the changed configuration, without a restart."),
        "upgrade": ("upgrade", "Upgrade program, daemon and plugins, or go back."),
        "uninstall": ("uninstall", "Remove what was installed."),
        "backup": ("serve", "Copy the store while the daemon runs, or without it."),
        "restore": ("serve", "Put a backup in the store's place; the daemon is stopped."),
    },
    "Laboratory": {
        "demo": ("demo", "Watch a simulated game server play against a real daemon."),
        "lab": ("lab", "Histories and simulations: check, backtest, compare, tune, replay, simulate, solve."),
    },
}
_COMMANDS = {name: command for block in _BLOCKS.values() for name, command in block.items()}
_HIDDEN: Table = {"completion": ("completion", "Print what completes commands in a shell.")}
OLD_NAMES = {
    "backtest": "lab backtest",
    "compare": "lab compare",
    "tune": "lab tune",
    "replay": "lab replay",
    "simulate": "lab simulate",
    "solve": "lab solve",
    "rcon": "server rcon",
    "server list": "status",
    "server shuffle": "server scramble",
    "match evenness": "pool evenness",
    "match quality": "pool evenness",
    # The daemon makes that fit every night, and the pool learns what it says: service/refits.py.
    "pool fit-spread": "pool quality",
}
"""Commands of before by their names: they answer for one release."""


NARROW = 52
"""On a terminal with fewer columns click would write help with 50."""
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Why a file cannot be written any further."""


class Group(click.Group):
    """Commands whose summaries are not cut, and which say what a wrong name may have meant."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the first sentence of each command."""
        commands = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [(name, command.get_short_help_str(limit=1000)) for name, command in commands if command is not None]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; where there is none of this name, name those that are close."""
        name = args[0]
        if name[:1] not in ("", "-") and not ctx.resilient_parsing and self.get_command(ctx, name) is None:
            raise click.UsageError(f"No such command {name!r}.{_close(ctx, name)}", ctx)
        return super().resolve_command(ctx, args)


def _close(ctx: click.Context, name: str) -> str:
    """Ask whether a command with a close name was meant: of this group, else of all."""
    from difflib import get_close_matches

    root = ctx.find_root()
    place = " ".join(ctx.command_path.split(" ")[len(root.command_path.split(" ")) :])
    everywhere = {**{path: path for path in _paths(root.command, ctx)}, **OLD_NAMES}
    ours = {path: command for path, command in everywhere.items() if path.rpartition(" ")[0] == place}
    for table in (ours, everywhere):
        words = {path.rpartition(" ")[2] for path in table}
        close = get_close_matches(name, words, cutoff=0.65)
        meant = [command for path, command in table.items() if path.rpartition(" ")[2] in close]
        if meant:
            return f" Did you mean {' or '.join(repr(command) for command in dict.fromkeys(meant))}?"
    return ""


def _paths(command: click.Command, ctx: click.Context, path: str = "") -> Iterator[str]:
    """All commands below one, by what is typed."""
    if not isinstance(command, click.Group):
        return
    for name in command.list_commands(ctx):
        inner = command.get_command(ctx, name)
        assert inner is not None
        yield f"{path}{name}"
        yield from _paths(inner, ctx, f"{path}{name} ")


class _Root(Group):
    """Imports the module of a command only when it is called."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command: `NO_COLOR` takes colours, what the output cannot show is replaced, a full disk is one line."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")
        if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
            kwargs["color"] = False
        if (columns := shutil.get_terminal_size().columns) < NARROW:
            kwargs.setdefault("terminal_width", columns)
        try:
            try:
                with guarded():
                    return super().main(*args, **kwargs)
            finally:
                if sys.stdout:  # None where it was closed
                    sys.stdout.flush()
        except OSError as error:
            if error.filename is not None or error.errno not in FULL:
                raise
            # Python would try once more at its end, and make the exit code 120.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            with suppress(OSError):
                Stopped(f"standard output: {error.strerror}", WRONG).show()
            sys.exit(WRONG)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; Ctrl-C ends it with one line, too."""
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, click.Abort):  # Abort: at a question
            stop("interrupted", INTERRUPTED)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands that begin so, from the table alone."""
        from click.shell_completion import CompletionItem

        items = [
            CompletionItem(name, help=line) for name, (_, line) in _COMMANDS.items() if name.startswith(incomplete)
        ]
        # An option of the group itself is the other thing that may stand here.
        return items if not incomplete.startswith("-") else super().shell_complete(ctx, incomplete)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order of the table."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of the command."""
        entry = _COMMANDS.get(cmd_name) or _HIDDEN.get(cmd_name)
        if entry is None:
            return None
        module = import_module(f"equipoise.cli.{entry[0]}")
        command = getattr(module, cmd_name.replace("-", "_"))
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the summaries of all commands in their blocks, from the table alone."""
        width = max(map(len, _COMMANDS))
        for head, block in _BLOCKS.items():
            with formatter.section(head):
                formatter.write_dl([(f"{name:{width}}", summary) for name, (_, summary) in block.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; an old name stands for the new one, and says so."""
        for count in (1, 2):
            old = " ".join(args[:count])
            if new := OLD_NAMES.get(old):
                if not ctx.resilient_parsing:
                    click.echo(f"`equipoise {old}` is now `equipoise {new}`.", err=True)
                args = [*new.split(), *args[count:]]
                break
        return super().resolve_command(ctx, args)


EPILOG = (
    "Exit codes: 0 done; 1 the daemon refused or failed, or a fit did not converge; 2 the command line, the "
    "configuration or a file is wrong, or the daemon cannot start; 3 no daemon answers; 130 interrupted."
)


@click.group(cls=_Root, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="equipoise", prog_name="equipoise")
def main() -> None:
    """Fair teams for community game servers."""
