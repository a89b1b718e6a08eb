"""Forgetting a person: a stand-in takes their place in the store, the rings and the sessions, and no rating changes.

The journal in the store has both ids before the first change. One transaction puts the stand-in into every row; then
the file is written anew and its log is emptied, because SQLite leaves what was deleted where it was. A start finishes
what a killed daemon began.

The stand-in is an id that no account has. What rating systems make of rounds does not depend on the order of ids, so it
need not stand where the person's id did.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Collection, Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from equipoise import ratings
from equipoise.core.model import STEAM_ID_BASE, PlayerId
from equipoise.errors import ScriptError, StoreError
from equipoise.service.clock import Clock
from equipoise.service.host import Host
from equipoise.service.pool import Pool
from equipoise.service.ring import frames, rename
from equipoise.store import player_rows
from equipoise.store.notes import Audit
from equipoise.store.player_rows import InForgetting
from equipoise.store.store import Store

T = TypeVar("T")

LEAST = 76561190000000000
"""From here to `STEAM_ID_BASE` are ids that look like a player's and that no account has."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Copy:
    """A file with a person's data that the daemon does not change."""

    file: str
    """Its path."""
    at: float
    """When it was written, seconds since the epoch."""


async def forget(
    player: PlayerId,
    store: Store,
    pools: Collection[Pool],
    hosts: Collection[Host],
    clock: Clock,
    who: str,
    checked: Callable[[], Awaitable[T]],
) -> tuple[PlayerId, T]:
    """Forget a person everywhere, as ordered by `who`; returns the stand-in, and what `checked` did.

    That is asked when no round or edit can come between, and may refuse. ScriptError: it did, or they are on a server.
    StoreError: not begun, or finished later; its text says which.
    """
    untold: dict[str, StoreError] = {}
    async with AsyncExitStack() as stack:
        for pool in pools:
            await stack.enter_async_context(pool.at_rest())
        refuse_present(player, hosts)
        before = await checked()
        someone = InForgetting(player, PlayerId(str(LEAST + secrets.randbelow(STEAM_ID_BASE - LEAST))))
        entry = Audit(clock.epoch(), who, "forget", player, "", "")
        if logs := [pool for pool in pools if pool.sharing]:
            # The logs first, which have every machine put the stand-in into its rows: this one, too.
            await store.note_untold([pool.name for pool in logs], someone, entry)
            for pool in logs:
                try:
                    await pool.tell_forgotten(someone, entry)
                except StoreError as error:
                    untold[pool.name] = error
        else:
            someone = InForgetting(player, await store.begin_forgetting(someone, entry))
        try:
            await forget_here([someone], store, hosts)
        except StoreError as error:
            raise StoreError(f"not finished, the daemon's next start goes on: {error}") from error
        for name, failure in untold.items():
            raise StoreError(f"not finished, it goes on when the log of pool {name} answers: {failure}") from failure
        return someone.stand_in, before


async def forget_here(forgotten: Collection[InForgetting], store: Store, hosts: Collection[Host]) -> None:
    """Forget people who are in the journal, in the memory of sessions and all of the store."""
    for someone in forgotten:
        for host in hosts:
            await host.rename(*someone)
    await store.forget(renamed)


async def hide(player: PlayerId, pools: Collection[Pool], entry: Audit, *, hide: bool) -> None:
    """Show a player nowhere from now on, or everywhere again, on all machines that share one of the pools."""
    for pool in [pool for pool in pools if pool.sharing] or list(pools)[:1]:
        await pool.hide(player, entry, hide=hide)


def refuse_present(player: PlayerId, hosts: Iterable[Host]) -> None:
    """ScriptError 409 while somebody is on a server: what they do there would be stored again."""
    if servers := [host.server for host in hosts if host.plays(player)]:
        message = f"{player} is on {', '.join(servers)}, or played in the round that runs there: try again after it"
        raise ScriptError("present", message, status=409)


async def finish(store: Store) -> None:
    """Finish what a killed daemon began, before anything else reads the store or a ring."""
    if not (journal := await store.forgetting()):
        return
    try:
        for ring in store.path.parent.glob("*.ring"):
            for someone in journal:
                await asyncio.to_thread(rename, ring, *someone)
        await store.forget(renamed)
    except (OSError, StoreError) as error:  # a full disk must not keep the servers without a daemon
        log.error("somebody is not forgotten yet, the next start goes on: %s", error)


def renamed(system: str, data: bytes, player: str, stand_in: str) -> bytes:
    """Return a system's snapshot with another id in a player's place. RatingError: it is unreadable."""
    return ratings.create(system).renamed_snapshot(data, player, stand_in)


def copies(store: Path, player: PlayerId) -> list[Copy]:
    """Return the files beside the store that name a person and stay: backups, and what restores put aside."""
    in_use = {store, *(store.with_name(f"{store.name}{end}") for end in ("-wal", "-shm", ".lock"))}
    kept = []
    for file in sorted(store.parent.rglob("*")):
        if file in in_use or file.suffix in (".ring", ".reserve") or not file.is_file():
            continue
        if player_rows.names_in(file, player) or _kept_in(file, player):
            kept.append(Copy(str(file), file.stat().st_mtime))
    return kept


def _kept_in(file: Path, player: PlayerId) -> bool:
    """Return whether a damaged ring's file has a session memory that names a player; it is written in another form."""
    if ".ring.damaged-" not in file.name:
        return False
    return any(player.encode() in (frame.entry.memory or b"") for frame in frames(file.read_bytes()))
