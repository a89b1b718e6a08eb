"""States are sent to the socket that systemd named, and systemd accepts the unit file."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from equipoise.config.sections import Web
from equipoise.service.log_lines import notify, watchdog_seconds
from equipoise.web.requests import RESERVED_FILES

UNIT = Path(__file__).parents[2] / "systemd" / "equipoise.service"


def test_outside_systemd_no_socket_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[object] = []
    monkeypatch.setattr(socket, "socket", lambda *arguments: opened.append(arguments))
    notify("READY=1", {})
    assert opened == []


def test_a_socket_in_the_file_system_gets_the_state(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        notify("READY=1", {"NOTIFY_SOCKET": str(tmp_path / "notify")})
        assert systemd.recv(64) == b"READY=1"


def test_an_abstract_socket_gets_the_state() -> None:
    name = f"equipoise-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind("\0" + name)
        notify("STOPPING=1", {"NOTIFY_SOCKET": "@" + name})
        assert systemd.recv(64) == b"STOPPING=1"


def test_a_sign_of_life_is_given_twice_as_often_as_it_is_wanted() -> None:
    own = str(os.getpid())
    assert watchdog_seconds({"WATCHDOG_USEC": "20000000"}) == 10.0
    assert watchdog_seconds({"WATCHDOG_USEC": "20000000", "WATCHDOG_PID": own}) == 10.0
    assert watchdog_seconds({"WATCHDOG_USEC": "20000000", "WATCHDOG_PID": own + "1"}) is None
    assert watchdog_seconds({}) is None
    assert watchdog_seconds({"WATCHDOG_USEC": "soon"}) is None


def test_the_unit_leaves_numba_its_machine_code() -> None:
    lines = UNIT.read_text().splitlines()
    assert "MemoryDenyWriteExecute=no" in lines
    assert "Type=notify" in lines


def test_the_unit_has_an_open_file_for_each_connection() -> None:
    limits = dict(line.split("=", 1) for line in UNIT.read_text().splitlines() if line.startswith("LimitNOFILE="))
    assert int(limits["LimitNOFILE"]) >= Web().max_connections + RESERVED_FILES
