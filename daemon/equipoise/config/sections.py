"""The tables of the file except the rules, as strict structs; msgspec's refusals as operators read them."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from equipoise import ratings
from equipoise.core.rules import Rules, Triggers
from equipoise.errors import ConfigError

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
    page: bool = True
    """Serve the page."""
    proxies: tuple[str, ...] = ()
    """Addresses and networks of proxies whose word on who has called is taken."""
    max_connections: Annotated[int, Meta(ge=16, le=65536)] = 256


class Public(Section, frozen=True):
    """The `[public]` table: pages that anybody may read, on a port of their own."""

    port: Annotated[int, Meta(ge=0, le=65535)] | None = None
    """None: they are off."""
    host: str = "127.0.0.1"
    title: Annotated[str, Meta(min_length=1, max_length=80)] = "Equipoise"
    """What the pages are called."""
    index: bool = False
    """Search engines may list them."""
    export: str = ""
    """A folder that they are written into every night; empty: they are not."""
    at: str = "05:15"
    """When, by the machine's clock and time zone."""


class Store(Section, frozen=True):
    """The `[store]` table: the directory of the database and of the rings' files."""

    directory: str = ""
    """Empty: `$STATE_DIRECTORY`, else the unit's or the user's: see `state_directory`."""


Days = Annotated[float, Meta(ge=0, le=36500)]
"""How long something is kept; 0: for ever."""


class Retention(Section, frozen=True):
    """The `[retention]` table: how long the store keeps what nobody needs any more."""

    decisions_days: Days = 90.0
    audit_days: Days = 0.0
    rounds_days: Days = 0.0
    """The rounds in players' windows stay."""


class Backup(Section, frozen=True):
    """The `[backup]` table: the copy of the store that the daemon makes every night."""

    keep: Annotated[int, Meta(ge=0, le=1000)] = 14
    """0: none is made."""
    at: str = "04:30"
    """Time of day by the machine's clock and time zone."""


class Splits(Section, frozen=True):
    """Splits that other programs ask for."""

    seconds: Annotated[float, Meta(ge=0.1, le=60.0)] = 1.0
    """How long one question may take."""


class Log(Section, frozen=True):
    """The log, which goes to standard error."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["text", "json"] = "text"


class Shared(Section, frozen=True):
    """The `[shared]` table: this machine among those that share a pool."""

    machine: Annotated[str, Meta(max_length=63, pattern=r"^[A-Za-z0-9._-]*$")] = ""
    """The name that the others see; empty: its host name."""


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
    """The address of its RCON, or of NS2's web admin; empty: there is none."""
    rcon_password_file: str = ""
    rcon_user: str = ""
    """NS2: the user of the web admin."""
    query: str | None = None
    """The address for A2S queries; None: that of its RCON, empty: it is not asked."""


class TokenKeys(SecretKeys, frozen=True, kw_only=True):
    """A token of the admin interface."""

    role: Role


Event = Literal["scramble", "lost", "refused", "rcon", "store", "waiting", "backup", "summary"]
"""What a webhook may be told of: the `event` of `service.notices.Notice`."""


class NoticeKeys(Section, frozen=True, kw_only=True):
    """A webhook that is told what happens."""

    kind: Literal["discord", "generic"]
    url: str = ""
    url_file: str = ""
    """A file that holds it; one of the two is there."""
    secret_file: str = ""
    """A file with the key that a generic webhook's deliveries are signed with."""
    events: tuple[Event, ...] = get_args(Event)
    servers: tuple[str, ...] = ()
    """Empty: all."""
    status: bool = False
    """Discord: one message with the state of the servers, which is edited."""


class File(Section, frozen=True):
    """The tables of the file except the rules."""

    web: Web = Web()
    public: Public = Public()
    store: Store = Store()
    retention: Retention = Retention()
    backup: Backup = Backup()
    splits: Splits = Splits()
    log: Log = Log()
    shared: Shared = Shared()
    pool: dict[str, Raw] = {}
    server: dict[str, Raw] = {}
    token: dict[str, Raw] = {}
    notice: dict[str, Raw] = {}


def written(key: str) -> str:
    """A key as TOML writes it: in quotes if they are needed, and always in one line.

    >>> written("arena-1"), written("cp_a.v2")
    ('arena-1', '"cp_a.v2"')
    """
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False)


@cache
def places() -> dict[str, list[str]]:
    """Return the tables that have a key, by key.

    >>> places()["tolerance"], places()["streak"]
    (['[scramble]'], ['a line of [triggers]'])
    """
    tables: dict[str, list[str]] = {}
    for key, place in _places():
        tables.setdefault(key, []).append(place)
    return tables


