"""What a round did to a participant, as a row has it, in SQLite."""

from __future__ import annotations

import msgspec

from equipoise.core.model import Counts, PlayerId, Side, Span
from equipoise.store.rated import Change
from equipoise.store.sqlite.players import encoded

_spans = msgspec.json.Decoder(tuple[Span, ...])
_counts = msgspec.json.Decoder(Counts)

Found = tuple[str, str, float, float, float, float, int, int, str]
"""Player, side, ratings before and after, prediction, score, rounds, visible, state."""


def change_of(found: Found) -> Change:
    """The change that these columns say."""
    player, side, before, after, prediction, score, rounds, visible, state = found
    return Change(
        id=PlayerId(player),
        side=Side(side),
        before=before,
        after=after,
        prediction=prediction,
        score=score,
        rounds=rounds,
        visible=bool(visible),
        state=msgspec.json.decode(state, type=dict[str, object]),
    )


def effect(change: Change) -> tuple[object, ...]:
    """What a replay changes in the row."""
    return change.before, change.after, change.prediction, change.rounds, change.visible, encoded(change.state)


def written_spans(spans: tuple[Span, ...]) -> str | None:
    """Spans as their column has them."""
    return encoded(spans) if spans else None


def spans_of(column: str | None) -> tuple[Span, ...]:
    """The spans that a column says."""
    return () if column is None else _spans.decode(column)


def written_counts(counts: Counts | None) -> str | None:
    """What they did as its column has it."""
    return None if counts is None else encoded(counts)


def counts_of(column: str | None) -> Counts | None:
    """What a column says that they did."""
    return None if column is None else _counts.decode(column)
