"""How a due scramble is carried out, and what keeps it pending."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from equipoise.core import events as e
from equipoise.core.asks import AskSplit, CacheSplits, Moment, Purpose
from equipoise.core.effects import Assign, Effect, Lock, LogDecision, Say, Tell, Unlock
from equipoise.core.model import Mode, OrderId, Outlook, PlayerId, SplitCache
from equipoise.core.phrases import Phrase, Text
from equipoise.core.session import Session
from equipoise.core.triggers import Tally
from tests.core.answerer import answer, difference
from tests.core.game import Game
from tests.core.scripts import (
    KOTH,
    A,
    B,
    assigned,
    begun,
    command,
    ended,
    finished,
    ids,
    of,
    play,
    roster,
    rules,
    seen,
    split,
    started,
    the,
    went_live,
)

SHUTOUT = Text(Phrase.REASON_NO_CAPTURE)
WAITS = Say(Text(Phrase.SCRAMBLE_PENDING, (Text(Phrase.REASON_ADMIN),)))
RATINGS: Mapping[str, float] = {"a": 2600.0, "b": 2400.0, "c": 2300.0, "d": 2100.0, "e": 1900.0, "f": 1700.0}


def pending(mode: Mode = Mode.KOTH, text: str = "ab|cd") -> Session:
    """Between rounds, with a scramble due."""
    session = begun(mode, text, ratings=RATINGS)
    play(session, [(100.0, ended(finished("r1", A, captures=(1, 0)), 100.0))])
    if session.memory.pending is None:
        play(session, [(100.0, command("scramble", "next"))])
    return session


def asked(session: Session, *script: tuple[float, e.Event]) -> AskSplit:
    """The question that these events lead to."""
    questions = of(AskSplit, play(session, script))
    question = questions[-1]
    assert isinstance(question, AskSplit)
    return question


def ratings_of(text: str) -> dict[PlayerId, float]:
    return {player: RATINGS.get(player, 2000.0) for player in ids(text)}


def solved(question: AskSplit) -> e.Answer:
    return answer(question, {entry.id: RATINGS.get(entry.id, 2000.0) for entry in question.entries})


# From the question to the order.


def test_a_due_scramble_is_carried_out_in_the_freeze_time_of_the_next_round() -> None:
    session = pending()
    question = AskSplit(
        Purpose.SCRAMBLE,
        session.state.version,
        SHUTOUT,
        KOTH,
        roster("ab|cd").entries,
        (2, 2),
        dict.fromkeys("abcd", 0),
        0.01,
        each_way=1,
    )
    teams = split("ad|bc")
    script: list[tuple[float, e.Event]] = [
        (110.0, started("ab|cd", 110.0)),
        (110.1, e.SplitSolved(question, teams, 0.0, Outlook.alone(0.6), Outlook.alone(0.5))),
        (110.2, e.OrderDone(110.2, OrderId("o1"))),
    ]
    assert play(session, script) == [
        question,
        Assign(OrderId("o1"), SHUTOUT, teams, Moment.FREEZE, Purpose.SCRAMBLE),
        LogDecision("scramble", SHUTOUT, OrderId("o1"), teams, ids("bd"), Outlook.alone(0.6), Outlook.alone(0.5)),
        *(Lock(player, A, 180.0) for player in ids("ad")),
        *(Lock(player, B, 180.0) for player in ids("bc")),
        Say(Text(Phrase.SCRAMBLED, ("RED", "50", SHUTOUT))),
    ]
    assert session.memory.pending is None
    assert session.memory.tally.since_scramble == 0


# What players read: one line, with the reason and with what keeps the teams from being even.


def outcome(
    text: str, teams: str, after: float, ratings: Mapping[str, float] | None = None, *, held: str = ""
) -> tuple[Session, list[Effect]]:
    """What follows when a due scramble is solved with these teams, of which A wins with the chance `after`."""
    session = begun(Mode.KOTH, text, ratings=ratings)
    play(session, [(100.0, ended(finished("r1", A, text, captures=(1, 0)), 100.0))])
    question = asked(session, (110.0, started(text, 110.0, held=held)))
    found = split(teams)
    skills = {entry.id: (ratings or {}).get(entry.id, 2000.0) for entry in question.entries}
    outlooks = map(Outlook.alone, (0.7, after))
    return session, play(session, [(110.1, e.SplitSolved(question, found, difference(found, skills), *outlooks))])


def test_players_read_how_far_the_commanders_chairs_are_apart_where_that_decides() -> None:
    session = begun(Mode.NS2, "abcd|efgh")
    question = asked(session, (110.0, started("abcd|efgh", 110.0)))
    chances = Outlook.alone(0.9), Outlook.alone(0.8)
    found = e.SplitSolved(question, split("abce|dfgh"), 0.0, *chances, chairs=912.4)
    effects = play(session, [(110.1, found), (110.2, e.OrderDone(110.2, OrderId("o1")))])

    cause = Text(Phrase.CAUSE_CHAIRS, ("912",))
    assert cause.english == "the commanders' chairs differ by 912 points"
    assert [one.cause for one in of(LogDecision, effects)] == [cause]
    assert cause in [text for one in of(Say, effects) for text in one.text.args]


STAR = {"a": 3600.0, "b": 1900.0, "c": 2000.0, "d": 2100.0}
MIXED = dict(zip("abghcdef", (3000.0, 2700.0, 1000.0, 800.0, 2700.0, 2600.0, 1200.0, 900.0), strict=True))
"""The best player's lead makes all the difference, and is small among such players."""


