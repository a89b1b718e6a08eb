"""What a session remembers, step by step."""

from __future__ import annotations

import math
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from equipoise.core.memory import MOST_REMEMBERED, MOVED_SECONDS, Benched, HeldSide, Memory
from equipoise.core.model import Mode, PlayerId, RoundId, Side
from equipoise.core.phrases import Phrase, Text
from equipoise.core.rules import AutobalanceRules, LockRules, Rules, VoteRules
from equipoise.core.triggers import Tally
from tests.core.scripts import A, B

ANN, BOB = PlayerId("a"), PlayerId("b")


def test_a_turn_on_the_bench_is_counted_and_dated_with_the_round_that_goes_live() -> None:
    memory = Memory().bench((ANN, BOB)).count(RoundId("r1"), Tally(completed=1)).bench((ANN,))
    assert memory.benched == {ANN: Benched(times=2, round=2), BOB: Benched(times=1, round=1)}


def test_a_later_lock_replaces_an_earlier_one_and_ends_at_its_time_unless_it_has_none() -> None:
    memory = Memory().lock({ANN: A, BOB: A}, 60.0).lock({ANN: B}, None)
    assert memory.locks == {ANN: HeldSide(B, None), BOB: HeldSide(A, 60.0)}
    assert [memory.locks[BOB].holds(now) for now in (59.9, 60.0)] == [True, False]
    assert memory.locks[ANN].holds(1e9)


def test_when_sides_are_switched_locks_and_streak_follow_the_players() -> None:
    memory = Memory(tally=Tally(3, 3, A, 2), locks={ANN: HeldSide(A, 60.0)}).switched()
    assert (memory.tally, memory.locks) == (Tally(3, 3, B, 2), {ANN: HeldSide(B, 60.0)})


times = st.floats(-1e12, 1e12) | st.sampled_from([math.nan, math.inf, -math.inf])
minutes = st.floats(0, 1440)
players = st.sampled_from([ANN, BOB])


@given(
    st.sampled_from(Mode),
    st.dictionaries(players, st.builds(HeldSide, st.sampled_from(Side), times | st.none())),
    st.dictionaries(players, times),
    times,
    st.floats(0, 1e11),
    st.builds(
        Rules,
        lock=st.builds(LockRules, minutes=minutes),
        autobalance=st.builds(AutobalanceRules, spare_minutes=minutes),
        vote=st.builds(VoteRules, cooldown_minutes=minutes),
    ),
)
def test_whatever_was_stored_nothing_holds_longer_than_its_rule_says(
    mode: Mode,
    locks: dict[PlayerId, HeldSide],
    moved: dict[PlayerId, float],
    no_vote_before: float,
    now: float,
    rules: Rules,
) -> None:
    stored = Memory(mode=mode, locks=locks, moved=moved, no_vote_before=no_vote_before)
    memory = stored.restored(now, rules)
    lock_end = now + rules.lock.minutes * 60
    for player, held in memory.locks.items():
        until_scramble = mode is Mode.ARENA and locks[player].until is None
        assert held.holds(lock_end) == until_scramble
        assert held.side is locks[player].side
    spare = rules.autobalance.spare_minutes * 60
    assert memory.without_expired(now + max(spare, MOVED_SECONDS) + 1e-3, spare).moved == {}
    assert not now + rules.vote.cooldown_minutes * 60 < memory.no_vote_before
    assert memory.restored(now, rules) == memory


def test_what_was_stored_by_a_right_clock_stays_as_it_was() -> None:
    stored = Memory(
        mode=Mode.KOTH,
        locks={ANN: HeldSide(A, 1060.0), BOB: HeldSide(B, 900.0)},
        moved={ANN: 999.0},
        no_vote_before=1300.0,
    )
    assert stored.restored(1000.0, Rules()) == stored


def test_the_last_two_moves_of_a_player_are_known_until_they_and_locks_have_expired() -> None:
    memory = Memory().move(ANN, 0.0).move(ANN, 1.0).move(BOB, 3.0).move(ANN, 4.0)
    assert (memory.moved, memory.moved_before) == ({BOB: 3.0, ANN: 4.0}, {ANN: 1.0})
    memory = replace(memory, locks={ANN: HeldSide(A, 60.0), BOB: HeldSide(B, 61.0)})
    kept = memory.without_expired(60.0, spare_seconds=60.0)
    assert (kept.locks.keys(), kept.moved) == ({BOB}, memory.moved), "moves count for half an hour"
    kept = memory.without_expired(MOVED_SECONDS + 3.0, spare_seconds=60.0)
    assert (kept.moved, kept.moved_before) == ({ANN: 4.0}, {})


def test_of_ever_new_players_the_latest_are_remembered() -> None:
    players = [PlayerId(str(number)) for number in range(MOST_REMEMBERED + 10)]
    memory = Memory()
    for player in (*players, players[10]):
        memory = memory.lock({player: A}, None).bench((player,)).move(player, 1.0)
    latest = {*players[10:]}
    assert memory.locks.keys() == memory.benched.keys() == memory.moved.keys() == latest
    newer = memory.lock({ANN: A}, None).bench((ANN,)).move(ANN, 1.0)
    assert newer.locks.keys() == newer.benched.keys() == newer.moved.keys() == {ANN, *latest} - {players[11]}


def test_the_last_thirty_two_counted_rounds_are_remembered() -> None:
    memory = Memory()
    for number in range(40):
        memory = memory.count(RoundId(f"r{number}"), memory.tally.after(A))
    assert memory.counted == tuple(f"r{number}" for number in range(8, 40))
    assert memory.tally == Tally(40, 40, A, 40)


def test_a_new_map_keeps_moves_order_numbers_and_the_switch() -> None:
    kept = Memory("s2", "m2", Mode.CTF, moved={BOB: 5.0}, orders=7, enabled=False)
    full = replace(
        kept,
        session="s1",
        map="m1",
        mode=Mode.KOTH,
        tally=Tally(1),
        counted=(RoundId("r1"),),
        pending=Text(Phrase.REASON_ADMIN),
        locks={ANN: HeldSide(A, None)},
        benched={BOB: Benched(1, 1)},
    )
    assert full.next_map("s2", "m2", Mode.CTF) == kept
