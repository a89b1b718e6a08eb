"""What another reading of the configuration changes: in lines for people, and what of it needs a restart."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from equipoise.config import Config, Pool, Server, Token
from equipoise.config.keys import written
from equipoise.config.printing import pool_keys
from equipoise.core.model import ServerId
from equipoise.core.rules import Rules

FIXED = frozenset({"web.host", "web.port", "web.allow_remote"})
"""Keys that need a restart. So do the store's directory and what a pool is rated and balanced by."""

_Table = Mapping[str, object]
"""Values by key; None is the same as no key."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Lines like `triggers.arena.streak: 3 -> 4 for arena-1`; none of them has a secret."""

    live: tuple[str, ...]
    """What can take effect at once."""
    restart: tuple[str, ...]
    """What takes effect at the next start."""


def compare(old: Config, new: Config) -> Changes:
    """The differences between the configuration in force and another one."""
    tables = list(_differences(_settings(old), _settings(new)))
    pools = [
        line
        for name in old.pools.keys() & new.pools.keys()
        for _, line in _differences(_pool(old.pools[name], new.pools[name]), _pool(new.pools[name], old.pools[name]))
    ]
    live = [
        *_added_and_removed("server", old.servers, new.servers),
        *_servers(old, new),
        *_added_and_removed("pool", old.pools, new.pools),
        *_added_and_removed("token", old.tokens, new.tokens),
        *(line for name, token in new.tokens.items() for line in _token(old.tokens.get(name, token), token)),
        *(line for key, line in tables if key not in FIXED),
    ]
    moved = [f"store.directory: {old.directory} -> {new.directory}"] if old.directory != new.directory else []
    return Changes(tuple(live), (*(line for key, line in tables if key in FIXED), *moved, *pools, *new.late))


def without_restart(old: Config, new: Config) -> Config:
    """The new configuration with everything as it was that needs a restart."""
    web = msgspec.structs.replace(new.web, host=old.web.host, port=old.web.port, allow_remote=old.web.allow_remote)
    pools = {name: old.pools.get(name, pool) for name, pool in new.pools.items()}
    return dataclasses.replace(new, web=web, store=old.store, directory=old.directory, pools=pools)


def _settings(config: Config) -> _Table:
    """The tables that are the same for all servers, but for the store's."""
    tables = {field.name: getattr(config, field.name) for field in dataclasses.fields(config) if field.name != "store"}
    return {
        f"{name}.{key}": value
        for name, table in tables.items()
        if isinstance(table, msgspec.Struct)
        for key, value in msgspec.structs.asdict(table).items()
    }


def _pool(pool: Pool, other: Pool) -> _Table:
    """Its keys; of a system that is another one in `other` those that the file gives: its defaults change nothing."""
    keys = pool_keys(pool)
    inner = keys.pop("balance_params", {})
    assert isinstance(inner, dict)
    if pool.balance != other.balance:
        inner = pool.balance_params
    if pool.system != other.system:
        keys = {"system": pool.system, **pool.params, "balance": pool.balance}
    flat = {**keys, **{f"balance_params.{key}": value for key, value in inner.items()}}
    return {f"pool.{pool.name}.{key}": value for key, value in flat.items()}


def _servers(old: Config, new: Config) -> Iterator[str]:
    """Changes of servers that stay; those of several servers in one line."""
    staying = [name for name in new.servers if name in old.servers]
    changed: dict[str, list[ServerId]] = {}
    for name in staying:
        before, after = old.servers[name], new.servers[name]
        yield from (line for _, line in _differences(_own(before), _own(after)))
        if before.digest != after.digest:
            yield f"[server.{name}] secret changed"
        if before.rules != after.rules:
            for _, line in _differences(_flat(before.rules), _flat(after.rules)):
                changed.setdefault(line, []).append(name)
    for line, names in changed.items():
        yield f"{line} for {', '.join(names)}"


def _own(server: Server) -> _Table:
    """What a server has that is no rule."""
    other = {"name", "file", "digest", "rules"}
    return {
        f"server.{server.name}.{key}": value
        for field in dataclasses.fields(server)
        if field.name not in other
        for key, value in _parts(field.name, getattr(server, field.name))
    }


def _parts(name: str, value: Any) -> Iterator[tuple[str, object]]:
    """A value under its key; of a dataclass its fields. A field that `repr` leaves out is secret."""
    if not dataclasses.is_dataclass(value):
        yield name, value
        return
    for field in dataclasses.fields(value):
        inner = getattr(value, field.name)
        yield f"{name}.{field.name}", inner if field.repr else _Secret(inner)


@dataclass(frozen=True, slots=True)
class _Secret:
    """Compared and never shown."""

    value: object


def _flat(rules: Rules) -> _Table:
    tables = dataclasses.asdict(rules)
    triggers = tables.pop("triggers")
    flat: dict[str, object] = {}
    for name, value in [*tables.items(), *((f"triggers.{mode}", line) for mode, line in triggers.items())]:
        if isinstance(value, dict):
            flat |= {f"{name}.{written(key)}": inner for key, inner in value.items()}
        else:
            flat[name] = value
    return flat


def _token(old: Token, new: Token) -> Iterator[str]:
    if old.role != new.role:
        yield f"[token.{new.name}] role: {old.role} -> {new.role}"
    if old.digest != new.digest:
        yield f"[token.{new.name}] secret changed"


def _added_and_removed(table: str, old: Iterable[str], new: Iterable[str]) -> Iterator[str]:
    before, after = list(old), list(new)
    yield from (f"[{table}.{name}] added" for name in after if name not in before)
    yield from (f"[{table}.{name}] removed" for name in before if name not in after)


def _differences(old: _Table, new: _Table) -> Iterator[tuple[str, str]]:
    """Each key that differs, with its line."""
    for key in {**old, **new}:
        before, after = old.get(key), new.get(key)
        if isinstance(before, _Secret) and isinstance(after, _Secret):
            if before != after:
                yield key, f"{key}: secret changed"
        elif before != after:
            yield key, f"{key}: {_shown(before)} -> {_shown(after)}"


def _shown(value: object) -> str:
    """A value in one line.

    >>> _shown("duel"), _shown(("a.example",)), _shown(3.0)
    ('duel', '["a.example"]', '3')
    """
    if value is None:
        return "none"
    if isinstance(value, _Secret):
        return "a secret"
    if isinstance(value, tuple) and [type(part) for part in value] == [str, int]:
        return ":".join(map(str, value))  # an address
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    return value if isinstance(value, str) and value.isprintable() and value else json.dumps(value, ensure_ascii=False)
