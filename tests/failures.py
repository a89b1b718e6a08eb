"""A question that fails, and that no test made fail, is an error of the test in whose time it failed.

The daemon catches whatever fails in a question (`equipoise.service.work`), so a test of something else would not
notice. What hosts in the test's process note is seen as they note it. Daemons in processes of their own leave it in
their stores, which are read when the test is over. A test that makes questions fail says so by the mark
`questions_fail`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from equipoise.core.effects import DecisionKind
from equipoise.service.work import Journal

STORE = "equipoise.db"
OF_QUESTIONS = "SELECT reason FROM decisions WHERE kind = 'failed' AND order_id IS NULL"
"""A failed order has a number, a failed question has none."""

NOTED: list[str] = []
"""Reasons that hosts in this process have noted, and daemons that have ended, since the last test."""
SEEN: set[Path] = set()
"""Folders of tests that are over."""


def failures_in(stores: Iterable[Path]) -> list[str]:
    """The failed questions in stores; nothing for a file that a test has damaged."""
    reasons: list[str] = []
    for store in stores:
        try:
            with closing(sqlite3.connect(f"{store.absolute().as_uri()}?mode=ro", uri=True, timeout=1.0)) as database:
                reasons += (reason for (reason,) in database.execute(OF_QUESTIONS))
        except sqlite3.Error:
            continue
    return reasons


_note = Journal.note


def _noting(journal: Journal, kind: DecisionKind, reason: str) -> None:
    _note(journal, kind, reason)
    if kind == "failed":
        NOTED.append(reason)


Journal.note = _noting  # type: ignore[method-assign]  # once: a fixture for each of ten thousand tests takes seconds


@pytest.fixture(autouse=True)
def no_question_fails(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test in which a question failed, unless it is marked."""
    folder: Path | None = request.getfixturevalue("tmp_path") if "tmp_path" in request.fixturenames else None
    yield
    reasons, NOTED[:] = NOTED[:], []
    if folder is not None:
        SEEN.add(folder.resolve())  # pytest links the latest ones by other names
        reasons += failures_in(folder.rglob(STORE))
    if request.node.get_closest_marker("questions_fail") is None:
        _fail(reasons)


@pytest.fixture(autouse=True, scope="session")
def no_question_failed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The same for the folders that several tests share."""
    yield
    shared = (folder for folder in tmp_path_factory.getbasetemp().iterdir() if folder.resolve() not in SEEN)
    _fail(failures_in(store for folder in shared for store in folder.rglob(STORE)))


def _fail(reasons: list[str]) -> None:
    if reasons:
        pytest.fail(f"questions failed that no test made fail: {'; '.join(dict.fromkeys(reasons))}", pytrace=False)
