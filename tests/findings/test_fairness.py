"""The table of figures: worlds, ways and seeds, now and before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.findings import fairness
from equipoise.core.model import Mode


def made_up(nobody: float, favourite: float) -> dict[str, Any]:
    """A kept pool in which only these two figures matter."""
    limits = [
        {"limit": limit, "stated": 0.1, "true": 0.2, "stated_runs": 0.0, "true_runs": 0.1} for limit in (6, 65, 7)
    ]
    return {
        "random": 0.7,
        "periods": [{"after": 0, "to": 60, "rounds": 60, "favourite": favourite}],
        "groups": [],
        "fairness": {
            "scrambles": {"count": 10, "nobody": nobody, "together": 0.8, "uneven": 0.2},
            "evenings": {"count": 30, "lost": 0.1, "coin": 0.1, "spread": 0.1},
            "beyond": limits,
            "moves": {"all": 1.0, "by_cause": {"scramble": 0.9, "autobalance": 0.1}, "most": 2},
            "covered": None,
            "even": 0.6,
        },
    }


def keep(file: Path, nobody: tuple[float, ...], favourite: float = 0.6) -> None:
    with file.open("w") as lines:
        for seed, share in enumerate(nobody, 1):
            for way in ("synelo", "joint"):
                lines.write(json.dumps([fairness.key("koth", way, 60, seed), made_up(share, favourite)]) + "\n")


def printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *asked: str) -> list[str]:
    arguments = ["--seeds", "1-2", "--rounds", "60", "--worlds", "koth", "--ways", "synelo", "joint"]
    monkeypatch.setattr("sys.argv", ["fairness", *arguments, *asked])
    fairness.main()
    return capsys.readouterr().out.splitlines()


def test_figures_stand_beside_those_of_an_earlier_tree(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is kept is not played again; the earlier file has one of the two seeds."""
    keep(tmp_path / "now", (0.01, 0.03))
    keep(tmp_path / "before", (0.4,))
    lines = printed(
        monkeypatch, capsys, "--json", str(tmp_path / "now"), "--before", str(tmp_path / "before"), "--jobs", "1"
    )
    assert "| figure | seen | before | now | goal |" in lines
    assert "| due scrambles that moved nobody (koth) | 39 % | 40.0 % | 2.0 % ± 1.0 | ≤ 2 % |" in lines
    assert "| … by scrambles | 0.90 ± 0.00 | 0.90 ± 0.00 |" in lines
    assert "| … of uneven sides | 0.00 ± 0.00 | 0.00 ± 0.00 |" in lines
    assert not any("251–600" in line or "80 % interval" in line or "throwers" in line for line in lines)


@pytest.mark.slow
def test_a_world_is_played_with_the_same_seeds_by_all_ways(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "kept"
    monkeypatch.setattr(
        "sys.argv", ["", "--seeds", "5", "--rounds", "30", "--worlds", "arena, 12", "--json", str(kept)]
    )
    fairness.main()
    played = dict(json.loads(line) for line in kept.read_text().splitlines())
    assert set(played) == {f"arena, 12 / {way} / 30 / 5" for way in ("synelo", "joint")}
    assert {one["rated"] for one in played.values()} == {30}
    assert "| due scrambles |" in capsys.readouterr().out


def test_worlds_are_those_of_the_figures_and_every_figure_has_a_way_that_plays_it() -> None:
    for one in fairness.FIGURES:
        assert all(one.world in fairness.WAYS[way].worlds for way in one.ways)
    assert fairness.WORLDS["koth"].mode is Mode.KOTH
    assert all(world in fairness.WORLDS for way in fairness.WAYS.values() for world in way.worlds)
