"""The processes beside the daemon end quietly when it dies."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("module", ["equipoise.replaying", "equipoise.refitting"])
@pytest.mark.parametrize("question", [b"", b'{"store": "/st'])
def test_a_daemon_that_dies_before_it_has_asked_leaves_no_traceback(module: str, question: bytes) -> None:
    ended = subprocess.run([sys.executable, "-P", "-m", module], input=question, capture_output=True, timeout=120)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
