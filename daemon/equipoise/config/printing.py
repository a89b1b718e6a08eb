"""The configuration as lines of TOML."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping

import msgspec

from equipoise import ratings
from equipoise.config import Config, Pool, Server
from equipoise.config.keys import written
from equipoise.config.peers import joined
from equipoise.config.triggers import shown


def printed(config: Config) -> Iterator[str]:
    """The effective configuration as lines of TOML, defaults included, secrets left out."""
    yield from _lines("web", msgspec.structs.asdict(config.web))
    yield from _lines("store", {**msgspec.structs.asdict(config.store), "directory": str(config.directory)})
    yield from _lines("retention", msgspec.structs.asdict(config.retention))
    yield from _lines("backup", msgspec.structs.asdict(config.backup))
    yield from _lines("splits", msgspec.structs.asdict(config.splits))
    yield from _lines("log", msgspec.structs.asdict(config.log))
    for pool in config.pools.values():
        yield from _lines(f"pool.{pool.name}", pool_keys(pool))
    for server in config.servers.values():
        rules = dataclasses.asdict(server.rules)
        keys = {"pool": server.pool, "game": server.game, "secret_sha256": "(set)"}
        triggers = rules.pop("triggers")
        yield from _lines(f"server.{server.name}", {**keys, **_peer(server), **rules})
        for mode in triggers:
            yield f"server.{server.name}.triggers.{mode} = {shown(server.rules.triggers[mode])}"
    for token in config.tokens.values():
        yield from _lines(f"token.{token.name}", {"role": token.role, "secret_sha256": "(set)"})


def pool_keys(pool: Pool) -> dict[str, object]:
    """All keys of a pool's table, defaults included."""
    keys = {"system": pool.system, **dataclasses.asdict(ratings.create(pool.system, **pool.params).params)}
    if pool.balance is None:
        return {**keys, "balance": pool.system} if pool.system in ratings.BALANCED_BY else keys
    params = dataclasses.asdict(ratings.create(pool.balance, **pool.balance_params).params)
    return {**keys, "balance": pool.balance, "balance_params": params}


def _peer(server: Server) -> dict[str, object]:
    """Where the game server is reached."""
    rcon = server.rcon and {"rcon": joined(server.rcon.address), "rcon_password_file": "(read)"}
    return {**(rcon or {}), "query": joined(server.query) if server.query else ""}


def pool_table(pool: Pool) -> Iterator[str]:
    """The lines of a pool in a file: its systems, and the parameters that are given."""
    table, balance = f"pool.{pool.name}", pool.balance
    if balance == pool.system and _made(balance, pool.balance_params) == _made(balance, pool.params):
        balance = None
    if balance is None and pool.system in ratings.BALANCED_BY:
        balance = pool.system
    yield f"[{table}]"
    keys = {"system": pool.system, **pool.params, "balance": balance}
    yield from (line.removeprefix(".") for line in _lines("", keys))
    if balance and pool.balance_params:
        yield f"\n[{table}.balance_params]"
        yield from (line.removeprefix(".") for line in _lines("", pool.balance_params))


def _made(system: str, params: Mapping[str, object]) -> object:
    return ratings.create(system, **params).params


def _lines(table: str, keys: Mapping[str, object]) -> Iterator[str]:
    for key, value in keys.items():
        path = f"{table}.{written(key)}"
        if isinstance(value, dict):
            yield from _lines(path, value)
        elif value is not None:
            yield f"{path} = {json.dumps(value, ensure_ascii=False)}"