@pytest.mark.parametrize(
    ("teams", "after", "ratings", "cause"),
    [
        ("ab|cd", 0.55, None, Phrase.CAUSE_EVEN),
        ("abe|cd", 0.7, None, Phrase.CAUSE_HEAD_COUNT),
        ("abg|cdefh", 0.3, None, Phrase.CAUSE_HEAD_COUNT),
        ("ab|cd", 0.65, STAR, Phrase.CAUSE_STAR),
        ("abgh|cdef", 0.65, STAR, Phrase.CAUSE_STAR),
        # A player who stands out on the side that is behind does not put the other one ahead.
        ("abgh|cdef", 0.35, STAR, Phrase.CAUSE_RULES),
        ("abgh|cdef", 0.65, None, Phrase.CAUSE_RULES),
        ("abgh|cdef", 0.65, {"a": 2200.0, "b": 2150.0, "c": 1800.0, "d": 1850.0}, Phrase.CAUSE_RULES),
        ("abgh|cdef", 0.65, MIXED, Phrase.CAUSE_RULES),
        ("ab|cd", 0.65, {"a": 2200.0, "b": 2190.0}, Phrase.CAUSE_FEW),
    ],
)
def test_a_scramble_that_moves_nobody_is_over_and_players_read_the_cause_that_holds(
    teams: str, after: float, ratings: Mapping[str, float] | None, cause: Phrase
) -> None:
    session, effects = outcome(teams, teams, after, ratings)
    text = Text(Phrase.SHUFFLE_NEEDLESS, ("RED", f"{100 * after:.0f}", Text(cause)))
    outlooks = Outlook.alone(0.7), Outlook.alone(after)
    log = LogDecision("scramble", SHUTOUT, None, split(teams), (), *outlooks, cause=Text(cause))
    assert effects == [log, Say(text)]
    assert session.memory.pending is None
    assert session.memory.tally == Tally(completed=1)
    assert session.memory.locks == {}


