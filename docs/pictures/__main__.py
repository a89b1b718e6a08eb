"""`make pictures` draws the pictures of README and docs again."""

from __future__ import annotations

from pathlib import Path

from docs.pictures import layers, readme, round_trip

HERE = Path(__file__).parent

(HERE / "layers.svg").write_text(layers.draw())
(HERE / "round.svg").write_text(round_trip.draw())
readme.demo(HERE.parent / "demo.svg", "tf2")
readme.demo(HERE.parent / "demo-ns2.svg", "ns2")
readme.compare(HERE.parent / "compare.svg")
