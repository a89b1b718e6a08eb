"""Which rounds are rated, who is rated for them, and on which side."""

from __future__ import annotations

from dataclasses import replace

import pytest

from equipoise.core.model import Mode, Participant, PlayerId, Presence, Role, Round, Side, Span
from equipoise.core.participation import participants, recorded
from equipoise.core.rules import Rules
from tests.core.scripts import A, B, finished, presence

OTHERS = [mode for mode in Mode if mode not in (Mode.ARENA, Mode.NS2)]
BOTH = (presence("a", A, 100.0), presence("b", B, 100.0))


def played(mode: Mode, *presences: Presence, text: str = "a|b", **fields: object) -> Round:
    return replace(finished("r1", A, text, mode=mode, presences=(*BOTH, *presences)), **fields)  # type: ignore[arg-type]


def rated(game_round: Round) -> set[str]:
    return {participant.id for participant in participants(game_round)}


def unrated(game_round: Round, rules: Rules | None = None) -> str | None:
    record = recorded(game_round, rules or Rules(min_rated_humans=2))
    assert (record.participants == ()) == (record.unrated is not None)
    return record.unrated


# Who.


@pytest.mark.parametrize("mode", OTHERS)
def test_a_player_who_fought_is_rated_however_late_they_joined_or_early_they_left(mode: Mode) -> None:
    late, idle = presence("c", A, 5.0), presence("d", B, 100.0, fought=False)
    left, fled = presence("e", A, 5.0, left=True), presence("f", A, 5.0, fought=False, left=True)
    assert rated(played(mode, late, idle, left, fled, text="ad|b")) == {"a", "b", "c", "e"}


def test_in_arena_the_lineup_is_rated_and_of_it_who_left_only_if_they_fought_before() -> None:
    idle, joined = presence("c", A, 100.0, fought=False), presence("d", A, 50.0)
    fled, fought = presence("e", A, 9.0, fought=False, left=True), presence("f", B, 9.0, left=True)
    assert rated(played(Mode.ARENA, idle, joined, fled, fought, text="ace|bf")) == {"a", "b", "c", "f"}


def test_in_ns2_anyone_with_time_on_a_side_is_rated() -> None:
    idle, watched = presence("c", A, 0.5, fought=False), presence("d", A, 0.0)
    assert rated(played(Mode.NS2, idle, watched, text="a|b")) == {"a", "b", "c"}


@pytest.mark.parametrize("mode", Mode)
def test_bots_are_not_rated(mode: Mode) -> None:
    assert rated(played(mode, presence("bot:1", A, 100.0), text="a1|b")) == {"a", "b"}


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize(
    ("end", "on_a", "on_b", "side"),
    [(B, 60.0, 40.0, A), (A, 40.0, 60.0, B), (A, 50.0, 50.0, A), (B, 50.0, 50.0, B)],
)
def test_who_changed_side_is_rated_for_the_one_they_were_on_longest_of_equal_times_for_that_at_the_end(
    mode: Mode, end: Side, on_a: float, on_b: float, side: Side
) -> None:
    there = participants(played(mode, presence("c", end, on_a, on_b), text="ac|b"))
    assert Participant(PlayerId("c"), side, on_a, on_b) in there


# Which rounds.


def test_in_ns2_the_side_is_that_of_most_time_in_the_chair_or_out_of_it_and_the_spans_stay() -> None:
    spans = (Span(A, 0.0, 40.0), Span(B, 40.0, 70.0), Span(B, 70.0, 100.0, Role.COMMANDER))
    switched = Presence(PlayerId("c"), A, 40.0, 60.0, fought=False, spans=spans)
    (found,) = (each for each in participants(played(Mode.NS2, switched)) if each.id == "c")
    assert found == Participant(PlayerId("c"), B, 40.0, 60.0, spans)


