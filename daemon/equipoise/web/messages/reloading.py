"""The configuration, read again."""

from __future__ import annotations

from equipoise.web.messages import Ask, Ok


class ReloadAsked(Ask, frozen=True):
    """Options of a reload."""

    dry_run: bool = False
    """Only say what would change."""


class ReloadDone(Ok, frozen=True):
    """What has changed, a line for each change."""

    changes: tuple[str, ...]
    """In force from now on."""
    restart: tuple[str, ...]
    """In force after the next start of the daemon."""
