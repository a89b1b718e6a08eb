"""`equipoise pool recompute`: rates all stored rounds on trial, shows the difference, asks, then writes.

Rounds that wait in the ring's file are stored first, so that none is missed.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from threading import Event
from typing import Any

import click

from equipoise import config, ratings
from equipoise.app import SystemClock
from equipoise.cli.client import REFUSED
from equipoise.cli.options import agreed, stop
from equipoise.cli.output import json_text, print_table, progress
from equipoise.cli.sharing import followed, opened
from equipoise.config.differences import pool_table
from equipoise.errors import ConfigError, StoreError
from equipoise.lab.models import settings
from equipoise.lab.tables import estimate
from equipoise.ratings.system import System
from equipoise.service.held import described, fingerprint_of
from equipoise.service.pool import Pool
from equipoise.service.replayed import Comparison, Mover, Predicted, Replayed, Trial, begin
from equipoise.service.ring import Ring
from equipoise.service.shared_pool import SharedPool
from equipoise.store.notes import Audit
from equipoise.store.player_rows import Fingerprint
from equipoise.store.sequence import LearntSpread
from equipoise.store.store import Store


@dataclass(frozen=True, slots=True)
class Edits:
    """Counts of the players whom admins edited, imported or refitted, and their fate."""

    kept: int = 0
    carried: int = 0
    """Given the same advantage over a newcomer by another system."""
    dropped: int = 0
    """Refused by the new system, or of a refit by the old one."""
    lost: int = 0
    """Changed before edits were stored."""


@dataclass(frozen=True, slots=True)
class Found:
    """Changes that the new ratings would make."""

    old: Fingerprint
    new: Fingerprint
    comparison: Comparison | None
    movers: list[Mover]
    pruned_rounds: int
    """Rated rounds that are not there any more."""
    edits: Edits


@dataclass(frozen=True, slots=True)
class Recomputing:
    """One run of the command."""

    whole: config.Config
    configured: config.Pool
    wanted: config.Pool
    from_rest: bool
    """Rate the rounds that are left although older ones were deleted."""
    interrupted: Event = field(default_factory=Event)

    @classmethod
    def of(
        cls, path: Path, name: str | None, system: str | None, pairs: Sequence[str], *, from_rest: bool = False
    ) -> Recomputing:
        """ConfigError, RatingError: there is no such pool, or no such system for it."""
        whole = config.load(path, os.environ)
        present = whole.pool(name)
        base = {} if system else present.params
        target = replace(present, system=system or present.system, params={**base, **settings(pairs)})
        if not _made(target).live:
            raise ConfigError(f"{target.system} rates histories, it cannot rate a pool")
        return cls(whole, present, target, from_rest)

    async def run(self, *, yes: bool, as_json: bool) -> None:
        """Try, show, ask and write. StoreError: nothing was written; usually the daemon runs, or no store is here."""
        name = self.wanted.name
        async with opened(self.whole) as store:
            own = await store.fingerprint(name) or fingerprint_of(_made(self.configured))
            system = ratings.create(own.system, **own.params)
            async with followed(self.whole, name, system, store) as replica:
                if replica is None:
                    await self._store_waiting(store, own)
                trial = await self._try(store, own)
                if not as_json:
                    _show(trial)
                # JSON is for programs, which nobody can ask.
                written = yes or (not as_json and agreed("Replace the ratings?"))
                if written:
                    await self._write(store, trial, replica)
        if as_json:
            click.echo(json_text(asdict(trial) | {"written": written}, ascii_only=False))
        elif written:
            self._report()
        else:
            stop("nothing was changed", REFUSED)

    async def _try(self, store: Store, old: Fingerprint) -> Found:
        name = self.wanted.name
        gone = await store.pruned_rounds(name)
        if gone and not self.from_rest:
            raise StoreError(
                f"{gone:,} old rounds of pool {name} were deleted (retention.rounds_days), and players would begin "
                "with the rounds that are left; --without-pruned-rounds says that this is meant"
            )
        rounds = len(await store.predictions(name, None))
        learnt = await store.learnt_spread(name)
        with self._replayed(f"rating by {self.wanted.system}", old, learnt, rounds) as replay:
            trial = Trial(replay)
            await self._to_the_end(store.events(name, trial.see))
        board = await store.top(name, None, since=None)
        edits = Edits(**replay.edits, lost=await store.lost_edits(name))
        return Found(old, replay.fingerprint, trial.comparison(), trial.movers(board), gone, edits)

    async def _store_waiting(self, store: Store, fingerprint: Fingerprint) -> None:
        """Have rounds that wait rated and stored, by the system of the stored ratings."""
        name = self.configured.name
        path = self.whole.directory / f"{name}.ring"
        if path.exists() and path.stat().st_size:
            # By the system of the stored ratings and not by the configured one, which a pool would refuse to open with.
            pool = Pool(
                name, ratings.create(fingerprint.system, **fingerprint.params), store, Ring(path), SystemClock()
            )
            await pool.open()
            await pool.close()
            if pool.ring_depth:
                raise StoreError(f"{path}: {pool.ring_depth} waiting rounds cannot be stored now")

    async def _write(self, store: Store, found: Found, shared: SharedPool | None) -> None:
        """Rate everything a second time: the results of the trial, per round and player, would not fit into memory."""
        name, rounds = self.wanted.name, found.comparison.before.quality.rounds if found.comparison else 0
        before, after = described(found.old), described(found.new)
        entry = Audit(SystemClock().epoch(), "console", "recompute", f"pool {name}", before, after)

        async def write() -> None:
            learnt = await store.learnt_spread(name)
            with self._replayed("writing", found.old, learnt, rounds) as replay:
                await self._to_the_end(store.recompute(name, replay, entry))

        if shared is None:
            await write()
        else:
            await shared.rewrite("recompute", _made(self.wanted), write)

    @contextmanager
    def _replayed(self, title: str, old: Fingerprint, learnt: LearntSpread | None, rounds: int) -> Iterator[Replayed]:
        """The new system before its first round, with a progress bar."""
        with progress() as bar:
            task = bar.add_task(title, total=rounds)

            def advance() -> None:
                if self.interrupted.is_set():
                    raise StoreError("interrupted; nothing was changed")
                bar.advance(task)

            system = _made(self.wanted)
            begin(system, learnt)
            yield Replayed(system, old, advance)

    async def _to_the_end(self, work: Coroutine[Any, Any, None]) -> None:
        """Run to the end. Ctrl-C stops the store at the next round, with StoreError unless everything was committed."""
        loop = asyncio.get_running_loop()
        # The handler that asyncio.run installs does not wake the loop: a signal that comes just before the loop begins
        # to wait for the store's thread would be seen when that is done.
        loop.add_signal_handler(signal.SIGINT, self.interrupted.set)
        try:
            await work
        finally:
            loop.remove_signal_handler(signal.SIGINT)

    def _report(self) -> None:
        click.echo("The ratings have been replaced.")
        if fingerprint_of(_made(self.configured)) == fingerprint_of(_made(self.wanted)):
            return
        click.echo(f"Before the daemon starts again, {self.whole.path} must contain:\n")
        for line in pool_table(self.wanted):
            click.echo(line)


def _made(pool: config.Pool) -> System[Any]:
    return ratings.create(pool.system, **pool.params)


def _show(found: Found) -> None:
    if found.comparison is None:
        click.echo("No rounds have been rated yet.")
    else:
        click.echo(f"Stored: {described(found.old)}.  New: {described(found.new)}.")
        _compare(found.comparison)
    if found.movers:
        click.echo("\nThe largest changes of place, among players shown before and after:")
        head = ("PLAYER", "NAME", "PLACE", "", "RATING", "")
        print_table(head, (_mover(mover) for mover in found.movers))
    if found.pruned_rounds:
        click.echo(
            f"\n{found.pruned_rounds:,} older rounds were deleted: who played in no later one is a newcomer again."
        )
    edits = found.edits
    parts = (
        (edits.kept, "edits by admins are kept at their place among the rounds"),
        (edits.carried, "ratings that were set or imported keep their advantage over a newcomer"),
        (edits.dropped, "ratings that were set, imported or refitted mean nothing to the new system: dropped"),
        (edits.lost, "ratings that were set or reset by an earlier version are lost: it did not store edits"),
    )
    if lines := [f"{count:,} {text}." for count, text in parts if count]:
        click.echo("\n" + "\n".join(lines))


def _compare(comparison: Comparison) -> None:
    click.echo(f"{comparison.before.quality.rounds:,} rounds, each predicted before it was rated:\n")
    losses, brier = comparison.difference.log_loss, comparison.difference.brier
    rows = [
        ("stored", *_measures(comparison.before)),
        ("new", *_measures(comparison.after)),
        ("difference", estimate(losses, signed=True), estimate(brier, signed=True), ""),
    ]
    print_table(("", "LOG LOSS", "BRIER", "ACCURACY"), rows)
    click.echo("± is one standard error; a difference below 0 speaks for the new ratings.")


def _measures(predicted: Predicted) -> tuple[str, str, str]:
    quality, accuracy = predicted.quality, predicted.accuracy
    return (
        estimate(quality.log_loss),
        estimate(quality.brier),
        "-" if accuracy is None else estimate(accuracy, percent=True),
    )


def _mover(mover: Mover) -> tuple[object, ...]:
    return (
        mover.id,
        mover.name or "-",
        mover.place_before,
        f"→ {mover.place_after}",
        f"{mover.rating_before:g}",
        f"→ {mover.rating_after:g}",
    )
