"""An arena evening: the duel, round 2, sides made equal between scrambles, streaks and stalemates."""

from __future__ import annotations

from dataclasses import replace

import pytest

from equipoise.core import events as e
from equipoise.core.asks import AskSplit, Moment, Purpose
from equipoise.core.bench import bench_costs, duel
from equipoise.core.effects import Assign, Lock, LogDecision, Tell
from equipoise.core.memory import Benched
from equipoise.core.model import Context, Mode, Outlook, PlayerId
from equipoise.core.phrases import Phrase, Text
from equipoise.core.rules import Rules
from equipoise.core.triggers import Tally
from tests.core.game import Game
from tests.core.scripts import (
    MAP,
    A,
    B,
    assigned,
    begun,
    ended,
    finished,
    hello,
    ids,
    of,
    play,
    roster,
    rules,
    seen,
    split,
    started,
    summaries,
    the,
    went_live,
    without_loads,
)

RATINGS = {"a": 2600.0, "b": 2400.0, "c": 2390.0, "d": 2100.0, "e": 1900.0, "f": 1700.0, "g": 1500.0}


def arena(text: str, given: Rules | None = None) -> Game:
    return Game(Mode.ARENA, text, RATINGS, given)


def after_scramble(text: str, given: Rules | None = None) -> Game:
    """An evening past rounds 1 and 2, which other players played."""
    game = arena("|||h", given)
    tally = [(0.0, ended(finished(f"early{n}", winner, mode=Mode.ARENA))) for n, winner in enumerate((A, B))]
    play(game.session, tally)
    play(game.session, [(0.0, e.ScrambledAlone(0.0, split("|")))])
    game.change(text)
    return game


# Round 1.


@pytest.mark.parametrize(
    ("text", "bench"),
    [("ac|bd|e", "ade"), ("a|g|bc", "ag"), ("1|2|abc", "a")],
    ids=["humans", "others face each other by chance", "bots do not duel"],
)
def test_round_one_is_a_duel_of_the_two_closest_ratings_and_all_others_wait(text: str, bench: str) -> None:
    order = assigned(arena(text).start())
    assert order.reason == Text(Phrase.REASON_DUEL)
    assert {*order.split.a, *order.split.b} == set(ids("bc"))
    assert sorted(order.split.bench) == list(ids(bench))


def test_the_duel_is_ordered_once_and_a_duellist_who_leaves_before_the_round_is_live_is_replaced() -> None:
    game = arena("||abcde")
    game.start()
    game.look()
    game.happens(e.Heartbeat(1.0))
    assert len(of(Assign, game.effects)) == 1
    gone = game.roster.on(A)[0].id
    game.roster = game.roster.without(gone)
    game.happens(e.PlayerLeft(1.0, gone))
    assert len(of(Assign, game.effects)) == 2
    assert len(game.roster.on(A)) == len(game.roster.on(B)) == 1


def test_with_everyone_as_round_one_all_play_and_round_two_is_scrambled_all_the_same() -> None:
    game = arena("||abcd", rules(arena={"round_one": "everyone"}))
    teams = assigned(game.start()).split
    assert teams.size == 2
    game.open()
    game.end(A)
    game.ratings |= dict.fromkeys(teams.a, 2800.0)
    assert assigned(game.start()).reason == Text(Phrase.REASON_ROUND_TWO)


@pytest.mark.parametrize("text", ["a|b", "a"], ids=["two who face each other", "one"])
def test_who_is_alone_needs_no_duel(text: str) -> None:
    assert not of(AskSplit, arena(text).start())


TIED = dict.fromkeys(ids("abcd"), 2000.0)


def test_a_duel_is_of_the_closest_pair_and_of_equally_close_ones_the_longest_connected() -> None:
    players = roster("||abcd", connected={"a": 10, "b": 90, "c": 20, "d": 80}).entries
    assert set(duel(players, TIED, TIED).bench) == set(ids("ac"))
    apart = TIED | {PlayerId("b"): 2001.0}
    assert set(duel(players, apart, apart).bench) == set(ids("ab"))


@pytest.mark.parametrize(("text", "teams"), [("a|b", "a|b"), ("b|a", "b|a"), ("|a|b", "b|a"), ("b||a", "b|a")])
def test_duellists_keep_the_side_they_stand_on_unless_they_are_closer_the_other_way_round(
    text: str, teams: str
) -> None:
    assert duel(roster(text).entries, TIED, TIED) == split(teams)
    on_b = TIED | {PlayerId("a"): 1900.0, PlayerId("b"): 2100.0}
    assert duel(roster("a|b").entries, TIED | {PlayerId("b"): 1910.0}, on_b) == split("b|a")


# Round 2 and after.


