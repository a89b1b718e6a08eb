"""This commit as a release, and the wheel of an earlier commit."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tests.walk.blocks import ROOT

EARLIER = "f4a7bf2a8620d31f0c848277767048e5e7ff82da"
"""What upgraders have: it knows no `equipoise upgrade`, and cannot read the store of today."""
EARLIER_VERSION = "0.1.0"


def tag(clone: Path, version: str) -> None:
    """Clone this repository, with its last commit as a release; a tree that is no repository of ours becomes one."""
    git = ["git", "-C", str(clone), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    if subprocess.run(["git", "clone", "--quiet", f"file://{ROOT}", clone], check=False).returncode:
        made = (".git", ".venv*", ".walk", ".mutants", ".soak", ".*_cache", ".hypothesis", "__pycache__", "dist")
        shutil.copytree(ROOT, clone, ignore=shutil.ignore_patterns(*made))
        subprocess.run([*git, "init", "--quiet"], check=True)
        subprocess.run([*git, "add", "."], check=True)
    changelog = clone / "CHANGELOG.md"
    notes = changelog.read_text().replace("## [Unreleased]", f"## [Unreleased]\n\n## [{version}] - 2026-12-01", 1)
    changelog.write_text(notes)
    subprocess.run([*git, "commit", "--quiet", "--all", "--message", version], check=True)
    subprocess.run([*git, "tag", f"v{version}"], check=True)


def release(folder: Path, scratch: Path, version: str) -> None:
    """The files of a release of this commit, in `folder`."""
    for path in (folder, scratch):
        shutil.rmtree(path, ignore_errors=True)
    tag(scratch, version)
    subprocess.run(
        [sys.executable, "release.py", "--output", str(folder)], cwd=scratch, check=True, capture_output=True
    )


def build(tree: Path, folder: Path) -> None:
    """The wheel of a source tree, in `folder`."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(tree)]
    subprocess.run(command, check=True)


def build_earlier(folder: Path, scratch: Path) -> bool:
    """The wheel of the earlier commit; False where this clone does not have the commit."""
    shutil.rmtree(scratch, ignore_errors=True)
    git = ["git", "-C", str(ROOT)]
    if subprocess.run([*git, "cat-file", "-e", f"{EARLIER}^{{commit}}"], capture_output=True).returncode:
        subprocess.run([*git, "fetch", "--quiet", "--depth=1", "origin", EARLIER], capture_output=True, check=False)
    archive = subprocess.run([*git, "archive", EARLIER], capture_output=True, check=False)
    if archive.returncode:
        return False
    scratch.mkdir(parents=True)
    subprocess.run(["tar", "-x", "-C", scratch], input=archive.stdout, check=True)
    build(scratch, folder)
    return True
