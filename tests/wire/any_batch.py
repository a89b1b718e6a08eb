"""Batches of any events, as values: every field anywhere in its range."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from equipoise.core import events
from equipoise.core.model import (
    STEAM_ID_BASE,
    Counts,
    Entry,
    Immunity,
    LineupPlayer,
    Mode,
    OrderId,
    PlayerId,
    Presence,
    Roster,
    Round,
    RoundId,
    ServerId,
    Side,
    Split,
)
from equipoise.wire import Batch
from equipoise.wire.batches import MOST_COUNTED, ClassSeconds

printable = st.characters(categories=["L", "N", "P", "S"])
words = st.text(printable, min_size=1, max_size=64)
seconds = st.floats(0, 1e12)
flags = st.booleans()
counts = st.integers(0, 2**53)
humans = st.integers(1, 2**32 - 1).map(lambda account: PlayerId(str(STEAM_ID_BASE + account)))
ids = humans | st.integers(0, 65535).map(lambda userid: PlayerId(f"bot:{userid}"))
sides = st.sampled_from(Side)
on_side = st.none() | sides
rounds, orders = words.map(RoundId), words.map(OrderId)


def unique(part: Any) -> Any:
    return st.lists(part, max_size=12, unique_by=lambda line: line.id).map(tuple)


entries = st.builds(
    Entry,
    ids,
    on_side,
    waiting=flags,
    alive=flags,
    connected=seconds,
    immune=st.sampled_from([*Immunity, Immunity.NONE, Immunity.ALL]),
    carrier=flags,
    building=flags,
    charge=st.floats(0, 1),
    held=st.just("") | words,
    objective=st.none() | seconds,
)
done = st.builds(
    Counts,
    *[st.integers(0, MOST_COUNTED)] * 4,
    st.dictionaries(st.sampled_from(ClassSeconds.__struct_fields__), st.floats(1e-3, 60), max_size=3),
)
stayed = st.dictionaries(ids, words, max_size=12)
rosters = unique(entries).map(Roster)
finished = st.builds(
    Round,
    id=rounds,
    server=st.just(ServerId("arena-1")),
    session=words,
    map=words,
    mode=st.sampled_from(Mode),
    started_at=seconds,
    seconds=seconds,
    winner=on_side,
    lineup=unique(st.builds(LineupPlayer, ids, sides)),
    presences=unique(
        st.builds(Presence, ids, sides, st.floats(180, 1e12), seconds, flags, flags, counts=st.none() | done)
    ),
    captures_a=counts,
    captures_b=counts,
    partial=flags,
    waiting=flags,
    cheats=flags,
)
hellos = st.builds(
    events.Hello,
    at=seconds,
    session=words,
    map=words,
    mode=st.sampled_from(Mode),
    phase=st.sampled_from(events.Phase),
    waiting=flags,
    late=flags,
    due=flags,
    inactive_reason=st.sampled_from(["", "mvm", "tournament", "training", "mannpower", "hell"]),
)
splits = st.lists(ids, unique=True, max_size=9).map(
    lambda pool: Split(tuple(pool[:3]), tuple(pool[3:6]), tuple(pool[6:]))
)
happenings = st.one_of(
    st.builds(events.RosterSeen, seconds, rosters, st.none() | seconds, st.just("") | words, st.none() | seconds),
    st.builds(events.PlayerJoined, seconds, ids),
    st.builds(events.PlayerLeft, seconds, ids),
    st.builds(events.SideChanged, seconds, ids, on_side, flags, flags, st.just("") | words),
    st.builds(events.SideWanted, seconds, ids, on_side),
    st.builds(events.SidesSwitched, seconds),
    st.builds(events.WaitingEnded, seconds),
    st.builds(events.RoundStarted, seconds, rosters),
    st.builds(events.RoundLive, seconds, rounds, rosters),
    st.builds(events.RoundEnded, seconds, finished),
    st.builds(events.ScrambledAlone, seconds, splits),
    st.builds(events.OrderDone, seconds, orders, stayed),
    st.builds(events.OrderFailed, seconds, orders, words, stayed),
    st.builds(events.VoteEnded, seconds, order=orders, yes=counts, no=counts),
    st.builds(
        events.Commanded,
        seconds,
        st.lists(st.text(printable, max_size=128), min_size=1, max_size=16).map(tuple),
        st.none() | humans,
        flags,
    ),
    st.builds(events.Heartbeat, seconds),
)
batches = st.builds(
    Batch,
    server=st.just(ServerId("arena-1")),
    boot=counts,
    seq=st.integers(1, 2**53),
    at=seconds,
    events=st.tuples(hellos, happenings, happenings),
    dropped=counts,
    plugin=words,
)
