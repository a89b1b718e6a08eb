"""When a scramble is due by a round's end: what the table of triggers says of the mode, and the tally that it reads.

`due_if` asks the same function about outcomes that have not happened yet, so a script that loses the daemon
decides exactly as the daemon would have.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from equipoise.core.model import DueIf, Mode, Round, Side
from equipoise.core.phrases import Phrase, Text
from equipoise.core.rules import Rules

DEFENDERS = {Mode.ATTACK_DEFEND: Side.A, Mode.PAYLOAD: Side.A}
"""The side that has nothing to capture: BLU attacks; the game swaps the players, never the roles."""


@dataclass(frozen=True, slots=True)
class Tally:
    """The counts of a session's rounds that triggers read."""

    completed: int = 0
    """Full rounds of this session."""
    since_scramble: int = 0
    streak_side: Side | None = None
    """The side that won the last round; None after a stalemate or a scramble."""
    streak: int = 0
    """Rounds in a row that this side has won."""

    def after(self, winner: Side | None) -> Tally:
        """The tally with one more round.

        >>> Tally().after(Side.A).after(Side.A).streak
        2
        """
        if winner is None:
            streak = 0
        else:
            streak = self.streak + 1 if winner is self.streak_side else 1
        return Tally(self.completed + 1, self.since_scramble + 1, winner, streak)

    def scrambled(self) -> Tally:
        """New teams: no rounds and no wins yet."""
        return replace(self, since_scramble=0, streak_side=None, streak=0)

    def without_streak(self) -> Tally:
        """The tally after an admin cancelled a scramble: the next win must not make it due again."""
        return replace(self, streak_side=None, streak=0)

    def switched(self) -> Tally:
        """The game swapped the sides; the group of players keeps its streak."""
        return replace(self, streak_side=self.streak_side and self.streak_side.other)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The part of a round's result that triggers read."""

    winner: Side | None
    loser_captures: int

    @classmethod
    def of(cls, game_round: Round) -> Outcome:
        """The outcome of a finished round."""
        captures = game_round.captures(game_round.winner.other) if game_round.winner else 0
        return cls(game_round.winner, captures)

    @property
    def shutout(self) -> bool:
        """A side won and the other captured nothing."""
        return self.winner is not None and self.loser_captures == 0


def due(mode: Mode, tally: Tally, outcome: Outcome, rules: Rules) -> Text | None:
    """The reason why a scramble is due after a round, or None; `tally` counts that round already.

    >>> due(Mode.ARENA, Tally(4, 3, Side.A, streak=3), Outcome(Side.A, 0), Rules()).english
    '3 wins in a row'
    """
    triggers = rules.triggers_of(mode)
    if triggers.round_two and tally.completed == 1:
        return Text(Phrase.REASON_ROUND_TWO)
    if triggers.streak and tally.streak >= triggers.streak:
        return Text(Phrase.REASON_STREAK, (str(tally.streak),))
    # Attackers shut out a side that has nothing to capture each time they win: only the defenders' shutout counts.
    if triggers.no_capture and outcome.shutout and DEFENDERS.get(mode, outcome.winner) is outcome.winner:
        return Text(Phrase.REASON_NO_CAPTURE)
    if triggers.rounds and tally.since_scramble >= triggers.rounds:
        return Text(Phrase.REASON_ROUNDS, (str(tally.since_scramble),))
    return None


def due_if(mode: Mode, tally: Tally, rules: Rules) -> tuple[DueIf, ...]:
    """Outcomes of the running round after which a scramble is due; `tally` does not count it yet.

    >>> due_if(Mode.KOTH, Tally(), Rules())
    (DueIf(winner=<Side.A: 'a'>, shutout=True), DueIf(winner=<Side.B: 'b'>, shutout=True))
    """
    outcomes = []
    for winner in (Side.A, Side.B, None):
        # A loser who captured something is the weaker condition: where that outcome is due, so is the shutout.
        after = tally.after(winner)
        if due(mode, after, Outcome(winner, 1), rules):
            outcomes.append(DueIf(winner))
        elif due(mode, after, Outcome(winner, 0), rules):
            outcomes.append(DueIf(winner, shutout=True))
    return tuple(outcomes)
