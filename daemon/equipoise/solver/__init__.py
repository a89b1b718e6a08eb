"""Exact team splits, transfers and fewest-moves balance, on indices and numbers; pure Python, no I/O, no clock."""

from equipoise.solver.model import Assignment, Pin, Rebalance, Splits, Transfer
from equipoise.solver.moves import Frontier, fewest_moves, greedy_swaps
from equipoise.solver.splits import best_split, splits
from equipoise.solver.transfer import transfer

__all__ = [
    "Assignment",
    "Frontier",
    "Pin",
    "Rebalance",
    "Splits",
    "Transfer",
    "best_split",
    "fewest_moves",
    "greedy_swaps",
    "splits",
    "transfer",
]
