"""First ratings, from a table or from HLstatsX:CE: shown, then written. The daemon must be stopped."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

import click

from equipoise import config
from equipoise.app import SystemClock
from equipoise.cli.exporting import refuse_waiting
from equipoise.cli.importing import configured, interruptible
from equipoise.cli.options import FAILED, agreed, say_opened, stop
from equipoise.cli.output import json_text
from equipoise.cli.tables import print_table
from equipoise.cli.words import counted
from equipoise.core.model import PlayerId
from equipoise.errors import FileError, RatingError, StoreInUse
from equipoise.moving.first_ratings import FirstRating, bins, quantiles, read_table
from equipoise.moving.hlstatsx import read
from equipoise.ratings.system import System
from equipoise.service.fingerprint import check, fingerprint_of
from equipoise.store.rated import PlayerRow
from equipoise.store.sequence import BulkEdit
from equipoise.store.sqlite import SqliteStore
from equipoise.store.sqlite.exporting import Beside

BAR = 40
"""The longest line of the histogram, in characters."""
HIGHEST = 10
AT_ONCE = 1000
"""Players whose rows are read at once."""
NOBODY = PlayerId("76561197960265729")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the files say."""

    ratings: Sequence[FirstRating]
    source: str
    names: dict[PlayerId, str] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Highest:
    """A player who would be among the highest."""

    id: PlayerId
    name: str | None
    rating: float


@dataclass(frozen=True, slots=True)
class Found:
    """What an import would do."""

    pool: str
    ratings: int
    skipped: dict[str, int]
    """Why others are left out, and how many."""
    highest: list[Highest]
    histogram: list[tuple[float, float, int]]


def import_table(path: Path, name: str | None, source: Path, *, overwrite: bool, yes: bool, as_json: bool) -> None:
    """Ratings from a table. FileError, ConfigError, StoreError: why not; then nothing was changed."""
    run = _Import.of(path, name)
    with _opened(source) as data:
        wanted = Wanted(read_table(data[:]), source.name)
    asyncio.run(run.run(wanted, overwrite=overwrite, yes=yes, as_json=as_json))


