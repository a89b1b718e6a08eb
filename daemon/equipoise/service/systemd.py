"""What systemd is told: READY=1, WATCHDOG=1, STOPPING=1 (sd_notify); nothing outside systemd."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping


def notify(state: str, environ: Mapping[str, str] = os.environ) -> None:
    """Send a state to the socket systemd named, if it did; a name beginning with @ is an abstract one."""
    address = environ.get("NOTIFY_SOCKET")
    if not address:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
        channel.connect("\0" + address[1:] if address.startswith("@") else address)
        channel.sendall(state.encode())


def watchdog_seconds(environ: Mapping[str, str] = os.environ) -> float | None:
    """How often systemd wants a sign of life: half of what it allows; None when it wants none."""
    allowed = environ.get("WATCHDOG_USEC", "")
    if not allowed.isdecimal() or environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    return int(allowed) / 2_000_000
