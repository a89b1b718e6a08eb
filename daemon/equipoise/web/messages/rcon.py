"""A game server's console."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from equipoise.service.console import LONGEST_COMMAND
from equipoise.web.messages import Ask, Ok


class ConsoleCommand(Ask, frozen=True):
    """One command for a game server's console."""

    command: Annotated[str, Meta(min_length=1, max_length=LONGEST_COMMAND)]
    """Without `;`, quotes and control characters; where it takes a player, these are named by `#userid` or SteamID."""


class ConsoleOutput(Ok, frozen=True):
    """What the game server answered."""

    output: str
    """Characters that do something to a terminal are shown as their numbers."""
