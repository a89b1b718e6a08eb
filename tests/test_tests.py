"""Laws over the tests themselves."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import no_orphans

TESTS = Path(__file__).parent
ROOT = TESTS.parent
MUTATION = ROOT / "mutation" / "__main__.py"
FAILING = {"assert", "raises", "warns", "fail"}
"""The statement, and functions of pytest that make a test fail without it."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(root: Path) -> Iterator[tuple[str, str, set[str]]]:
    """Every module-level function below a folder: its place, its name, and the names of the functions it calls.

    Of attributes only those of imported modules are looked at (`play.go_live`): a method that asserts, of the
    simulated game say, checks its own state and not what the test is about.
    """
    for path in sorted(root.rglob("*.py")):
        tree = ast.parse(path.read_text())
        imported = {
            alias.asname or alias.name.partition(".")[0]
            for node in tree.body
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        }
        for function in tree.body:
            if isinstance(function, Function):
                place = f"{path.relative_to(root)}:{function.lineno}: {function.name}"
                yield place, function.name, set(called(function, imported))


def called(function: Function, imported: set[str]) -> Iterator[str]:
    for node in ast.walk(function):
        match node:
            case ast.Assert():
                yield "assert"
            case ast.Call(func=ast.Name(id=name)):
                yield name
            case ast.Call(func=ast.Attribute(attr=name, value=ast.Name(id=module))) if module in imported:
                yield name
            case ast.Call(func=ast.Attribute(attr=name)) if name.startswith("assert_"):
                yield name  # np.testing.assert_allclose


def without_assertion(root: Path) -> list[str]:
    """Tests that neither assert anything nor call a function of the tests that does, directly or through others."""
    found = list(functions(root))
    asserting = {
        name for _, name, calls in found if calls & FAILING or any(each.startswith("assert_") for each in calls)
    }
    while more := {name for _, name, calls in found if calls & asserting} - asserting:
        asserting |= more
    return [place for place, name, _ in found if name.startswith("test_") and name not in asserting]


@pytest.mark.slow
def test_every_test_asserts_something() -> None:
    assert without_assertion(TESTS) == []


@pytest.mark.parametrize(
    ("body", "asserts"),
    [
        ("assert x", True),
        ("with pytest.raises(ValueError): x()", True),
        ("np.testing.assert_allclose(x, y)", True),
        ("for x in y:\n        through()", True),
        ("x()", False),
        ("x.checked()", False),
    ],
)
def test_an_assertion_is_found_where_it_stands(body: str, asserts: bool, tmp_path: Path) -> None:
    helpers = "def checked():\n    assert x\n\n\ndef through():\n    checked()\n\n\n"
    (tmp_path / "test_x.py").write_text(f"import pytest\n\n{helpers}def test_it():\n    {body}\n")
    assert without_assertion(tmp_path) == ([] if asserts else ["test_x.py:11: test_it"])


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL])  # one that stands still, one that has ended
def test_a_process_that_a_test_leaves_is_named_in_that_test_and_ended(number: signal.Signals) -> None:
    left: list[subprocess.Popen[bytes]] = []

    def leave() -> None:
        with no_orphans():
            left.append(process := subprocess.Popen(["sleep", "3600"]))
            process.send_signal(number)
            os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    with pytest.raises(pytest.fail.Exception, match=r"nobody has waited for: \['sleep', '3600'\]$"):
        leave()
    assert left[0].returncode == -signal.SIGKILL


def test_a_process_that_was_waited_for_or_was_there_before_is_none_of_a_test() -> None:
    with subprocess.Popen(["sleep", "3600"]) as process:
        with no_orphans():
            subprocess.run(["true"], check=True)
        process.kill()


@pytest.mark.slow
def test_programs_for_want_of_which_tests_were_skipped_are_named_in_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "tests/cli/test_completion.py", "-k", "fish or zsh"]
    said = subprocess.run(command, cwd=ROOT, env={"PATH": str(tmp_path)}, capture_output=True, text=True).stdout
    assert said.splitlines()[-2] == "6 skipped for want of fish, zsh: `make packages` installs them"


def imported_folders(path: Path, seen: set[Path]) -> Iterator[str]:
    """Of the checkout's top, by this module and by those of the tests that it imports."""
    seen.add(path)
    for node in ast.walk(ast.parse(path.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            yield name.partition(".")[0]
            if (module := ROOT / f"{name.replace('.', '/')}.py").is_file() and module not in seen:
                yield from imported_folders(module, seen)


def mutation_constants() -> dict[str, ast.expr]:
    """The constants of the mutants' driver, read without it: it needs packages that are installed for it alone."""
    return {
        node.targets[0].id: node.value
        for node in ast.parse(MUTATION.read_text()).body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }


def mutated_packages() -> list[list[ast.expr]]:
    """Name, files and tests of each."""
    calls = [each for each in ast.walk(mutation_constants()["PACKAGES"]) if isinstance(each, ast.Call)]
    return [each.args for each in calls]


def test_files_that_are_mutated_are_there() -> None:
    patterns = [pattern for _, files, _ in mutated_packages() for pattern in ast.literal_eval(files)]
    assert [pattern for pattern in patterns if not list((ROOT / "daemon" / "equipoise").glob(pattern))] == []


@pytest.mark.slow
def test_what_tests_import_is_there_for_the_mutants_too() -> None:
    copied = set(ast.literal_eval(mutation_constants()["COPIED"])) | {"tests"}
    tested = {Path(path) for _, _, tests in mutated_packages() for path in ast.literal_eval(tests)}
    assert len(tested) >= 4
    seen: set[Path] = set()
    modules = [
        module for path in tested for module in ((ROOT / path).rglob("*.py") if not path.suffix else [ROOT / path])
    ]
    found = {name for module in modules for name in imported_folders(module, seen) if (ROOT / name).is_dir()}
    assert found <= copied
    assert "bench" in found
