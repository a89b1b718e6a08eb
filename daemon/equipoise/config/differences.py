"""The configuration as lines of TOML, and what another reading of it changes: at once, or with a restart."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from equipoise import ratings
from equipoise.config import Config, Pool, Server, Token, Webhook, joined
from equipoise.config.rule_keys import shown
from equipoise.config.sections import Section, written
from equipoise.core.model import ServerId
from equipoise.core.rules import Rules


def printed(config: Config) -> Iterator[str]:
    """The effective configuration as lines of TOML, defaults included, secrets left out."""
    for name, table in _tables(config):
        own = {"directory": str(config.directory)} if name == "store" else {}
        yield from _toml_lines(name, {**msgspec.structs.asdict(table), **own})
    for pool in config.pools.values():
        yield from _toml_lines(f"pool.{pool.name}", pool_keys(pool))
    for server in config.servers.values():
        rules = dataclasses.asdict(server.rules)
        keys = {"pool": server.pool, "game": server.game, "secret_sha256": "(set)"}
        triggers = rules.pop("triggers")
        yield from _toml_lines(f"server.{server.name}", {**keys, **_peer(server), **rules})
        for mode in triggers:
            yield f"server.{server.name}.triggers.{mode} = {shown(server.rules.triggers[mode])}"
    for token in config.tokens.values():
        yield from _toml_lines(f"token.{token.name}", {"role": token.role, "secret_sha256": "(set)"})
    for webhook in config.webhooks.values():
        keys = {name: value for name, value in dataclasses.asdict(webhook).items() if name not in ("name", "key")}
        secret = {"secret_file": "(read)"} if webhook.key else {}
        yield from _toml_lines(f"notice.{webhook.name}", {**keys, "url": "(set)", **secret})


def _tables(config: Config) -> Iterator[tuple[str, Section]]:
    """The tables of which there is one each, by name."""
    for field in dataclasses.fields(config):
        if isinstance(table := getattr(config, field.name), Section):
            yield field.name, table


def pool_keys(pool: Pool) -> dict[str, object]:
    """All keys of a pool's table, defaults included."""
    params = dataclasses.asdict(ratings.create(pool.system, **pool.params).params)
    keys: dict[str, object] = {"system": pool.system, **_database(pool), **params}
    if pool.balance is None:
        return {**keys, "balance": pool.system} if pool.system in ratings.BALANCED_BY else keys
    params = dataclasses.asdict(ratings.create(pool.balance, **pool.balance_params).params)
    return {**keys, "balance": pool.balance, "balance_params": params}


def _database(pool: Pool) -> dict[str, object]:
    if pool.database is None:
        return {}
    return {"database": pool.database.url, "database_password_file": pool.database.password_file or None}


def _peer(server: Server) -> dict[str, object]:
    """Return the keys for the addresses at which the game server is reached."""
    rcon = server.rcon and {"rcon": joined(server.rcon.address), "rcon_password_file": "(read)"}
    user = {"rcon_user": server.rcon.user} if server.rcon and server.rcon.user else {}
    return {**(rcon or {}), **user, "query": joined(server.query) if server.query else ""}


def pool_table(pool: Pool) -> Iterator[str]:
    """The lines of a pool in a file: its systems, and the parameters that are given."""
    table, balance = f"pool.{pool.name}", pool.balance
    if balance == pool.system and _made(balance, pool.balance_params) == _made(balance, pool.params):
        balance = None
    if balance is None and pool.system in ratings.BALANCED_BY:
        balance = pool.system
    yield f"[{table}]"
    keys = {"system": pool.system, **_database(pool), **pool.params, "balance": balance}
    yield from (line.removeprefix(".") for line in _toml_lines("", keys))
    if balance and pool.balance_params:
        yield f"\n[{table}.balance_params]"
        yield from (line.removeprefix(".") for line in _toml_lines("", pool.balance_params))


def _made(system: str, params: Mapping[str, object]) -> object:
    return ratings.create(system, **params).params


