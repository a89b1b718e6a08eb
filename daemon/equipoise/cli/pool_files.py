"""Pools as files: exported through the daemon or from the store; filled from an export, or with first ratings.

An import needs the daemon stopped: it holds ratings in memory, and a request body has 256 KiB, so an import beside it
would need a second way in, and every session would have to be asked to load its players again. A restart takes a
second.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from mmap import ACCESS_READ, mmap
from pathlib import Path
from threading import Event
from typing import Any, NoReturn

import click
import msgspec

from equipoise import config, ratings
from equipoise.cli.client import Client, Unreachable, one_pool
from equipoise.cli.options import FAILED, INTERRUPTED, confirm, past, stop
from equipoise.cli.output import counted, json_text, print_table, progress
from equipoise.cli.sharing import followed, opened
from equipoise.core.model import PlayerId
from equipoise.errors import ConfigError, FileError, RatingError, ScriptError, StoreInUse, StoreRefused
from equipoise.files import sync
from equipoise.moving.first_ratings import FirstRating, bins, quantiles, read, read_table
from equipoise.moving.jsonl import PIECE, Reader, written
from equipoise.ratings.system import System
from equipoise.service.held import check, described, fingerprint_of
from equipoise.service.replayed import Replayed
from equipoise.service.shared_pool import SharedPool
from equipoise.store import pool_file
from equipoise.store.player_rows import Fingerprint, PlayerRow
from equipoise.store.sequence import BulkEdit
from equipoise.store.store import Store
from equipoise.store.transfer import Beside, exported

Take = Callable[[bytes], None]
SYNCED_BYTES = 1 << 20
"""As much of an export's file is put on the disk at a time."""


def export(path: Path, name: str | None, target: Path, url: str | None, token: str | None) -> None:
    """Write the pool, by default the only one. ConfigError, StoreError: there is no store, or no such pool."""
    client = Client.of(path, url, token)
    # Without a daemon the configuration knows the only pool, but for one that was named by its address.
    pool = name or (one_pool(client, None) if url is not None else config.load(path, os.environ).pool(None).name)
    with _output(target) as take:
        try:
            _copy(client.export(pool, PIECE), take)
        except Unreachable as error:
            # With an address the daemon was meant, and a store on this machine may be another one's.
            if url is not None or not error.nobody:
                raise
            asyncio.run(_from_store(path, pool, take))
    if str(target) != "-":
        click.echo(f"{target}: pool {pool}, {target.stat().st_size / 1e6:,.1f} MB.")


async def _from_store(path: Path, pool: str, take: Take) -> None:
    whole = config.load(path, os.environ)
    refuse_waiting(whole.directory, pool)
    async with opened(whole) as store:
        with exported(store.path, pool) as lines:
            _copy(written(lines), take)


def refuse_waiting(directory: Path, pool: str) -> None:
    """StoreRefused when rounds wait in the ring's file: they are a part of the pool that is not in the store."""
    ring = directory / f"{pool}.ring"
    with suppress(OSError):
        if ring.stat().st_size:
            raise StoreRefused(f"{ring}: rounds wait here for the store: start the daemon once, so that it stores them")


def _copy(pieces: Iterable[bytes], take: Take) -> None:
    with progress() as bar:
        task, head, counted_on = bar.add_task("exporting", total=None), b"", False
        for piece in pieces:
            take(piece)
            if not counted_on:
                head += piece
                if counted_on := head.count(b"\n") > 1:
                    bar.update(task, total=3 + msgspec.json.decode(head.splitlines()[1], type=pool_file.Head).following)
            bar.advance(task, piece.count(b"\n"))


def _to_stdout(piece: bytes) -> None:
    output = past(sys.stdout).buffer
    output.write(piece)
    output.flush()


@contextmanager
def _output(target: Path) -> Iterator[Take]:
    """Yield a writer of bytes: to standard output, or to a new file that appears when it is whole and on the disk."""
    if str(target) == "-":
        yield _to_stdout
        return
    if os.path.lexists(target):
        stop(f"{target}: exists already, and nothing is overwritten: name another file")
    part = target.with_name(f".{target.name}.part")
    try:
        part.unlink(missing_ok=True)
        file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        _failed(target, error)
    try:
        with os.fdopen(file, "wb") as stream:
            synced = 0

            def to_file(piece: bytes) -> None:
                nonlocal synced
                try:
                    stream.write(piece)
                    # A disk that gets all of it at once lets the syncs of rounds wait.
                    if stream.tell() - synced >= SYNCED_BYTES:
                        os.fdatasync(file)
                        synced = stream.tell()
                except OSError as error:
                    _failed(target, error)

            yield to_file
            try:
                stream.flush()
                os.fsync(file)
                # Synced before it has its name, as a backup.
                part.rename(target)
                sync(target.parent)
            except OSError as error:
                _failed(target, error)
    finally:
        part.unlink(missing_ok=True)


