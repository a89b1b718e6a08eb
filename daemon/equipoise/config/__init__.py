"""The configuration: one TOML file, read strictly.

`config.example.toml` is the reference of all keys. An unknown key, a wrong type and a number out of range are refused
with a `ConfigError` that names the key's path. Secrets stand in files of their own, and only as their SHA-256.

The file's rules are the dataclasses of `core.rules`, which know nothing of files: `_section` derives a strict
msgspec struct from each of them, with the ranges of `RANGES`. Rules at the top level hold for all servers; a
server's own table overrides them key by key.
"""

from __future__ import annotations

import ipaddress
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from equipoise import ratings
from equipoise.config.keys import written
from equipoise.config.map_levels import read_levels
from equipoise.config.secret_files import Secrets
from equipoise.core.maps import DEFAULT_LEVELS
from equipoise.core.model import ServerId
from equipoise.core.rules import ArenaRules, AutobalanceRules, LockRules, Rules, ScrambleRules, VoteRules
from equipoise.errors import ConfigError, RatingError

T = TypeVar("T")
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


class Store(Section, frozen=True):
    """Where the database and the rings' files are."""

    directory: str = ""
    """Empty: `$STATE_DIRECTORY`, else the user's state directory."""


class Log(Section, frozen=True):
    """The log, which goes to standard error."""

    level: Literal["debug", "info", "warning", "error"] = "info"


class ServerKeys(Section, frozen=True):
    """A game server; keys that override rules stand in the same table."""

    secret_file: str
    pool: str = "main"
    game: Literal["tf2", "ns2"] = "tf2"


class TokenKeys(Section, frozen=True):
    """A token of the admin interface."""

    secret_file: str
    role: Role


class File(Section, frozen=True):
    """The tables of the file except the rules."""

    web: Web = Web()
    store: Store = Store()
    log: Log = Log()
    pool: dict[str, Raw] = {}
    server: dict[str, Raw] = {}
    token: dict[str, Raw] = {}


@dataclass(frozen=True, slots=True)
class Pool:
    """A rating population: the system that rates it, and the parameters that the file gives."""

    name: str
    system: str
    params: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Server:
    """A game server of the configuration: its pool, its rules, and the digest of its secret."""

    name: ServerId
    pool: str
    game: Literal["tf2", "ns2"]
    digest: bytes
    """SHA-256 of its script's secret."""
    rules: Rules


@dataclass(frozen=True, slots=True)
class Token:
    """A token of the admin interface; the audit log shows its name."""

    name: str
    role: Role
    digest: bytes
    """SHA-256 of the token."""


@dataclass(frozen=True, slots=True)
class Config:
    """The whole configuration, with defaults filled in and secrets read."""

    path: Path
    web: Web
    store: Store
    log: Log
    directory: Path
    """The state directory: database, rings' files."""
    pools: Mapping[str, Pool]
    servers: Mapping[ServerId, Server]
    tokens: Mapping[str, Token]


_TABLES = (ArenaRules, ScrambleRules, AutobalanceRules, LockRules, VoteRules)

RANGES: Mapping[tuple[type, str], tuple[float, float]] = {
    (ArenaRules, "streak"): (1, 100),
    (ScrambleRules, "min_players"): (2, 100),
    (ScrambleRules, "tolerance"): (0, 0.5),
    (ScrambleRules, "rounds"): (1, 100),
    (AutobalanceRules, "spare_minutes"): (0, 1440),
    (AutobalanceRules, "deadline_seconds"): (0, 600),
    (AutobalanceRules, "quiet_seconds"): (0, 3600),
    (LockRules, "minutes"): (0, 1440),
    (VoteRules, "min_players"): (2, 100),
    (VoteRules, "start_fraction"): (0.01, 1),
    (VoteRules, "fraction"): (0.01, 1),
    (VoteRules, "seconds"): (5, 60),
    (VoteRules, "cooldown_minutes"): (0, 1440),
    (VoteRules, "quiet_seconds"): (0, 3600),
    (VoteRules, "fair_band"): (0, 1),
    (Rules, "ns2_min_seconds"): (0, 86400),
    (Rules, "silence_seconds"): (10, 86400),
    (Rules, "poll_seconds"): (0.5, 60),
}
"""The range of every number of the rules, both ends included; of a pair, of both its numbers."""


