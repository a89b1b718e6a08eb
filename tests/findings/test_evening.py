"""The experiments of whole pools: each is played once, and rows are compared seed by seed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.findings import coverage, evening
from bench.findings.pools import Pool, play
from equipoise.lab.models import Model
from equipoise.lab.simulation.population import Scenario
from equipoise.lab.simulation.run import simulate

SMALL = Scenario(rounds=30, slots=8, people=16)


@pytest.mark.slow
def test_a_pool_is_played_once_and_found_again_in_the_file(tmp_path: Path) -> None:
    kept, pools = tmp_path / "kept.jsonl", [Pool("synelo", SMALL).seeded(seed) for seed in (1, 2)]
    found = play({pool.key: pool for pool in pools}, kept, processes=1)
    summary = simulate(Scenario(rounds=30, seed=2, slots=8, people=16), Model("synelo"))
    assert found[pools[1].key]["favourite"] == summary.favourite
    assert found[pools[0].key] != found[pools[1].key]
    lines = kept.read_text().splitlines()
    changed = [json.dumps([key, {"favourite": 2.0}]) for key, _ in map(json.loads, lines)]
    kept.write_text(f"{changed[0]}\n{lines[1][:50]}")
    again = play({pool.key: pool for pool in pools}, kept, processes=1)
    assert again[pools[0].key] == {"favourite": 2.0}
    assert again[pools[1].key] == found[pools[1].key]


def test_the_first_experiment_prints_differences_by_period(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kept results are made up: a pool that is 1 % and 3 % less uneven on two seeds, by 2 % in the mean."""
    kept, rows = tmp_path / "kept.jsonl", evening.FIRST
    with kept.open("w") as file:
        for name, gain in (("synelo, bench alone", (0.0, 0.0)), ("synelo", (0.01, 0.03))):
            for seed, less in enumerate(gain, 1):
                periods = [{"favourite": 0.65 + 0.01 * seed - less} for _ in range(4)]
                points = [{"round": 50 * n, "favourite": 0.6, "random": 0.7} for n in range(1, 21)]
                found = {
                    "periods": periods,
                    "points": points,
                    "assigned": 0.02,
                    "expected_favourite": 0.5,
                    "found": 0.7,
                }
                again = {"again": {"share": 0.5, "chance": 0.47}}
                file.write(json.dumps([rows[name].seeded(seed).key, found | again]) + "\n")
    asked = ["evening", "--seeds", "1-2", "--only", "synelo", "--out", str(kept), "--plot", str(tmp_path / "p.svg")]
    monkeypatch.setattr("sys.argv", asked)
    evening.main()
    table = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| synelo")]
    assert table[0].startswith("| synelo, bench alone | 66.5 % ± 0.5 |")
    assert table[1].startswith("| synelo | −2.0 % ± 1.0 |")
    assert "random teams" in (tmp_path / "p.svg").read_text()


@pytest.mark.parametrize("experiment", evening.EXPERIMENTS)
def test_every_experiment_compares_pools_whose_people_are_the_same(experiment: str) -> None:
    for rows in evening.EXPERIMENTS[experiment]().values():
        people = {
            (one.scenario.spread, one.scenario.stay, one.scenario.turnover, one.scenario.slots, one.scenario.attendance)
            for one in rows.values()
        }
        assert len(people) == 1
        assert len({pool.key for pool in rows.values()}) == len(rows)


def test_the_coverage_of_a_world_is_the_mean_of_its_seeds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, world = tmp_path / "kept.jsonl", coverage.WORLDS["spread 0.5"]
    with kept.open("w") as file:
        for seed in (1, 2):
            for way, covered in (("fixed", 0.5), ("learnt", 0.7)):
                found = {
                    "fairness": {"covered": covered + 0.01 * seed, "covered_late": covered},
                    "favourite": 0.6,
                    "expected_favourite": 0.6,
                    "quality": {"calibration_error": 0.02},
                }
                file.write(json.dumps([coverage.pool(world, way).seeded(seed).key, found]) + "\n")
    asked = ["coverage", "--seeds", "1-2", "--worlds", "spread 0.5", "--ways", "fixed", "learnt", "--out", str(kept)]
    monkeypatch.setattr("sys.argv", asked)
    coverage.main()
    printed = capsys.readouterr().out
    assert "| spread 0.5 | fixed | 52 % ± 1 | 50 % ± 0 | 60.0 % ± 0.0 |" in printed
    assert "| spread 0.5 | learnt | 72 % ± 1 | 70 % ± 0 |" in printed
