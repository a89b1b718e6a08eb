"""Exact team splits, shuffles, transfers and fewest-moves balance, on indices and numbers; pure Python, no I/O, no
clock.

Every problem here asks which of very many sums comes nearest to a target. The method is the same throughout:

1. Values become whole ticks (`problem`), so that a set of sums is a set of integers, and that is the bits of one long
   Python integer (`bitsets`).
2. The players are parted into two halves. A dynamic programme over one half yields, for each number of players on A
   and on B, the set of all differences that they can make (`halves`; with constraints and preferences `constraints`;
   where everyone plays `shuffle_search`; for the players who leave a side `moves`).
3. The best split is where a set of the lower half and the complementary set of the upper half come nearest. The bits
   that meet there are traced back to players.

The work grows with a power of the number of players and with the range of their values in ticks, not with the number of
splits. The result is proven optimal, to within the rounding that `error_bound` states. Where that takes more than a
`Budget` allows, the same method on rounder values (`splits`) and trades of players (`local_search`) give a good
assignment, and a `Gap` that bounds how much better the best may be.
"""

from equipoise.solver.bitsets import Budget
from equipoise.solver.moves import Frontier, Rebalance, Transfer, fewest_moves, greedy_swaps, new_teams, transfer
from equipoise.solver.problem import Assignment, Gap, Pin, Splits
from equipoise.solver.shuffle import shuffle
from equipoise.solver.splits import best_split, preferred_splits, splits

__all__ = [
    "Assignment",
    "Budget",
    "Frontier",
    "Gap",
    "Pin",
    "Rebalance",
    "Splits",
    "Transfer",
    "best_split",
    "fewest_moves",
    "greedy_swaps",
    "new_teams",
    "preferred_splits",
    "shuffle",
    "splits",
    "transfer",
]
