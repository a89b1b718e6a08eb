"""A traced process is killed exactly at the write that was named."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from tests.chaos.daemon import TRACER
from tests.chaos.faults.points import tracing_missing, worth_most_first
from tests.chaos.tracer import EARLY

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


ANSWERER = """
import os, socket, sys, threading
os.chdir(sys.argv[1])
here, there = socket.socketpair()
def say(name, status):
    here.send(b'HTTP/1.1 200 OK\\r\\n\\r\\n{"ok":true,"rounds":{"%s":"%s"}}' % (name, status))
log, ring = (os.open(name, os.O_RDWR | os.O_CREAT) for name in ("equipoise.db-wal", "main.ring"))
os.pwrite(log, b"\\0arena-11700000000001-1main\\0", 0)
os.fdatasync(log)
say(b"1700000000001-1", b"stored")
say(b"1700000000001-1", b"kept")  # it stands in no ring
os.pwrite(ring, b"1700000000001-2", 0)
say(b"1700000000001-2", b"kept")  # not synced
thread = threading.Thread(target=os.fsync, args=(ring,))
thread.start()
thread.join()
say(b"1700000000001-2", b"kept")
os.pwrite(log, b"1700000000001-3", 40)
os.fsync(ring)
say(b"1700000000001-3", b"stored")  # another file was synced
say(b"1700000000001-4", b"stored")  # never written
"""


def test_an_answer_that_leaves_before_its_rounds_are_synced_is_seen(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "equipoise.db").write_bytes(b"1700000000001-0")
    command = [*TRACER, "--folder", str(tmp_path / "files"), "--log", str(tmp_path / "log"), "--", sys.executable, "-S"]
    code = f"{ANSWERER}say(b'1700000000001-0', b'stored')"  # of an earlier process
    subprocess.run([*command, "-c", code, str(tmp_path / "files")], check=True)
    early = [line.split() for line in (tmp_path / "log").read_text().splitlines() if line.startswith(EARLY)]
    assert [(words[1], words[3].rstrip(",")) for words in early] == [
        ("1700000000001-1", "kept"),
        ("1700000000001-2", "kept"),
        ("1700000000001-3", "stored"),
        ("1700000000001-4", "stored"),
    ]


def test_the_first_and_the_last_point_of_each_file_come_first() -> None:
    points = ["write a 1", "write a 2", "write a 3", "sync a 1"]
    assert worth_most_first(points, Random(0)) == ["sync a 1", "write a 3", "write a 1", "write a 2"]
