"""What people read of the past: rounds, a player's history, decisions with their players, the audit."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import subprocess
import sys
from typing import Any

import pytest

from tests.cli.house import EQUIPOISE, UNPRIVILEGED, House, ask, post, serving
from tests.wire.samples import HELLO, KOTH, RED, finished, posted, seats

pytestmark = pytest.mark.slow

IDS = [str(int(RED) + number) for number in range(6)]
NAMES = dict(zip(IDS, ("Ann", "Bob", "Cid", "Dan", "Eve", "Fay"), strict=True))
TIME = r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d"
HERE = seats(IDS)


def cells(line: str) -> list[str]:
    return re.split("  +", line)


@pytest.fixture
def evening(house: House) -> Any:
    """A daemon after three rounds of a King of the Hill map, a scramble ordered and a switch refused."""
    there = {"map": "koth_nucleus", "facts": KOTH["facts"]}
    joins = [{"kind": "player_joined", "id": id, "name": name} for id, name in NAMES.items()]
    with serving(house) as (_, address):
        post(address, house.secret, posted(KOTH | there, {"kind": "roster", "players": HERE}, *joins, seq=1))
        for number, winner in enumerate(("red", "red", "none"), start=1):
            when = 1_763_622_000 + 100 * number
            ended = finished(IDS, seconds=95.0, round=f"r-{number}", winner=winner, started_at=when, **there)
            ended["players"][0]["counts"] = {"kills": 7, "deaths": 4, "assists": 2}
            post(address, house.secret, posted(ended, seq=1 + number))
        post(address, house.secret, posted({"kind": "side_wanted", "id": IDS[0], "side": "blu"}, seq=5))
        yield address


def test_rounds_are_listed_with_what_was_expected_and_who_won(house: House, evening: str) -> None:
    head, third, second, first = ask(house, evening, "round", "list").stdout.splitlines()
    assert cells(head) == ["TIME", "SERVER", "ROUND", "MAP", "MINUTES", "PLAYERS", "EXPECTED", "RESULT"]
    assert re.match(r"20\d\d-\d\d-\d\d \d\d:\d\d  ", first)
    assert cells(first)[1:] == ["arena-1", "r-1", "koth_nucleus", "1:35", "3 : 3", "even", "RED won"]
    assert (cells(second)[-2][:4], cells(third)[-1]) == ("RED ", "stalemate")
    assert len(ask(house, evening, "round", "list", "--limit", "2").stdout.splitlines()) == 3
    assert len(ask(house, evening, "round", "list", "--player", "ann", "--since", "1h").stdout.splitlines()) == 4
    assert ask(house, evening, "round", "list", "--server", "gone").stdout == "No round fits.\n"


def test_a_round_is_shown_with_its_sides_names_and_ratings(house: House, evening: str) -> None:
    shown = ask(house, evening, "round", "show", "arena-1", "r-2").stdout.splitlines()
    assert shown[0] == "Round r-2 on arena-1: koth_nucleus (koth), pool main."
    assert re.fullmatch(rf"Started {TIME}, lasted 1:35\. RED won\. Captures: RED 1, BLU 0\.", shown[1])
    assert re.fullmatch(r"Favourite: RED 5\d %\.", shown[2])
    assert cells(shown[4]) == ["SIDE", "PLAYER", "NAME", "MINUTES", "K/D/A", "LADDER POINTS"]
    assert [cells(line)[:5] for line in shown[5:]] == [
        [side, id, NAMES[id], "1:35", "7/4/2" if id == IDS[0] else "-"]
        for side, ids in (("RED", IDS[::2]), ("BLU", IDS[1::2]))
        for id in ids
    ]
    assert re.fullmatch(r"\d+ → \d+ \([+-]\d+\)", cells(shown[5])[5])
    assert ask(house, evening, "round", "void", "arena-1", "r-2", "--yes").returncode == 0
    assert "not rated: taken out" in ask(house, evening, "round", "list").stdout
    assert "Not rated: taken out" in ask(house, evening, "round", "show", "arena-1", "r-2").stdout
    gone = ask(house, evening, "round", "show", "arena-1", "r-9")
    assert (gone.returncode, gone.stderr) == (
        1,
        "equipoise: no round r-9 of server arena-1 is stored; `equipoise round list` has those that are\n",
    )


def test_maps_say_who_wins_beside_what_was_expected(house: House, evening: str) -> None:
    head, line, _, legend, *_ = ask(house, evening, "map", "list").stdout.splitlines()
    assert cells(head) == ["MAP", "MODE", "ROUNDS", "MINUTES", "SCORE", "EXPECTED", "EVEN", "NEW TEAMS", "LAST"]
    assert cells(line)[:5] == ["koth_nucleus", "koth", "3", "1:35", "RED 83 %"]
    assert legend.startswith("MINUTES: the mean length of a round.")
    shown = ask(house, evening, "map", "show", "koth_nucleus").stdout.splitlines()
    assert shown[0] == "koth_nucleus (koth), pool main: 3 rated rounds."
    assert re.fullmatch(r"RED won 2, BLU 0, nobody 1; RED scored 83 % and was expected to score 5\d %\.", shown[1])
    assert cells(shown[4])[:4] == ["arena-1", "3", "1:35", "RED 83 %"]
    gone = ask(house, evening, "map", "show", "koth_harvest")
    told = (
        "equipoise: no rated round on map koth_harvest is among the last 3 of pool main; `equipoise map list` has them"
    )
    assert (gone.returncode, gone.stderr) == (1, told + "\n")
    assert ask(house, evening, "map", "list", "--since", "2100-01-01").stdout == "No round was rated.\n"


def test_a_players_history_goes_on_from_rating_to_rating(house: House, evening: str) -> None:
    head, third, _, first = ask(house, evening, "player", "history", "STEAM_0:0:11101").stdout.splitlines()
    assert cells(head) == [
        "TIME", "SERVER", "MAP", "SIDE", "EXPECTED", "RESULT", "BEFORE", "AFTER", "CHANGE", "ROUND OR EDIT",
    ]  # fmt: skip
    assert cells(first)[3:7] == ["RED", "50 %", "won", "1000"]
    assert cells(third)[5] == "stalemate"
    rounds = json.loads(ask(house, evening, "player", "history", "ann", "--json").stdout)["rounds"]
    assert [one["round"]["round"] for one in rounds] == ["r-3", "r-2", "r-1"]
    ask(house, evening, "player", "set", "ann", "1500", "--yes")
    _, edit, *_ = ask(house, evening, "player", "history", "ann").stdout.splitlines()
    assert (cells(edit)[7], cells(edit)[9]) == ("1500", "set by token:owner")
    assert ask(house, evening, "player", "history", "ann", "--since", "2100-01-01").stdout == (
        "No rated round of Ann since 2100-01-01 00:00:00.\n"
    )


def test_decisions_have_names_sides_chances_and_seconds(house: House, evening: str) -> None:
    for id in IDS[::2]:
        ask(house, evening, "player", "set", id, "2000", "--yes")
    post(evening, house.secret, posted({"kind": "round_started", "players": HERE}, seq=6))
    head, *lines = ask(house, evening, "why", "arena-1").stdout.splitlines()
    assert cells(head) == ["TIME", "SERVER", "DECISION", "REASON", "CHANCE", "PLAYERS"]
    scramble = next(line for line in lines if "  scramble  " in line)
    assert re.match(TIME, scramble)
    assert re.search(
        r"RED \d\d % → \d\d %  \w+(, \w+)* → RED; \w+(, \w+)* → BLU \(too few players to choose from\)$", scramble
    )
    assert any(line.endswith("Ann stays on RED") for line in lines if "  kept  " in line)
    assert lines[-1].startswith("CHANCE: of the first side to win, before → after (with its 80 % interval, where")

    head, *lines = ask(house, evening, "why", "--player", "ann").stdout.splitlines()
    assert cells(head)[:4] == ["TIME", "SERVER", "DECISION", "PLAYER"]
    about = {cells(line)[2]: cells(line)[3:5] for line in lines[: lines.index("")]}
    assert about["kept"] == ["had to stay on RED", "That would make it 2 against 4."]
    assert about["scramble"][0] in ("moved to BLU", "stays on RED")


def test_a_change_is_a_number_in_csv(house: House, evening: str) -> None:
    rows = list(csv.DictReader(io.StringIO(ask(house, evening, "player", "history", RED, "--csv").stdout)))
    assert rows
    for row in rows:
        assert float(row["change"]) == pytest.approx(float(row["after"]) - float(row["before"]))


def test_the_audit_says_who_changed_whom(house: House, evening: str) -> None:
    assert ask(house, evening, "audit").stdout == "No admin changed anything.\n"
    ask(house, evening, "player", "set", "ann", "1700", "--yes")
    head, line = ask(house, evening, "audit", "--since", "2h").stdout.splitlines()
    assert cells(head) == ["TIME", "WHO", "ACTION", "TARGET", "NAME", "BEFORE", "AFTER"]
    assert cells(line)[1:5] == ["token:owner", "set", RED, "Ann"]


def test_lists_that_are_empty_say_why(house: House) -> None:
    with serving(house) as (_, address):
        said = {words: ask(house, address, *words.split()).stdout for words in ("why", "round list", "player top")}
        never = ask(house, address, "player", "show", RED)
    assert said == {
        "why": "Nothing was decided. Decisions begin with a server's first round.\n",
        "round list": "No round is stored yet: the first one comes with the end of a round.\n",
        "player top": "No round has been rated yet. A rating is shown after 50 rounds.\n",
    }
    assert (never.returncode, never.stderr) == (1, f"equipoise: {RED} was never seen here (pool main)\n")


def test_sides_have_the_words_of_the_game_and_a_plugin_that_never_called_stays_unheard(house: House) -> None:
    (house.folder / "secrets" / "hive.sha256").write_text(hashlib.sha256(b"hive's secret").hexdigest())
    hive = '[server.hive]\npool = "main"\ngame = "ns2"\nsecret_file = "secrets/hive.sha256"\n'
    house.config.write_text(f"{house.config.read_text()}\n{hive}")
    with serving(house) as (_, address):
        for words in (["off"], ["on"], ["scramble", "--dry-run"]):
            ask(house, address, "server", *words[:1], "arena-1", *words[1:])
        hello = {**HELLO, "game": "ns2", "map": "ns2_hive", "phase": "running"}
        roster = {"kind": "roster", "players": seats(IDS, ("marines", "aliens"))}
        post(address, "hive's secret", posted(hello, roster, seq=1, server="hive"))
        rows = [cells(line) for line in ask(house, address, "status").stdout.splitlines()]
    (arena,) = (row for row in rows if row[:2] == ["arena-1", "never heard of"])
    assert arena[2:] == [*"------"]
    (hive,) = (row for row in rows if row[:1] == ["hive"])
    assert hive[4:6] == ["3 Marines, 3 Aliens", "even"]


def test_an_owners_token_that_may_not_be_read_is_named_with_what_to_do(house: House) -> None:
    token = house.folder / "owner.token"
    token.chmod(0)
    command = [sys.executable, "-S", UNPRIVILEGED, EQUIPOISE, "status", "--config", house.config]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 2
    assert ended.stderr == f"equipoise: cannot read {token}: permission denied; use sudo, or EQUIPOISE_TOKEN\n"
