"""Mutation tests of the SourceMod plugin: `python -m mutation.sourcepawn [--sample 40] [FILE …]`.

One place of the source is changed, the plugin is compiled by its real compiler, and the plugin's tests run until the
first that fails: those of the file's own name first, then all others that play no whole session, then the sessions. A
change that does not compile is no mutant. Sampled by a hash of the changed line, so that an edit leaves the rest of the
sample alone; results are kept in `.mutants/sourcepawn.json`, and a second call runs what has none.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from rich.progress import track

from tests.sourcemod.rig import CompileError, compile_plugin

ROOT = Path(__file__).parents[1]
WORK = ROOT / ".mutants"
EXPLAINED = Path(__file__).with_name("survivors.md")
SCRIPTING = ROOT / "sourcemod" / "scripting"
TESTS = ROOT / "tests" / "sourcemod"
RESULTS = WORK / "sourcepawn.json"
SECONDS = 1800.0
"""After which a mutant counts as noticed: it runs for ever."""
SWAPS = {
    "<=": "<", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&", "++": "--", "--": "++", "+=": "-=",
    "-=": "+=", "<": "<=", ">": ">=", " + ": " - ", " - ": " + ", "true": "false", "false": "true", "continue": "break",
}  # fmt: skip
_PLACE = re.compile(
    r'"(?:\\.|[^"\\])+"|<=|>=|==|!=|&&|\|\||\+\+|--|[+-]=|<|>| [+-] |\b(?:true|false|continue)\b|!|\b\d+\b'
)
_CALL = re.compile(r"\t+[A-Za-z_][\w.]*(?:\[\w+\])?(?:\.\w+)*\(.*\);$")


@dataclass(frozen=True)
class Mutant:
    """A line of a file below `scripting/`, counted from 0, and what stands there instead."""

    file: str
    line: int
    before: str
    after: str

    @property
    def name(self) -> str:
        """The same wherever the line stands in its file."""
        return f"{self.file}: {self.before.strip()} → {self.after.strip()}"


def mutants(file: Path) -> Iterator[Mutant]:
    """Every change of a file: an operator or a constant for its neighbour, a text that is no other, a call left out."""
    name = file.relative_to(SCRIPTING).as_posix()
    for number, line in enumerate(file.read_text(encoding="utf-8").split("\n")):
        code = line.partition("//")[0].rstrip()
        if code.startswith("#") and not re.match(r"#define \w+ [\d.]+$", code):
            continue
        if _CALL.fullmatch(code):
            yield Mutant(name, number, code, code.replace(code.strip(), f"if (MaxClients < 0) {code.strip()}"))
        for place in _PLACE.finditer(code):
            for other in _others(place[0]):
                yield Mutant(name, number, code, code[: place.start()] + other + code[place.end() :])


def _others(word: str) -> list[str]:
    """What stands for an operator, a text or a number in its mutants."""
    if word.startswith('"'):
        return [f'"x{word[1:]}']
    if word == "!":
        return [""]
    if word in SWAPS:
        return [SWAPS[word]]
    return [str(int(word) + 1)] + [str(int(word) - 1)] * (word != "0")


def compiled(mutant: Mutant, folder: Path) -> Path | None:
    """The bytecode with this change; None where the compiler refuses it."""
    tree = folder / "scripting"
    subprocess.run(["cp", "-r", SCRIPTING, tree], check=True)
    lines = (tree / mutant.file).read_text(encoding="utf-8").split("\n")
    lines[mutant.line] = mutant.after
    (tree / mutant.file).write_text("\n".join(lines), encoding="utf-8")
    try:
        return compile_plugin(tree / "equipoise.sp", folder / "equipoise.smx", tree / "include")
    except CompileError:
        return None


def noticed_by(mutant: Mutant) -> str:
    """The first test that fails with this change, empty where all pass; "no mutant" where it does not compile."""
    with tempfile.TemporaryDirectory() as temporary:
        bytecode = compiled(mutant, Path(temporary))
        if bytecode is None:
            return "no mutant"
        files = sorted(TESTS.glob("test_[!r]*.py"), key=lambda path: (_order(path, Path(mutant.file).stem), path.name))
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:randomly", "-m", "not world", *files]
        environ = os.environ | {"EQUIPOISE_PLUGIN": str(bytecode)}
        try:
            run = subprocess.run(
                command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False, timeout=SECONDS
            )
        except subprocess.TimeoutExpired:
            return "it ran for ever"
        failed = re.search(r"^(?:FAILED|ERROR) (\S+)", run.stdout, re.MULTILINE)
        return failed[1] if failed else ("" if run.returncode == 0 else f"pytest ended with {run.returncode}")


def _order(path: Path, stem: str) -> int:
    if stem.rstrip("s") in path.stem:
        return 0 if path.stem.startswith("test_plugin") else 1
    return 2 if path.stem.startswith("test_plugin") else 3


def main() -> int:
    """Run the sample; 1 when a mutant survived that the list does not explain."""
    parser = argparse.ArgumentParser(
        prog="python -m mutation.sourcepawn", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--sample", type=int, default=40, help="how many mutants; 0: all")
    parser.add_argument("--only", metavar="TEXT", default="", help="mutants whose name holds this text")
    parser.add_argument("files", nargs="*", metavar="FILE", help="such as equipoise/locks.sp; by default all")
    options = parser.parse_args()
    paths = [SCRIPTING / name for name in options.files] or sorted((SCRIPTING / "equipoise").glob("*.sp"))
    every = {mutant.name: mutant for path in paths for mutant in mutants(path) if options.only in mutant.name}
    wanted = sorted(every, key=lambda name: sha256(name.encode()).digest())[: options.sample or None]
    WORK.mkdir(exist_ok=True)
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    explained = EXPLAINED.read_text()
    count = Counter[str]()
    for name in track(wanted, description="mutants"):
        if not results.get(name):
            results[name] = noticed_by(every[name])
            RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False))
        test = results[name]
        kind = "no mutants" if test == "no mutant" else "noticed" if test else "explained"
        if not test and f"`{name}`" not in explained:
            kind = "not explained"
            print(f"{every[name].file}:{every[name].line + 1} survived: {name}", flush=True)
        count[kind] += 1
    print(", ".join(f"{number} {kind}" for kind, number in count.items()), f"of {len(every)} changes")
    return 1 if count["not explained"] else 0


if __name__ == "__main__":
    sys.exit(main())
