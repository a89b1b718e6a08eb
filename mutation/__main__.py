"""Mutation tests: change the code in one place, run its tests, and print every change that they do not notice.

mutmut makes and runs the mutants; this driver adds what it has no option for. Each package is mutated against its own
tests only, in a work directory of its own below `.mutants/`, where mutmut keeps its copies and results. Of all mutants
a sample is run: those whose names have the lowest hashes, so that a change of one function leaves the rest of the
sample alone. A second call runs what has no result yet, what survived, and functions that have changed since; to
forget all results, remove `.mutants`.

mutmut leaves alone what runs at import time (constants, tables, defaults of fields) and decorated functions
(properties). Survivors that are equivalent, or not worth a test, are explained in `survivors.md`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from contextlib import chdir
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from mutmut.configuration import reset_config
from mutmut.mutation.file_mutation import mutate_file_contents
from mutmut.stats import status_by_exit_code
from mutmut.utils.format_utils import get_mutant_name, mangled_name_from_mutant_name

ROOT = Path(__file__).parents[1]
WORK = ROOT / ".mutants"
COPIED = ("bench", "config.example.toml", "docs", "sourcemod")
"""What tests of the packages import or read beside `tests`, which mutmut copies unasked."""
LINKS = {name: name for name in ("tests", "pyproject.toml", *COPIED)}
MUTMUT = Path(sys.executable).with_name("mutmut")
EXPLAINED = Path(__file__).with_name("survivors.md")
DETECTED = {"killed", "timeout", "segfault"}

SETUP = """\
[mutmut]
source_paths = src/equipoise
only_mutate =
{files}
pytest_add_cli_args_test_selection =
{tests}
also_copy =
{copied}
do_not_mutate_patterns =
    ^ *assert
use_git_change_detection = false
timeout_multiplier = 5
timeout_constant = 4
"""


@dataclass(frozen=True)
class Package:
    """Files to mutate, as patterns below `daemon/equipoise`, and the tests that have to notice."""

    name: str
    files: tuple[str, ...]
    tests: tuple[str, ...]

    @property
    def directory(self) -> Path:
        """The work directory, in which mutmut keeps its copies and results."""
        return WORK / self.name

    def prepare(self) -> None:
        """Make the work directory: links to the checkout, of which mutmut makes copies, and mutmut's configuration."""
        self.directory.mkdir(parents=True, exist_ok=True)
        # mutmut finds packages in a folder of this name only.
        for link, target in ({"src": "daemon"} | LINKS).items():
            if not (self.directory / link).is_symlink():
                (self.directory / link).symlink_to(ROOT / target)
        files = "\n".join(f"    src/equipoise/{pattern}" for pattern in self.files)
        tests, copied = ("\n".join(f"    {path}" for path in paths) for paths in (self.tests, COPIED))
        (self.directory / "setup.cfg").write_text(SETUP.format(files=files, tests=tests, copied=copied))

    def mutants(self) -> dict[str, str]:
        """The hash of the mutated function, by the mutant's name."""
        found = {}
        with chdir(self.directory):
            reset_config()  # mutmut reads its configuration once, from the working directory
            paths = {pattern: list(Path("src/equipoise").glob(pattern)) for pattern in self.files}
            if missing := [pattern for pattern, matches in paths.items() if not matches]:
                sys.exit(f"{self.name}: no file matches {', '.join(missing)}")
            for path in sorted(path for matches in paths.values() for path in matches):
                file = mutate_file_contents(str(path), path.read_text())
                for name in file.mutant_names:
                    found[get_mutant_name(path, name)] = file.hash_by_function_name[mangled_name_from_mutant_name(name)]
        return found

    def results(self, mutants: dict[str, str]) -> dict[str, str]:
        """The result of each mutant whose function is the same as when it ran."""
        found = {}
        for path in self.directory.glob("mutants/src/**/*.meta"):
            meta = json.loads(path.read_text())
            for name, code in meta["exit_code_by_key"].items():
                function = mangled_name_from_mutant_name(name).rpartition(".")[2]
                if code is not None and mutants.get(name) == meta["hash_by_function_name"].get(function):
                    found[name] = status_by_exit_code[code]
        return found

    def run(self, names: list[str]) -> None:
        """Run these mutants, one process at a time."""
        copies = self.directory / "mutants"
        # mutmut adds to its copies and removes nothing: a test file that is gone would still run.
        shutil.rmtree(copies / "tests", ignore_errors=True)
        for path in copies.glob("src/**/*.py"):
            if not (self.directory / path.relative_to(copies)).exists():
                path.unlink()
                path.with_name(path.name + ".meta").unlink(missing_ok=True)
        log = self.directory / "log"
        print(f"{self.name}: {len(names)} mutants to run, mutmut writes to {log.relative_to(ROOT)}", flush=True)
        environment = {**os.environ, "EQUIPOISE_TESTS": "quick"}
        command = [MUTMUT, "run", "--max-children", "1", *names]
        with log.open("w") as output:
            subprocess.run(command, cwd=self.directory, env=environment, stdout=output, stderr=output, check=True)

    def difference(self, name: str) -> str:
        """The lines that the mutant removes and adds."""
        command = [MUTMUT, "show", name]
        shown = subprocess.run(command, cwd=self.directory, capture_output=True, text=True, check=True).stdout
        return "\n".join(line.rstrip() for line in shown.splitlines() if re.match(r"[-+](?![-+]{2} )", line))