@pytest.mark.parametrize(
    ("text", "teams", "after", "held", "cause"),
    [
        ("acgh|bdef", "abgh|cdef", 0.45, "", None),
        ("acgh|bdef", "abgh|cdef", 0.44, "", Phrase.CAUSE_RULES),
        ("abgh|cdef", "abgc|hdef", 0.65, "ab", Phrase.CAUSE_HELD),
        ("abe|c1d", "ace|b1d", 0.6, "", Phrase.CAUSE_FEW),
    ],
    ids=["balanced", "beyond 55 per cent", "who cannot be moved is the cause", "bots count"],
)
def test_beyond_55_per_cent_the_line_names_the_cause_and_does_not_call_the_teams_balanced(
    text: str, teams: str, after: float, held: str, cause: Phrase | None
) -> None:
    session, _ = outcome(text, teams, after, held=held)
    said, *names = of(Say, play(session, [(111.0, e.OrderDone(111.0, OrderId("o1")))]))
    phrase = Phrase.SCRAMBLED if cause is None else Phrase.SCRAMBLED_UNEVEN
    why = [SHUTOUT] if cause is None else [SHUTOUT, Text(cause)]
    assert said == Say(Text(phrase, ("RED", f"{100 * after:.0f}", *why)))
    assert [name.text.phrase for name in names if isinstance(name, Say)] == ([Phrase.HELD_DUEL] if held else [])


def test_a_split_is_asked_for_the_players_of_the_moment_at_the_next_start_and_again_when_they_change() -> None:
    session = pending()
    assert not of(AskSplit, play(session, [(101.0, seen("ab|cd")), (102.0, e.Heartbeat(102.0))]))
    play(session, [(110.0, seen("ab|c|f|d", 110.0))])
    old = asked(session, (170.0, started("abe|c|f|d", 170.0)))
    assert [entry.id for entry in old.entries] == list(ids("abecf"))
    question = asked(session, (171.0, started("ab|cd", 171.0)))
    assert play(session, [(172.0, solved(old))]) == [], "an answer to an older question"
    play(session, [(172.1, e.SideChanged(172.1, ids("e")[0], B))])
    (again,) = play(session, [(172.2, solved(question))])
    assert isinstance(again, AskSplit)
    assert (len(again.entries), again.version) == (5, session.state.version)


@pytest.mark.parametrize("solved_in_time", [True, False])
def test_a_round_that_goes_live_ends_question_and_order_and_the_scramble_stays_due(solved_in_time: bool) -> None:
    session = pending()
    question = asked(session, (110.0, started("ab|cd", 110.0)))
    if solved_in_time:
        play(session, [(110.1, solved(question))])
    late = play(session, [(115.0, went_live("r2", "ab|cd", 115.0))])
    assert late == ([LogDecision("failed", SHUTOUT, OrderId("o1"))] if solved_in_time else [])
    if not solved_in_time:
        assert not of((Assign, AskSplit), play(session, [(115.1, solved(question))]))
    assert session.memory.pending == SHUTOUT
    assert of(AskSplit, play(session, [(200.0, started("ab|cd", 200.0))]))


@pytest.mark.parametrize("fails", [True, False], ids=["failed", "without an answer"])
def test_a_failed_order_keeps_the_scramble_due_and_waits_for_the_next_round_start(fails: bool) -> None:
    session = pending()
    question = asked(session, (110.0, started("ab|cd", 110.0)))
    order = assigned(play(session, [(110.1, solved(question))]))
    failed = LogDecision("failed", SHUTOUT, order.order)
    if fails:
        event = e.OrderFailed(110.2, order.order, "vetoed")
        assert play(session, [(110.2, event), (110.3, e.Heartbeat(110.3))]) == [failed]
        assert session.memory.pending == SHUTOUT
    again = play(session, [(200.0, started("ab|cd", 200.0))])
    assert [type(effect) for effect in again] == [*([] if fails else [LogDecision]), AskSplit]


