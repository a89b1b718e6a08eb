"""Runs a command and kills it before its n-th write of one kind: `tracer.py --folder DIR --log FILE [--kill …] -- …`.

A *point* is a call of the kernel that changes the files of a folder, or that sends an HTTP answer. Between two points
the files stay as they are, so a process that is killed before each of them in turn has been killed in every state that
its files can be in. A point is named by the call and the file, and counted by name: `fdatasync equipoise.db-wal 3`.

Linux' `ptrace` does this without anything to install and without a line of code in the command: a seccomp filter stops
every thread of it at the calls of `CALLS`, and at no others. The process ends by SIGKILL before the call is made.

This file imports nothing but the standard library and runs as a script.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import platform
import re
import signal
import struct
import sys
from collections import Counter, defaultdict
from contextlib import suppress
from pathlib import Path
from typing import TextIO

CALLS = {
    "x86_64": {
        "write": 1,
        "pwrite64": 18,
        "writev": 20,
        "sendto": 44,
        "fsync": 74,
        "fdatasync": 75,
        "ftruncate": 77,
        "rename": 82,
        "unlink": 87,
        "unlinkat": 263,
        "renameat": 264,
        "fallocate": 285,
        "pwritev": 296,
        "renameat2": 316,
    },
    "aarch64": {
        "unlinkat": 35,
        "renameat": 38,
        "ftruncate": 46,
        "fallocate": 47,
        "write": 64,
        "writev": 66,
        "pwrite64": 68,
        "pwritev": 70,
        "fsync": 82,
        "fdatasync": 83,
        "sendto": 206,
        "renameat2": 276,
    },
}
"""Numbers of system calls, from Linux' tables of them (arch/x86/entry/syscalls, include/uapi/asm-generic/unistd.h)."""

PATH_AT = {"rename": 1, "unlink": 0, "unlinkat": 1, "renameat": 3, "renameat2": 3}
"""Which argument is the path that a call changes; every other call has a file descriptor as its first."""

WALL = 0x40000000
TRACEME, CONT, SYSCALL, SETOPTIONS, GET_SYSCALL_INFO = 0, 7, 24, 0x4200, 0x420E
EVENT_SECCOMP = 7
OPTIONS = 0x1 | 0x2 | 0x4 | 0x8 | 0x80 | 0x100000
"""Mark stops at calls; follow fork, vfork and clone; stop at what the filter says; kill the traced process with the
tracer."""
CALL_ENDS = signal.SIGTRAP | 0x80

SYNCS = ("fsync", "fdatasync")
WRITES = ("write", "pwrite64")
KEPT_IN = {"stored": (".db", ".db-wal"), "kept": (".ring",)}
"""Endings of the files that hold a round of each status."""
ROUND = re.compile(rb"(?=(\d{12,13}-\d+))")
"""A round's name as the driver's scripts make it. In a row of the store the server's name, which ends with a digit,
stands right before it."""
SAID = re.compile(rb'"(\d+-\d+)":"(stored|kept)"')
EARLY = "early: "
"""Lines of the log that begin so are answers that left too early."""
MOST_READ = 1 << 20

NO_NEW_PRIVILEGES, SET_SECCOMP, FILTER = 38, 22, 2
ALLOW, TRACE = 0x7FFF0000, 0x7FF00000

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
libc.ptrace.restype = ctypes.c_long


def ptrace(request: int, pid: int, address: int = 0, data: int = 0) -> None:
    """OSError when the kernel refuses it."""
    if libc.ptrace(request, pid, address, data) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def calls() -> dict[int, str]:
    """The calls to stop at, by number; empty on a processor whose table is not above."""
    return {number: name for name, number in CALLS.get(platform.machine(), {}).items()}


def install_filter(numbers: list[int]) -> None:
    """Have the kernel stop this process, and what it becomes, at these calls."""
    instructions = [struct.pack("=HBBI", 0x20, 0, 0, 0)]  # load the call's number
    for place, number in enumerate(numbers):
        instructions.append(struct.pack("=HBBI", 0x15, len(numbers) - place, 0, number))  # equal: jump to the last
    instructions += [struct.pack("=HBBI", 0x06, 0, 0, ALLOW), struct.pack("=HBBI", 0x06, 0, 0, TRACE)]
    code = ctypes.create_string_buffer(b"".join(instructions))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(instructions), ctypes.addressof(code)))
    if libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.prctl(SET_SECCOMP, FILTER, program, 0, 0):
        raise OSError(ctypes.get_errno(), "no seccomp filter")


