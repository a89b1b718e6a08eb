"""Commands that go on until Ctrl-C: they ask again and again, also while no daemon answers."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import click

from equipoise.cli.client import Unreachable

SECONDS = 2.0
"""Between two questions: scripts are heard every five."""
CLEAR = "\x1b[H\x1b[J"
"""Cursor to the top, and everything below it away."""


def redrawn(draw: Callable[[], Callable[[], None]]) -> None:
    """Show again and again what `draw` has asked for, on a terminal in the place of the last; until Ctrl-C."""
    terminal = sys.stdout.isatty()
    try:
        while True:
            show = _answered(draw)
            if terminal:
                click.echo(CLEAR, nl=False, color=True)
            click.echo(f"{time.strftime('%Y-%m-%d %H:%M:%S')}, every {SECONDS:g} s; Ctrl-C ends.")
            show()
            if not terminal:
                click.echo()
            time.sleep(SECONDS)
    except KeyboardInterrupt:
        click.echo()


def _answered(draw: Callable[[], Callable[[], None]]) -> Callable[[], None]:
    try:
        return draw()
    except Unreachable as error:
        reason = error.format_message()
        return lambda: click.echo(f"{reason} It is asked again.")


def appended(ask: Callable[[], None]) -> None:
    """Ask again and again for what is new, and say once when no daemon answers; until Ctrl-C."""
    away = False
    try:
        while True:
            try:
                ask()
                away = False
            except Unreachable as error:
                if not away:
                    error.show()
                away = True
            time.sleep(SECONDS)
    except KeyboardInterrupt:
        click.echo(err=True)
