"""Two machines on one: network namespaces with a line between them that is slow, loses packets, and can be cut.

The kernel of many machines has neither netem nor WireGuard. So the line is two TUN devices (tun(4)) whose packets this
process carries from one to the other, each half a round trip later; and WireGuard is `wireguard-go`, the program that
WireGuard's own installation page names for such systems. ssh is OpenSSH's, to Debian's `dropbear`.
"""

from __future__ import annotations

import ctypes
import fcntl
import heapq
import os
import random
import select
import signal
import struct
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.programs import installed

CLONE_NEWNET = 0x40000000
"""setns(2)."""
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
"""linux/if_tun.h."""
LARGEST = 65_536
"""Bytes of a packet."""
TUNNEL_MTU = 1_380
"""A packet of the tunnel with what WireGuard adds fits into one of the line."""


class Machine:
    """A network namespace with an address on the line."""

    def __init__(self, name: str, address: str) -> None:
        self.name, self.address = name, address

    def command(self, *words: str | Path) -> list[str]:
        """Return a command that runs on it."""
        return ["ip", "netns", "exec", self.name, *map(str, words)]

    def run(self, *words: str | Path) -> str:
        """Run a command on it to its end; returns what it prints."""
        return subprocess.run(self.command(*words), check=True, capture_output=True, text=True).stdout

    def stop(self) -> None:
        """End what runs on it, and remove it: a server's process for a connection that was cut off waits for ever."""
        pids = subprocess.run(["ip", "netns", "pids", self.name], capture_output=True, text=True, check=False).stdout
        for pid in map(int, pids.split()):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        subprocess.run(["ip", "netns", "delete", self.name], check=False)


class Line:
    """Carries packets between two TUN devices. `cut`: none arrives; `deaf`: none at this machine, 0 or 1."""

    def __init__(self, ends: Sequence[int], round_trip: float, loss: float) -> None:
        self.cut = False
        self.deaf: int | None = None
        self._ends, self._delay, self._loss = ends, round_trip / 2, loss
        self._luck = random.Random(24)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._carry, name="line")
        self._thread.start()

    def close(self) -> None:
        self._closed.set()
        self._thread.join()
        for end in self._ends:
            os.close(end)

    def _carry(self) -> None:
        underway: list[tuple[float, int, int, bytes]] = []
        count = 0
        while not self._closed.is_set():
            now = time.monotonic()
            while underway and underway[0][0] <= now:
                _, _, end, packet = heapq.heappop(underway)
                with suppress(OSError):  # the device is being taken down
                    os.write(end, packet)
            pause = min(0.05, underway[0][0] - now) if underway else 0.05
            for end in select.select(self._ends, [], [], max(0.0, pause))[0]:
                packet = os.read(end, LARGEST)
                if not self.cut and self._luck.random() >= self._loss:
                    count += 1
                    other = end == self._ends[0]
                    if other != self.deaf:
                        heapq.heappush(underway, (time.monotonic() + self._delay, count, self._ends[other], packet))


@contextmanager
def two_machines(round_trip: float = 0.06, loss: float = 0.02) -> Iterator[tuple[Machine, Machine, Line]]:
    """Make a machine for the game and one for the daemon, and the line between them."""
    machines = [
        Machine(f"eq-{what}-{os.getpid()}", f"198.51.100.{last}") for what, last in (("game", 1), ("daemon", 2))
    ]
    devices: list[int] = []
    try:
        for machine in machines:
            subprocess.run(["ip", "netns", "add", machine.name], check=True)
            devices.append(_tun(machine.name, "line"))
        for machine, other in (machines, machines[::-1]):
            machine.run("ip", "address", "add", machine.address, "peer", other.address, "dev", "line")
            for device in ("lo", "line"):
                machine.run("ip", "link", "set", device, "up")
        line = Line(devices, round_trip, loss)
        try:
            yield machines[0], machines[1], line
        finally:
            line.close()
    finally:
        for machine in machines:
            machine.stop()


def _tun(namespace: str, name: str) -> int:
    """Make a TUN device in a network namespace; returns its file."""
    made: list[int] = []

    def enter() -> None:
        here = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
        assert ctypes.CDLL(None, use_errno=True).setns(here, CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())
        os.close(here)
        device = os.open("/dev/net/tun", os.O_RDWR)
        fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
        made.append(device)

    thread = threading.Thread(target=enter)  # a thread of its own enters alone
    thread.start()
    thread.join()
    return made[0]


