"""What a release consists of, built from its tag: the same bytes on every machine of one kind.

`make release` writes into `dist/`: wheel, sdist, the plugin's zip, the NS2 mod's zip, `install.sh`, `constraints.txt`,
the notes from CHANGELOG.md and `SHA256SUMS`. The workflow of the forge runs the same target. `python release.py --tag
v0.2.0` builds an older tag.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent


def main() -> None:
    """Build the release and name its files."""
    parser = argparse.ArgumentParser(description="Build a release from its tag.")
    parser.add_argument("--tag", help="such as v0.2.0; by default the one of this commit")
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="folder of the files (dist)")
    arguments = parser.parse_args()
    tag = arguments.tag or _git("describe", "--tags", "--exact-match", "--match", "v[0-9]*")
    if not tag:
        sys.exit("this commit has no tag of a version: git tag v0.2.0, then make release; or ARGS='--tag v0.2.0'")
    if not _git("rev-parse", "--verify", "--quiet", f"refs/tags/{tag}"):
        sys.exit(f"there is no tag {tag}; git tag --list names those that there are")
    for path in build(tag, arguments.output.resolve()):
        print(f"{path.stat().st_size:>10}  {path}")  # noqa: T201  a build script's result


def build(tag: str, output: Path) -> list[Path]:
    """Write the release's files and return them, the sums last. SystemExit says what is missing."""
    with tempfile.TemporaryDirectory() as temporary:
        tree, made = Path(temporary) / "equipoise", Path(temporary) / "made"
        clone = ["git", "-c", "advice.detachedHead=false", "clone", "--quiet", "--branch", tag, "--", ROOT, tree]
        subprocess.run(clone, check=True)
        moment = _git("log", "-1", "--format=%ct", tag)
        environ = os.environ | {"SOURCE_DATE_EPOCH": moment, "PYTHONDONTWRITEBYTECODE": "1"}
        notes = changes((tree / "CHANGELOG.md").read_text(encoding="utf-8"), tag.removeprefix("v"))
        _run(tree, environ, "-m", "hatchling", "build", "-t", "sdist", "-d", str(made))
        (sdist,) = made.iterdir()
        # The wheel comes from the sdist, as an index has it built: what the sdist lacks is missed here.
        shutil.unpack_archive(sdist, temporary, filter="data")
        unpacked = Path(temporary) / sdist.name.removesuffix(".tar.gz")
        _run(unpacked, environ, "-m", "hatchling", "build", "-t", "wheel", "-d", str(made))
        for script in ("sourcemod/build.py", "ns2mod/build.py"):
            _run(unpacked, environ, script, "--output", str(made), "--release", tag.removeprefix("v"))
        for folder in [path for path in made.iterdir() if path.is_dir()]:
            shutil.rmtree(folder)
        for archive in made.glob("*.zip"):
            _normalise(archive, int(moment))
        for name in ("constraints.txt", "install.sh"):
            shutil.copy(tree / name, made)
        (made / "NOTES.md").write_text(notes, encoding="utf-8")
        files = sorted(made.iterdir())
        sums = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)
        (made / "SHA256SUMS").write_text(sums)
        output.mkdir(parents=True, exist_ok=True)
        return [shutil.copy(path, output / path.name) for path in [*files, made / "SHA256SUMS"]]


def changes(changelog: str, version: str) -> str:
    r"""Return the notes of a version: its part of CHANGELOG.md. SystemExit where it has none.

    >>> changes("# Changelog\n\n## [0.2.0] - 2026-12-01\n\n- Begun.\n\n## [0.1.0]\n\n- Tried.\n", "0.2.0")
    '- Begun.\n'
    """
    part = re.search(rf"^## \[{re.escape(version)}\][^\n]*\n(.*?)(?=^## \[|\Z)", changelog, re.MULTILINE | re.DOTALL)
    if part is None or not part[1].strip():
        sys.exit(
            f"CHANGELOG.md says nothing of {version}: write `## [{version}] - DATE` below `## [Unreleased]`, commit, "
            f"and tag that commit"
        )
    return part[1].strip() + "\n"


def _run(folder: Path, environ: dict[str, str], *words: str) -> None:
    run = subprocess.run([sys.executable, *words], cwd=folder, env=environ, capture_output=True, text=True, check=False)
    if run.returncode or "WITHOUT" in run.stdout + run.stderr:
        sys.exit(f"{' '.join(words)}:\n{run.stdout}{run.stderr}")


def _normalise(archive: Path, moment: int) -> None:
    """Write a zip again, its members by name, dated by the release and readable for all."""
    with zipfile.ZipFile(archive) as source:
        members = {name: source.read(name) for name in sorted(source.namelist())}
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
        for name, data in members.items():
            member = zipfile.ZipInfo(name, time.gmtime(moment)[:6])
            member.external_attr = 0o644 << 16
            member.compress_type = zipfile.ZIP_DEFLATED
            target.writestr(member, data)


def _git(*words: str) -> str:
    run = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False)
    return "" if run.returncode else run.stdout.strip()


if __name__ == "__main__":
    main()
