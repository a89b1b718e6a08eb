"""What the tests of the solver share."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def little_memory() -> Iterator[None]:
    """Half a gigabyte more than now: what a search that goes wrong may take, instead of the machine's."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 29), hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
