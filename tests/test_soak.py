"""`make soak`: its rounds are real ones, and its table goes where the documents have it."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from bench.soak import table
from bench.soak.hours import Result

GOOD = Result(
    servers=1,
    hours=1.0,
    system="joint",
    modes=("koth",),
    stretches=(),
    played=7,
    answered=7,
    stored=7,
    dropped=0,
    memory=(60.0, 70.0),
    growth=9000.0,
)


@pytest.mark.world
def test_a_short_soak_measures_rounds_that_the_stores_have(tmp_path: Path) -> None:
    hours = "--servers=3", "--hours=0.05", "--speed=60", "--calm=0.5"
    pools = "--pools", "30x40", "60x90", "--turns=3", f"--stores={tmp_path}"
    command = [sys.executable, "-m", "bench.soak", *hours, *pools, "--json"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    rounds = found["hours"]["rounds"]
    assert rounds["played"] == rounds["answered"] == rounds["stored"] >= 3
    stretches = found["hours"]["stretches"]
    assert sum(each["round_end_ms"]["count"] for each in stretches) == rounds["stored"]
    assert all(each["poll_ms"]["count"] and each["loop_ms"]["count"] for each in stretches)
    assert found["hours"]["store_bytes_per_round"] > 1000
    for pool in found["pools"]:
        assert pool["round_end_ms"]["count"] == pool["arrival_ms"]["count"] == 3
        store = tmp_path / f"players-{pool['players']}-rounds-{pool['rounds']}" / "equipoise.db"
        with closing(sqlite3.connect(store)) as database:
            assert database.execute("SELECT count(*) FROM rounds").fetchone() == (pool["rounds"] + 3,)


@pytest.mark.parametrize("lost", [{"answered": 6}, {"stored": 6}, {"stored": 8}, {"dropped": 1}])
def test_a_round_that_is_lost_or_stored_twice_is_seen(lost: dict[str, int]) -> None:
    assert GOOD.agrees
    assert not replace(GOOD, **lost).agrees


def test_a_soak_without_rounds_proves_nothing() -> None:
    assert not replace(GOOD, played=0, answered=0, stored=0).agrees


def test_the_table_replaces_the_last_one_and_nothing_else(tmp_path: Path) -> None:
    document = tmp_path / "x.md"
    document.write_text(f"before\n{table.BEGIN}\nold\n{table.END}\nafter\n")
    for text in ("new", "newer"):
        table.write(text, document)
        assert document.read_text() == f"before\n{table.BEGIN}\n\n{text}\n\n{table.END}\nafter\n"


def test_the_document_has_a_place_for_the_table() -> None:
    text = table.DOCUMENT.read_text()
    assert text.count(table.BEGIN) == text.count(table.END) == 1
    assert text.index(table.BEGIN) < text.index(table.END)
