"""Elo: one number per player, moved by the difference between the score and the expected score."""
