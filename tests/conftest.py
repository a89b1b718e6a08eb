"""How thorough a run is, in which order its tests stand, and what none of them may leave behind."""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from equipoise.service.host import Host
from tests.failures import no_question_failed as no_question_failed
from tests.failures import no_question_fails as no_question_fails
from tests.programs import MISSING

ORDER = (
    "core",
    "wire",
    "workers",
    "game",
    "webhooks",
    "solver",
    "store",
    "web",
    "ratings",
    "service",
    "moving",
    "install",
    "cli",
    "lab",
    "findings",
    "demo",
    "shared",
    "chaos",
    "walk",
    "ns2mod",
    "sourcemod",
)
"""Folders by what their tests cost, cheapest first; files beside the folders go before all of them.

Those that need machine code come when it is there: it is compiled at the start of a run, for half a minute or more.
The chaos driver is one test of a minute: it is not the last, which would leave the other processors of a run idle.
"""

MARK = re.compile(r"^pytestmark = \[?pytest\.mark\.(\w+)", re.MULTILINE)
"""Of all tests of a file."""

MEMORY = Path("/dev/shm")
"""Where files are in memory. On a disk a suite waits for it longer than it computes: each transaction is synced."""
ROOM = 4 << 30
"""Bytes that a run may need there."""


def spacious(folder: Path) -> bool:
    """Whether files of a whole run have room in a folder, and may be programs. Containers have 64 MB there, or none."""
    if not os.access(folder, os.W_OK):
        return False
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize > ROOM and not disk.f_flag & os.ST_NOEXEC


if "TMPDIR" not in os.environ and spacious(MEMORY):
    os.environ["TMPDIR"] = str(MEMORY)
    tempfile.tempdir = None  # what was found before

# A test that needs more or fewer examples than others multiplies `settings.default.max_examples`. Nothing of an example
# is timed: on a busy machine a test would fail for taking 200 ms once, or for a second until it has ten examples.
UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", UNTIMED, max_examples=10)
settings.register_profile("thorough", UNTIMED, max_examples=40)
settings.load_profile(os.environ.get("EQUIPOISE_TESTS", "thorough"))
if (examples := os.environ.get("EQUIPOISE_EXAMPLES")) is not None:  # a search for what a short run does not find
    settings.register_profile("many", UNTIMED, max_examples=int(examples))
    settings.load_profile("many")

# A daemon in the tests' process answers when its work is done, not after a second: on a busy machine the reply would
# come without the round.
Host.answer_seconds = 20.0

# A shell's background job ignores Ctrl-C, and so would every process that a test starts and interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Iterator[None]:
    """Collect without looking for garbage, and never look for it among what was collected.

    Ten thousand tests are no garbage, and each look at all of them takes as long as a hundred of them.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no file all of whose tests are left out by its mark, nor what it alone imports."""
    marks = {part.removeprefix("not ") for part in config.option.markexpr.split(" and ") if part.startswith("not ")}
    if not marks or not collection_path.match("test_*.py"):
        return None
    return not marks.isdisjoint(MARK.findall(collection_path.read_text())) or None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Cheap tests first: in the quick loop the first failure ends the run.

    Before them those that compile what others only load: each worker begins with its part of them, so that none has to
    wait for another, or compiles it a second time.
    """
    places = {folder: place for place, folder in enumerate(ORDER)}
    tests = Path(__file__).parent

    def place(item: pytest.Item) -> int:
        if item.get_closest_marker("compiles"):
            return -2
        return places.get(item.path.relative_to(tests).parts[0], -1)

    items.sort(key=place)
    compiling = [item for item in items if item.get_closest_marker("compiles")]
    others = items[len(compiling) :]
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    # Of a quarter of all tests each worker has its part at first, the first worker the first tests.
    first = len(items) // workers // 4
    items.clear()
    for worker in range(workers):
        own = compiling[worker * len(compiling) // workers : (worker + 1) * len(compiling) // workers]
        rest = max(first - len(own), 0)
        items += own + others[:rest]
        del others[:rest]
    items += others


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a coroutine in an event loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in inspect.signature(pyfuncitem.obj).parameters}
    asyncio.run(pyfuncitem.obj(**arguments))
    return True


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Iterator[None]:
    """Say in the last line which programs would have been needed to skip less."""
    yield
    reasons = [report.longrepr[2] for report in terminalreporter.getreports("skipped")]
    if needing := [reason.removeprefix("Skipped: ") for reason in reasons if reason.endswith(MISSING)]:
        names = sorted({reason.removesuffix(MISSING) for reason in needing})
        terminalreporter.line(f"{len(needing)} skipped for want of {', '.join(names)}: `make packages` installs them")


@pytest.fixture(autouse=True)
def _no_orphans() -> Iterator[None]:
    with no_orphans():
        yield


@contextmanager
def no_orphans() -> Iterator[None]:
    """Fail where a process is left that nobody has waited for, and end it.

    Python warns of it too, but when it forgets the process, which may be in a test that has nothing to do with it.
    """
    before = _children()
    yield
    if left := [_ended(pid) for pid in _children() - before if "multiprocessing" not in _command(pid)]:
        pytest.fail(f"processes are left that nobody has waited for: {'; '.join(left)}")


def _children() -> set[int]:
    """Those that this thread has started: others are of a daemon in a thread that may serve further tests."""
    with suppress(OSError), open("/proc/thread-self/children", "rb", buffering=0) as file:  # not in every kernel
        return set(map(int, file.read().split()))
    return set()


def _command(pid: int) -> str:
    """Nothing of a process that has ended."""
    # One that has just been started has no command for a moment, or still that of this process.
    for _ in range(100):
        with suppress(OSError):
            text = Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
            if text not in ("", Path("/proc/self/cmdline").read_text(errors="replace")):
                return text.replace("\0", " ")
        time.sleep(0.01)
    return ""


def _ended(pid: int) -> str:
    """End a process and return what it ran."""
    for each in gc.get_objects():
        if type(each) is subprocess.Popen and each.pid == pid:
            each.kill()
            each.wait()
            return str(each.args)
    said = _command(pid)
    with suppress(OSError):
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return said or f"process {pid}"