def test_an_order_that_failed_because_a_player_left_is_given_anew_at_most_three_times_a_freeze() -> None:
    session = pending(text="abcdef|")
    question = asked(session, (110.0, started("abcdef|", 110.0)))
    for player, more in zip(ids("fed"), (1, 1, 0), strict=True):
        order = assigned(play(session, [(110.1, solved(question))]))
        play(session, [(110.2, e.PlayerLeft(110.2, player)), (110.2, e.SideChanged(110.2, PlayerId(f"x{player}"), A))])
        questions = of(AskSplit, play(session, [(110.3, e.OrderFailed(110.3, order.order, "left"))]))
        assert len(questions) == more
        question = questions[0] if questions else question  # type: ignore[assignment]
    assert session.memory.pending == SHUTOUT


def test_a_second_reason_does_not_replace_the_first() -> None:
    session = pending()
    effects = play(session, [(110.0, ended(finished("r2", B, captures=(0, 1)), 110.0))])
    assert not of((LogDecision, Say), effects)
    assert session.memory.pending == SHUTOUT


# Who plays, and how many.


def test_below_four_players_or_those_of_the_configuration_a_scramble_stays_due_and_nothing_moves() -> None:
    session = pending()
    assert not of(AskSplit, play(session, [(110.0, started("ab|c", 110.0))]))
    assert session.memory.pending == SHUTOUT
    assert of(AskSplit, play(session, [(111.0, e.SideChanged(111.0, ids("d")[0], B))]))
    session = begun(Mode.KOTH, "abc|de", rules=rules(scramble={"min_players": 6}))
    play(session, [(0.0, command("scramble", "next"))])
    assert not of(AskSplit, play(session, [(1.0, started("abc|de", 1.0))]))
    assert of(AskSplit, play(session, [(2.0, started("abc|def", 2.0))]))


@pytest.mark.parametrize(
    ("text", "sizes"),
    [("abcd|e", (2, 3)), ("abcd|12", (3, 3)), ("12345|abc", (3, 5))],
    ids=["nobody is benched", "bots count towards sizes", "more bots than half leave the other side to the humans"],
)
def test_outside_arena_no_player_is_benched_and_no_order_names_bots(text: str, sizes: tuple[int, int]) -> None:
    game = Game(Mode.KOTH, text, RATINGS, rules(scramble={"min_players": 3}))
    effects = [*game.round(A, captures=(1, 0)), *game.start()]
    assert the(AskSplit, effects).sizes == sizes
    assert sorted(len(game.roster.on(side)) for side in (A, B)) == sorted(sizes)
    humans = sorted(player for player in text if player.isalpha())
    assert all(sorted((*order.split.a, *order.split.b)) == humans for order in of(Assign, effects))  # type: ignore[union-attr]


@pytest.mark.parametrize(("always", "must"), [(True, {"a"}), (False, set())])
def test_the_sources_anchor_of_the_top_player_can_be_restored_also_for_every_cached_size(
    always: bool, must: set[str]
) -> None:
    given = rules(scramble={"top_player_always_plays": always})
    session = begun(Mode.ARENA, "bc|de|a", rules=given, ratings=RATINGS)
    effects = play(session, [(1.0, command("scramble", "next")), (2.0, ended(finished("r1", A, mode=Mode.ARENA), 2.0))])
    assert the(CacheSplits, effects).must_play == must
    assert asked(session, (110.0, started("bc|de|a", 110.0))).must_play == must


# The cache.


def test_splits_of_every_size_are_kept_the_strongest_player_first_and_unknown_ones_last() -> None:
    session = begun(Mode.KOTH, "ad|ceb", ratings={"a": 0.5, "b": 1700.0, "c": 2300.0, "d": 2000.0, "e": 2200.0})
    question = the(CacheSplits, play(session, [(100.0, ended(finished("r1", A), 100.0))]))
    del session.state.summaries[ids("d")[0]]
    play(session, [(100.1, answer(question, ratings_of("abcde")))])
    cache = session.cache
    assert cache is not None
    assert cache.ids == ids("cebad")
    assert [sorted((len(one.a), len(one.b))) for one in cache.splits] == [[2, 2], [2, 3]]
    assert session.state.asked_cache is None


