"""The tables of shared pools, in the SQL that PostgreSQL and databases with its protocol have in common.

What people's own web pages read by SQL stands beside the log: rows of players and rounds, and views of them. Each
append writes them in its transaction, from the rows in the events' bodies. The daemons read none of them. The views
leave out who is hidden, and show no rating that players do not see themselves: docs/shared.md has them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from equipoise.errors import LogRefused
from equipoise.shared.bodies import OWN, Value, piece_decoder
from equipoise.shared.connections import Statement

if TYPE_CHECKING:
    from equipoise.shared.connections import Connection


class Kept(NamedTuple):
    """A table of ours: the columns of the events' table, and their types. The first `keys` of them are its key."""

    columns: dict[str, str]
    keys: int = 1


def _kept(columns: str, keys: int = 1) -> Kept:
    return Kept(dict(column.split() for column in columns.split(", ")), keys)


KEPT = {
    "players": _kept(
        "id text, rating float8, rounds int4, visible int4, last_played float8, "
        "wins int4, draws int4, losses int4, leaves int4"
    ),
    "names": _kept("player text, name text"),
    "hidden": _kept("player text"),
    "rounds": _kept(
        "number int8, server text, id text, map text, mode text, started_at float8, seconds float8, winner text, "
        "prediction float8, unrated text, voided int8"
    ),
    "participants": _kept(
        "round int8, place int4, player text, side text, seconds_a float8, seconds_b float8, before float8, "
        "after float8, visible int4, quit int4",
        keys=2,
    ),
}

_TABLES = tuple(
    f"CREATE TABLE equipoise.{name} (pool text NOT NULL, "
    + ", ".join(f"{column} {kind}" for column, kind in table.columns.items())
    + f", PRIMARY KEY (pool, {', '.join(list(table.columns)[: table.keys])}))"
    for name, table in KEPT.items()
)

_SHOWN = "NOT EXISTS (SELECT 1 FROM equipoise.hidden AS h WHERE h.pool = {0}.pool AND h.player = {0}.{1})"

PUBLIC = (
    *_TABLES,
    "CREATE INDEX participants_by_player ON equipoise.participants (pool, player, round)",
    "CREATE INDEX rounds_by_server ON equipoise.rounds (pool, server, number)",
    f"""CREATE VIEW equipoise_public.players AS
    SELECT p.pool, p.id AS player, n.name, p.rating, p.rounds, p.wins, p.draws, p.losses, p.leaves,
        to_timestamp(p.last_played) AS last_played
    FROM equipoise.players AS p
    LEFT JOIN equipoise.names AS n ON n.pool = p.pool AND n.player = p.id
    WHERE p.visible = 1 AND {_SHOWN.format("p", "id")}""",
    """CREATE VIEW equipoise_public.rounds AS
    SELECT pool, number, server, id AS round, map, mode, to_timestamp(started_at) AS started_at, seconds, winner,
        prediction AS chance_a, unrated, voided IS NOT NULL AS voided
    FROM equipoise.rounds""",
    f"""CREATE VIEW equipoise_public.participants AS
    SELECT p.pool, p.round AS number, p.player, n.name, p.side, p.seconds_a, p.seconds_b, p.quit = 1 AS quit,
        CASE WHEN p.visible = 1 THEN p.before END AS rating_before,
        CASE WHEN p.visible = 1 THEN p.after END AS rating_after
    FROM equipoise.participants AS p
    LEFT JOIN equipoise.names AS n ON n.pool = p.pool AND n.player = p.player
    WHERE {_SHOWN.format("p", "player")}""",
    """CREATE VIEW equipoise_public.servers AS
    SELECT s.pool, s.server, s.machine, m.at AS seen_at
    FROM equipoise.servers AS s JOIN equipoise.machines AS m ON m.machine = s.machine""",
)
"""The tables and views, made together with those of the log."""


class Changes:
    """The changes by events in the tables above, row by row: the last one counts."""

    def __init__(self) -> None:
        self._rows: dict[str, dict[tuple[Value, ...], tuple[Value, ...] | None]] = {}

    def add(self, number: int, body: bytes) -> None:
        """Take in a piece of the body of event `number`."""
        piece = piece_decoder.decode(body)
        for name, table in KEPT.items():
            rows = self._rows.setdefault(name, {})
            for key in piece.deleted.get(name, ()):
                rows[tuple(number if value == OWN else value for value in key)] = None
            if (changes := piece.rows.get(name)) is not None:
                places = [changes.columns.index(column) for column in table.columns]
                numbers = [place for place, kind in enumerate(table.columns.values()) if kind == "int8"]
                for row in changes.rows:
                    values = [row[place] for place in places]
                    for place in numbers:
                        values[place] = number if values[place] == OWN else values[place]
                    rows[tuple(values[: table.keys])] = tuple(values)

    def statements(self, pool: str, condition: str = "") -> Iterator[Statement]:
        """Yield what writes them, each other rows, and forget them."""
        for name, rows in self._rows.items():
            table, kinds = KEPT[name], list(KEPT[name].columns.values())
            keys = list(table.columns)[: table.keys]
            if gone := [key for key, row in rows.items() if row is None]:
                yield (
                    f"DELETE FROM equipoise.{name} WHERE pool = $1 AND ({', '.join(keys)}) IN "
                    f"(SELECT * FROM unnest({_arrays(kinds[: table.keys])}) {condition})",
                    (pool, *_by_column(gone)),
                )
            if new := [row for row in rows.values() if row is not None]:
                sets = ", ".join(f"{column} = excluded.{column}" for column in table.columns if column not in keys)
                yield (
                    f"INSERT INTO equipoise.{name} (pool, {', '.join(table.columns)}) "
                    f"SELECT $1, * FROM unnest({_arrays(kinds)}) {condition} ON CONFLICT (pool, {', '.join(keys)}) DO "
                    + (f"UPDATE SET {sets}" if sets else "NOTHING"),
                    (pool, *_by_column(new)),
                )
        self._rows = {}


def _arrays(kinds: Sequence[str]) -> str:
    return ", ".join(f"${place}::{kind}[]" for place, kind in enumerate(kinds, 2))


def _by_column(rows: Sequence[tuple[Value, ...]]) -> list[list[Value]]:
    return [list(column) for column in zip(*rows, strict=True)]


# The log's own tables.

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


async def prepare(raw: Connection, place: str) -> None:
    """Make the tables where there are none; LogRefused if they are another program's, or of another format."""
    import asyncpg

    charset, schemas, tables = await raw.fetchrow(_THERE)
    if charset not in ("UTF8", "UTF-8"):
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
    if absent := TABLES - {*tables}:
        raise LogRefused(f"{place}: its table equipoise.{min(absent)} is missing: restore the database from a backup")


_THERE = """SELECT current_setting('server_encoding'),
    (SELECT array_agg(nspname::text) FROM pg_catalog.pg_namespace),
    (SELECT array_agg(tablename::text) FROM pg_catalog.pg_tables WHERE schemaname = 'equipoise')"""
