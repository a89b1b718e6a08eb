"""The processes beside the daemon end quietly when it dies."""

from __future__ import annotations

import subprocess

import pytest

from equipoise.workers import Job, framed
from equipoise.workers.process import COMMAND

pytestmark = pytest.mark.slow


JOBS = [job.name.lower() for job in Job]


@pytest.mark.parametrize(
    ("job", "request_part"), [*((job, b"") for job in JOBS), (JOBS[0], b"\0"), (JOBS[0], framed({"store": "/st"})[:-2])]
)
def test_a_daemon_that_dies_before_it_has_asked_leaves_no_traceback(job: str, request_part: bytes) -> None:
    ended = subprocess.run([*COMMAND, job], input=request_part, capture_output=True, timeout=120)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
