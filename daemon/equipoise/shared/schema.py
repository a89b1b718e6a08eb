"""The tables of shared pools, in the SQL that PostgreSQL and databases with its protocol have in common."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from equipoise.errors import LogRefused
from equipoise.shared.public import PUBLIC

if TYPE_CHECKING:
    import asyncpg

FORMAT = 2
"""Of the tables."""

SCHEMAS = ("equipoise", "equipoise_public")
SCHEMA = (
    "CREATE TABLE equipoise.format (format integer PRIMARY KEY)",
    f"INSERT INTO equipoise.format VALUES ({FORMAT})",
    """CREATE TABLE equipoise.pools (
        pool text PRIMARY KEY,
        system text NOT NULL,
        params text NOT NULL,
        rating_version integer NOT NULL,
        format integer NOT NULL,
        last bigint NOT NULL,
        digest bytea NOT NULL,
        base bigint NOT NULL,
        held_by text,
        held_until timestamptz,
        shared_at timestamptz NOT NULL DEFAULT now()
    )""",
    # A piece a row; the first one has the event's head. Bodies are zlib's: a page of them costs the database no time.
    """CREATE TABLE equipoise.events (
        pool text NOT NULL,
        number bigint NOT NULL,
        piece integer NOT NULL,
        kind text,
        server text,
        round text,
        at double precision,
        machine text,
        digest bytea,
        body bytea NOT NULL,
        PRIMARY KEY (pool, number, piece)
    )""",
    "CREATE UNIQUE INDEX events_by_round ON equipoise.events (pool, server, round) WHERE round IS NOT NULL",
    """CREATE TABLE equipoise.bases (
        pool text NOT NULL,
        number bigint NOT NULL,
        digest bytea NOT NULL,
        pieces integer NOT NULL,
        made_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (pool, number)
    )""",
    """CREATE TABLE equipoise.base_pieces (
        pool text NOT NULL,
        number bigint NOT NULL,
        piece integer NOT NULL,
        body bytea NOT NULL,
        PRIMARY KEY (pool, number, piece)
    )""",
    # When a machine was heard last by the database's clock, and what its own one said then.
    """CREATE TABLE equipoise.machines (
        machine text PRIMARY KEY,
        instance text NOT NULL,
        at timestamptz NOT NULL,
        clock double precision NOT NULL,
        status text NOT NULL
    )""",
    """CREATE TABLE equipoise.servers (
        pool text NOT NULL,
        server text NOT NULL,
        machine text NOT NULL,
        status text NOT NULL,
        PRIMARY KEY (pool, server, machine)
    )""",
    *PUBLIC,
)

TABLES = frozenset(re.findall(r"CREATE TABLE equipoise\.(\w+)", "\n".join(SCHEMA)))


async def prepare(raw: asyncpg.Connection[Any], place: str) -> None:
    """Make the tables where there are none; LogRefused if they are another program's, or of another format."""
    import asyncpg

    encoding, schemas, tables = await raw.fetchrow(_THERE)
    if encoding not in ("UTF8", "UTF-8"):
        raise LogRefused(f"{place}: it is not in UTF-8: make one with ENCODING 'UTF8' TEMPLATE template0")
    if not tables:
        # Who may make no schemas has them made by somebody else. One script is one transaction and one round trip.
        script = [f"CREATE SCHEMA {name}" for name in SCHEMAS if name not in (schemas or ())]
        # Another daemon may do the same at this moment.
        with suppress(asyncpg.DuplicateSchemaError, asyncpg.DuplicateTableError, asyncpg.UniqueViolationError):
            await raw.execute(";\n".join([*script, *SCHEMA]))
        _, _, tables = await raw.fetchrow(_THERE)
    if "format" not in (tables or ()):
        advice = "give Equipoise a database of its own, as by CREATE DATABASE equipoise"
        raise LogRefused(f"{place}: its schema equipoise is another program's: {advice}")
    number = await raw.fetchval("SELECT format FROM equipoise.format")
    if number != FORMAT:
        newer = number is not None and number > FORMAT
        advice = "upgrade Equipoise on this machine" if newer else "share the pool into an empty database"
        raise LogRefused(f"{place}: its tables have format {number}, this Equipoise knows {FORMAT}: {advice}")
    if missing := TABLES - {*tables}:
        raise LogRefused(f"{place}: its table equipoise.{min(missing)} is missing: restore the database from a backup")


_THERE = """SELECT current_setting('server_encoding'),
    (SELECT array_agg(nspname::text) FROM pg_catalog.pg_namespace),
    (SELECT array_agg(tablename::text) FROM pg_catalog.pg_tables WHERE schemaname = 'equipoise')"""
