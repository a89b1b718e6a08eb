"""Programs of others that tests talk to. `make packages` installs them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

NPM = Path(__file__).parents[1] / ".venv" / "npm"
FURTHER = f"{NPM}/node_modules/.bin:/usr/sbin"
"""Where programs are beside `PATH`; a user's has no servers."""
MISSING = " is not installed: make packages"


def installed(name: str) -> str:
    """A program's path; without it the test is skipped, and fails in continuous integration, which installs it."""
    found = shutil.which(name) or shutil.which(name, path=FURTHER)
    if found is None:
        missing(name)
    return found


def npm_package(name: str) -> Path:
    """The folder of a package for Node; without it the test is skipped as above."""
    installed("node")
    if not (folder := NPM / "node_modules" / name).is_dir():
        missing(name)
    return folder


def missing(name: str) -> NoReturn:
    message = f"{name}{MISSING}"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)