def _failed(target: Path, error: OSError) -> NoReturn:
    stop(f"{target}: {error.strerror}; nothing was written", FAILED)


class Interrupted(Exception):
    """Ctrl-C, seen between two lines."""


def import_export(path: Path, name: str | None, source: Path, *, as_json: bool) -> None:
    """Fill a pool. FileError, ConfigError, StoreError: why not; then nothing was changed."""
    with source.open("rb") as file:
        reader = Reader(file)
        name = name or reader.head.pool
        whole = config.load(path, os.environ)
        system = configured(whole, name)
        _agree(name, reader.head, system)
        written = asyncio.run(_Import(whole, name, source, system).run(reader))
    head = reader.head
    if as_json:
        counts = {"players": head.players, "rounds": head.rounds, "names": head.names, "edits": head.edits}
        click.echo(json_text({"pool": name, **counts, "written": written}))
    elif written:
        click.echo(f"Pool {name} has {head.players:,} players, {head.rounds:,} rounds and {head.names:,} names now.")
    else:
        click.echo(f"Pool {name} is what {source} has: nothing was changed.")


def configured(loaded: config.Config, name: str) -> System[Any]:
    """The rating system of a configured pool; ConfigError without one."""
    if name not in loaded.pools:
        raise ConfigError(f"{loaded.path}: there is no [pool.{name}]; --pool names the pool to import into")
    return ratings.create(loaded.pools[name].system, **loaded.pools[name].params)


@contextmanager
def interruptible() -> Iterator[Event]:
    """An event that Ctrl-C sets: the store's thread looks at it between two lines, and takes everything back."""
    interrupt = Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, interrupt.set)
    try:
        yield interrupt
    except Interrupted:
        stop("interrupted; nothing was imported", INTERRUPTED)
    finally:
        loop.remove_signal_handler(signal.SIGINT)


class _Import:
    def __init__(self, whole: config.Config, name: str, source: Path, system: System[Any]) -> None:
        self._whole, self._name, self._source, self._system = whole, name, source, system

    async def run(self, reader: Reader) -> bool:
        """Fill the pool; False: it is what the file has."""
        refuse_waiting(self._whole.directory, self._name)
        async with (
            opened(self._whole) as store,
            followed(self._whole, self._name, configured(self._whole, self._name), store) as replica,
        ):
            players, rounds, edits = await store.holds(self._name)
            if empty := not (players or rounds or edits):
                fill = partial(self._fill, store, reader)
                await (fill() if replica is None else replica.rewrite("import", self._system, fill))
            elif not _is_same(store.path, self._name, self._source):
                stop(
                    f"pool {self._name} has {players:,} players and {rounds:,} rounds, unlike {self._source}; nothing "
                    "was imported. --pool names another pool",
                    FAILED,
                )
        return empty

    async def _fill(self, store: Store, reader: Reader) -> None:
        with progress() as bar, interruptible() as interrupt:
            task = bar.add_task("importing", total=reader.head.following)

            def lines() -> Iterator[pool_file.AnyLine]:
                for line in reader.lines():
                    if interrupt.is_set():
                        raise Interrupted
                    self._check(line)
                    bar.advance(task)
                    yield _renamed(line, reader.head.pool, self._name)

            try:
                await store.fill(self._name, lines())
            except (FileError, RatingError, ScriptError) as error:
                if isinstance(error, FileError) and error.line is not None:
                    raise
                raise FileError(str(error), line=reader.line) from None

    def _check(self, line: pool_file.AnyLine) -> None:
        """RatingError unless the rating system can read what it is to go on from."""
        if isinstance(line, pool_file.Player):
            player = PlayerId(line.id)
            self._system.restore(player, line.skill.state)
            self._system.forget(player)
        elif isinstance(line, pool_file.Part):
            self._system.restore_shared(line.key, line.part)
        elif isinstance(line, pool_file.Base) and line.purpose == "system":
            Replayed(self._system, fingerprint_of(self._system)).restore_snapshot(line.data)


