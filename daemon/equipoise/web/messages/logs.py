"""The decision log and the audit."""

from __future__ import annotations

from equipoise.store.port import Audit, Decision
from equipoise.web.messages import Limited, Ok


class OfServer(Limited, frozen=True):
    """Lines of one server, or of all."""

    server: str | None = None


class Decisions(Ok, frozen=True):
    """The decision log, newest first."""

    decisions: tuple[Decision, ...]


class Audits(Ok, frozen=True):
    """Lines of the audit: who changed what, newest first."""

    audit: tuple[Audit, ...]
