"""Every Python block of the documents runs, and every worked example of the package shows what it says."""

from __future__ import annotations

import doctest
import importlib
import re
import tomllib
from pathlib import Path

import pytest

from docs import layout, texts

ROOT = Path(__file__).parents[1]
DAEMON = ROOT / "daemon"
DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("sourcemod/**/*.md"), *ROOT.glob("ns2mod/**/*.md")]
)
BLOCKS = {
    f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, found.start()) + 1}": found[1]
    for path in DOCUMENTS
    for text in [path.read_text()]
    for found in re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
}
EXAMPLES = {
    ".".join(path.relative_to(DAEMON).with_suffix("").parts).removesuffix(".__init__"): examples
    for path in sorted(DAEMON.rglob("*.py"))
    if (examples := len(re.findall(r"^\s*>>> ", path.read_text(), re.MULTILINE)))
}
"""Modules with worked examples, and how many lines `>>>` they have."""


def anchors(document: Path) -> set[str]:
    """What a link can lead to: headings, in the form that GitHub gives them."""
    titles = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", document.read_text(), flags=re.M | re.S), re.MULTILINE)
    plain = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title).lower() for title in titles)
    return {re.sub(r"[^\w -]", "", title).replace(" ", "-") for title in plain}


def test_every_link_between_the_documents_leads_somewhere() -> None:
    lost = []
    for document in (*DOCUMENTS, *ROOT.glob("systemd/*.md")):
        for target in re.findall(r"\]\((?!https?:)([^)\s]*)\)", document.read_text()):
            path, _, anchor = target.partition("#")
            found = (document.parent / path).resolve() if path else document
            if not found.exists() or (anchor and anchor not in anchors(found)):
                lost.append(f"{document.relative_to(ROOT)}: {target}")
    assert lost == []


COMING_FROM = ROOT / "docs" / "coming-from.md"


def test_every_row_beside_other_plugins_names_a_test_that_is_there_or_why_it_is_left_out() -> None:
    *_, table = COMING_FROM.read_text().split("## Side by side")
    rows = [line.strip("| ").rpartition(" | ") for line in table.splitlines() if line.startswith("| ")][1:]
    assert rows
    for what, _, shown in rows:
        file, _, name = shown.strip("`").partition("::")
        is_test = name != "" and (ROOT / file).exists() and f"def {name}(" in (ROOT / file).read_text()
        assert is_test or shown.startswith("left out: "), what


def test_every_key_that_owners_of_other_plugins_are_sent_to_has_the_default_that_stands_there() -> None:
    example = tomllib.loads((ROOT / "config.example.toml").read_text())
    keys = re.findall(r"`(?:(\w+)\.)?(\w+) = ([^`{]+)`", COMING_FROM.read_text())
    assert len(keys) > 15
    wrong = []
    for table, key, value in keys:
        rules = example[table] if table else example
        if key not in rules or rules[key] != tomllib.loads(f"v = {value}")["v"]:
            wrong.append((table, key, value))
    assert wrong == []


def failures(tests: list[doctest.DocTest]) -> str:
    """What does not come out as written, as doctest prints it."""
    said: list[str] = []
    runner = doctest.DocTestRunner(verbose=False)
    for test in tests:
        runner.run(test, out=said.append)
    return "".join(said)


@pytest.mark.parametrize("place", BLOCKS)
def test_a_python_block_of_the_documents_runs(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if ">>> " in BLOCKS[place]:
        assert failures([doctest.DocTestParser().get_doctest(BLOCKS[place], {}, place, place, 0)]) == ""
    else:
        exec(compile(BLOCKS[place], place, "exec"), {"__name__": "block"})


@pytest.mark.slow
def test_the_worked_examples_of_the_package_come_out_as_written() -> None:
    wrong = {}
    for module, lines in EXAMPLES.items():
        tests = doctest.DocTestFinder().find(importlib.import_module(module))
        wrong[module] = failures(tests)
        if (found := sum(len(test.examples) for test in tests)) != lines:
            wrong[module] += f"{lines - found} of {lines} lines stand where doctest does not look\n"
    if any(wrong.values()):
        pytest.fail("".join(wrong.values()), pytrace=False)


def test_the_files_that_contributing_says_to_touch_exist() -> None:
    named = set(re.findall(r"`([\w.-]+/[\w./-]*)`", (ROOT / "CONTRIBUTING.md").read_text()))
    assert len(named) > 30
    roots = ROOT, DAEMON / "equipoise"
    assert [name for name in sorted(named) if not any((root / name).exists() for root in roots)] == []


def test_each_promise_of_security_has_its_test() -> None:
    text = (ROOT / "SECURITY.md").read_text()
    promises = re.findall(r"^\| (?!promise|---)(.+?) \| (.+) \|$", text, re.MULTILINE)
    assert len(promises) > 15
    for promise, tests in promises:
        named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", tests)
        assert named, promise
        for file, name in named:
            assert re.search(rf"^(async )?def {name}\(", (ROOT / file).read_text(), re.MULTILINE), f"{file}::{name}"


def test_commands_and_phrases_are_in_the_scripts_as_in_the_code() -> None:
    stale = [path.name for path, text in texts.files().items() if path.read_text(encoding="utf-8") != text]
    assert stale == [], "`make texts` writes them again"


def test_the_layout_of_the_architecture_is_that_of_the_code() -> None:
    document = layout.DOCUMENT.read_text()
    assert document == layout.written(document), "`make layout` writes it again"
