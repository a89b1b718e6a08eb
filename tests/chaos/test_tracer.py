"""A traced process is killed exactly at the write that was named."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from tests.chaos.daemon import TRACER
from tests.chaos.faults.points import tracing_missing, worth_most_first

pytestmark = pytest.mark.rig

WRITER = """
import os, sys, threading
def write(name):
    file = os.open(name, os.O_RDWR | os.O_CREAT)
    for number in range(3):
        os.pwrite(file, str(number).encode(), number)
        os.fsync(file)
os.chdir(sys.argv[1])
for name in ("one", "two"):
    thread = threading.Thread(target=write, args=(name,))
    thread.start()
    thread.join()
os.rename("two", "three")
print("done")
"""

WHOLE = [
    *(f"{call} one {number}" for number in (1, 2, 3) for call in ("pwrite64", "fsync")),
    *(f"{call} two {number}" for number in (1, 2, 3) for call in ("pwrite64", "fsync")),
    "rename three 1",
]


@pytest.fixture(autouse=True)
def _traceable() -> None:
    if missing := tracing_missing():
        pytest.skip(f"needs {missing}")


def traced(folder: Path, *kill: str) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    log, files = folder / "log", folder / "files"
    files.mkdir()
    command = [*TRACER, "--folder", str(files), "--log", str(log), *kill, "--", sys.executable, "-S", "-c", WRITER]
    ended = subprocess.run([*command, str(files)], capture_output=True, text=True, check=False)
    return ended, log.read_text().splitlines()[1:]


def test_every_write_of_every_thread_is_a_point(tmp_path: Path) -> None:
    ended, points = traced(tmp_path)
    assert (ended.returncode, ended.stdout) == (0, "done\n")
    assert [point.replace("renameat", "rename").replace("rename2", "rename") for point in points] == WHOLE


@pytest.mark.parametrize(
    ("point", "there"), [("pwrite64 two 2", b"0"), ("fsync two 2", b"01"), ("fsync two 3", b"012")]
)
def test_the_process_ends_before_the_write_and_after_the_one_before(tmp_path: Path, point: str, there: bytes) -> None:
    ended, points = traced(tmp_path, "--kill", point)
    assert ended.returncode == 256 - 9
    assert points[-1] == point
    assert points == WHOLE[: len(points)]
    assert (tmp_path / "files" / "two").read_bytes() == there


def test_the_first_and_the_last_point_of_each_file_come_first() -> None:
    points = ["write a 1", "write a 2", "write a 3", "sync a 1"]
    assert worth_most_first(points, Random(0)) == ["sync a 1", "write a 3", "write a 1", "write a 2"]
