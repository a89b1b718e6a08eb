"""Game servers."""

from __future__ import annotations

from typing import Literal

import msgspec

from equipoise.core.model import Outlook, PlayerId
from equipoise.game.port import PeerStatus
from equipoise.service.reloads import ConfigurationStatus
from equipoise.service.scheduler import JobStatus
from equipoise.service.status import ServerStatus
from equipoise.store.notes import Decision
from equipoise.web.messages import Ask, Ok
from equipoise.web.messages.health import StoreSeen


class Servers(Ok, frozen=True):
    """All configured servers, silent ones too, the store, the daemon's jobs, and its configuration."""

    version: str
    servers: tuple[ServerStatus, ...]
    waiting_rounds: int
    """Rounds of all pools that wait for the store."""
    store: StoreSeen
    jobs: tuple[JobStatus, ...]
    configuration: ConfigurationStatus
    """Whether the files of the configuration are in force."""
    game_servers: tuple[PeerStatus, ...]
    """What RCON and A2S last said, of the servers that have an address in the configuration."""
    remarks: tuple[str, ...]
    """Where that does not fit what a server's script says, what the daemon does not take from a script, and why
    `balance` does not make the teams: a sentence each."""


class OneServer(Ok, frozen=True):
    """One server and its last decisions."""

    server: ServerStatus
    decisions: tuple[Decision, ...]


class Command(Ask, frozen=True):
    """Options of an admin's command to a server."""

    dry_run: bool = False
    when: Literal["now", "next"] = "now"
    """For `scramble` alone: at once where the mode allows it, or at the next round start."""


class Line(msgspec.Struct, frozen=True):
    """A line that answers a command, as a phrase and in English."""

    phrase: str
    args: tuple[str, ...]
    """One that is a text itself is in English."""
    english: str


class PlayerMoved(msgspec.Struct, frozen=True):
    """A player who would change place."""

    id: PlayerId
    name: str | None
    side: str
    """Where to, in the game's words; `none`: the bench."""


class Proposed(msgspec.Struct, frozen=True):
    """The split that a dry run of a scramble found."""

    a: tuple[PlayerId, ...]
    b: tuple[PlayerId, ...]
    bench: tuple[PlayerId, ...]
    before: float | None
    """Win probability of side A with the present sides; null while one is empty."""
    after: float | None
    """Win probability of side A after it."""
    before_outlook: Outlook | None
    """`before`, and how sure it is."""
    after_outlook: Outlook | None
    """`after`, and how sure it is."""
    spread_before: tuple[float, float] | None
    """Standard deviations of the skills on A and on B with the present sides, in points; null while one is empty."""
    spread_after: tuple[float, float] | None
    """The same after it."""
    moves: tuple[PlayerMoved, ...]
    sides: tuple[str, str]
    """What the game calls sides A and B."""


class CommandDone(Ok, frozen=True):
    """The result of a command."""

    lines: tuple[Line, ...]
    """What the command answers."""
    proposal: Proposed | None
