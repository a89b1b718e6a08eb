"""The command line: `equipoise …`. Each command's module is imported when it is called, not before.

Exit codes: 0 done; 1 the daemon refused or failed, or a fit did not converge; 2 the command line, the configuration or
a file is wrong, or the daemon cannot start; 3 no daemon answers; 130 interrupted.
"""

from __future__ import annotations

import errno
import io
import os
import shutil
import sys
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

from equipoise.cli.options import INTERRUPTED, WRONG, Stopped, stop

_COMMANDS = {
    "serve": ("serve", "Run the daemon."),
    "init": ("setup", "Write a configuration, install the plugin."),
    "check-config": ("serve", "Read the configuration as the daemon does."),
    "reload": ("server_commands", "Read the changed configuration, without a restart."),
    "status": ("server_commands", "Show what every game server is doing."),
    "server": (
        "server_commands",
        "Game servers: list, add, remove, update, secret, scramble, balance, cancel, on, off.",
    ),
    "doctor": ("doctor", "Look for what is wrong, and say what to do."),
    "rcon": ("server_commands", "Send a command to a game server's console."),
    "player": ("player_commands", "Players: show, find, set, reset, undo, top, history."),
    "pool": (
        "pool_commands",
        "Rating populations: quality, calibrate, fit-theta, fit-spread, estimate, refit, recompute, export, import.",
    ),
    "match": ("round_commands", "Matches that may be played: evenness."),
    "round": ("round_commands", "Rounds: list, show, void."),
    "backup": ("backups", "Copy the store while the daemon runs, or without it."),
    "restore": ("backups", "Put a backup in the store's place; the daemon is stopped."),
    "why": ("decisions", "Show the last decisions and their reasons."),
    "audit": ("decisions", "Show what admins changed."),
    "completion": ("serve", "Print what completes commands in a shell."),
    "solve": ("solve", "Split players from a file into even teams."),
    "backtest": ("lab", "Measure how well a rating system would have predicted a history."),
    "compare": ("lab", "Compare rating systems on one history."),
    "tune": ("lab", "Fit a rating system's parameters to the beginning of a history."),
    "replay": ("lab", "Rate a whole history and show the leaderboard."),
    "simulate": ("simulate", "Simulate a pool under the real rules, solver and rating systems."),
    "demo": ("demo", "Watch a simulated game server play against a real daemon."),
}
"""Module and summary of each, so that `--help` imports nothing."""


NARROW = 52
"""On a terminal with fewer columns click would write help with 50."""
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Why a file cannot be written any further."""


class _Lazy(click.Group):
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
        if cmd_name not in _COMMANDS:
            return None
        module = import_module(f"equipoise.cli.{_COMMANDS[cmd_name][0]}")
        command = getattr(module, cmd_name.replace("-", "_"))
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The help of all commands, from the table alone."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in _COMMANDS.items()])


EPILOG = (
    "Exit codes: 0 done; 1 the daemon refused or failed, or a fit did not converge; 2 the command line, the "
    "configuration or a file is wrong, or the daemon cannot start; 3 no daemon answers; 130 interrupted."
)


@click.group(cls=_Lazy, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="equipoise", prog_name="equipoise")
def main() -> None:
    """Fair teams for community game servers."""