PACKAGES = (
    Package("core", ("core/*.py",), ("tests/core",)),
    Package(
        "balancing",
        ("balancing/*.py",),
        (
            "tests/test_balancing.py",
            "tests/test_balancing_by_side.py",
            "tests/test_balancing_counts.py",
            "tests/test_balancing_even.py",
            "tests/test_balancing_expected.py",
            "tests/test_balancing_friends.py",
            "tests/test_balancing_shuffles.py",
        ),
    ),
    Package(
        "store",
        ("store/round_rows.py", "store/player_rows.py", "store/sequence.py", "store/notes.py"),
        # Edits, corrections and forgetting are tested where pools and people are.
        (
            "tests/store",
            "tests/test_forgetting.py",
            "tests/service/test_bulk_edits.py",
            "tests/service/test_corrections.py",
            "tests/service/test_course.py",
            "tests/service/test_refits.py",
        ),
    ),
)


def explained() -> set[tuple[str, str]]:
    """Function and difference of every survivor that the list explains."""
    text = EXPLAINED.read_text()
    return set(re.findall(r"^### `([^`]+)`\n+```diff\n(.+?)\n```", text, re.MULTILINE | re.DOTALL))


def only_case_of_sql(difference: str) -> bool:
    """The mutant only changes the case of SQL, which means the same."""
    lines = [line[1:] for line in difference.splitlines()]
    removed, added = lines[: len(lines) // 2], lines[len(lines) // 2 :]
    sql = any(re.search(r"\b(SELECT|INSERT|UPDATE|DELETE|FROM|WHERE|ORDER BY)\b", line) for line in removed)
    return sql and [line.lower() for line in removed] == [line.lower() for line in added]


def run(package: Package, wanted: list[str], mutants: dict[str, str]) -> Counter[str]:
    """Run those of the wanted mutants that were not detected before; print survivors as the list has them."""
    results = package.results(mutants)
    if left := [name for name in wanted if results.get(name) not in DETECTED]:
        package.run(left)
        results = package.results(mutants)
    count, known = Counter[str](), explained()
    for name in wanted:
        result = results.get(name, "not run")
        if result not in DETECTED:
            function = mangled_name_from_mutant_name(name).removeprefix("equipoise.")
            difference = package.difference(name)
            if only_case_of_sql(difference):
                count["equivalent, the case of SQL"] += 1
                continue
            result += ", explained" if (function, difference) in known else ", not explained"
            print(f"\n### `{function}`\n\n```diff\n{difference}\n```\n\n{name}: {result}", flush=True)
        count[result] += 1
    return count


def main() -> int:
    """Run the sample; 1 when a mutant survived that the list does not explain."""
    parser = argparse.ArgumentParser(prog="python -m mutation", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sample", type=int, default=300, help="how many mutants of all packages together; 0: all")
    parser.add_argument("--seed", default="house", help="another seed is another sample")
    parser.add_argument("packages", nargs="*", help="run the sample's mutants of these packages only")
    options = parser.parse_args()
    for package in PACKAGES:
        package.prepare()
    every = {package: package.mutants() for package in PACKAGES}
    names = [name for mutants in every.values() for name in mutants]
    names.sort(key=lambda name: sha256(f"{options.seed} {name}".encode()).digest())
    sample = set(names[: options.sample or None])
    count = Counter[str]()
    for package, mutants in every.items():
        if not options.packages or package.name in options.packages:
            count += run(package, sorted(sample & mutants.keys()), mutants)
    print(f"\n{count.total()} of {len(names)} mutants: " + ", ".join(f"{n} {result}" for result, n in count.items()))
    return 1 if any("not explained" in result for result in count) else 0


if __name__ == "__main__":
    sys.exit(main())