def import_hlstatsx(
    path: Path,
    name: str | None,
    sources: Sequence[Path],
    *,
    game: str,
    spread: float | None,
    overwrite: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """The order of HLstatsX:CE as ratings. FileError, ConfigError, StoreError: why not; then nothing was changed."""
    run = _Import.of(path, name)
    with ExitStack() as stack:
        players = read({str(source): stack.enter_context(_opened(source)) for source in sources}, game)
    order = {player: listed.skill for player, listed in players.listed.items()}
    rated = quantiles(order, run.newcomer, run.spread if spread is None else spread)
    wanted = Wanted(
        [FirstRating(player, rated[player]) for player in sorted(order, key=lambda player: (-order[player], player))],
        f"HLstatsX:CE, {game}",
        {player: listed.name for player, listed in players.listed.items()},
        players.skipped,
    )
    asyncio.run(run.run(wanted, overwrite=overwrite, yes=yes, as_json=as_json))


@contextmanager
def _opened(source: Path) -> Iterator[mmap]:
    """A file as bytes that are read when they are looked at: a dump may be larger than the memory."""
    if not source.is_file():
        raise FileError("it is no regular file", file=str(source))
    with source.open("rb") as file:
        if not os.fstat(file.fileno()).st_size:
            raise FileError("the file is empty", file=str(source))
        with mmap(file.fileno(), 0, access=ACCESS_READ) as data:
            yield data


class _Import:
    def __init__(self, directory: Path, pool: str, system: System[Any]) -> None:
        self._directory, self._pool, self._system = directory, pool, system
        self.newcomer = system.summary(NOBODY).rating
        deviation = system.deviation(NOBODY)
        self.spread = 200.0 if deviation is None else deviation / 2

    @classmethod
    def of(cls, path: Path, name: str | None) -> _Import:
        loaded = config.load(path, os.environ)
        if name is None and len(loaded.pools) == 1:
            (name,) = loaded.pools
        elif name is None:
            stop(f"--pool must name one of the pools: {', '.join(sorted(loaded.pools))}")
        return cls(loaded.directory, name, configured(loaded, name))

    async def run(self, wanted: Wanted, *, overwrite: bool, yes: bool, as_json: bool) -> None:
        """Work out what would change, show it, ask and write; while a daemon runs, only the first two."""
        path = self._directory / config.STORE
        store = SqliteStore(path, create=False)
        try:
            await store.open()
        except StoreInUse as error:
            if yes:
                raise
            found, _ = await self._looked(Beside(path), wanted, overwrite=overwrite, as_json=as_json)
            _report(found, as_json=as_json, why_not=f"{error}; then import with --yes")
            return
        say_opened(store.path)
        written = False
        try:
            refuse_waiting(self._directory, self._pool)
            found, rows = await self._looked(store, wanted, overwrite=overwrite, as_json=as_json)
            if rows and (yes or _agreed(as_json=as_json)):
                await self._write(store, wanted, rows)
                written = True
        finally:
            await store.close()
        _report(found, as_json=as_json, why_not=None if written else "--yes imports them")

    async def _looked(
        self, store: SqliteStore | Beside, wanted: Wanted, *, overwrite: bool, as_json: bool
    ) -> tuple[Found, list[PlayerRow]]:
        """What would change, which is shown; ConfigError unless the configured system makes the stored ratings."""
        recorded = await store.fingerprint(self._pool)
        if recorded is not None:
            check(self._pool, recorded, self._system)
        rows, skipped = await self._rows(store, wanted, overwrite=overwrite)
        found = self._found(wanted, rows, wanted.skipped + skipped)
        if not as_json:
            _show(found)
        return found, rows

    async def _rows(
        self, store: SqliteStore | Beside, wanted: Wanted, *, overwrite: bool
    ) -> tuple[list[PlayerRow], Counter[str]]:
        """The players as they will be, and why others stay as they are."""
        rows: list[PlayerRow] = []
        skipped: Counter[str] = Counter()
        for start in range(0, len(wanted.ratings), AT_ONCE):
            batch = wanted.ratings[start : start + AT_ONCE]
            stored = await store.players(self._pool, [each.player for each in batch], 0)
            for each in batch:
                row = stored.get(each.player)
                if row is not None and row.last_played is not None and not overwrite:
                    skipped["players who have rated rounds here (--overwrite)"] += 1
                    continue
                rows.append(self._row(each, row))
        return rows, skipped

    def _row(self, first: FirstRating, row: PlayerRow | None) -> PlayerRow:
        system, player = self._system, first.player
        rounds = {} if first.rounds is None else {"rounds": first.rounds}
        try:
            if row is not None:
                system.restore(player, row.state)
            system.seed(player, rating=first.rating, **rounds)
        except RatingError as error:
            advice = "; choose a smaller --spread" if first.line is None else ""
            raise FileError(f"{error}{advice}", line=first.line) from None
        summary, state = system.summary(player), system.state(player)
        system.forget(player)
        return PlayerRow(player, 0, summary.rating, summary.rounds, summary.visible, summary.last_played, state, ())

    def _found(self, wanted: Wanted, rows: Sequence[PlayerRow], skipped: Counter[str]) -> Found:
        highest = sorted(rows, key=lambda row: -row.rating)[:HIGHEST]
        return Found(
            self._pool,
            len(rows),
            dict(skipped.most_common()),
            [Highest(row.id, wanted.names.get(row.id), row.rating) for row in highest],
            bins([row.rating for row in rows]) if rows else [],
        )

    async def _write(self, store: SqliteStore, wanted: Wanted, rows: Sequence[PlayerRow]) -> None:
        edit = BulkEdit(
            "import",
            SystemClock().epoch(),
            "console",
            rows,
            "",
            f"{len(rows)} ratings from {wanted.source}",
            detail={"source": wanted.source},
        )
        with interruptible():  # one transaction, which takes seconds
            if await store.fingerprint(self._pool) is None:
                await store.adopt(self._pool, fingerprint_of(self._system), edit.at)
            await store.adopt_edit(self._pool, edit)


def _agreed(*, as_json: bool) -> bool:
    """What a person says; False where there is none to ask."""
    if as_json or not sys.stdin.isatty():
        return False
    if not agreed("Import these ratings?"):
        stop("nothing was changed", FAILED)
    return True


def _show(found: Found) -> None:
    if found.histogram:
        most = max(count for *_, count in found.histogram)
        click.echo("Ratings:\n")
        for low, high, count in found.histogram:
            bar = "#" * -(-count * BAR // most)
            click.echo(f"{low:10.6g} to {high:<10.6g} {count:>9,}  {bar}".rstrip())
        click.echo("\nThe highest:\n")
        rows = [(each.id, each.name or "-", f"{each.rating:g}") for each in found.highest]
        print_table(("PLAYER", "NAME", "RATING"), rows, texts=2)
    if found.skipped:
        click.echo("\nLeft out:\n")
        print_table(("WHY", "HOW MANY"), [(why, f"{count:,}") for why, count in found.skipped.items()], texts=1)


def _report(found: Found, *, as_json: bool, why_not: str | None) -> None:
    """`why_not`: why nothing was written, where nothing was."""
    ratings = counted(found.ratings, "rating")
    if as_json:
        click.echo(json_text(asdict(found) | {"written": why_not is None}, ascii_only=False))
    elif not found.ratings:
        stop("there is nothing to import", FAILED)
    elif why_not is None:
        click.echo(f"\nPool {found.pool}: imported {ratings}.")
    else:
        click.echo(f"\nPool {found.pool}: this would import {ratings}; nothing was changed.")
        click.echo(why_not)