def _toml_lines(table: str, keys: Mapping[str, object]) -> Iterator[str]:
    for key, value in keys.items():
        path = f"{table}.{written(key)}"
        if isinstance(value, dict):
            yield from _toml_lines(path, value)
        elif value is not None:
            yield f"{path} = {json.dumps(value, ensure_ascii=False)}"


FIXED = frozenset(
    {"web.host", "web.port", "web.allow_remote", "web.page", "public.host", "public.port", "shared.machine"}
)
"""Keys that need a restart. So do the store's directory and what a pool is rated and balanced by."""

_Table = Mapping[str, object]
"""Values by key; None is the same as no key."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Lines like `triggers.arena.streak: 3 -> 4 for arena-1`; none of them has a secret."""

    live: tuple[str, ...]
    """Changes that can take effect at once."""
    restart: tuple[str, ...]
    """Changes that take effect at the next start."""


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
        *_added_and_removed("notice", old.webhooks, new.webhooks),
        *(
            line
            for name, webhook in new.webhooks.items()
            for _, line in _differences(_webhook(old.webhooks.get(name, webhook)), _webhook(webhook))
        ),
        *(line for key, line in tables if key not in FIXED),
    ]
    moves = [f"store.directory: {old.directory} -> {new.directory}"] if old.directory != new.directory else []
    return Changes(tuple(live), (*(line for key, line in tables if key in FIXED), *moves, *pools, *new.late))


def without_restart(old: Config, new: Config) -> Config:
    """The new configuration with everything as it was that needs a restart."""
    web, public, log = (_kept(table, getattr(old, table), getattr(new, table)) for table in ("web", "public", "shared"))
    # A pool that is new has nothing to keep: it is opened with what the file says.
    pools = {name: old.pools.get(name, pool) for name, pool in new.pools.items()}
    return dataclasses.replace(
        new, web=web, public=public, shared=log, store=old.store, directory=old.directory, pools=pools
    )


def _kept(name: str, old: Any, new: Any) -> Any:
    """Return a new table with the old values of its keys that need a restart."""
    keys = [key.partition(".")[2] for key in FIXED if key.startswith(f"{name}.")]
    return msgspec.structs.replace(new, **{key: getattr(old, key) for key in keys})


def _settings(config: Config) -> _Table:
    """The tables that are the same for all servers, but for the store's."""
    return {
        f"{name}.{key}": value
        for name, table in _tables(config)
        if name != "store"
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
        keys = {"system": pool.system, **_database(pool), **pool.params, "balance": pool.balance}
    if pool.database and pool.database.password:
        keys["database_password"] = _Secret(pool.database.password)
    flat = {**keys, **{f"balance_params.{key}": value for key, value in inner.items()}}
    return {f"pool.{pool.name}.{key}": value for key, value in flat.items()}


def _servers(old: Config, new: Config) -> Iterator[str]:
    """Changes of servers that stay; those of several servers in one line."""
    common = [name for name in new.servers if name in old.servers]
    changes: dict[str, list[ServerId]] = {}
    for name in common:
        before, after = old.servers[name], new.servers[name]
        yield from (line for _, line in _differences(_own(before), _own(after)))
        if before.digest != after.digest:
            yield f"[server.{name}] secret changed"
        # One line for all servers with the same change: a key at the top level changes a hundred of them.
        if before.rules != after.rules:
            for _, line in _differences(_flat(before.rules), _flat(after.rules)):
                changes.setdefault(line, []).append(name)
    for line, names in changes.items():
        yield f"{line} for {', '.join(names)}"


def _own(server: Server) -> _Table:
    """Return a server's values that are not rules."""
    apart = {"name", "file", "digest", "rules"}
    return {
        f"server.{server.name}.{key}": value
        for field in dataclasses.fields(server)
        if field.name not in apart
        for key, value in _parts(field.name, getattr(server, field.name))
    }


def _webhook(webhook: Webhook) -> _Table:
    return dict(_parts(f"notice.{webhook.name}", webhook))


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
