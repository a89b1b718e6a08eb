"""`python -m docs.pictures` draws the pictures of docs/architecture.md again."""

from __future__ import annotations

from pathlib import Path

from docs.pictures import layers, round_trip

PICTURES = {"layers.svg": layers.draw, "round.svg": round_trip.draw}

for name, draw in PICTURES.items():
    (Path(__file__).parent / name).write_text(draw())