def begin(command: list[str]) -> int:
    """Start the command stopped and traced; its process id."""
    pid = os.fork()
    if pid:
        os.waitpid(pid, WALL)
        ptrace(SETOPTIONS, pid, 0, OPTIONS)
        return pid
    try:
        ptrace(TRACEME, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        install_filter(list(calls()))
        os.execvp(command[0], command)
    finally:
        os._exit(127)


class Synced:
    """The rounds whose names stand in files, as far as they are synced."""

    def __init__(self, folder: Path) -> None:
        self._dirty: defaultdict[str, set[bytes]] = defaultdict(set)
        """By file, what was written since the last sync of it began."""
        self._safe: defaultdict[str, set[bytes]] = defaultdict(set)
        self._syncing: dict[int, tuple[str, set[bytes]]] = {}
        """By thread, a sync under way."""
        for path in folder.glob("*.*"):
            if path.is_file() and path.name.endswith(tuple(end for ends in KEPT_IN.values() for end in ends)):
                self._safe[path.name] |= {*ROUND.findall(path.read_bytes())}

    def wrote(self, file: str, data: bytes) -> None:
        self._dirty[file] |= {*ROUND.findall(data)}

    def begins(self, thread: int, file: str) -> None:
        self._syncing[thread] = (file, self._dirty.pop(file, set()))

    def under_way(self, thread: int) -> bool:
        return thread in self._syncing

    def ends(self, thread: int) -> None:
        file, rounds = self._syncing.pop(thread)
        self._safe[file] |= rounds

    def early(self, answer: bytes) -> list[str]:
        """The rounds that an answer promises, and that are not safe."""
        cases = []
        for name, status in SAID.findall(answer):
            files = [file for file in self._safe if file.endswith(KEPT_IN[status.decode()])]
            if not any(name in self._safe[file] for file in files):
                cases.append(f"{name.decode()} is {status.decode()}, and no sync of its bytes has ended")
        return cases


class Points:
    """Names and counts the points of a process."""

    def __init__(self, folder: Path, log: TextIO) -> None:
        self._folder, self._log = str(folder), log
        self._names = calls()
        self._counts: Counter[str] = Counter()
        self.synced = Synced(folder)

    def at(self, thread: int) -> tuple[str, int] | None:
        """The point at which a thread stands: its name and which of that name it is, from 1; None for no point."""
        call, args = self._call(thread)
        changed = self._changed(thread, call, args)
        if changed is None:
            return None
        point = f"{call} {changed}"
        self._counts[point] += 1
        self._log.write(f"{point} {self._counts[point]}\n")
        self._log.flush()
        return point, self._counts[point]

    def _call(self, thread: int) -> tuple[str, tuple[int, ...]]:
        info = ctypes.create_string_buffer(88)
        ptrace(GET_SYSCALL_INFO, thread, len(info), ctypes.addressof(info))
        number, *args = struct.unpack_from("=7Q", info, 24)
        return self._names.get(number, "?"), tuple(args)

    def _changed(self, thread: int, call: str, args: tuple[int, ...]) -> str | None:
        """The file's name, or that it is an answer."""
        if call in PATH_AT:
            path = self._memory(thread, args[PATH_AT[call]], 4096).partition(b"\0")[0].decode(errors="replace")
            path = os.path.join(os.readlink(f"/proc/{thread}/cwd"), path)
        else:
            path = os.readlink(f"/proc/{thread}/fd/{args[0]}")
        if path.startswith(self._folder):
            # A store's -shm is an index in memory: the next process makes it anew.
            if path.endswith("-shm"):
                return None
            if call in SYNCS:
                self.synced.begins(thread, Path(path).name)
            elif call in WRITES:
                self.synced.wrote(Path(path).name, self._memory(thread, args[1], min(args[2], MOST_READ)))
            return Path(path).name
        # What goes to a socket counts if an HTTP answer begins there; `sendto` is what `send` is.
        if path.startswith("socket:") and call in ("sendto", "write"):
            answer = self._memory(thread, args[1], min(args[2], MOST_READ))
            self._log.writelines(f"{EARLY}{case}\n" for case in self.synced.early(answer))
            return "answer" if answer.startswith(b"HTTP/") else None
        return None

    def _memory(self, thread: int, address: int, most: int) -> bytes:
        with open(f"/proc/{thread}/mem", "rb", buffering=0) as memory:
            memory.seek(address)
            return memory.read(most)


def follow(pid: int, points: Points, kill: tuple[str, int] | None) -> int:
    """Let the process run until it ends, or kill it at a point; its exit code, negative for a signal."""
    known: set[int] = set()
    executed = False
    while True:
        thread, status = os.waitpid(-1, WALL)
        if not os.WIFSTOPPED(status):
            if thread == pid:
                return os.waitstatus_to_exitcode(status)
            continue
        number, event, onwards = os.WSTOPSIG(status), status >> 16, CONT
        if event == EVENT_SECCOMP:
            with suppress(OSError):  # another thread may have ended the process meanwhile
                if (point := points.at(thread)) is not None and point == kill:
                    os.kill(pid, signal.SIGKILL)
                if points.synced.under_way(thread):
                    onwards = SYSCALL  # stop at its end too
        if number == CALL_ENDS:
            points.synced.ends(thread)
        deliver = 0 if event or number == CALL_ENDS else number
        if number == signal.SIGSTOP and thread not in known:
            deliver = 0  # a new thread begins like this
        if number == signal.SIGTRAP and not executed:
            deliver, executed = 0, True  # so does the command
        known.add(thread)
        with suppress(OSError):
            ptrace(onwards, thread, 0, deliver)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="changes of files in it are points")
    parser.add_argument("--log", type=Path, required=True, help="the points are written here, one a line")
    parser.add_argument("--kill", help="the point to kill at: its line in such a log")
    parser.add_argument("command", nargs="+")
    asked = parser.parse_args()
    name, _, count = (asked.kill or "").rpartition(" ")
    if not calls():
        print(f"no table of system calls for {platform.machine()}", file=sys.stderr)
        return 2
    with asked.log.open("w") as log:
        pid = begin(asked.command)
        log.write(f"pid {pid}\n")
        log.flush()
        ptrace(CONT, pid)
        return follow(pid, Points(asked.folder, log), (name, int(count)) if name else None)


if __name__ == "__main__":
    sys.exit(main() % 256)
