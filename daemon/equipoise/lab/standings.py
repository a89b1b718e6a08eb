"""Leaderboards of whole histories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise.core.model import Card
from equipoise.ratings.base import System
from equipoise.ratings.history import History


@dataclass(frozen=True, slots=True)
class Standing:
    """One player's place."""

    place: int
    card: Card
    uncertainty: float
    """In the system's own unit."""


def standings(system: System[Any], history: History, *, hidden: bool = False) -> list[Standing]:
    """Everybody who took part, the highest rating first; `hidden`: those in their shadow period too."""
    took_part = np.unique(history.members).tolist()
    cards = [system.card(history.players[number]) for number in took_part]
    shown = [card for card in cards if card.visible or hidden]
    shown.sort(key=lambda card: (-card.rating, card.id))
    return [Standing(place, card, system.uncertainty(card.id)) for place, card in enumerate(shown, 1)]
