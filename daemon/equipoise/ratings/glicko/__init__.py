"""Glicko and Glicko-2: a rating with a deviation, updated by rating periods."""