@pytest.mark.parametrize(("text", "size", "benched"), [("||abcdef", 3, 0), ("||abcde", 2, 1)], ids=["even", "odd"])
def test_round_two_is_scrambled_at_the_largest_size_and_spares_who_sat_out_the_duel(
    text: str, size: int, benched: int
) -> None:
    game = arena(text)
    game.round(A)
    order = assigned(game.start())
    assert order.reason == Text(Phrase.REASON_ROUND_TWO)
    assert (order.split.size, len(order.split.bench)) == (size, benched)
    assert set(order.split.bench) <= set(ids("bc"))
    assert all(Tell(player, (Text(Phrase.BENCHED),)) in game.effects for player in order.split.bench)


def test_a_streak_of_three_runs_on_when_sides_are_made_equal_and_ends_with_the_scramble_that_follows() -> None:
    game = after_scramble("ab|cd|e")
    for _ in range(2):
        game.round(A)
        assert game.session.memory.pending is None
    assert {each.purpose for each in of(Assign, game.effects)} == {Purpose.EQUAL_SIDES}  # type: ignore[union-attr]
    game.round(A)
    assert game.session.memory.pending == Text(Phrase.REASON_STREAK, ("3",))
    assert assigned(game.start()).reason == Text(Phrase.REASON_STREAK, ("3",))
    assert game.session.memory.pending is None
    assert game.session.memory.tally.streak == 0
    game.open()
    game.end(A)
    assert game.session.memory.pending is None


# Equal sides between scrambles.


def test_a_player_who_sat_out_comes_in_and_only_one_gives_way() -> None:
    game = after_scramble("ab|cd|e")
    order = assigned(game.start())
    assert order.reason == Text(Phrase.REASON_EQUAL_SIDES)
    (gone,) = order.split.bench
    assert gone != "e"
    for player in set(ids("abcd")) - {gone}:
        assert order.split.side_of(player) is (A if player in ids("ab") else B)


@pytest.mark.parametrize(("text", "must"), [("ab|cd|e", "e"), ("ab|c|de", "de"), ("a||bc", "bc"), ("||abc", "")])
def test_players_who_waited_must_play_unless_more_waited_than_can(text: str, must: str) -> None:
    question = of(AskSplit, after_scramble(text).start())[0]
    assert isinstance(question, AskSplit)
    assert question.purpose is Purpose.EQUAL_SIDES
    assert question.must_play == set(ids(must))


@pytest.mark.parametrize("swaps", [True, False])
def test_of_sides_that_the_bench_leaves_uneven_somebody_changes_side_unless_the_rules_forbid_swaps(swaps: bool) -> None:
    game = after_scramble("ab|cd|e", rules(arena={"swaps": swaps}, scramble={"tolerance": 0.0}))
    game.ratings |= dict(zip(ids("abcde"), (2600.0, 2500.0, 2000.0, 2000.0, 2400.0), strict=True))
    order = assigned(game.start())
    assert (order.split.side_of(PlayerId("a")) is A) is not swaps


@pytest.mark.parametrize(
    ("text", "benched", "costs"),
    [
        ("ab|cd", {"a": (2, 3), "b": (1, 4), "c": (1, 4)}, {"a": 2, "b": 1, "c": 1, "d": 0}),
        ("ab|c", {"a": (1, 3), "b": (1, 5), "c": (1, 4)}, {"a": 0, "b": 2, "c": 1}),
        ("a|b", {"a": (1, 1)}, {"a": 1, "b": 0}),
        ("a1|b|c|d", {}, {"a": 0, "b": 0, "c": 0}),
    ],
    ids=["benched fewest times", "least recently", "a first turn counts", "bots and spectators have none"],
)
def test_who_was_benched_fewest_times_and_least_recently_costs_least(
    text: str, benched: dict[str, tuple[int, int]], costs: dict[str, int]
) -> None:
    turns = {ids(name)[0]: Benched(*turns) for name, turns in benched.items()}
    assert bench_costs(roster(text), turns) == costs


def test_of_two_benched_once_the_least_recent_gives_way_though_the_other_would_leave_closer_sides() -> None:
    game = Game(Mode.ARENA, "a|b|c", {"a": 2600.0, "b": 2400.0, "c": 2390.0})
    # By their ratings a would give way: 2400 against 2390 is closest. By their turns it is b.
    game.session.state.memory = replace(
        game.session.memory,
        tally=Tally(completed=5),
        benched={player: Benched(1, game_round) for player, game_round in zip(ids("bac"), (1, 3, 4), strict=True)},
    )
    assert the(AskSplit, game.start()).bench_cost == {"b": 0, "a": 1, "c": 2}
    assert game.stands() in ("a|c|b", "c|a|b")