@contextmanager
def wireguard(game: Machine, daemon: Machine, folder: Path) -> Iterator[str]:
    """Connect the two by WireGuard, as docs/operations.md has it; returns the daemon's address in the tunnel."""
    ends = {game.name: "10.60.0.2", daemon.name: "10.60.0.1"}
    wg, programs = installed("wg"), []
    keys = {}
    try:
        for machine in (game, daemon):
            secret = subprocess.run([wg, "genkey"], check=True, capture_output=True, text=True).stdout
            public = subprocess.run([wg, "pubkey"], input=secret, check=True, capture_output=True, text=True).stdout
            keys[machine.name] = public.strip()
            (folder / f"{machine.name}.key").write_text(secret)
        for machine, other in ((game, daemon), (daemon, game)):
            # The socket by which `wg` configures it lies in a folder that namespaces share: the name is its own.
            device = f"wg{ends[machine.name][-1]}-{os.getpid()}"
            words = machine.command(installed("wireguard-go"), "-f", device)
            programs.append(subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            _until_exists(Path(f"/run/wireguard/{device}.sock"))
            peer = ["peer", keys[other.name], "allowed-ips", f"{ends[other.name]}/32"]
            place = ["endpoint", f"{other.address}:51820", "persistent-keepalive", "25"]
            own = ["private-key", folder / f"{machine.name}.key", "listen-port", "51820"]
            machine.run(wg, "set", device, *own, *peer, *place)
            machine.run("ip", "address", "add", f"{ends[machine.name]}/24", "dev", device)
            machine.run("ip", "link", "set", device, "mtu", str(TUNNEL_MTU), "up")
        yield ends[daemon.name]
    finally:
        for program in programs:
            program.terminate()
            program.wait()


@contextmanager
def ssh(game: Machine, daemon: Machine, folder: Path, port: int) -> Iterator[None]:
    """Forward a port of the daemon's machine to the game's, by the options of the unit in docs/operations.md.

    As systemd would, this starts `ssh` again whenever it ends. The server logs in as root by a key in `folder`, which
    stands in for root's home where it runs, and nowhere else.
    """
    home, key = folder / "home", folder / "key"
    (home / ".ssh").mkdir(parents=True, mode=0o700)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    (home / ".ssh" / "authorized_keys").write_text(key.with_suffix(".pub").read_text())
    script = 'mount --bind "$1" ~root && exec "$2" -F -E -p "$3" -P ~root/pid -r ~root/host'
    host = home / "host"
    subprocess.run([installed("dropbearkey"), "-t", "ed25519", "-f", host], check=True, capture_output=True)
    words = ["sh", "-c", script, "sh", home, installed("dropbear"), f"{daemon.address}:2222"]
    with (folder / "dropbear.log").open("wb") as log:
        server = subprocess.Popen(daemon.command(*words), stdout=log, stderr=log)
    stopped = threading.Event()
    client: list[subprocess.Popen[bytes]] = []

    def keep() -> None:
        options = ["ServerAliveInterval=5", "ServerAliveCountMax=3", "ExitOnForwardFailure=yes", "ConnectTimeout=5"]
        options += ["StrictHostKeyChecking=accept-new", f"UserKnownHostsFile={folder / 'known'}", "BatchMode=yes"]
        words = ["ssh", "-N", "-i", key, "-p", "2222", *(word for each in options for word in ("-o", each))]
        words += ["-L", f"127.0.0.1:{port}:127.0.0.1:{port}", f"root@{daemon.address}"]
        while not stopped.is_set():
            with (folder / "ssh.log").open("ab") as log:
                client[:] = [subprocess.Popen(game.command(*words), stdout=log, stderr=log)]
            client[0].wait()
            stopped.wait(2.0)

    keeper = threading.Thread(target=keep)
    keeper.start()
    try:
        yield
    finally:
        stopped.set()
        for program in (*client, server):
            program.terminate()
        keeper.join()
        server.wait()


def _until_exists(path: Path) -> None:
    end = time.monotonic() + 10.0
    while not path.exists():
        assert time.monotonic() < end, path
        time.sleep(0.01)
