"""Joins, voluntary switches, and the locks that placement brings."""

from __future__ import annotations

import pytest

from equipoise.core import events as e
from equipoise.core.asks import AskSide, AskSplit, AskSwitch, LoadSummaries
from equipoise.core.effects import Effect, Lock, LogDecision, Place, Tell
from equipoise.core.joins import place_joiner
from equipoise.core.model import MOST_PLAYERS, Entry, Mode, OrderId, Outlook, PlayerId, PlayerSummary, Roster, Side
from equipoise.core.phrases import Phrase, Text
from equipoise.core.rules import Triggers
from equipoise.core.session import Session
from tests.core.scripts import (
    A,
    B,
    begun,
    command,
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

WEAKER = Text(Phrase.REASON_JOIN_WEAKER)
SMALLER = Text(Phrase.REASON_JOIN_SMALLER)
ALLOWED = Text(Phrase.REASON_ALLOWED)
UNTIL_SCRAMBLE = Text(Phrase.REFUSED_LOCKED_SCRAMBLE)


def wants(session: Session, player: str, side: Side | None, now: float = 1.0) -> list[Effect]:
    return play(session, [(now, e.SideWanted(now, PlayerId(player), side))])


def placed(session: Session, player: str, side: Side | None = None, now: float = 1.0) -> Place:
    """The answer to a player who wants a side and whose rating is known."""
    play(session, [(now, summaries({player: 2000.0}))] if player not in session.state.summaries else [])
    return the(Place, wants(session, player, side, now))


def changes(session: Session, player: str, side: Side | None, now: float) -> None:
    play(session, [(now, e.SideChanged(now, PlayerId(player), side))])


# Joins.


@pytest.mark.parametrize(("here", "wanted"), [("ab|c", A), ("ab|c", B), ("ab|c", None), ("a1|b", A)])
def test_a_joiner_goes_to_the_smaller_side_whatever_they_want_and_bots_count(here: str, wanted: Side | None) -> None:
    place = placed(begun(Mode.KOTH, here), "d", wanted)
    assert (place.side, place.reason) == (B, SMALLER)


@pytest.mark.parametrize(
    ("a", "b", "joiner", "side"),
    [
        ((2300.0, 2300.0), (2000.0, 2000.0), (1500.0, 1500.0), B),
        ((2000.0, 2000.0), (2300.0, 2300.0), (1500.0, 1500.0), A),
        ((2300.0, 2300.0), (2000.0, 2000.0), (2600.0, 2600.0), B),
        ((2000.0, 1000.0), (1000.0, 2300.0), (1500.0, 1500.0), A),
        ((2300.0, 1000.0), (1000.0, 2000.0), (1500.0, 1500.0), B),
        ((2100.0, 2100.0), (2000.0, 2000.0), (1000.0, 1500.0), A),
    ],
)
def test_at_equal_sizes_a_joiner_goes_where_they_leave_the_least_difference_by_what_each_is_worth_on_a_side(
    a: tuple[float, float], b: tuple[float, float], joiner: tuple[float, float], side: Side
) -> None:
    session = begun(Mode.KOTH, "a|b")
    skills = zip(ids("abc"), (a, b, joiner), strict=True)
    known = (PlayerSummary(player, 2000.0, side_skills=each) for player, each in skills)
    play(session, [(0.5, e.SummariesLoaded(tuple(known)))])
    place = placed(session, "c", side.other)
    assert (place.side, place.reason) == (side, WEAKER)


@pytest.mark.parametrize("minutes", [3.0, 1.0])
def test_a_placement_has_three_effects(minutes: float) -> None:
    session = begun(Mode.KOTH, "ab|c", rules=rules(lock={"minutes": minutes}))
    play(session, [(0.5, summaries({"d": 2000.0}))])
    assert wants(session, "d", A) == [
        Place(PlayerId("d"), B, SMALLER),
        LogDecision("place", SMALLER, players=ids("d"), side=B),
        Lock(PlayerId("d"), B, 60.0 * minutes),
    ]


def test_a_joiner_is_held_until_the_ratings_are_known() -> None:
    session = begun(Mode.KOTH, "a|b")
    play(session, [(0.5, e.SideChanged(0.5, PlayerId("s"), A)), (0.6, e.SideChanged(0.6, PlayerId("s"), B))])
    assert wants(session, "c", None) == [LoadSummaries(ids("sc"))]
    (place,) = of(Place, play(session, [(1.1, summaries({"c": 2000.0, "s": 2000.0}))]))
    assert place == Place(PlayerId("c"), A, SMALLER)
    assert not of(Place, play(session, [(1.2, summaries({"c": 2000.0}))]))


def test_a_script_that_never_says_who_left_fills_neither_roster_nor_memory() -> None:
    session = begun(Mode.KOTH, "ab/cd")
    strangers = [PlayerId(str(number)) for number in range(5 * MOST_PLAYERS)]
    for stranger in strangers:
        changes(session, stranger, A, 1.0)
        play(
            session,
            [(1.0, e.PlayerJoined(1.0, stranger)), (1.0, e.SummariesLoaded((PlayerSummary(stranger, 1000.0),)))],
        )
        wants(session, stranger, B)
    assert len(session.state.roster.entries) == MOST_PLAYERS
    assert len(session.state.summaries) <= 3 * MOST_PLAYERS
    assert session.state.wants == {"roster"}
    play(session, [(2.0, seen("ab/cd"))])
    changes(session, strangers[-1], A, 3.0)
    assert session.state.roster.get(strangers[-1]) is not None
    assert not session.state.wants


@pytest.mark.parametrize(
    ("mode", "phase", "gone"),
    [
        (Mode.KOTH, e.Phase.RUNNING, e.PlayerLeft(1.1, PlayerId("c"))),
        (Mode.ARENA, e.Phase.OVER, e.RoundStarted(1.1, roster("a|b"))),
    ],
    ids=["they left", "they are not on the next roster"],
)
def test_a_held_joiner_who_is_gone_is_forgotten(mode: Mode, phase: e.Phase, gone: e.Event) -> None:
    session = begun(mode, "a|b", phase=phase)
    wants(session, "c", None)
    assert not of(Place, play(session, [(1.1, gone)]))
    assert play(session, [(1.2, summaries({"c": 2000.0}))]) == []
    assert session.state.roster.get(PlayerId("c")) is None


@pytest.mark.parametrize("phase", [e.Phase.FREEZE, e.Phase.RUNNING])
def test_a_joiner_in_arena_waits_for_the_next_round(phase: e.Phase) -> None:
    session = begun(Mode.ARENA, "ab|c", phase=phase)
    place = placed(session, "d", B)
    assert place == Place(PlayerId("d"), None, Text(Phrase.REASON_WAITS))
    assert session.state.roster.get(PlayerId("d")) == Entry(PlayerId("d"), None, waiting=True)


@pytest.mark.parametrize(("triggers", "locked"), [(Triggers(waiting=True), False), (Triggers(), True)])
def test_no_joiner_is_locked_in_waiting_for_players_if_new_teams_follow(triggers: Triggers, locked: bool) -> None:
    session = begun(Mode.KOTH, "ab|c", phase=e.Phase.IDLE, rules=rules(triggers={"koth": triggers}))
    play(session, [(0.1, hello(waiting=True)), (0.2, seen("ab|c"))])
    assert placed(session, "d").side is B
    assert bool(session.memory.locks) is locked


@pytest.mark.parametrize("inactive_reason", ["", "mvm"])
def test_where_the_daemon_does_not_act_players_get_their_wish_at_once(inactive_reason: str) -> None:
    session = Session(rules())
    play(session, [(0.0, hello(inactive_reason=inactive_reason))] if inactive_reason else [])
    assert wants(session, "d", B) == [Place(PlayerId("d"), B, ALLOWED)]
    assert wants(session, "e", None) == [Place(PlayerId("e"), A, ALLOWED)]


# Switches.


@pytest.mark.parametrize(
    ("here", "player", "stays", "gap"), [("ab|cd", "a", A, ("1", "3")), ("ab|c", "c", B, ("0", "3"))]
)
def test_a_switch_that_would_leave_a_gap_of_two_is_refused_with_the_reason(
    here: str, player: str, stays: Side, gap: tuple[str, str]
) -> None:
    place = placed(begun(Mode.KOTH, here), player, B if stays is A else A)
    assert (place.side, place.reason) == (stays, Text(Phrase.REFUSED_GAP, gap))


# From a side that is larger by one, by skill.


def asks_to_go(session: Session, player: str, now: float = 1.0) -> AskSwitch:
    """The question about a player on side A who wants to go to B."""
    (question,) = wants(session, player, B, now)
    assert isinstance(question, AskSwitch)
    return question


@pytest.mark.parametrize("minutes", [3.0, 0.0], ids=["", "no locks"])
@pytest.mark.parametrize(
    ("before", "after", "side", "reason"),
    [
        (0.50, 0.42, B, ALLOWED),
        (0.42, 0.58, B, ALLOWED),
        (0.70, 0.61, B, WEAKER),
        (0.30, 0.69, B, WEAKER),
        (0.50, 0.33, A, Text(Phrase.REFUSED_SWITCH, ("BLU", "67"))),
        (0.41, 0.59, A, Text(Phrase.REFUSED_SWITCH, ("RED", "59"))),
        (0.45, 0.83, A, Text(Phrase.REFUSED_SWITCH, ("RED", "83"))),
    ],
)
def test_a_switch_from_a_side_that_is_larger_by_one_goes_by_the_chance_it_leaves(
    before: float, after: float, side: Side, reason: Text, minutes: float
) -> None:
    session = begun(Mode.KOTH, "abc|de", rules=rules(lock={"minutes": minutes}))
    question = asks_to_go(session, "a")
    assert (question.a, question.b, question.player) == (ids("abc"), ids("de"), PlayerId("a"))
    place, *_ = play(session, [(1.1, e.SwitchJudged(question, before, after))])
    assert place == Place(PlayerId("a"), side, reason)
    assert session.memory.locks.keys() == (set(ids("a")) if side is B and minutes else set())


@pytest.mark.parametrize(
    ("mode", "band", "before", "after", "side"),
    [
        (Mode.KOTH, (0.0, 0.0), 0.6, 0.5, B),
        (Mode.KOTH, (0.0, 0.0), 0.6, 0.9, A),
        (Mode.KOTH, (0.0, 1.0), 0.6, 0.5, B),
        (Mode.KOTH, (0.0, 1.0), 0.6, 0.9, B),
        (Mode.KOTH, (0.3, 0.7), 0.5, 0.4, B),
        (Mode.NS2, (0.3, 0.7), 0.5, 0.4, A),
    ],
    ids=["more even", "less even", "sizes alone", "sizes alone, less even", "the band of scrambles", "NS2 has another"],
)
def test_a_band_may_leave_switches_to_sizes_or_allow_those_alone_that_make_the_teams_more_even(
    mode: Mode, band: tuple[float, float], before: float, after: float, side: Side
) -> None:
    session = begun(mode, "abc|de", rules=rules(scramble={"fair_band": band}))
    place = the(Place, play(session, [(1.1, e.SwitchJudged(asks_to_go(session, "a"), before, after))]))
    assert place.side is side


def test_a_switch_is_answered_by_head_count_when_the_pool_cannot_say_or_leaves_the_script_no_time() -> None:
    for fails in (True, False):
        session = begun(Mode.KOTH, "abc|de")
        question = asks_to_go(session, "a")
        assert session.deadline() == 1.75
        assert session.tick(1.7) == ()
        failure = e.SolveFailed(question, "MemoryError")
        place, *_ = play(session, [(1.5, failure)]) if fails else session.tick(1.75)
        assert place == Place(PlayerId("a"), B, ALLOWED)
        assert (session.deadline(), session.state.pending_joins) == (None, {})
        assert play(session, [(2.1, e.SwitchJudged(question, 0.5, 0.9))]) == []


def test_a_switch_whose_sides_have_changed_meanwhile_is_judged_anew_within_the_same_second() -> None:
    session = begun(Mode.KOTH, "abc|de")
    question = asks_to_go(session, "a")
    play(session, [(1.2, e.SideChanged(1.2, PlayerId("b"), B)), (1.2, e.SideChanged(1.2, PlayerId("d"), A))])
    again = the(AskSwitch, play(session, [(1.3, e.SwitchJudged(question, 0.5, 0.5))]))
    assert set(again.a) == set(ids("acd"))
    assert session.deadline() == 1.75
    assert play(session, [(1.35, e.SolveFailed(question, "late"))]) == [], "of the first question"
    play(session, [(1.4, e.SideChanged(1.4, PlayerId("c"), None))])
    (place,) = of(Place, play(session, [(1.5, e.SwitchJudged(again, 0.5, 0.5))]))
    assert place == Place(PlayerId("a"), A, Text(Phrase.REFUSED_GAP, ("1", "3")))


@pytest.mark.parametrize(
    ("mode", "here", "phase"),
    [
        (Mode.KOTH, "abcd|ef", e.Phase.RUNNING),
        (Mode.KOTH, "a|", e.Phase.RUNNING),
        (Mode.ARENA, "abc|de", e.Phase.RUNNING),
        (Mode.NS2, "abc|de", e.Phase.IDLE),
    ],
)
def test_head_count_alone_decides_at_larger_gaps_against_an_empty_side_in_arena_and_before_a_shuffle(
    mode: Mode, here: str, phase: e.Phase
) -> None:
    session = begun(mode, here, phase=phase)
    assert placed(session, "a", B).side is B
    # In arena a lock would last until the next scramble, and before a shuffle it would stand in its way.
    assert session.memory.locks.keys() == (set(ids("a")) if mode is Mode.KOTH else set())


def test_who_may_go_at_odd_counts_is_locked_where_they_went_so_that_nobody_swaps_back_and_forth() -> None:
    """All want to go to the other side whenever they may, and inside the band they may; in a minute each goes once."""
    session, went = begun(Mode.KOTH, "abc|de"), []
    for second in range(1, 181):
        for entry in session.state.roster.humans():
            assert entry.side is not None
            answers = wants(session, entry.id, entry.side.other, float(second))
            if answers and isinstance(question := answers[0], AskSwitch):
                answers = play(session, [(float(second), e.SwitchJudged(question, 0.46, 0.53))])
            went += [place.player for place in of(Place, answers) if place.side is not entry.side]  # type: ignore[attr-defined]
    assert sorted(went) == list(ids("abcde"))


def test_a_player_who_asks_for_their_own_side_or_any_stays_unless_theirs_is_larger_by_two() -> None:
    for wanted in (A, None):
        assert wants(begun(Mode.KOTH, "ab|c"), "a", wanted) == [Place(PlayerId("a"), A, ALLOWED)]
    assert placed(begun(Mode.KOTH, "abc|d"), "a").side is B


# Locks.


def locked(text: str = "abc|d") -> Session:
    """e was placed on side B at second 1 and stands there: then the sides are `text` with e on B."""
    session = begun(Mode.KOTH, text)
    assert placed(session, "e", A).side is B
    return session


def test_a_placed_player_may_not_change_side_for_three_minutes_and_hears_how_long() -> None:
    session = locked("ab|c")
    changes(session, "a", None, 2.0)
    for now, left in ((61.0, "120"), (180.6, "1")):
        place = placed(session, "e", A, now=now)
        assert (place.side, place.reason) == (B, Text(Phrase.REFUSED_LOCKED, (left,)))
    (question,) = wants(session, "e", A, now=181.0)
    assert isinstance(question, AskSwitch)


def test_a_locked_player_may_leave_a_side_that_is_larger_by_two_and_takes_the_lock_along() -> None:
    session = locked("ab|c")
    changes(session, "a", None, 2.0)
    changes(session, "f", B, 2.0)
    play(session, [(2.5, summaries({"f": 2000.0}))])
    effects = wants(session, "e", A, 61.0)
    assert [type(effect) for effect in effects] == [Place, LogDecision, Lock]
    assert effects[2] == Lock(PlayerId("e"), A, 120.0)


@pytest.mark.parametrize("gap", [False, True], ids=["", "it would leave a gap of two"])
def test_a_placed_player_who_watched_returns_to_their_side(gap: bool) -> None:
    session = locked("ab|c")
    changes(session, "e", None, 2.0)
    changes(session, "a", None, 2.0)
    if gap:
        changes(session, "f", B, 2.0)
        play(session, [(2.5, summaries({"f": 2000.0}))])
    place = placed(session, "e", B if gap else A, now=3.0)
    assert (place.side, place.reason) == ((A, SMALLER) if gap else (B, Text(Phrase.REASON_RETURN)))
    assert session.memory.locks[PlayerId("e")].side is place.side


def test_a_lock_outlasts_a_reconnect() -> None:
    session = locked("ab|c")
    play(session, [(2.0, e.PlayerLeft(2.0, PlayerId("e"))), (2.5, e.PlayerLeft(2.5, PlayerId("a")))])
    play(session, [(3.0, e.PlayerJoined(3.0, PlayerId("e")))])
    assert placed(session, "e", A, now=4.0).side is B


def test_locks_follow_the_group_when_the_game_swaps_the_sides() -> None:
    session = locked("ab|c")
    play(session, [(2.0, e.SidesSwitched(2.0))])
    assert [entry.id for entry in session.state.roster.on(A)] == list(ids("ce"))
    changes(session, "a", None, 3.0)
    place = placed(session, "e", B, now=4.0)
    assert (place.side, place.reason.phrase) == (A, Phrase.REFUSED_LOCKED)


@pytest.mark.parametrize("told", [e.SideChanged(2.0, PlayerId("e"), A), seen("abe|c", 2.0)])
def test_who_is_put_on_the_other_side_is_held_there_so_that_nobody_undoes_the_games_own_scramble(told: e.Event) -> None:
    session = locked("ab|c")
    assert of(Lock, play(session, [(2.0, told)])) == [Lock(PlayerId("e"), A, 179.0)]
    changes(session, "b", B, 3.0)
    assert placed(session, "e", B, now=4.0).reason == Text(Phrase.REFUSED_LOCKED, ("177",))
    changes(session, "e", None, 5.0)
    place = placed(session, "e", B, now=6.0)
    assert (place.side, place.reason) == (A, Text(Phrase.REASON_RETURN))


def test_in_arena_a_lock_holds_until_the_next_scramble() -> None:
    session = begun(Mode.ARENA, "abc|d", phase=e.Phase.OVER)
    play(session, [(0.0, e.ScrambledAlone(0.0, split("ac|bd")))])
    changes(session, "a", None, 1.0)
    place = placed(session, "d", A, now=100_000.0)
    assert (place.side, place.reason) == (B, UNTIL_SCRAMBLE)
    play(session, [(100_001.0, e.ScrambledAlone(0.0, split("b|c")))])
    assert session.memory.locks.keys() == set(ids("bc"))


def test_a_script_that_says_hello_again_gets_every_lock_that_still_holds() -> None:
    session = locked("ab|c")
    assert play(session, [(61.0, hello(phase=e.Phase.RUNNING))]) == [Lock(PlayerId("e"), B, 120.0)]
    assert play(session, [(181.0, hello(phase=e.Phase.RUNNING))]) == []


def test_locks_bind_neither_autobalance_nor_scrambles() -> None:
    session = begun(Mode.KOTH, "abc|def")
    play(session, [(0.0, e.ScrambledAlone(0.0, split("abc|def")))])
    question = the(AskSplit, play(session, [(1.0, command("scramble", "now"))]))
    outlooks = Outlook.alone(0.5), Outlook.alone(0.5)
    play(session, [(2.0, e.SplitSolved(question, split("adc|bef"), 0.0, *outlooks))])
    play(session, [(3.0, e.OrderDone(3.0, OrderId("o1")))])
    assert session.memory.locks[PlayerId("b")].side is B
    play(session, [(4.0, e.PlayerLeft(4.0, player)) for player in ids("ef")])
    assert session.state.asked_moves is not None
    assert set(session.state.asked_moves.movable) == set(ids("adc"))


def test_a_player_who_already_waits_is_placed_like_a_new_one() -> None:
    session = begun(Mode.KOTH, "a|b", ratings={"a": 2300.0, "b": 2000.0})
    play(session, [(0.5, summaries({"c": 1000.0})), (0.6, went_live("r1", "a|b|c"))])
    assert placed(session, "c", A).side is B
    assert session.state.roster == Roster((*session.state.roster.entries[:2], Entry(PlayerId("c"), B, connected=100.0)))


def test_players_and_joiners_whose_rating_is_unknown_weigh_nothing() -> None:
    def side(here: str, joiner: str, wish: Side | None, **skills: float) -> Side | None:
        known = {PlayerId(player): skill for player, skill in skills.items()}
        return place_joiner(roster(here), PlayerId(joiner), wish, None, {A: known, B: known}).side

    # c is unknown: 2000 with the joiner on A stand against 2100 on B.
    assert side("ac|be|d", "d", None, a=1000.0, b=2100.0, d=1000.0) is A
    # Without known ratings both sides are equally good, and the wish decides.
    assert [side("a|b|c", "c", wish) for wish in (A, B)] == [A, B]
    assert side("a|b|c", "c", B, a=1000.0, b=1000.5) is B
    # Where a is unknown, c (0.1) makes 0.1 against 0.4 on A, and 0.5 against nothing on B.
    assert side("a|b|c", "c", B, b=0.4, c=0.1) is A


def test_a_player_who_has_to_stay_is_logged_once_a_round_for_each_reason() -> None:
    session = locked("ab|c")
    changes(session, "a", None, 2.0)
    for _ in range(2):
        first = of(LogDecision, wants(session, "e", A, now=62.0))
        assert first == [LogDecision("kept", Text(Phrase.REFUSED_LOCKED, ("119",)), players=ids("e"), side=B)]
        assert of(LogDecision, wants(session, "e", A, now=63.0)) == []
        play(session, [(64.0, started("b|ce", 64.0))])


# Joins whose questions fail.


@pytest.mark.parametrize(
    ("here", "wanted", "side", "reason"), [("ab|c", A, B, SMALLER), ("a|b", B, B, ALLOWED), ("a|b", None, A, ALLOWED)]
)
def test_a_joiner_is_placed_by_head_count_when_no_ratings_can_be_loaded(
    here: str, wanted: Side | None, side: Side, reason: Text
) -> None:
    session = begun(Mode.KOTH, here)
    (question,) = wants(session, "d", wanted)
    assert isinstance(question, LoadSummaries)
    place, *_ = play(session, [(1.1, e.SolveFailed(question, "MemoryError"))])
    assert place == Place(PlayerId("d"), side, reason)
    assert not session.state.pending_joins


# Joins where the errors of ratings are known.


def asks_the_pool(session: Session, player: str, side: Side | None, now: float = 1.0) -> AskSide:
    """The question about a joiner at equal sizes whose deviation is known."""
    joiner = PlayerSummary(PlayerId(player), 2000.0, deviation=600.0)
    play(session, [(now, e.SummariesLoaded((joiner,)))])
    (question,) = wants(session, player, side, now)
    assert isinstance(question, AskSide)
    return question


@pytest.mark.parametrize("fails", [False, True])
def test_the_pool_says_which_side_of_a_joiner_becomes_more_even_or_head_count_decides(fails: bool) -> None:
    session = begun(Mode.KOTH, "a|b")
    question = asks_the_pool(session, "c", A)
    assert (question.a, question.b, question.player, question.wanted) == (ids("a"), ids("b"), ids("c")[0], A)
    assert play(session, [(1.1, summaries({"a": 1500.0}))]) == [], "it is asked once"
    answer = e.SolveFailed(question, "MemoryError") if fails else e.SideFound(question, B)
    place, *_ = play(session, [(1.2, answer)])
    assert place == (Place(PlayerId("c"), A, ALLOWED) if fails else Place(PlayerId("c"), B, WEAKER))
    assert play(session, [(1.3, answer)]) == []


def test_a_joiner_whose_sides_have_changed_meanwhile_is_asked_about_again_or_goes_to_the_smaller_side() -> None:
    session = begun(Mode.KOTH, "ab|cd")
    question = asks_the_pool(session, "e", A)
    play(session, [(1.1, e.SideChanged(1.1, PlayerId("b"), B)), (1.1, e.SideChanged(1.1, PlayerId("d"), A))])
    again = the(AskSide, play(session, [(1.2, e.SideFound(question, A))]))
    assert set(again.a) == set(ids("ad"))
    play(session, [(1.3, e.PlayerLeft(1.3, PlayerId("c")))])
    (place,) = of(Place, play(session, [(1.4, e.SideFound(again, A))]))
    assert place == Place(PlayerId("e"), B, SMALLER)


def test_who_is_held_stays_when_they_ask_for_any_side_and_a_coach_reads_why_they_get_none() -> None:
    session = begun(Mode.KOTH, "abcd|ef||g")
    play(session, [(1.0, seen("abcd|ef||g", held="abg"))])
    assert [placed(session, "a").side, placed(session, "b", B).side] == [A, B]
    (told,) = without_loads(wants(session, "g", A))
    assert told == Tell(PlayerId("g"), (Text(Phrase.HELD_DUEL, ("@g",)),))