def load(path: Path, environ: Mapping[str, str]) -> Config:
    """Read a file and the secrets that it names; `ConfigError` if anything in it is wrong."""
    raw = _parse(path)
    tables, rules = _apart(raw, msgspec.structs.asdict(File()))
    file = _convert(tables, File, "$")
    rules = _merged({"maps": dict(DEFAULT_LEVELS)}, _read_rules(rules, "$"))
    _check_listener(file.web)
    pools = {name: _pool(name, keys) for name, keys in file.pool.items()}
    files = Secrets(path.parent, environ.get("CREDENTIALS_DIRECTORY"))
    servers = {ServerId(name): _server(name, keys, rules, pools, files) for name, keys in file.server.items()}
    tokens = {name: _token(name, keys, files) for name, keys in file.token.items()}
    _check_distinct(servers, tokens)
    return Config(
        path=path,
        web=file.web,
        store=file.store,
        log=file.log,
        directory=state_directory(file.store, environ),
        pools=pools,
        servers=servers,
        tokens=tokens,
    )


def state_directory(store: Store, environ: Mapping[str, str]) -> Path:
    """The configured directory, else systemd's `$STATE_DIRECTORY`, else the user's state directory.

    >>> state_directory(Store(), {"STATE_DIRECTORY": "/var/lib/equipoise"}).as_posix()
    '/var/lib/equipoise'
    """
    if chosen := store.directory or environ.get("STATE_DIRECTORY"):
        return Path(chosen).expanduser()
    state = environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "equipoise"


def _parse(path: Path) -> Raw:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ConfigError(f"{error.strerror}; `equipoise init` writes one", path=str(path)) from None
    except ValueError as error:
        raise ConfigError(f"this is no TOML: {error}", path=str(path)) from None


def _apart(keys: Raw, known: Mapping[str, object]) -> tuple[Raw, Raw]:
    """The keys that `known` has, and the rest, which are rules."""
    return {k: v for k, v in keys.items() if k in known}, {k: v for k, v in keys.items() if k not in known}


def _convert(raw: object, kind: type[T], path: str) -> T:
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        raise _refusal(str(error), path) from None


_PLAIN = {
    "`object`": "a table",
    "`array`": "an array",
    "`str`": "a string",
    "`int`": "a whole number",
    "`float`": "a number",
    "`bool`": "true or false",
}
"""msgspec's names of types, as operators know them."""


def _refusal(text: str, path: str) -> ConfigError:
    """msgspec's text as a `ConfigError`, with its path below that of the table that was read."""
    if found := re.fullmatch(r"(.*) - at `\$(.*)`", text, re.DOTALL):
        text, path = found[1], path + found[2]
    if unknown := re.fullmatch(r"Object contains unknown field `(.*)`", text, re.DOTALL):
        return ConfigError("no such key", path=f"{path}.{written(unknown[1])}")
    if missing := re.fullmatch(r"Object missing required field `(.*)`", text):
        return ConfigError("this key is required", path=f"{path}.{missing[1]}")
    for name, plain in _PLAIN.items():
        text = text.replace(name, plain)
    return ConfigError(text.replace("Expected", "expected", 1), path=path)


def _read_rules(raw: Raw, path: str) -> Raw:
    """The rules of one table, checked, with the keys of `maps` as they are compared."""
    # Wrong levels are refused before msgspec does, which does not name the key.
    read = {key: read_levels(value, f"{path}.maps") if key == "maps" else value for key, value in raw.items()}
    low, high = _rules(_convert(read, _RULES, path)).vote.fair_band
    if low > high:
        raise ConfigError(f"{low:g} is above {high:g}: the lower end comes first", path=f"{path}.vote.fair_band")
    return read


def _rules(section: Any) -> Rules:
    return _filled(Rules, section)


def _filled(kind: type[T], section: Any) -> T:
    """The dataclass of rules that a section was derived from, with the section's values."""
    values = {name: getattr(section, name) for name in section.__struct_fields__}
    hints = get_type_hints(kind)
    return kind(**{k: _filled(hints[k], v) if isinstance(v, Section) else v for k, v in values.items()})