def test_sides_that_lost_a_player_are_made_equal_by_one_move_and_equal_ones_are_left_alone() -> None:
    order = assigned(after_scramble("abc|d").start())
    assert order.split.bench == ()
    assert sum(order.split.side_of(player) is B for player in ids("abc")) == 1
    assert order.split.side_of(ids("d")[0]) is B
    of_three = assigned(after_scramble("a|b|c").start())
    assert of_three.split.size == 1
    assert of_three.split.bench != ids("c"), "below four players one plays against one, and the third comes in next"
    assert without_loads(after_scramble("ab|cd").start()) == []


def test_a_player_benched_in_this_freeze_stays_benched_until_the_round_was_played() -> None:
    game = after_scramble("ab|cd|e")
    game.start()
    made = game.stands()
    game.look()
    game.happens(e.Heartbeat(1.0))
    game.start()  # announced again, because an answer was lost
    assert game.stands() == made
    assert len(of(Assign, game.effects)) == 1


def test_a_joiner_in_the_freeze_waits_though_they_would_even_the_sides() -> None:
    game = after_scramble("ab|cd|e")
    game.start()
    game.seat(ids("f")[0], None, waiting=True)
    assert not of(AskSplit, game.happens(e.SideChanged(1.0, ids("f")[0], None, waiting=True)))
    game.open()
    game.end(A)
    assert assigned(game.start()).split.size == 3


def test_with_more_bots_on_a_side_than_half_of_all_humans_fill_the_other() -> None:
    game = after_scramble("123|a|bc")
    question = of(AskSplit, game.start())[0]
    assert isinstance(question, AskSplit)
    assert sorted(question.sizes) == [3, 3]
    assert game.stands() == "123|abc"
    more = after_scramble("12345|a|bc")
    more.start()
    assert more.stands() == "12345|abc"
    more.open()
    more.end(A)
    assert not of(AskSplit, more.start())


# What a split brings with it.


@pytest.mark.parametrize("given", [None, rules(lock={"minutes": 0.0})], ids=["", "no minutes to lock"])
def test_placed_players_are_kept_until_the_next_scramble(given: Rules | None) -> None:
    effects = after_scramble("abc|d", given).start()
    order = assigned(effects)
    assert of(Lock, effects) == [
        Lock(player, side, None)
        for side, players in ((A, order.split.a), (B, order.split.b))
        for player in players
        if given is None
    ]


def test_a_duel_from_freeze_to_live_as_a_list_of_effects() -> None:
    """The duel, as a list of what happens and a list of what is answered."""
    session = begun(Mode.ARENA, "||abc", ratings=RATINGS, phase=e.Phase.OVER)
    pool = roster("||abc").entries
    reason = Text(Phrase.REASON_DUEL)
    freeze, context = Moment.FREEZE, Context(Mode.ARENA, MAP)
    question = AskSplit(
        Purpose.DUEL, session.state.version, reason, context, pool, (1, 1), dict.fromkeys("abc", 0), 0.01, moment=freeze
    )
    teams = split("b|c|a")
    script: list[tuple[float, e.Event]] = [
        (10.0, started("||abc", 10.0)),
        (10.1, e.SplitSolved(question, teams, 10.0, None, Outlook.alone(0.5))),
        (10.2, e.OrderDone(10.2, "o1")),  # type: ignore[arg-type]
        (15.0, went_live("r1", "b|c|a", 15.0)),
    ]
    assert play(session, script) == [
        question,
        Assign("o1", reason, teams, freeze, Purpose.DUEL),  # type: ignore[arg-type]
        LogDecision("duel", reason, "o1", teams, ids("bc"), None, Outlook.alone(0.5)),  # type: ignore[arg-type]
        Lock(ids("b")[0], A, None),
        Lock(ids("c")[0], B, None),
        Tell(ids("a")[0], (Text(Phrase.DUEL_WAIT),)),
    ]
    assert session.memory.benched.keys() == {"a"}


@pytest.mark.parametrize("waiting", [True, False])
def test_no_player_counts_as_benched_inside_waiting_for_players(waiting: bool) -> None:
    session = begun(Mode.ARENA, "", phase=e.Phase.IDLE)
    script = [hello(Mode.ARENA, waiting=waiting), summaries(RATINGS), seen("a|b|c"), went_live("r1", "a|b|c")]
    play(session, [(0.0, event) for event in script])
    assert (session.memory.benched == {}) == waiting


def test_in_ten_evenings_of_five_no_player_sits_out_twice_more_than_another() -> None:
    game = after_scramble("ab|cd|e")
    for number in range(30):
        game.round((A, B, B, None, A)[number % 5])
        times = [game.session.memory.benched.get(player) for player in ids("abcde")]
        counts = [one.times if one else 0 for one in times]
        assert max(counts) - min(counts) <= 1
