"""What `equipoise doctor` asks the daemon."""

from __future__ import annotations

from equipoise.service.diagnosis import Finding
from equipoise.web.messages import Ok


class Findings(Ok, frozen=True):
    """What is wrong, or worth knowing; empty: nothing."""

    version: str
    """The daemon's."""
    uid: int
    """The user that the daemon runs as."""
    pid: int
    findings: tuple[Finding, ...]
