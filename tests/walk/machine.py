"""A machine to walk on: a folder with a Debian, entered before it is booted, then booted by systemd-nspawn.

Before: with this machine's network, so that packages can be installed. Booted: with a loopback of its own, so that no
port of this machine is in the way, and without any other network, unless `connected` joins two by a line.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shutil
import subprocess
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Timer

from tests.walk import host
from tests.walk.transcript import Transcript

HERE = Path(__file__).parent
BOOT_SECONDS = 120
RUN_SECONDS = 600
BASE = {
    "HOME": "/root",
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LANG": "C.UTF-8",
    "TERM": "dumb",
    "DEBIAN_FRONTEND": "noninteractive",
}
SYSTEM = ("/proc", "/sys", "/dev", "/run", "/tmp", "/var/tmp", "/var/log", "/var/lib/systemd", "/root", "/srv/walk")
_NOISE = "Attempted to remove disk file system under"
"""What systemd-nspawn says where /run is on a disk."""


class WalkError(Exception):
    """A document's line does not do what it says, or the machine does not."""


class Machine:
    """A folder with a root, and beside it `wheels`: seen by pip as /srv/wheels. This package is /srv/walk there."""

    def __init__(self, folder: Path, transcript: Transcript) -> None:
        self.folder, self.root, self.wheels = folder, folder / "root", folder / "wheels"
        self._transcript = transcript
        self.wheels.mkdir(parents=True, exist_ok=True)
        self._process: subprocess.Popen[bytes] | None = None
        self.leader = 0
        """The process that is the first of the booted machine."""
        shared = {path: path for path in host.folders()} | {self.wheels: Path("/srv/wheels"), HERE: Path("/srv/walk")}
        self._nspawn = ["systemd-nspawn", "-q", "-D", str(self.root), "--chdir=/root", "--register=no", "--keep-unit"]
        self._nspawn += [f"--bind-ro={path}:{place}" for path, place in shared.items()]

    def run(self, text: str, *, code: int | None = 0, answer: str = "", seconds: float = RUN_SECONDS) -> str:
        """Run lines in one shell, as root, until the first that fails; what they say.

        With an `answer` they run on a terminal, where it is typed at each question. WalkError where they end with
        another code (None: any), or not in time.
        """
        block = self.root / "var/tmp/block"
        block.write_text(f"{text}\n")
        command = [*self._shell(), "bash", "-e", "-o", "pipefail", "/var/tmp/block"]
        ours, theirs = pty.openpty() if answer else os.pipe()
        process = subprocess.Popen(
            command,
            stdin=theirs if answer else subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=_take_terminal if answer else None,
        )
        os.close(theirs)
        timer = Timer(seconds, process.kill)
        timer.start()
        said = []
        for line in _lines(ours, answer):
            if _NOISE not in line:
                said.append(line)
                self._transcript.line(f"    {line.rstrip()}")
        ended = process.wait()
        timer.cancel()
        if code is not None and ended != code:
            raise WalkError(f"ended with {ended}, not with {code}:\n{text}\n{''.join(said[-30:])}")
        return "".join(said)

    def _shell(self) -> list[str]:
        if self.leader:
            enter = ["nsenter", "-t", str(self.leader), "-m", "-u", "-i", "-n", "-p"]
            given = BASE | {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/srv/wheels"}
            return [*enter, "env", "-i", "-C", "/root", *(f"{name}={value}" for name, value in given.items())]
        passed = host.environment()
        links = f"{passed.get('PIP_FIND_LINKS', '')} /srv/wheels".strip()
        given = BASE | passed | {"PIP_FIND_LINKS": links}
        return [*self._nspawn, "--pipe", "env", "-i", *(f"{name}={value}" for name, value in given.items())]

    def files(self) -> set[str]:
        """All files, folders and links, but for what the system itself writes while it runs."""
        pruned = " -o ".join(f"-path {place}" for place in SYSTEM)
        return set(self.run(f"find / -xdev \\( {pruned} \\) -prune -o -print").splitlines())

    def copy(self, folder: Path) -> Machine:
        """Another machine that is as this one is now; this one is not booted."""
        assert not self.leader
        shutil.rmtree(folder, ignore_errors=True)
        made = Machine(folder, self._transcript)
        made.root.mkdir()
        shutil.copytree(self.wheels, made.wheels, dirs_exist_ok=True)
        for path in self.root.iterdir():
            # Installers replace files and do not change them: hundreds of megabytes need not be written each time.
            link = ["--link"] if path.name in ("usr", "opt") else []
            subprocess.run(["cp", "-a", *link, path, made.root], check=True)
        return made

    def boot(self) -> None:
        """Start its systemd, and wait until it has started everything."""
        (self.root / "etc/hostname").write_text(f"{self.folder.name}\n")
        console = self.folder / "console"
        with console.open("wb") as file:
            command = [*self._nspawn, "--boot", "--private-network", "--console=pipe"]
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
        end = time.monotonic() + BOOT_SECONDS
        while time.monotonic() < end and self._process.poll() is None:
            time.sleep(0.2)
            children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
            if children:
                enter = ["nsenter", "-t", children[0], "-m", "-p", "systemctl", "is-system-running"]
                said = subprocess.run(enter, capture_output=True, text=True, check=False).stdout.strip()
                if said in ("running", "degraded"):
                    self.leader = int(children[0])
                    return
        self.stop()
        raise WalkError(f"the machine did not boot:\n{console.read_text(errors='replace')[-3000:]}")

    def stop(self) -> None:
        """Power it off, if it is on."""
        if self._process is None:
            return
        if self.leader:
            subprocess.run([*self._shell(), "systemctl", "poweroff"], capture_output=True, check=False)
        self.leader = 0
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.terminate()
            self._process.wait(30)
        self._process = None


def _take_terminal() -> None:
    """Make standard input the terminal from which passwords are read."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _lines(end: int, answer: str) -> Iterator[str]:
    """Yield what is said, line by line, and answer questions, which have no end of a line."""
    text = ""
    with open(end, "r+b" if answer else "rb", buffering=0) as file:
        while chunk := _chunk(file.fileno()):
            *lines, text = (text + chunk.decode(errors="replace").replace("\r", "")).split("\n")
            yield from (f"{line}\n" for line in lines)
            if answer and re.search(r"[:?] $", text):
                file.write(f"{answer}\n".encode())
                yield f"{text}\n"
                text = ""
        if text:
            yield text


def _chunk(file: int) -> bytes:
    try:
        return os.read(file, 4096)
    except OSError:  # of a terminal that nobody has open any more
        return b""


def connected(*machines: Machine) -> None:
    """Join two booted machines by a line: 10.7.0.1 and 10.7.0.2."""
    leaders = [str(machine.leader) for machine in machines]
    ends = [["eth0", "netns", leader] for leader in leaders]
    subprocess.run(["ip", "link", "add", "name", *ends[0], "type", "veth", "peer", "name", *ends[1]], check=True)
    for number, leader in enumerate(leaders, start=1):
        for words in (["address", "add", f"10.7.0.{number}/24", "dev", "eth0"], ["link", "set", "eth0", "up"]):
            subprocess.run(["nsenter", "-t", leader, "-n", "ip", *words], check=True)


def cannot() -> str | None:
    """Why no machine can be walked on here, and with which command one could."""
    if os.geteuid() != 0:
        return "only root may boot a machine: sudo make walk"
    missing = [name for name in ("debootstrap", "systemd-nspawn", "nsenter") if not shutil.which(name)]
    if missing:
        return f"{', '.join(missing)} not found: make packages"
    if subprocess.run(["unshare", "-m", "-p", "-f", "true"], capture_output=True, check=False).returncode:
        return "no namespaces may be made here: run it outside the container, or with docker run --privileged"
    return None
