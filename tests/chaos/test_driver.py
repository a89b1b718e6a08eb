"""`make chaos` itself: every fault once costs nothing, and a round that is lost is reported."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.chaos.__main__ import main
from tests.chaos.audit import Verdict
from tests.chaos.daemon import UNPRIVILEGED
from tests.chaos.faults import FAULTS
from tests.chaos.faults.disks import locked
from tests.chaos.faults.trial import Fault, Trial
from tests.chaos.mutants import MUTANTS, mutated
from tests.chaos.report import COLUMNS

pytestmark = pytest.mark.rig

ROOT = Path(__file__).parents[2]
COUNTED = [name for name in COLUMNS[3:] if name != "late"]


def test_every_fault_once_loses_doubles_and_reorders_no_round() -> None:
    words = [sys.executable, "-m", "tests.chaos", "--seconds", "0", "--seed", "1", "--json"]
    ended = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    printed = json.loads(ended.stdout)
    rows = {row["fault"]: row for row in printed["faults"]}
    assert rows.keys() >= {fault.name for fault in FAULTS}
    assert [row for row in rows.values() if any(row[column] for column in COUNTED)] == []
    assert [
        row for row in rows.values() if not row["tried"] and not row["note"].startswith("not tried here: needs ")
    ] == []
    assert sum(row["rounds"] for row in rows.values()) > 200
    assert rows["locked store"]["kept"] > 0
    assert rows["damaged ring"]["kept"] > 0
    assert printed["folder"] is None


def ring_deleted(trial: Trial) -> int:
    """Rounds that were answered `kept` are thrown away behind the daemon's back, and their scripts forget them."""
    arena = trial.arena
    with locked(arena.store):
        arena.play(2)
        arena.daemon.kill()
        (arena.state / "main.ring").write_bytes(b"")
    for script in arena.scripts:
        script.restart(forget=True)
    arena.daemon.start()
    return 1


def test_a_kept_round_that_is_thrown_away_is_reported_with_the_seed_and_the_folder(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    # The daemon has nothing more to apply, so waiting for it is in vain.
    monkeypatch.setattr("tests.chaos.arena.SETTLE_SECONDS", 4.0)

    code = main(["--seconds", "0", "--seed", "3", "--json"], [Fault("the ring is deleted", ring_deleted)])

    said = capsys.readouterr()
    printed = json.loads(said.out)
    assert code == printed["exit"] == 1
    assert printed["faults"][0]["lost"] > 0
    assert "answered, and not stored" in printed["failures"][0]
    assert "SEED=3" in said.err
    assert (Path(printed["folder"]) / "arena" / "daemon.log").exists()


def test_a_fault_that_is_impossible_here_says_what_it_needs(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["--seconds", "0"], [Fault("an earthquake", lambda trial: 1, lambda: "a fault line")])

    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("an earthquake"))
    assert code == 0
    assert row.endswith("not tried here: needs a fault line")


def test_a_fault_is_tried_until_there_are_enough_rounds_and_the_table_sums_what_happened(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def two_rounds(trial: Trial) -> int:
        trial.rounds, trial.settled = 2, True
        trial.counts["floods"] += 3
        return 1

    assert main(["--seconds", "60", "--rounds", "5", "--json"], [Fault("rain", two_rounds, own=True)]) == 0
    (row,) = json.loads(capsys.readouterr().out)["faults"]
    assert (row["tried"], row["rounds"], row["note"]) == (3, 6, "floods 9")


def test_an_unknown_fault_is_answered_with_the_known_ones(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(SystemExit, match="no fault is called 'flood': there are kill -9 at random, "):
        main(["--fault", "flood"])
    assert list(tmp_path.iterdir()) == []


def test_every_mutant_is_another_daemon_that_can_be_read_and_names_faults_that_there_are() -> None:
    for mutant in MUTANTS:
        with mutated(mutant) as folder:
            file = folder / "equipoise" / mutant.file
            compile(file.read_text(), file, "exec")
            assert file.read_text() != (ROOT / "daemon" / "equipoise" / mutant.file).read_text()
        assert all(any(word in fault.name for fault in FAULTS) for word in mutant.tries), mutant.name
        assert {column for column, _ in Verdict()} >= set(mutant.columns), mutant.name


def test_a_mutant_is_noticed() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tests.chaos", "mutants", "--seed", "1", "--fault", "a ring is not synced"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "is kept, and no sync of its bytes has ended" in ended.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has capabilities to give up")
@pytest.mark.parametrize(
    "given",
    [
        [],
        ["--inh-caps=+dac_override,+dac_read_search"],  # as containers are started with
        ["--inh-caps=+dac_override,+dac_read_search", "--ambient-caps=+dac_override,+dac_read_search"],
        ["--bounding-set=-setpcap"],
    ],
)
def test_modes_of_files_hold_for_root_without_its_powers_whatever_it_was_started_with(
    given: list[str], tmp_path: Path
) -> None:
    closed = tmp_path / "closed"
    closed.touch(0o000)
    tried = subprocess.run(["setpriv", *given, *UNPRIVILEGED, "cat", closed], capture_output=True, text=True)
    assert (tried.returncode, tried.stderr) == (1, f"cat: {closed}: Permission denied\n")