@pytest.mark.parametrize(("text", "side"), [("|b", "a"), ("a|", "b"), ("1|b", "a"), ("a|12", "b"), ("a|b", None)])
def test_a_round_needs_a_human_on_each_side_of_the_lineup_and_a_participant(text: str, side: str | None) -> None:
    assert unrated(played(Mode.KOTH, text=text)) == (side and f"no human in the lineup of side {side}")
    one = (presence("a", A, 100.0), presence("b", B, 100.0, fought=False))
    assert unrated(finished("r1", A, "a|b", presences=one)) == "no participant on side b"


@pytest.mark.parametrize("end", [*Side, None])
def test_in_ns2_both_sides_need_a_human_at_the_end(end: Side | None) -> None:
    """Bots who stay are none."""

    def span(side: Side) -> tuple[Span, ...]:
        return (Span(side, 0.0, 100.0 if side is end or end is None else 99.25),)

    stayed = [Presence(PlayerId(name), side, 0.0, 0.0, False, spans=span(side)) for name, side in (("a", A), ("b", B))]
    went = Presence(PlayerId("c"), A, 0.0, 0.0, False, spans=(Span(B, 0.0, 50.0), Span(A, 50.0, 90.0)))
    bots = [
        Presence(PlayerId(f"bot:{n}"), side, 0, 0, False, spans=(Span(side, 0.0, 100.0),))
        for n, side in enumerate(Side)
    ]
    presences = tuple(replace(each, seconds_a=50.0, seconds_b=50.0) for each in (*stayed, went, *bots))
    game_round = replace(finished("r1", B, "ac|b", mode=Mode.NS2), presences=presences)
    assert unrated(game_round) == (None if end is None else "a side had no human before the end")


def test_a_round_with_cheats_on_a_partial_one_and_one_inside_waiting_for_players_are_not_rated() -> None:
    assert unrated(played(Mode.NS2, cheats=True)) == "cheats were on while it was played"
    assert unrated(played(Mode.NS2, cheats=True, partial=True)) == "not seen going live"
    assert unrated(played(Mode.KOTH, waiting=True)) == "inside Waiting For Players"


def test_an_ns2_round_is_rated_from_sixty_seconds_on() -> None:
    assert unrated(played(Mode.NS2, seconds=59.9)) == "shorter than 60 s"
    assert unrated(played(Mode.NS2, seconds=60.0)) is None
    assert unrated(played(Mode.NS2, seconds=30.0), Rules(ns2_min_seconds=30.0, min_rated_humans=2)) is None
    assert unrated(played(Mode.KOTH, seconds=1.0)) is None


@pytest.mark.parametrize(("mode", "least"), [(Mode.NS2, 6), (Mode.KOTH, 2), (Mode.ARENA, 2)])
def test_a_round_of_fewer_humans_than_a_match_has_is_not_rated(mode: Mode, least: int) -> None:
    def whole(players: int) -> Round:
        ids = "abcdefgh"[:players]
        there = [presence(player, A if place % 2 else B, 60.0) for place, player in enumerate(ids)]
        bots = [presence(f"bot:{n}", side, 60.0) for n, side in enumerate(Side)]
        lineup = f"{ids[1::2]}|{ids[::2]}"
        return replace(finished("r1", A, lineup, mode=mode), presences=(*there, *bots), seconds=60.0)

    assert unrated(whole(least), Rules()) is None
    for players in range(2, least):
        assert unrated(whole(players), Rules()) == f"{players} participants, fewer than {least}"
    assert unrated(whole(4), Rules(min_rated_humans=5)) == "4 participants, fewer than 5"


@pytest.mark.parametrize(("winner", "score"), [(A, 1.0), (B, 0.0), (None, 0.5)])
def test_an_outcome_is_one_half_or_nothing(winner: Side | None, score: float) -> None:
    game_round = finished("r1", winner)
    assert game_round.score(A) == score
    assert game_round.score(A) + game_round.score(B) == 1.0
