"""Exports and imports that do not come to their end: interrupted, without room, without a reader."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.house import EQUIPOISE, House, ask, serving
from tests.moving.machines import a_machine, exported, grown, pool, with_a_past

pytestmark = pytest.mark.slow

ROUNDS = 5_000


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[House, Path]:
    """A machine, and the export of its pool."""
    small = with_a_past(a_machine(tmp_path_factory.mktemp("small") / "etc"), rounds=3)
    house = a_machine(tmp_path_factory.mktemp("large") / "etc")
    file = house.folder / "main.jsonl"
    file.write_bytes(grown(exported(small), ROUNDS))
    assert pool(house, "import", file).returncode == 0
    return house, file


def test_an_interrupted_import_leaves_nothing(large: tuple[House, Path], tmp_path: Path) -> None:
    there = a_machine(tmp_path / "there")
    before = exported_or_nothing(there)
    words = [EQUIPOISE, "pool", "import", large[1], "--config", there.config]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as importing:
        log = there.state / "equipoise.db-wal"
        while not (log.exists() and log.stat().st_size):
            assert importing.poll() is None
            time.sleep(0.001)  # it needs the processor, too
        importing.send_signal(signal.SIGINT)
        _, said = importing.communicate(timeout=60)
    assert importing.returncode == 130
    assert "interrupted; nothing was imported" in said
    assert exported_or_nothing(there) == before
    assert pool(there, "import", large[1]).returncode == 0


def exported_or_nothing(house: House) -> bytes:
    done = pool(house, "export", "main", file := house.folder / "now.jsonl")
    if done.returncode:
        return b""
    text = file.read_bytes()
    file.unlink()
    return text


@contextmanager
def small_files(most: int) -> Iterator[None]:
    """Programs that are started within can make no larger file; they are told by an error, as on a full disk."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_an_export_or_import_without_room_leaves_what_was_there(large: tuple[House, Path], tmp_path: Path) -> None:
    house, file = large
    there = a_machine(tmp_path / "there")
    target = tmp_path / "export.jsonl"
    with small_files(1_000_000):
        out = pool(house, "export", "main", target)
        into = pool(there, "import", file)
    assert out.returncode == 1
    assert "File too large; nothing was written" in out.stderr
    assert os.listdir(tmp_path) == ["there"]
    assert into.returncode == 1, into.stderr
    assert "Traceback" not in into.stderr
    assert exported_or_nothing(there) == b""
    assert pool(there, "import", file).returncode == 0


def test_a_caller_who_leaves_in_the_middle_does_not_keep_others_from_exporting(
    large: tuple[House, Path], tmp_path: Path
) -> None:
    house, file = large
    with serving(house) as (_, address):
        host, port = address.split(":")
        token = (house.folder / "owner.token").read_text().strip()
        with socket.create_connection((host, int(port))) as caller:
            caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            head = (
                f"GET /v1/admin/pools/main/export HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\r\n"
            )
            caller.sendall(head.encode())
            assert b"200 OK" in caller.recv(1000)
            other = ask(house, address, "pool", "export", "main", tmp_path / "other.jsonl")
            assert other.returncode == 1
            assert "another export is under way" in other.stderr
        for _ in range(100):
            again = ask(house, address, "pool", "export", "main", tmp_path / "again.jsonl")
            if again.returncode == 0:
                break
        assert (tmp_path / "again.jsonl").read_bytes() == file.read_bytes()
