"""Exact team splits, transfers and fewest-moves balance, on indices and numbers; pure Python, no I/O, no clock."""

from .model import Assignment, Pin, Rebalance, Splits, Transfer
from .moves import Frontier, fewest_moves, greedy_swaps
from .splits import best_split, splits
from .transfer import transfer

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
