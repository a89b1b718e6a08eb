"""systemd's notification protocol (sd_notify(3)): READY=1, WATCHDOG=1, STOPPING=1. Outside systemd nothing is sent."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping


def notify(state: str, environ: Mapping[str, str] = os.environ) -> None:
    """Send a state to the socket that `NOTIFY_SOCKET` names, if it is set; a leading @ marks an abstract socket."""
    address = environ.get("NOTIFY_SOCKET")
    if not address:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
        channel.connect("\0" + address[1:] if address.startswith("@") else address)
        channel.sendall(state.encode())


def watchdog_seconds(environ: Mapping[str, str] = os.environ) -> float | None:
    """Seconds between two WATCHDOG=1: half of what systemd allows; None when it expects none.

    >>> watchdog_seconds({"WATCHDOG_USEC": "30000000"})
    15.0
    """
    allowed = environ.get("WATCHDOG_USEC", "")
    if not allowed.isdecimal() or environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    return int(allowed) / 2_000_000
