"""The daemon as a process: stopped, killed, notified of."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.house import House, post, serving
from tests.wire.samples import HELLO, ROUND, posted

pytestmark = pytest.mark.slow


STOPPED = """
import asyncio, os, signal, sys, time
from pathlib import Path
from equipoise import app, config

async def run():
    looking_up = asyncio.create_task(asyncio.to_thread(time.sleep, 3600))
    asyncio.get_running_loop().call_soon(os.kill, os.getpid(), signal.SIGTERM)
    await app.serve(config.load(Path(sys.argv[1]), {}))

asyncio.run(run())
"""


def test_a_stop_waits_for_no_thread_that_cannot_be_ended(house: House) -> None:
    """As one that asks a name server, which does not answer."""
    stopped = subprocess.run([sys.executable, "-c", STOPPED, str(house.config)], timeout=60, check=False)
    assert stopped.returncode == 0


def test_serving_and_rating_loads_no_numba(house: House) -> None:
    with serving(house, forked=False) as (process, address):
        assert post(address, house.secret, posted(HELLO, ROUND, seq=1))["players"][0]["rounds"] == 1
        mapped = Path(f"/proc/{process.pid}/maps").read_text()
    assert "_sqlite3" in mapped
    assert "llvmlite" not in mapped
    assert "numba" not in mapped


def test_systemd_is_notified_of_starting_ready_alive_and_stopping(house: House, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        systemd.settimeout(60)
        with serving(house, forked=False, NOTIFY_SOCKET=str(tmp_path / "notify"), WATCHDOG_USEC="200000") as (
            process,
            _,
        ):
            assert systemd.recv(64) == b"EXTEND_TIMEOUT_USEC=900000000"
            states = {systemd.recv(64), systemd.recv(64)}
            assert states == {b"READY=1", b"WATCHDOG=1"}
            process.send_signal(signal.SIGTERM)
            last = systemd.recv(64)
            while last == b"WATCHDOG=1":
                last = systemd.recv(64)
            assert last == b"STOPPING=1"