def _section(kind: type) -> type[Section]:
    """A strict section derived from a dataclass of rules: same fields, same defaults, numbers in their ranges."""
    hints, defaults = get_type_hints(kind), kind()
    fields: list[tuple[str, Any, Any]] = []
    for name in hints:
        hint, default = hints[name], getattr(defaults, name)
        if isinstance(default, _TABLES):
            table = _section(type(default))
            fields.append((name, table, table()))
        elif isinstance(default, dict):
            fields.append((name, hint, msgspec.field(default_factory=default.copy)))
        else:
            fields.append((name, _ranged(hint, RANGES.get((kind, name))), default))
    section = msgspec.defstruct(kind.__name__, fields, bases=(Section,), frozen=True)
    assert issubclass(section, Section)
    return section


def _ranged(hint: Any, limits: tuple[float, float] | None) -> Any:
    """The type with its range; of a pair, both numbers have it."""
    if limits is None:
        return hint
    number = Annotated[float, Meta(ge=limits[0], le=limits[1])]
    if get_origin(hint) is tuple:
        return tuple[number, number]
    return Annotated[hint, Meta(ge=limits[0], le=limits[1])]


_RULES = _section(Rules)


def _check_listener(web: Web) -> None:
    if not web.allow_remote and not _loopback(web.host):
        raise ConfigError(f"{web.host} is no loopback address; web.allow_remote = true allows it", path="$.web.host")


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _named(table: str, name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", name):
        raise ConfigError("a name is up to 64 of A-Z a-z 0-9 _ -", path=f"$.{table}.{written(name)}")
    return f"$.{table}.{name}"


def _pool(name: str, keys: Raw) -> Pool:
    path = _named("pool", name)
    params = dict(keys)
    system = params.pop("system", "synelo")
    if system not in ratings.SYSTEMS:
        raise ConfigError(f"there is {', '.join(ratings.SYSTEMS)}, not {system!r}", path=f"{path}.system")
    try:
        made = ratings.create(system, **params)
    except RatingError as error:
        key, _, text = str(error).partition(": ")
        raise ConfigError(text, path=f"{path}.{key}") from None
    if not made.live:
        raise ConfigError(f"{system} rates histories, it cannot rate a pool", path=f"{path}.system")
    return Pool(name, system, params)


def _server(name: str, keys: Raw, rules: Raw, pools: Mapping[str, Pool], files: Secrets) -> Server:
    path = _named("server", name)
    own, overrides = _apart(keys, ServerKeys.__annotations__)
    server = _convert(own, ServerKeys, path)
    overrides = _read_rules(overrides, path)
    if server.pool not in pools:
        raise ConfigError(f"there is no [pool.{server.pool}]", path=f"{path}.pool")
    return Server(
        name=ServerId(name),
        pool=server.pool,
        game=server.game,
        digest=files.digest(server.secret_file, f"{path}.secret_file"),
        rules=_rules(msgspec.convert(_merged(rules, overrides), _RULES)),
    )


def _token(name: str, keys: Raw, files: Secrets) -> Token:
    path = _named("token", name)
    token = _convert(keys, TokenKeys, path)
    return Token(name, token.role, files.digest(token.secret_file, f"{path}.secret_file"))


def _check_distinct(servers: Mapping[ServerId, Server], tokens: Mapping[str, Token]) -> None:
    """Refuse equal secrets: a request is attributed by its secret alone."""
    owners: dict[bytes, str] = {}
    named = [(f"$.server.{name}", server.digest) for name, server in servers.items()]
    for path, digest in [*named, *((f"$.token.{name}", token.digest) for name, token in tokens.items())]:
        if digest in owners:
            raise ConfigError(f"the same secret as {owners[digest]}", path=f"{path}.secret_file")
        owners[digest] = path


def _merged(rules: Raw, overrides: Raw) -> Raw:
    """The raw rules of a server: its own keys override those of all servers, also within tables."""
    tables = {key: {**rules[key], **own} for key, own in overrides.items() if isinstance(own, dict) and key in rules}
    return {**rules, **overrides, **tables}