@pytest.mark.parametrize(("text", "scramble"), [("ab|c", {"min_players": 2}), ("ab|cd", {})])
def test_fewer_than_two_against_two_are_not_split_in_advance(text: str, scramble: dict[str, int]) -> None:
    """Also where a scramble needs fewer players, or counts who went to watch a moment ago."""
    session = begun(Mode.KOTH, text, rules=rules(scramble=scramble), ratings=RATINGS)
    watched = (99.0, e.SideChanged(99.0, ids("d")[0], None))
    effects = play(session, [watched, (100.0, ended(finished("r1", A), 100.0))])
    assert session.state.enough_players
    assert of(CacheSplits, effects) == []


def test_a_script_without_splits_gets_its_first_as_soon_as_there_are_enough_players() -> None:
    session = begun(Mode.KOTH, "ab|c")
    question = the(CacheSplits, play(session, [(1.0, seen("ab|cd"))]))
    assert not of(CacheSplits, play(session, [(2.0, seen("ab|cd"))]))
    play(session, [(2.1, e.SolveFailed(question, "too slow"))])
    assert of(CacheSplits, play(session, [(2.2, seen("ab|cd"))])) == [question]
    play(session, [(3.0, answer(question, ratings_of("abcd")))])
    assert not of(CacheSplits, play(session, [(4.0, seen("abe|cd"))]))


def test_splits_for_an_older_pool_are_not_kept() -> None:
    session = begun(Mode.KOTH, "ab|c")
    old = the(CacheSplits, play(session, [(1.0, seen("ab|cd"))]))
    play(session, [(2.0, seen("abe|cd")), (3.0, ended(finished("r1", A), 3.0)), (4.0, answer(old, ratings_of("abcd")))])
    assert session.cache is None
    play(session, [(5.0, e.SolveFailed(old, "late"))])
    assert session.state.asked_cache is not None


@pytest.mark.parametrize("somebody_came", [False, True])
def test_when_the_solver_fails_the_cached_split_is_ordered_for_the_players_of_the_question(somebody_came: bool) -> None:
    session = pending()
    session.state.cache = SplitCache(ids("abcd"), (split("ad|bc"),))
    question = asked(session, (110.0, started("ab|cd", 110.0)))
    if somebody_came:
        play(session, [(110.1, e.SideChanged(110.1, ids("e")[0], A))])
    effects = play(session, [(110.2, e.SolveFailed(question, "too slow"))])
    if somebody_came:
        assert not of(Assign, effects)
        return
    order = assigned(effects)
    assert (order.split, order.reason) == (split("ad|bc"), SHUTOUT)
    said = of(Say, play(session, [(110.3, e.OrderDone(110.3, order.order))]))
    assert said == [Say(Text(Phrase.SCRAMBLED_UNKNOWN, (SHUTOUT,)))]


def test_without_a_cache_a_failed_solver_leaves_the_scramble_due_and_is_asked_again() -> None:
    session = pending()
    session.state.cache = None
    question = asked(session, (110.0, started("ab|cd", 110.0)))
    failed = play(session, [(110.1, e.SolveFailed(question, "too slow"))])
    assert failed == []
    assert session.memory.pending == SHUTOUT
    assert of(AskSplit, play(session, [(110.2, e.Heartbeat(110.2))]))


@pytest.mark.parametrize("text", ["ab|c|de", "||abcde"])
def test_only_a_scramble_takes_the_cached_split_when_the_solver_fails(text: str) -> None:
    session = begun(Mode.ARENA, text, ratings=RATINGS, phase=e.Phase.OVER)
    session.state.cache = SplitCache(ids("abcde"), (split("ad|bc|e"),))
    if text == "ab|c|de":
        session.state.memory = session.memory.count(finished("r1", A).id, Tally(completed=3))
    question = asked(session, (110.0, started(text, 110.0)))
    assert question.purpose is not Purpose.SCRAMBLE
    assert not of(Assign, play(session, [(110.1, e.SolveFailed(question, "too slow"))]))


