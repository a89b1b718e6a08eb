"""CPU time, peak memory of a process, and imports of the libraries that benches compare with."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

# `getrusage` and `wait4` cannot say this: a child starts with the peak of the process that forked it, and keeps it
# through exec.  VmHWM belongs to the memory map, which exec makes anew; it is gone when the process ends, so the child
# has to report it itself.
RUN_AND_REPORT_PEAK = """
import runpy, sys
from bench.measuring import peak_memory
try:
    runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
finally:
    print(peak_memory(), file=sys.stderr)
"""


def timed(work: Callable[[], object], runs: int) -> float:
    """Median CPU seconds of `work` on one core; with several runs, a first one that compiles is not counted."""
    if runs > 1:
        work()
    seconds = []
    for _ in range(runs):
        gc.collect()
        start = process_time()
        work()
        seconds.append(process_time() - start)
    return median(seconds)


def peak_memory() -> float:
    """The most memory that this process has held since it started its program, in MB."""
    return status_of("self", "VmHWM")


def status_of(pid: int | str, field: str) -> float:
    """A size from /proc/<pid>/status, in MB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1]) / 1024


def run_module(module: str, arguments: Sequence[str]) -> tuple[float, float]:
    """`python -m module arguments` in a new process, its output dropped: seconds of wall time, and its peak in MB."""
    start = perf_counter()
    child = subprocess.run(
        [sys.executable, "-c", RUN_AND_REPORT_PEAK, module, *arguments], capture_output=True, text=True
    )
    seconds = perf_counter() - start
    if child.returncode:
        sys.exit(f"{module} {' '.join(arguments)}: exit {child.returncode}\n{child.stderr}")
    return seconds, float(child.stderr.splitlines()[-1])


def peer(name: str) -> Any:
    """Import a library; if it is not installed, print that and return None."""
    try:
        return import_module(name)
    except ImportError:
        print(f"  {name} is not installed: `make bench` installs it")
        return None