def _agree(name: str, head: pool_file.Head, system: System[Any]) -> None:
    """The daemon would refuse to start on ratings that another system made than the configured one."""
    made_by = Fingerprint(head.system, head.params)
    try:
        makers = described(made_by)
    except RatingError as error:  # a system that does not exist here
        raise FileError(str(error), line=2) from None
    try:
        check(name, made_by, system)
    except ConfigError:
        raise ConfigError(
            f"the ratings were made by {makers}, which [pool.{name}] must say before the import; "
            "`equipoise pool recompute` can change the system afterwards",
            path=f"$.pool.{name}",
        ) from None


def _is_same(store: Path, name: str, source: Path) -> bool:
    """Whether an export of the pool, if it had the name that it has in the file, would be the file's bytes."""
    with source.open("rb") as file:
        own_name = Reader(file).head.pool
        file.seek(0)
        with exported(store, name) as lines:
            text = written(_renamed(line, name, own_name) for line in lines)
            return all(file.read(len(piece)) == piece for piece in text) and not file.read(1)


def _renamed(line: pool_file.AnyLine, old: str, new: str) -> pool_file.AnyLine:
    """A line of a pool that gets another name."""
    if isinstance(line, pool_file.Head):
        return msgspec.structs.replace(line, pool=new)
    if isinstance(line, pool_file.Entry) and line.target == f"pool {old}":
        return msgspec.structs.replace(line, target=f"pool {new}")
    return line


BAR = 40
"""The longest line of the histogram, in characters."""
HIGHEST = 10
AT_ONCE = 1000
"""Players whose rows are read at once."""
NOBODY = PlayerId("76561197960265729")


@dataclass(frozen=True, slots=True)
class Wanted:
    """First ratings and names as the files have them."""

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
    """Effects that an import would have."""

    pool: str
    ratings: int
    skipped: dict[str, int]
    """Why others are left out, and how many."""
    highest: list[Highest]
    histogram: list[tuple[float, float, int]]


@contextmanager
def _opened(source: Path) -> Iterator[mmap]:
    """A file as bytes that are read when they are looked at: a dump may be larger than the memory."""
    if not source.is_file():
        raise FileError("not a regular file", file=str(source))
    with source.open("rb") as file:
        if not os.fstat(file.fileno()).st_size:
            raise FileError("the file is empty", file=str(source))
        with mmap(file.fileno(), 0, access=ACCESS_READ) as data:
            yield data


