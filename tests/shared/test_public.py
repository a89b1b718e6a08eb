"""People's own pages: the SQL of docs/shared.md, by the role that it makes, against what real daemons wrote."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import asyncpg
import pytest

from equipoise.core.model import RoundId, ServerId, Side
from equipoise.service.shared_pool import SharedPool
from equipoise.store.notes import Audit, Name
from equipoise.store.past import VoidStrike
from tests.postgres import OWNER, PASSWORD, USER, Postgres, program, unprivileged
from tests.postgres import postgres as postgres
from tests.shared.machines import play, until_equal
from tests.store.samples import a_round, player

pytestmark = pytest.mark.world

DOCUMENT = (Path(__file__).parents[2] / "docs" / "shared.md").read_text()
ROLE, LEADERBOARD, ROUNDS, PEOPLE, OWN_ROUNDS = re.findall(r"```sql\n(.*?)```", DOCUMENT, re.DOTALL)


@pytest.fixture
def website(postgres: Postgres) -> str:
    """The database of an evening on two machines, with the role of the document."""
    database = postgres.database()

    async def evening(one: SharedPool, two: SharedPool) -> None:
        one.store.note([Name("main", player(n), f"name of {n}") for n in range(1, 9)])
        assert len(await one.store.names("main", [player(1)])) == 1  # they are written
        for number in range(1, 9):
            winner = [Side.A, Side.B, None][number % 3]
            pool = (one, two)[number % 2]
            await pool.record(
                a_round(number, a=range(1, 5), b=range(5, 9), winner=winner, server=ServerId("arena-1")), None
            )
            await until_equal(one, two)
        await one.void(VoidStrike(ServerId("arena-1"), RoundId("1763622000123-3")), "owner", "a cheater")
        await two.hide(player(6), Audit(6.0, "owner", "hide", player(6), "", ""), hide=True)
        await until_equal(one, two)

    play(evening, postgres.url(database), "one", "two", system="synelo", params={"shadow_rounds": 5})
    postgres.sql("DROP ROLE IF EXISTS website; SELECT 1")
    postgres.sql(f"{ROLE} ALTER ROLE website PASSWORD '{PASSWORD}'; SELECT 1", database)
    return database


def test_a_website_reads_what_players_see_and_nothing_else(website: str, postgres: Postgres) -> None:
    def ask(query: str) -> list[tuple[object, ...]]:
        return postgres.sql(query, website, "website")

    # The players of the document's queries have played long ago by the clock of the samples.
    everybody = ask(LEADERBOARD.replace("last_played > now() - interval '30 days'", "true"))
    assert ask(LEADERBOARD) == []
    assert [row[0] for row in everybody] == sorted(row[0] for row in everybody)  # type: ignore[type-var]
    assert {row[1] for row in everybody} == {player(n) for n in (1, 2, 3, 4, 5, 7, 8)}, "who is hidden is not there"
    assert {row[2] for row in everybody} == {f"name of {n}" for n in (1, 2, 3, 4, 5, 7, 8)}
    assert all(row[4] + row[5] <= 7 for row in everybody), "the voided round counts no more"  # type: ignore[operator]

    rounds = ask(ROUNDS)
    assert [row[0] for row in rounds] == [8, 7, 6, 5, 4, 3, 2, 1]
    assert [row[4] for row in rounds] == [None, "b", "a", None, "b", "a", None, "b"]
    assert all(0 < row[5] < 1 for row in rounds if row[0] != 3)  # type: ignore[operator]
    voided = ask("SELECT number, chance_a, voided FROM equipoise_public.rounds WHERE pool = 'main' AND voided")
    assert voided == [(3, None, True)]

    people = ask(PEOPLE)
    assert [row[:2] for row in people] == [
        *(("a", f"name of {n}") for n in (1, 2, 3, 4)),
        *(("b", f"name of {n}") for n in (5, 7, 8)),
    ]
    assert all(row[2] is not None and row[3] is not None for row in people), "the rating is shown after five rounds"
    first = ask(PEOPLE.replace("number = 7", "number = 1"))
    assert {row[2:] for row in first} == {(None, None)}, "nobody's is shown in the first round"

    own = ask(OWN_ROUNDS)
    assert [row[4] for row in own] == [None, "b", "a", None, "b", None, "b"], "without the voided round"
    last = ask(f"SELECT rating FROM equipoise_public.players WHERE player = '{player(1)}'")
    assert last == ask(
        f"SELECT rating_after FROM equipoise_public.participants WHERE player = '{player(1)}' AND number = 8"
    )

    assert ask("SELECT pool, server, machine FROM equipoise_public.servers") == []
    for forbidden in (
        "SELECT body FROM equipoise.events",
        "SELECT * FROM equipoise.hidden",
        "SELECT * FROM equipoise.players",
        "DELETE FROM equipoise_public.rounds",
        "UPDATE equipoise_public.rounds SET winner = 'a'",
        "CREATE TABLE equipoise_public.mine (n integer)",
    ):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            ask(f"SET default_transaction_read_only = off; {forbidden}")


def test_the_database_is_made_by_the_documents_line(postgres: Postgres) -> None:
    [line] = re.findall(r"^runuser -u postgres -- (createdb .*)$", DOCUMENT, re.MULTILINE)
    name, *words = line.split()
    words[-1] = "made"
    environ = {**os.environ, "PGHOST": str(postgres.folder), "PGPORT": str(postgres.port), "PGPASSWORD": PASSWORD}
    command = unprivileged([program(name), "-U", USER, *words])
    subprocess.run(command, check=True, env=environ, cwd="/")
    found = "SELECT pg_get_userbyid(datdba), pg_encoding_to_char(encoding) FROM pg_database WHERE datname = 'made'"
    assert postgres.sql(found) == [(OWNER, "UTF8")]