def test_a_cached_split_benches_whom_it_cannot_place_in_arena_and_leaves_who_is_held() -> None:
    session = pending(Mode.ARENA, "ab|cd|e")
    session.state.memory = session.memory.count(finished("r2", A).id, Tally(completed=3))
    session.state.cache = SplitCache(ids("abcde"), (split("ad|bc|e"),))
    question = asked(session, (110.0, started("ab|cd|e", 110.0)))
    assert assigned(play(session, [(110.1, e.SolveFailed(question, "too slow"))])).split == split("ad|bc|e")
    session = pending(text="abcd|efgh")
    session.state.cache = SplitCache(ids("abcdefgh"), (split("eh|bc"), split("adf|bce"), split("adfg|bceh")))
    question = asked(session, (200.0, started("abcd|efgh", held="bc")))
    order = assigned(play(session, [(200.0, e.SolveFailed(question, "too slow"))]))
    assert {"b", "c"} <= set(order.split.a)
    assert (len(order.split.a), len(order.split.b)) == (4, 4)


# The script alone.


def test_a_scramble_that_the_script_made_alone_is_taken_as_made_and_settles_the_question_that_is_open() -> None:
    session = pending(Mode.ARENA)
    play(session, [(110.0, went_live("r2", "ab|cd", 110.0)), (120.0, ended(finished("r2", A, mode=Mode.ARENA), 120.0))])
    reason = session.memory.pending
    teams = split("ac|bd")
    assert reason is not None
    assert play(session, [(130.0, e.ScrambledAlone(125.0, teams))]) == [
        LogDecision("alone", reason, split=teams),
        *(Lock(player, A, None) for player in ids("ac")),
        *(Lock(player, B, None) for player in ids("bd")),
    ]
    assert session.memory.pending is None
    assert session.memory.tally.streak == 0
    assert [entry.id for entry in session.state.roster.on(A)] == list(ids("ac"))
    frozen = pending()
    question = asked(frozen, (110.0, started("ac|bd", 110.0)))
    play(frozen, [(110.1, e.ScrambledAlone(110.0, split("ac|bd")))])
    assert play(frozen, [(110.2, solved(question))]) == []


@pytest.mark.parametrize(
    ("mode", "phrase"), [(Mode.ARENA, Phrase.REASON_ROUND_TWO), (Mode.CTF, Phrase.REASON_WAITING_ENDED)]
)
def test_a_scramble_made_alone_without_a_pending_one_is_logged_with_its_only_possible_reason(
    mode: Mode, phrase: Phrase
) -> None:
    effects = play(begun(mode, "ab|cd"), [(1.0, e.ScrambledAlone(1.0, split("ac|bd")))])
    assert effects[0] == LogDecision("alone", Text(phrase), split=split("ac|bd"))


# What a scramble does to older locks.


def test_a_scramble_unlocks_the_players_it_does_not_place() -> None:
    session = begun(Mode.KOTH, "ab|cd|e", ratings=RATINGS)
    play(session, [(1.0, e.SideWanted(1.0, ids("e")[0], A))])
    assert session.memory.locks.keys() == {"e"}
    play(session, [(2.0, e.SideChanged(2.0, ids("e")[0], None)), (3.0, command("scramble", "next"))])
    question = asked(session, (62.0, started("ab|cd||e", 62.0)))
    order = assigned(play(session, [(63.0, solved(question))]))
    effects = play(session, [(64.0, e.OrderDone(64.0, order.order))])
    assert effects[0] == Unlock(ids("e"))
    assert session.memory.locks.keys() == set(ids("abcd"))


