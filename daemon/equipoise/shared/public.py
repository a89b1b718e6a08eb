"""What people's own web pages read by SQL: rows of players and rounds, kept beside the log, and views of them.

Each append writes them in its transaction, from the rows in the events' bodies. The daemons read none of them.
The views leave out who is hidden, and show no rating that players do not see themselves: docs/shared.md has them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from equipoise.shared.bodies import OWN, Value, piece_decoder
from equipoise.shared.connections import Statement


class Kept(NamedTuple):
    """A table of ours: the columns of the events' table, and their types. The first `keys` of them are its key."""

    columns: dict[str, str]
    keys: int = 1


KEPT = {
    "players": Kept(
        {
            "id": "text",
            "rating": "float8",
            "rounds": "int4",
            "visible": "int4",
            "last_played": "float8",
            "wins": "int4",
            "draws": "int4",
            "losses": "int4",
            "leaves": "int4",
        }
    ),
    "names": Kept({"player": "text", "name": "text"}),
    "hidden": Kept({"player": "text"}),
    "rounds": Kept(
        {
            "number": "int8",
            "server": "text",
            "id": "text",
            "map": "text",
            "mode": "text",
            "started_at": "float8",
            "seconds": "float8",
            "winner": "text",
            "prediction": "float8",
            "unrated": "text",
            "voided": "int8",
        }
    ),
    "participants": Kept(
        {
            "round": "int8",
            "place": "int4",
            "player": "text",
            "side": "text",
            "seconds_a": "float8",
            "seconds_b": "float8",
            "before": "float8",
            "after": "float8",
            "visible": "int4",
            "quit": "int4",
        },
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
        self._anew = False
        self._rows: dict[str, dict[tuple[Value, ...], tuple[Value, ...] | None]] = {}

    def add(self, number: int, body: bytes) -> None:
        """Take in a piece of the body of event `number`."""
        piece = piece_decoder.decode(body)
        if piece.anew:
            self._anew, self._rows = True, {}
        for name, table in KEPT.items():
            rows = self._rows.setdefault(name, {})
            for key in piece.deleted.get(name, ()):
                rows[tuple(number if value == OWN else value for value in key)] = None
            if (changed := piece.rows.get(name)) is not None:
                places = [changed.columns.index(column) for column in table.columns]
                numbers = [place for place, kind in enumerate(table.columns.values()) if kind == "int8"]
                for row in changed.rows:
                    values = [row[place] for place in places]
                    for place in numbers:
                        values[place] = number if values[place] == OWN else values[place]
                    rows[tuple(values[: table.keys])] = tuple(values)

    @property
    def anew(self) -> bool:
        """Whether all rows of the pool go before these (`clearing`)."""
        return self._anew

    def clearing(self, pool: str) -> list[Statement]:
        """Return what runs before `statements`: all rows of a pool go when it is written anew."""
        anew, self._anew = self._anew, False
        return [(f"DELETE FROM equipoise.{name} WHERE pool = $1", (pool,)) for name in KEPT] if anew else []

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