def _places() -> Iterator[tuple[str, str]]:
    for name, table in msgspec.structs.asdict(File()).items():
        if isinstance(table, msgspec.Struct):
            yield from ((key, f"[{name}]") for key in table.__struct_fields__)
    for name, value in vars_of(Rules()):
        if dataclasses.is_dataclass(value):
            yield from ((key, f"[{name}]") for key, _ in vars_of(value))
        elif isinstance(value, dict):
            yield from ((key, f"a line of [{name}]") for key, _ in vars_of(Triggers()) if name == "triggers")
        else:
            yield name, "the top of the file, above the first table"
    yield from (
        (key, "[pool.NAME]")
        for key in (
            "system",
            "database",
            "database_password_file",
            *(key for key, _ in vars_of(ratings.create("synelo").params)),
        )
    )
    yield from ((key, "[server.NAME]") for key in ServerKeys.__struct_fields__)
    yield from ((key, "[token.NAME]") for key in TokenKeys.__struct_fields__)
    yield from ((key, "[notice.NAME]") for key in ("kind", "url", "url_file", "events"))


def vars_of(values: object) -> list[tuple[str, object]]:
    """The fields of a dataclass with their values."""
    return [(field.name, getattr(values, field.name)) for field in dataclasses.fields(values)]  # type: ignore[arg-type]


T = TypeVar("T")


def convert(raw: object, kind: type[T], path: str, siblings: Iterable[str] = ()) -> T:
    """A table of the file as a value of its type; ConfigError names the key below `path`.

    `siblings`: keys that the table may have besides those of the type, for who misspells one of them.
    """
    if isinstance(raw, dict):
        _check_keys(raw, kind, path, siblings)
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        raise _refusal(str(error), path, kind) from None


def _check_keys(raw: Raw, kind: Any, path: str, siblings: Iterable[str] = ()) -> None:
    """Refuse a key that a type does not have: msgspec says of one alone, and passes over those of a dataclass."""
    hints = _hints(kind)
    for key, value in raw.items() if hints else ():
        if key not in hints:
            raise ConfigError(f"no such key{_advice(key, {*hints, *siblings})}", path=f"{path}.{written(key)}")
        if isinstance(value, dict):
            _check_keys(value, hints[key], f"{path}.{key}")


@cache
def _hints(kind: Any) -> dict[str, Any]:
    """The keys of a table with their types, nothing of any other type."""
    is_table = dataclasses.is_dataclass(kind) or (isinstance(kind, type) and issubclass(kind, msgspec.Struct))
    return get_type_hints(kind) if is_table else {}


_PLAIN = {
    "`object`": "a table",
    "`array`": "an array",
    "`str`": "a string",
    "`int`": "a whole number",
    "`int | null`": "a whole number",
    "`float`": "a number",
    "`bool`": "true or false",
}
"""msgspec's names of types, as operators know them."""


def _refusal(text: str, path: str, kind: type) -> ConfigError:
    """msgspec's text as a `ConfigError`, with its path below that of the table that was read."""
    below = ""
    if match := re.fullmatch(r"(.*) - at `\$(.*)`", text, re.DOTALL):
        text, below = match[1], match[2]
    path += below
    if absent := re.fullmatch(r"Object missing required field `(.*)`", text):
        words = _words(_type_at(kind, f"{below}.{absent[1]}"))
        return ConfigError(f"this key is required{words and f': {words}'}", path=f"{path}.{absent[1]}")
    if wrong := re.fullmatch(r"Invalid enum value (.*)", text, re.DOTALL):
        return ConfigError(f"there is {_words(_type_at(kind, below))}, not {wrong[1]}", path=path)
    for name, plain in _PLAIN.items():
        text = text.replace(name, plain)
    return ConfigError(text.replace("Expected", "expected", 1), path=path)


def _advice(key: str, known: set[str]) -> str:
    """Return the key that may be meant by an unknown one, or the table that it belongs to."""
    if place := places().get(key):
        return f"; `{key}` belongs to {' or '.join(place)}"
    close = get_close_matches(key, sorted(known), n=1)
    return f"; is it {close[0]}?" if close else ""


def _words(kind: Any) -> str:
    """The words that a key may have; empty for any other type.

    >>> _words(Literal["tf2", "ns2"])
    'tf2, ns2'
    """
    return ", ".join(get_args(kind)) if get_origin(kind) is Literal else ""


def _type_at(kind: type, below: str) -> Any:
    """The type of a key, by the type of the table that was read and the path below it: "", ".vote" or ".events[0]"."""
    for name in filter(None, below.split(".")):
        key, index, _ = name.partition("[")
        kind = get_args(_hints(kind)[key])[0] if index else _hints(kind)[key]
    return kind