@pytest.mark.parametrize(
    ("sides", "tolerance", "each_way"),
    [("ab|cd", 0.01, 1), ("abcde|fghijk", 0.01, 1), ("abcdef|ghijkl", 0.01, 2), ("abcdef|ghijkl", 0.0, 0)],
)
def test_a_scramble_moves_two_each_way_from_six_a_side_on_and_nobody_by_the_sources_rules(
    sides: str, tolerance: float, each_way: int
) -> None:
    session = begun(Mode.KOTH, sides, rules=rules(scramble={"tolerance": tolerance}))
    question = asked(session, (1.0, command("scramble", "now", by=None)))
    assert (question.each_way, question.tolerance) == (each_way, tolerance)


# Who is held.


def kept(effects: list[Effect]) -> LogDecision:
    """Who stayed, as the log has it."""
    (line,) = (each for each in effects if isinstance(each, LogDecision) and each.kind == "kept")
    return line


def scrambling() -> tuple[Session, AskSplit]:
    """Three against three in a running round; an admin orders new teams at once."""
    session = begun(Mode.KOTH, "abc|def", ratings=RATINGS)
    return session, asked(session, (1.0, command("scramble", "now")))


def test_six_against_six_with_duellists_stays_six_against_six() -> None:
    session = begun(Mode.KOTH, "abcdef|ghijkl")
    play(session, [(1.0, went_live("r1", "abcdef|ghijkl", held="abcg"))])
    question = asked(session, (2.0, command("scramble", "now", by=None)))
    order = assigned(play(session, [(2.1, solved(question))]))
    assert {"a", "b", "c"} <= set(order.split.a)
    assert "g" in order.split.b
    assert (len(order.split.a), len(order.split.b)) == (6, 6)
    effects = play(session, [(2.2, e.OrderDone(2.2, order.order))])
    line = kept(effects)
    assert (line.reason, set(line.players)) == (Text(Phrase.HELD_DUEL, ("4",)), set(ids("abcg")))
    assert Say(Text(Phrase.HELD_DUEL, ("4",))) in effects
    assert session.memory.pending is None


@pytest.mark.parametrize("mode", [Mode.KOTH, Mode.ARENA])
@pytest.mark.parametrize("held", ["abcde", "abcdef", "abcdefgh"])
def test_where_too_many_stay_on_a_side_the_others_make_the_head_count_no_worse(mode: Mode, held: str) -> None:
    """Of six against two: five who stay leave five against three, and six or more leave nobody to move."""
    session = pending(mode, "abcdef|gh")
    if mode is Mode.ARENA:
        session.state.memory = session.memory.count(finished("r2", A).id, Tally(completed=3))
    question = asked(session, (200.0, started("abcdef|gh", held=held)))
    effects = play(session, [(200.0, solved(question))])
    if held == "abcde":
        order = assigned(effects)
        assert set(ids(held)) == set(order.split.a)
        assert (len(order.split.b), order.split.bench) == (3, ())
    else:
        assert of(Assign, effects) == []
        assert session.memory.pending is None
        assert Say(Text(Phrase.HELD_DUEL, (str(len(held)),))) in effects


def test_an_order_that_a_new_duel_stopped_is_followed_by_one_around_the_duellists() -> None:
    session, question = scrambling()
    first = assigned(play(session, [(1.0, solved(question))]))
    stayed = {first.split.b[0]: "duel", first.split.a[0]: "duel"}
    effects = play(session, [(2.0, e.OrderFailed(2.0, first.order, "held", stayed))])
    assert kept(effects).players == tuple(stayed)
    assert not of(Say, effects)  # they read it when the order that follows is carried out
    assert session.memory.pending is not None
    order = assigned(play(session, [(2.1, solved(the(AskSplit, effects)))]))
    sides = {entry.id: entry.side for entry in session.state.roster.entries}
    assert all(order.split.side_of(player) is sides[player] for player in stayed)
    assert (len(order.split.a), len(order.split.b)) == (3, 3)
    assert Say(Text(Phrase.HELD_DUEL, ("2",))) in play(session, [(3.0, e.OrderDone(3.0, order.order))])


