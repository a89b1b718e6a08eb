"""What players want of a shuffle: the terms of its question, and the memory of what it granted."""

from __future__ import annotations

from equipoise.core.asks import ShuffleTerms
from equipoise.core.model import Split
from equipoise.core.state import State


def terms(state: State) -> ShuffleTerms:
    """What the next shuffle chooses by."""
    rules = state.rules.shuffle
    return ShuffleTerms(rules.fair_band, rules.max_moves or None)


def shuffled(state: State, split: Split) -> None:
    """Note a shuffle that the script has carried out."""
