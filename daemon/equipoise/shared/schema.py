"""The tables of shared pools, in the SQL that PostgreSQL and databases with its protocol have in common."""

from __future__ import annotations

import re

from equipoise.shared.public import PUBLIC

FORMAT = 1
"""Of the tables."""
BODIES = 1
"""Of the bodies of events and bases."""

SCHEMA = (
    "CREATE SCHEMA IF NOT EXISTS equipoise",
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