def test_after_three_orders_a_player_who_cannot_be_moved_is_waited_for_and_all_read_it() -> None:
    session, question = scrambling()
    for n, letter in enumerate("abc", 1):
        order = assigned(play(session, [(1.0, solved(question))]))
        effects = play(session, [(2.0, e.OrderFailed(2.0, order.order, "held", {PlayerId(letter): "ghost"}))])
        assert bool(of(Say, effects)) == (n == 3)
        question = the(AskSplit, effects) if n < 3 else question
    assert of(Say, effects) == [Say(Text(Phrase.HELD_GHOST, ("@c",))), WAITS]


@pytest.mark.parametrize("reason", ["vetoed", "no_moves", "not solved"])
def test_new_teams_at_once_that_cannot_be_made_wait_for_the_next_round_start_and_all_read_it(reason: str) -> None:
    session, question = scrambling()
    failed: e.Event = e.SolveFailed(question, "no split")
    if reason != "not solved":
        order = assigned(play(session, [(1.0, solved(question))]))
        failed = e.OrderFailed(2.0, order.order, reason)
    assert of(Say, play(session, [(2.0, failed)])) == [WAITS]
    assert session.memory.pending == Text(Phrase.REASON_ADMIN)


def test_an_order_that_left_somebody_is_true_of_the_others() -> None:
    session, question = scrambling()
    order = assigned(play(session, [(1.0, solved(question))]))
    before = {entry.id: entry.side for entry in session.state.roster.entries}
    player = next(one for one in before if order.split.side_of(one) is not before[one])
    effects = play(session, [(2.0, e.OrderDone(2.0, order.order, {player: "refused"}))])

    after = {entry.id: entry.side for entry in session.state.roster.entries}
    assert after[player] is before[player]
    assert all(after[one] is order.split.side_of(one) for one in after if one != player)
    assert Say(Text(Phrase.HELD, (f"@{player}",))) in effects
    assert not [each for each in of(Say, effects) if each.text.phrase is Phrase.SCRAMBLED]  # type: ignore[attr-defined]
    assert "roster" in session.state.wants
    assert Lock(player, before[player], 180.0) in effects  # type: ignore[arg-type]


def test_where_all_stay_on_one_side_no_split_is_asked_for_and_the_scramble_stays_due() -> None:
    session = pending()
    assert of((AskSplit, Assign), play(session, [(100.0, started("|abcd", held="abcd"))])) == []
    assert play(session, [(101.0, command("scramble", "dry"))]) == [Tell(PlayerId("a"), (Text(Phrase.NO_ANSWER),))]
    assert session.memory.pending is not None
    session = begun(Mode.KOTH, "|abcd", ratings=RATINGS)
    play(session, [(1.0, e.RosterSeen(1.0, roster("|abcd", held="abcd")))])
    effects = play(session, [(101.0, command("scramble", "now"))])
    assert of((AskSplit, Assign), effects) == []
    assert of(Say, effects) == [Say(Text(Phrase.HELD_DUEL, ("4",))), WAITS]


def test_a_duel_of_round_one_gives_way_to_players_who_are_held() -> None:
    session = begun(Mode.ARENA, "ab|cd", phase=e.Phase.IDLE)
    effects = play(session, [(1.0, started("abc|d", held="a"))])
    question = the(AskSplit, effects)
    assert question.purpose is Purpose.EQUAL_SIDES
    order = assigned(play(session, [(1.0, answer(question, dict.fromkeys(ids("abcd"), 2000.0)))]))
    assert "a" in order.split.a
    assert (len(order.split.a), len(order.split.b), order.split.bench) == (2, 2, ())
