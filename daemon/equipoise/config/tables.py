"""The tables of the file except the rules, as strict structs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

Raw = dict[str, Any]
Role = Literal["viewer", "admin"]


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of the file; unknown keys are refused."""


class Web(Section, frozen=True):
    """The `[web]` table: the address that the daemon listens on, and the names it is called by."""

    host: str = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535)] = 27500
    """0: any free port; the log names it."""
    allow_remote: bool = False
    """Listen on an address that is not a loopback address."""
    hosts: tuple[str, ...] = ()
    """Host names that requests may use besides the daemon's own addresses."""
    max_connections: Annotated[int, Meta(ge=16, le=65536)] = 256


class Store(Section, frozen=True):
    """Where the database and the rings' files are."""

    directory: str = ""
    """Empty: `$STATE_DIRECTORY`, else the unit's or the user's: see `state_directory`."""


Days = Annotated[float, Meta(ge=0, le=36500)]
"""How long something is kept; 0: for ever."""


class Retention(Section, frozen=True):
    """The `[retention]` table: how long the store keeps what nobody needs any more."""

    decisions_days: Days = 90.0
    audit_days: Days = 0.0
    rounds_days: Days = 0.0
    """What players' windows need of a round stays."""


class Backup(Section, frozen=True):
    """The `[backup]` table: the copy of the store that the daemon makes every night."""

    keep: Annotated[int, Meta(ge=0, le=1000)] = 14
    """0: none is made."""
    at: str = "04:30"
    """By the machine's clock and time zone."""


class Splits(Section, frozen=True):
    """Splits that other programs ask for."""

    seconds: Annotated[float, Meta(ge=0.1, le=60.0)] = 1.0
    """How long one question may take."""


class Log(Section, frozen=True):
    """The log, which goes to standard error."""

    level: Literal["debug", "info", "warning", "error"] = "info"


class SecretKeys(Section, frozen=True, kw_only=True):
    """How a caller's secret is given: one of the two, the other one empty."""

    secret_sha256: str = ""
    """The SHA-256 of the secret in hexadecimal."""
    secret_file: str = ""
    """A file that holds it."""


class ServerKeys(SecretKeys, frozen=True, kw_only=True):
    """A game server; keys that override rules stand in the same table."""

    pool: str = "main"
    game: Literal["tf2", "ns2", "other"] = "tf2"
    rcon: str = ""
    """The address of its RCON; empty: there is none."""
    rcon_password_file: str = ""
    query: str | None = None
    """Where it answers A2S queries; None: at the address of its RCON, empty: it is not asked."""


class TokenKeys(SecretKeys, frozen=True, kw_only=True):
    """A token of the admin interface."""

    role: Role


class File(Section, frozen=True):
    """The tables of the file except the rules."""

    web: Web = Web()
    store: Store = Store()
    retention: Retention = Retention()
    backup: Backup = Backup()
    splits: Splits = Splits()
    log: Log = Log()
    pool: dict[str, Raw] = {}
    server: dict[str, Raw] = {}
    token: dict[str, Raw] = {}
