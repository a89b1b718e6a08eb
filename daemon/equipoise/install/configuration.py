"""A new configuration: its file, the owner's token, its first game servers."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from equipoise.errors import ConfigError
from equipoise.install import source_rules
from equipoise.install.servers import Added, NewServer, Prepared, check_name, new_secret, prepare

Ruleset = Literal["equipoise", "source"]
"""The rules that a new configuration plays by: this program's defaults, or those of the documents it follows."""

_AS_BEFORE = 'Teams are made by the ratings that players see, as before; "joint", as in new pools, makes fairer ones.'
URL = "http://127.0.0.1:27500"
"""The address in a new configuration."""
_CONFIG = """\
# Equipoise. Every key with its unit and default: config.example.toml. `equipoise check-config` reads this file.
# Game servers stand in servers.d, each in a file of its own: `equipoise server add`, `equipoise server remove`.

{keys}[web]
host = "127.0.0.1"
port = 27500

[pool.main]
{pool}

{rules}[token.owner]
role = "admin"
secret_sha256 = "{digest}"
"""
_POOL = """\
system = "synelo"
# The largest team size; over several servers the median of theirs.
k_max = 12
# Teams are made by what is known best, also by what players do in a round as far as that has predicted results (off:
# scores = false in [pool.main.balance_params]). balance = "synelo" makes them by the ratings that players see.
balance = "joint"
# How far skills differ here is learnt from the rounds: `equipoise pool quality` says what was, and when."""
_NS2_POOL = """\
system = "ns2"
# The part of a commander's worth that is field skill; by 0, the source's, chairs differ as much as all others together.
commander_field_share = 0.25
# Its parameters: docs/ratings/ns2.md."""


def write_new(directory: Path, servers: Sequence[NewServer], rules: Ruleset = "equipoise") -> list[Added]:
    """Write a configuration with these servers; ConfigError, and nothing is written, where `prepare_new` refuses."""
    preparation = prepare_new(directory, servers, rules)
    with preparation.applied():
        return preparation.servers


def prepare_new(directory: Path, servers: Sequence[NewServer], rules: Ruleset = "equipoise") -> Prepared:
    """Return a configuration with these servers; nothing is written.

    ConfigError where one of its files exists already, or a server does not fit.
    """
    config = directory / "config.toml"
    files_by_name: dict[str, Path] = {}
    for server in servers:
        check_name(server.name, files_by_name)
        files_by_name[server.name] = config
    preparation = prepare(config, servers, URL)
    token, digest = new_secret()
    text = _text(rules, digest, ns2=all(server.game == "ns2" for server in servers))
    preparation.files.write(config, text.encode())
    preparation.files.write(directory / "owner.token", f"{token}\n".encode(), 0o600)
    for path in preparation.files.written():
        if path.exists():
            raise ConfigError(
                "exists already, and nothing is overwritten; `equipoise server add` adds a server to a configuration",
                file=path,
            )
    return preparation


def with_balance(text: str, pool: str, system: str) -> str | None:
    """Return a configuration's text with a line `balance` for a pool; None where the pool has no table of its own.

    >>> print(with_balance("[pool.main]\\nk_max = 9\\n", "main", "synelo"))
    [pool.main]
    # Teams are made by the ratings that players see, as before; "joint", as in new pools, makes fairer ones.
    balance = "synelo"
    k_max = 9
    <BLANKLINE>
    """
    line = f'# {_AS_BEFORE}\nbalance = "{system}"\n'
    result, count = re.subn(rf"(?m)^\[ *pool *\. *{re.escape(pool)} *\][^\n]*\n", lambda found: found[0] + line, text)
    return result if count == 1 else None


def with_database(text: str, pool: str, url: str | None, password_file: str = "") -> str | None:
    """Return a configuration's text with the database of a pool, None for none; None where the pool has no table.

    >>> print(with_database("[pool.main]\\nk_max = 9\\n", "main", "postgresql://equipoise@db/equipoise"))
    [pool.main]
    database = "postgresql://equipoise@db/equipoise"
    k_max = 9
    <BLANKLINE>
    """
    header = re.compile(rf"(?m)^\[ *pool *\. *{re.escape(pool)} *\][^\n]*\n")
    if len(found := list(header.finditer(text))) != 1:
        return None
    start = found[0].end()
    table = re.compile(r"(?m)^\[").search(text, start)
    end = len(text) if table is None else table.start()
    keys = re.sub(r"(?m)^database(_password_file)? *=[^\n]*\n", "", text[start:end])
    lines = "" if url is None else f"database = {json.dumps(url)}\n"
    lines += f"database_password_file = {json.dumps(password_file)}\n" if url and password_file else ""
    return text[:start] + lines + keys + text[end:]


def _text(rules: Ruleset, digest: str, *, ns2: bool) -> str:
    """Return a configuration file without game servers, for a pool of NS2 or of any other game."""
    keys, tables = "", ""
    pool = _NS2_POOL if ns2 else _POOL
    if rules == "source":
        pool = source_rules.NS2_POOL if ns2 else source_rules.TF2_POOL
        tables = (source_rules.NS2_RULES if ns2 else source_rules.TF2_RULES) + "\n\n"
        keys = source_rules.FRIENDS_KEY + (source_rules.NS2_KEYS if ns2 else "")
    return _CONFIG.format(keys=keys, pool=pool, rules=tables, digest=digest)
