"""Which rounds are rated, who is rated for them, and on which side."""

from __future__ import annotations

from collections.abc import Mapping

from equipoise.core.effects import RecordRound
from equipoise.core.model import Mode, Participant, PlayerId, Presence, Round, Side, is_bot
from equipoise.core.rules import Rules


def recorded(round: Round, rules: Rules, skill_at_start: Mapping[PlayerId, float] | None = None) -> RecordRound:
    """What is to be stored of a round, and who is rated for it."""
    rated = participants(round)
    unrated = _why_unrated(round, rated, rules)
    return RecordRound(round, () if unrated else rated, unrated, skill_at_start)


def participants(round: Round) -> tuple[Participant, ...]:
    """Everybody who took part, in the script's order."""
    took_part = _TOOK_PART.get(round.mode, _fought)
    lineup = frozenset(seat.id for seat in round.lineup)
    return tuple(
        Participant(presence.id, _side(presence), presence.seconds_a, presence.seconds_b)
        for presence in round.presences
        if not is_bot(presence.id) and took_part(presence, lineup)
    )


def _side(presence: Presence) -> Side:
    """Where he was longest; ties go to where he ended."""
    if presence.seconds_a == presence.seconds_b:
        return presence.side
    return Side.A if presence.seconds_a > presence.seconds_b else Side.B


def _in_arena(presence: Presence, lineup: frozenset[PlayerId]) -> bool:
    """On a side when the doors went up, and not gone before the first blow."""
    return presence.id in lineup and (presence.fought or not presence.left)


def _fought(presence: Presence, lineup: frozenset[PlayerId]) -> bool:
    return presence.fought


def _was_there(presence: Presence, lineup: frozenset[PlayerId]) -> bool:
    return presence.seconds_a + presence.seconds_b > 0


_TOOK_PART = {Mode.ARENA: _in_arena, Mode.NS2: _was_there}


def _why_unrated(round: Round, rated: tuple[Participant, ...], rules: Rules) -> str | None:
    if round.waiting:
        return "inside Waiting For Players"
    if round.partial:
        return "not seen going live"
    if round.mode is Mode.NS2 and round.seconds < rules.ns2_min_seconds:
        return f"shorter than {rules.ns2_min_seconds:g} s"
    for side in Side:
        if all(is_bot(player) for player in round.lineup_of(side)):
            return f"no human in the lineup of side {side.value}"
        if not any(participant.side is side for participant in rated):
            return f"no participant on side {side.value}"
    return None
