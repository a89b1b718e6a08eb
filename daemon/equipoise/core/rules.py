"""Every number of the rules, with the default of `docs/rules.md`; the configuration fills them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class ArenaRules:
    """How an arena evening goes."""

    round_one: Literal["duel", "everyone"] = "duel"
    """Round 1 is a 1v1 of the two closest ratings, or everybody plays."""
    streak: int = 3
    """Rounds won in a row that make a scramble due."""


@dataclass(frozen=True, slots=True)
class ScrambleRules:
    """When teams are made anew, and which split is taken."""

    min_players: int = 4
    """Below this many eligible players nothing moves and a due scramble stays pending."""
    tolerance: float = 0.01
    """Win probability by which a split may be off the optimum, to bench fairly and move fewer; the source has 0."""
    top_player_always_plays: bool = False
    """The source's anchor: the highest rated is never benched."""
    rounds: int = 2
    """Attack/defend and payload: full rounds since the last scramble that make one due."""


@dataclass(frozen=True, slots=True)
class AutobalanceRules:
    """Closing a gap of two or more while a round runs."""

    enabled: bool = True
    spare_minutes: float = 10.0
    """Somebody moved this recently is taken last."""
    deadline_seconds: float = 10.0
    """A move is applied this long after the gap was seen at the latest."""
    quiet_seconds: float = 30.0
    """No moves this close to a known end of the round."""


@dataclass(frozen=True, slots=True)
class LockRules:
    """Keeping placed players where they were placed."""

    minutes: float = 3.0
    """How long; in arena until the next scramble."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one server."""

    arena: ArenaRules = field(default_factory=ArenaRules)
    scramble: ScrambleRules = field(default_factory=ScrambleRules)
    autobalance: AutobalanceRules = field(default_factory=AutobalanceRules)
    lock: LockRules = field(default_factory=LockRules)
    ns2_min_seconds: float = 60.0
    """NS2: a shorter round is not rated."""
    silence_seconds: float = 90.0
    """A script that was silent this long is shown as lost."""
    poll_seconds: float = 5.0
    """How often a script calls when nothing happens."""
