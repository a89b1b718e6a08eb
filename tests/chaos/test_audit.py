"""Whatever is wrong with a store is found: a good one is tampered with, and so is the book."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from shutil import copyfile

import pytest

from tests.chaos import stored
from tests.chaos.arena import Arena
from tests.chaos.audit import Audit, Verdict
from tests.chaos.book import Book

pytestmark = pytest.mark.rig

RATED = "number = (SELECT max(number) FROM rounds WHERE prediction IS NOT NULL)"


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    arena = Arena(tmp_path_factory.mktemp("audit"), Random(5))
    arena.daemon.start()
    try:
        arena.play(40)
        assert not arena.settle()
        assert not arena.close()
        yield arena
    finally:
        arena.daemon.kill()


def audited(arena: Arena, store: Path) -> Verdict:
    with stored.reading(store) as database:
        return Audit(arena.book, arena.checked).check(database)


def kinds(verdict: Verdict) -> set[str]:
    return {name for name, cases in verdict if cases}


def test_the_store_has_what_tells_right_from_wrong(arena: Arena) -> None:
    with stored.reading(arena.store) as database:
        count = database.execute("SELECT count(*), count(prediction), count(skill_at_start) FROM rounds").fetchone()
        most = database.execute("SELECT max(rounds) FROM players").fetchone()
    assert count[0] == arena.rounds > count[1] > 80
    assert count[2] > 10
    assert most[0] > 20, "windows have rolled over"
    assert kinds(audited(arena, arena.store)) == set()


@pytest.mark.parametrize(
    ("statements", "found"),
    [
        (["DELETE FROM participants WHERE round = 9", "DELETE FROM rounds WHERE number = 9"], "lost"),
        (["UPDATE rounds SET id = 'another' WHERE number = 9"], "duplicated"),
        (
            [
                "UPDATE rounds SET number = -number WHERE number IN (9, 19)",
                "UPDATE rounds SET number = 28 + number WHERE number < 0",
            ],
            "reordered",
        ),
        (["UPDATE rounds SET seconds = seconds + 1 WHERE number = 9"], "differ"),
        (["UPDATE rounds SET winner = CASE winner WHEN 'a' THEN 'b' ELSE 'a' END WHERE number = 9"], "differ"),
        ([f"UPDATE rounds SET prediction = prediction + 1e-11 WHERE {RATED}"], "differ"),
        (["UPDATE rounds SET skill_at_start = replace(skill_at_start, '.0', '.5') WHERE number > 60"], "differ"),
        ([f"UPDATE rounds SET prediction = NULL WHERE {RATED}"], "differ"),
        (["UPDATE participants SET after = after + 1 WHERE round = (SELECT max(round) FROM participants)"], "differ"),
        (["UPDATE participants SET rounds = rounds + 1 WHERE round = (SELECT max(round) FROM participants)"], "differ"),
        (["DELETE FROM participants WHERE round = (SELECT max(round) FROM participants) AND place = 0"], "differ"),
        (["UPDATE players SET rating = rating + 1 WHERE id = (SELECT min(id) FROM players)"], "differ"),
        (["UPDATE players SET last_played = last_played + 1 WHERE id = (SELECT min(id) FROM players)"], "differ"),
        (["DELETE FROM players WHERE id = (SELECT min(id) FROM players)"], "differ"),
        (
            ["INSERT INTO decisions (server, at, kind, reason) VALUES ('alone', 1, 'failed', 'KeyError: 7')"],
            "answers",
        ),
        (["INSERT INTO players VALUES ('main', 'stranger', 1, 1000.0, 0, 0, NULL, '{}', 0, 0, 0, 0)"], "duplicated"),
    ],
)
def test_a_store_that_was_tampered_with_is_found_out(
    arena: Arena, statements: list[str], found: str, tmp_path: Path
) -> None:
    store = tmp_path / "tampered.db"
    copyfile(arena.store, store)
    with closing(sqlite3.connect(store, isolation_level=None)) as database:
        changed = sum(database.execute(statement).rowcount for statement in statements)
    assert changed > 0
    assert found in kinds(audited(arena, store))


def forget_a_round(book: Book) -> None:
    del book.rounds[next(iter(book.rounds))]


def claim_another(book: Book) -> None:
    server, name = next(iter(book.rounds))
    book.sending(server, [{**book.rounds[server, name].event, "round": "another"}])
    book.answered(server, {"another": "kept"})


def change_an_answer(book: Book) -> None:
    entry = next(entry for entry in book.rounds.values() if entry.numbers and entry.numbers[0]["players"])
    entry.numbers = [{**entry.numbers[0], "players": entry.numbers[0]["players"][1:]}]


@pytest.mark.parametrize(
    ("tamper", "found"), [(forget_a_round, "duplicated"), (claim_another, "lost"), (change_an_answer, "differ")]
)
def test_a_book_that_was_tampered_with_is_at_odds_with_the_store(
    arena: Arena, tamper: Callable[[Book], None], found: str
) -> None:
    good = dict(arena.book.rounds)
    numbers = {key: entry.numbers for key, entry in good.items()}
    try:
        tamper(arena.book)
        assert found in kinds(audited(arena, arena.store))
    finally:
        arena.book.rounds = good
        for key, entry in good.items():
            entry.numbers = numbers[key]
