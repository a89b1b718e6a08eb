"""All exceptions of the package. The first fork says whose fault it is, because that decides what happens next.

EquipoiseError
├── ScriptError      a message is wrong: refused with a 4xx, our state untouched
├── PeerError        a game server does not answer, or not as it should: retried
├── StoreError       the store cannot read or write now: rounds go to the ring
│   ├── PoolMoved        new ratings do not take the pool's last rounds into account: they are rated, then tried again
│   ├── StoreDamaged     what it holds cannot be trusted: it takes nothing until a backup is restored
│   ├── StoreRefused     it never will (newer than this program, not ours, read-only): start-up ends
│   │   ├── StoreMissing     there is none, and none may be made
│   │   ├── StoreInUse       another process has it open
│   │   └── LogRefused       a shared pool's database never will: wrong password, another program's, another format
│   └── LogError         a shared pool's database cannot be reached, or takes nothing now: its rounds go to the ring
│       ├── LogConflict      another transaction came between: it is tried again at once
│       ├── LogHeld          another machine edits the pool: it is tried again when that is done
│       ├── CommitUnknown    the answer to a commit was lost: it is looked up
│       ├── LogMissing       it has no such pool, or no event so old: a daemon begins with its base
│       └── LogDamaged       an event makes no sense: following stops there
├── SpillError       the ring's own file cannot be written: the script keeps the round
├── ConfigError      the operator's configuration is wrong: exit 2, naming the file and the key's path
│   └── PortInUse        another program has the port
├── FileError        a file that was given to be read is wrong: exit 2, naming the line
├── SplitError       a split problem cannot be solved as asked: names the constraint
└── RatingError      a rating system refuses a match or a parameter: names the player or the parameter
"""

from __future__ import annotations


class EquipoiseError(Exception):
    """The root of all exceptions of the package; catch a branch, not this."""


class ScriptError(EquipoiseError):
    """A message from a script is refused.

    `code` is a short stable word for programs, `path` the JSON path of what is wrong (`$.events[0].winner`),
    `status` the HTTP status of the answer; `kinds` are those of the events at fault, of a batch.
    """

    def __init__(self, code: str, message: str, *, path: str | None = None, status: int = 422) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.path = path
        self.status = status
        self.kinds: tuple[str, ...] = ()


class PeerError(EquipoiseError):
    """A game server is unreachable, or its answer makes no sense."""


class StoreError(EquipoiseError):
    """The store cannot serve now: locked, disk full, away."""


class PoolMoved(StoreError):
    """A round or an edit came while new ratings were worked out."""


class StoreDamaged(StoreError):
    """The store's file is damaged, or is not the one that was opened."""


class StoreRefused(StoreError):
    """The store can never serve this program; the text says what the operator can do."""


class StoreMissing(StoreRefused):
    """There is no store at this place, or an empty file, and the caller does not want a new one."""


class StoreInUse(StoreRefused):
    """Another process has the store open; it can be opened when that one ends."""


class LogError(StoreError):
    """The database of a shared pool cannot be reached, or does not take what it is given now."""


class LogConflict(LogError):
    """Another machine came between, and nothing was done: it is tried again."""


class LogHeld(LogError):
    """Another machine keeps this one from appending: it edits the pool, or rates it by another version."""


class CommitUnknown(LogError):
    """The answer to a commit did not come: it may be stored."""


class LogMissing(LogError):
    """The log has no such pool, or no longer events so old."""


class LogDamaged(LogError):
    """An event or a base makes no sense."""


class LogRefused(StoreRefused):
    """The database of a shared pool can never serve; the text says what the operator can do, and has no password."""


class SpillError(EquipoiseError):
    """The ring's file cannot be written."""


class ConfigError(EquipoiseError):
    """The configuration is wrong: `path` is the key's path, `file` the file that it stands in, where they are known.

    >>> str(ConfigError("expected a whole number", path="$.web.port").within("config.toml"))
    'config.toml: $.web.port: expected a whole number'
    """

    def __init__(self, message: str, *, path: str | None = None, file: object = None) -> None:
        text = ": ".join(str(part) for part in (file, path, message) if part)
        super().__init__(text.encode(errors="replace").decode())  # a file's name may be no UTF-8
        self.message = message
        self.path = path
        self.file = file

    def within(self, file: object) -> ConfigError:
        """The same error in this file, unless it names one already."""
        return self if self.file else type(self)(self.message, path=self.path, file=file)


class PortInUse(ConfigError):
    """Another program has the configured port; it can be opened when that one ends."""


class FileError(EquipoiseError):
    """A file that was given to be read is wrong; `line` is the number of the line, from 1, where there is one.

    `file` is its name, where several were given.

    >>> str(FileError("no SteamID", line=3))
    'line 3: no SteamID'
    """

    def __init__(self, message: str, *, line: int | None = None, file: str | None = None) -> None:
        super().__init__(message if line is None else f"line {line}: {message}")
        self.line, self.file = line, file


class SplitError(EquipoiseError):
    """A split problem has no solution as it was asked."""


class RatingError(EquipoiseError):
    """A rating system refuses a match, a state or a parameter; `match`: the match's number in a history, from 0."""

    def __init__(self, message: str, *, match: int | None = None) -> None:
        super().__init__(message)
        self.match = match