class FirstRatings:
    """First ratings for players of a pool. FileError, ConfigError, StoreError: why not; then nothing was changed."""

    def __init__(self, path: Path, name: str | None, *, overwrite: bool, yes: bool, as_json: bool) -> None:
        self._whole = config.load(path, os.environ)
        self._pool = name or self._whole.pool(None).name
        self._system = configured(self._whole, self._pool)
        self._overwrite, self._yes, self._as_json = overwrite, yes, as_json

    def table(self, source: Path) -> None:
        """Take the ratings of a table."""
        with _opened(source) as data:
            table = Wanted(read_table(data[:]), source.name)
        asyncio.run(self._run(table))

    def hlstatsx(self, sources: Sequence[Path], game: str, spread: float | None) -> None:
        """Take the order of HLstatsX:CE as ratings around a newcomer's."""
        with ExitStack() as stack:
            players = read({str(source): stack.enter_context(_opened(source)) for source in sources}, game)
        order = {player: person.skill for player, person in players.listed.items()}
        deviation = self._system.deviation(NOBODY)
        usual = 200.0 if deviation is None else deviation / 2
        newcomer = self._system.summary(NOBODY).rating
        ratings = quantiles(order, newcomer, usual if spread is None else spread)
        by_rating = sorted(order, key=lambda player: (-order[player], player))
        table = Wanted(
            [FirstRating(player, ratings[player]) for player in by_rating],
            f"HLstatsX:CE, {game}",
            {player: person.name for player, person in players.listed.items()},
            players.skipped,
        )
        asyncio.run(self._run(table))

    async def _run(self, wanted: Wanted) -> None:
        """Work out what would change, show it, ask and write; while a daemon runs, only the first two."""
        why_not: str | None = "--yes imports them"
        try:
            async with opened(self._whole) as store:
                refuse_waiting(self._whole.directory, self._pool)
                async with followed(self._whole, self._pool, configured(self._whole, self._pool), store) as replica:
                    trial, rows = await self._looked(store, wanted)
                    if rows and (self._yes or _agreed(as_json=self._as_json)):
                        await self._write(store, wanted, rows, replica)
                        why_not = None
        except StoreInUse as error:
            if self._yes:
                raise
            trial, _ = await self._looked(Beside(self._whole.directory / config.STORE), wanted)
            why_not = f"{error}; then import with --yes"
        _report_first_ratings(trial, as_json=self._as_json, why_not=why_not)

    async def _looked(self, store: Store | Beside, wanted: Wanted) -> tuple[Found, list[PlayerRow]]:
        """Return what would change, to be shown; ConfigError unless the configured system makes the stored ratings."""
        fingerprint = await store.fingerprint(self._pool)
        if fingerprint is not None:
            check(self._pool, fingerprint, self._system)
        rows, skips = await self._rows(store, wanted)
        trial = Found(
            self._pool,
            len(rows),
            dict((wanted.skipped + skips).most_common()),
            [
                Highest(row.id, wanted.names.get(row.id), row.rating)
                for row in sorted(rows, key=lambda row: -row.rating)[:HIGHEST]
            ],
            bins([row.rating for row in rows]) if rows else [],
        )
        if not self._as_json:
            _show_first_ratings(trial)
        return trial, rows

    async def _rows(self, store: Store | Beside, wanted: Wanted) -> tuple[list[PlayerRow], Counter[str]]:
        """The players as they will be, and why others stay as they are."""
        rows: list[PlayerRow] = []
        skips: Counter[str] = Counter()
        for start in range(0, len(wanted.ratings), AT_ONCE):
            batch = wanted.ratings[start : start + AT_ONCE]
            present = await store.players(self._pool, [line.player for line in batch], 0)
            for line in batch:
                row = present.get(line.player)
                # Who was only imported or set before may be imported again: no round has built on it.
                if row is not None and row.last_played is not None and not self._overwrite:
                    skips["players who have rated rounds here (--overwrite)"] += 1
                    continue
                rows.append(self._row(line, row))
        return rows, skips

    def _row(self, first: FirstRating, row: PlayerRow | None) -> PlayerRow:
        system, player = self._system, first.player
        rounds = {} if first.rounds is None else {"rounds": first.rounds}
        try:
            if row is not None:
                # `seed` sets what the file says and leaves the rest: it begins from the state that is stored.
                system.restore(player, row.state)
            system.seed(player, rating=first.rating, **rounds)
        except RatingError as error:
            advice = "; choose a smaller --spread" if first.line is None else ""
            raise FileError(f"{error}{advice}", line=first.line) from None
        summary, state = system.summary(player), system.state(player)
        system.forget(player)
        return PlayerRow(player, 0, summary.rating, summary.rounds, summary.visible, summary.last_played, state, ())

    async def _write(self, store: Store, wanted: Wanted, rows: Sequence[PlayerRow], shared: SharedPool | None) -> None:
        from equipoise.app import SystemClock

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
            await (store.adopt_edit(self._pool, edit) if shared is None else shared.adopt(edit))


def _agreed(*, as_json: bool) -> bool:
    """Return whether a person agrees; False if there is none to ask."""
    if as_json or not sys.stdin.isatty():
        return False
    confirm("Import these ratings?")
    return True


def _show_first_ratings(found: Found) -> None:
    if found.histogram:
        most = max(count for *_, count in found.histogram)
        click.echo("Ratings:\n")
        for low, high, count in found.histogram:
            bar = "#" * -(-count * BAR // most)
            click.echo(f"{low:10.6g} to {high:<10.6g} {count:>9,}  {bar}".rstrip())
        click.echo("\nThe highest:\n")
        rows = [(player.id, player.name or "-", f"{player.rating:g}") for player in found.highest]
        print_table(("PLAYER", "NAME", "RATING"), rows, texts=2)
    if found.skipped:
        click.echo("\nLeft out:\n")
        print_table(("WHY", "HOW MANY"), [(why, f"{count:,}") for why, count in found.skipped.items()], texts=1)


def _report_first_ratings(found: Found, *, as_json: bool, why_not: str | None) -> None:
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
