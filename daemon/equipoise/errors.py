"""Every error of ours, forked first on whose fault it is.

EquipoiseError
├── ScriptError      a message is wrong: refused with a 4xx, our state untouched
├── PeerError        a game server does not answer as it should: retried
├── StoreError       the store does not take or give data now: rounds go to the ring
│   └── StoreRefused     it never will (newer than this program, not ours, read-only): start-up ends
├── SpillError       the ring's own file takes no more: the script keeps the round
├── ConfigError      the operator's configuration is wrong: exit 2, naming the key's path
├── SplitError       a split problem that cannot be solved as asked: says which constraint, or which resolution fits
└── RatingError      a match or a parameter that a rating system refuses: names the player or the parameter
"""

from __future__ import annotations


class EquipoiseError(Exception):
    """Anything of ours; catch a branch, not this."""


class ScriptError(EquipoiseError):
    """A message that is refused.

    `code` is a short stable word for programs, `path` the JSON path of what is wrong (`$.events[0].winner`),
    `status` the HTTP status that says so.
    """

    def __init__(self, code: str, message: str, *, path: str | None = None, status: int = 422) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.path = path
        self.status = status


class PeerError(EquipoiseError):
    """A game server that is unreachable or answers nonsense."""


class StoreError(EquipoiseError):
    """The store cannot serve now: locked, disk full, away."""


class StoreRefused(StoreError):
    """The store can never serve this program; the text says what to do."""


class SpillError(EquipoiseError):
    """The ring's file cannot be written."""


class ConfigError(EquipoiseError):
    """A wrong configuration; `path` is the key's path (`$.web.port`) or the file."""

    def __init__(self, message: str, *, path: str | None = None) -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.path = path


class SplitError(EquipoiseError):
    """A split problem that has no answer as it was put."""


class RatingError(EquipoiseError):
    """A match, a state or a parameter that a rating system refuses; `match`: its number in a history, from 0."""

    def __init__(self, message: str, *, match: int | None = None) -> None:
        super().__init__(message)
        self.match = match
