"""Wheels of this checkout and of an earlier commit: what `pipx install equipoise` finds beside the index."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.walk.blocks import ROOT

EARLIER = "b9fd22c9fc6d200f05bb968d2a89578a83f908dd"
"""Before units, secrets and servers were installed by commands: what upgraders have."""
EARLIER_VERSION = "0.0.1"


def build(tree: Path, folder: Path) -> None:
    """The wheel of a source tree, in `folder`."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(tree)]
    subprocess.run(command, check=True)


def build_earlier(folder: Path, scratch: Path) -> bool:
    """The wheel of the earlier commit, with a version below all; False where this clone does not have the commit."""
    shutil.rmtree(scratch, ignore_errors=True)
    git = ["git", "-C", str(ROOT)]
    if subprocess.run([*git, "cat-file", "-e", f"{EARLIER}^{{commit}}"], capture_output=True).returncode:
        subprocess.run([*git, "fetch", "--quiet", "--depth=1", "origin", EARLIER], capture_output=True, check=False)
    archive = subprocess.run([*git, "archive", EARLIER], capture_output=True, check=False)
    if archive.returncode:
        return False
    scratch.mkdir(parents=True)
    subprocess.run(["tar", "-x", "-C", scratch], input=archive.stdout, check=True)
    for name, pattern in (
        ("pyproject.toml", r'^version = ".*"'),
        ("daemon/equipoise/__init__.py", r'^__version__ = ".*"'),
    ):
        path = scratch / name
        lowered = re.sub(pattern, pattern[1:].replace(".*", EARLIER_VERSION), path.read_text(), flags=re.MULTILINE)
        path.write_text(lowered)
    build(scratch, folder)
    return True
