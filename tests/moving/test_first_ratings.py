"""First ratings: tables of ids and ratings, and the order of another program spread around a newcomer's rating."""

from __future__ import annotations

import json
import os
import random
import re
import sqlite3
import statistics
import tracemalloc
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from equipoise.core.model import PlayerId
from equipoise.errors import FileError
from equipoise.moving.first_ratings import quantiles, read, read_table
from tests.cli.house import House, at_a_terminal, run, serving
from tests.moving.machines import a_machine, exported, pool, with_a_past
from tests.store.samples import player


def ratings(text: str | bytes) -> dict[str, tuple[float, int | None]]:
    data = text.encode() if isinstance(text, str) else text
    return {str(each.player): (each.rating, each.rounds) for each in read_table(data)}


def in_store(house: House) -> dict[str, tuple[float, int]]:
    with closing(sqlite3.connect(house.state / "equipoise.db")) as database:
        found = database.execute("SELECT id, rating, rounds FROM players ORDER BY id")
        return {id: (rating, rounds) for id, rating, rounds in found}


@pytest.mark.parametrize(
    "text",
    [
        "id,rating,rounds\n76561197960287930,1200,7\n",
        "﻿id,rating,rounds\r\n76561197960287930,1200,7\r\n",
        "id;rating;rounds\r\nSTEAM_0:0:11101;1200,0;7\r\n",
        "rounds\trating\tid\n7\t1200.0\t76561197960287930",
        '"ID" , "Rating","ROUNDS"\n\n"76561197960287930", 1200 ,"7"\n,,\n'.replace(' , "', ',"'),
    ],
)
def test_a_table_may_be_written_by_any_spreadsheet_and_an_id_in_another_form(text: str) -> None:
    assert ratings(text) == {"76561197960287930": (1200.0, 7)}


WRONG = {
    "id,rating\nSTEAM_0:0:11101,1000\n[U:1:22202],1100\n": "line 3: 76561197960287930 is on line 2 too",
    "id,rating\n76561197960287930,\n": "line 2: rating: '' is not a number",
    "id,rating\n76561197960287930,nan\n": "line 2: rating: 'nan' is not a number",
    "id,rating\n76561197960287930,1_000\n": "line 2: rating: '1_000' is not a number",
    'id,rating\n76561197960287930,"1,5"\n': "line 2: rating: '1,5' is not a number",
    "id,rating\n76561197960287930,1000,3\n": "line 2: 3 cells, where the header has 2",
    "id,rating,rounds\n76561197960287930,1000,-1\n": "line 2: rounds: '-1' is not a whole number",
    "id,rating,rounds\n76561197960287930,1000,1.5\n": "line 2: rounds: '1.5' is not a whole number",
    "id,rating\nbot:7,1000\n": "line 2: bot:7 is no Steam id",
    "id,rating\ngaben,1000\n": "line 2: 'gaben' is no id",
    "id,rating\n\n\n7656119796028793,1000\n": "line 4: ",
    "id,rating\n,1000\n": "line 2: ",
    "id,rating,team\n76561197960287930,1000,red\n": "line 1: there is no column 'team'",
    "id,rating,rating\n76561197960287930,1000,2\n": "line 1: the column rating is there twice",
    "76561197960287930,1000\n": "line 1: the first line must name the columns",
    "id,skill\n76561197960287930,1000\n": "line 1: the first line must name the columns (id,rating,[rounds])",
    "id,rating\n": "line 1: there is no row below the header",
    'id,rating\n"76561197960287930,1000\n': "line 2: the line is no CSV",
    "id,rating\n76561197960287930,1\0\n": "line 2: ",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_table_is_refused_with_the_number_of_its_line(text: str) -> None:
    with pytest.raises(FileError, match=f"^{re.escape(WRONG[text])}"):
        read_table(text.encode())


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"id,rating\n7656119796028793\xff,1\n", "line 2: the text is not UTF-8"),
        ("id,rating\n".encode("utf-16"), "line 1: the file is UTF-16"),
        (b"\x1f\x8b\x08\x00", "the file is packed"),
        (b"PK\x03\x04", "the file is packed"),
    ],
)
def test_a_file_that_is_no_text_says_what_it_is(data: bytes, why: str) -> None:
    with pytest.raises(FileError, match=why):
        read_table(data)


@given(some.binary(max_size=200))
def test_no_bytes_do_more_than_be_refused(data: bytes) -> None:
    for reads in (lambda: read_table(data), lambda: read({"file": data}, "tf")):
        with pytest.raises(FileError):
            reads()


@pytest.mark.slow
@given(some.dictionaries(some.integers(), some.integers(0, 5), min_size=1, max_size=50), some.floats(1, 1000))
def test_a_higher_skill_never_gives_a_lower_rating_and_equal_ones_give_the_same(
    skills: dict[int, int], spread: float
) -> None:
    found = quantiles(skills, 1000.0, spread)
    assert found.keys() == skills.keys()
    for one in skills:
        for other in skills:
            if skills[one] <= skills[other]:
                assert found[one] <= found[other]
            if skills[one] == skills[other]:
                assert found[one] == found[other]


def test_the_spread_is_the_one_that_was_asked_for_whatever_the_skills_are() -> None:
    draw = random.Random(1)
    skills = {number: draw.lognormvariate(7, 2) for number in range(20_000)}
    found = sorted(quantiles(skills, 1000.0, 150.0).values())
    assert statistics.fmean(found) == pytest.approx(1000, abs=0.5)
    assert statistics.pstdev(found) == pytest.approx(150, rel=0.01)
    normal = statistics.NormalDist(1000, 150)
    for cut in range(1, 20):
        assert found[1000 * cut] == pytest.approx(normal.inv_cdf(cut / 20), abs=1.0)
    assert (found[0], found[-1]) == (550.0, 1450.0)


@pytest.mark.slow
def test_ratings_from_a_table_are_written_as_one_edit_that_replays_keep(tmp_path: Path) -> None:
    house = with_a_past(a_machine(tmp_path / "house"), rounds=20)
    before, new = in_store(house), str(player(500))
    file = tmp_path / "skills.csv"
    file.write_text(f"id,rating,rounds\n{player(1)},4000,1\n{new},1234,60\n")
    dry = pool(house, "import", "--ratings", file)
    assert dry.returncode == 0, dry.stderr
    assert "nothing was changed" in dry.stdout
    assert in_store(house) == before
    done = pool(house, "import", "--ratings", file, "--yes")
    assert done.returncode == 0, done.stderr
    assert re.search(r"players who have rated rounds here .*1", done.stdout)
    assert in_store(house) == {**before, new: (1234.0, 60)}
    again = pool(house, "recompute", "--pool", "main", "--yes")
    assert again.returncode == 0, again.stderr
    assert in_store(house)[new] == (1234.0, 60)
    over = pool(house, "import", "--ratings", file, "--yes", "--overwrite")
    assert over.returncode == 0, over.stderr
    assert in_store(house)[str(player(1))] == (4000.0, 1)
    kinds = [json.loads(line)["kind"] for line in exported(house).splitlines()]
    assert kinds.count("edit") == 2


@pytest.mark.slow
def test_beside_a_daemon_an_import_is_shown_and_not_done(tmp_path: Path) -> None:
    house = with_a_past(a_machine(tmp_path / "house"), rounds=5)
    file = tmp_path / "skills.csv"
    file.write_text(f"id,rating\n{player(1)},1500\n{player(500)},1234\n")
    with serving(house):
        before = in_store(house)
        dry = run("pool", "import", "--ratings", file, "--config", house.config)
        assert dry.returncode == 0, dry.stderr
        assert "this would import 1 rating;" in dry.stdout
        assert "stop it first; then import with --yes" in dry.stdout
        assert run("pool", "import", "--ratings", file, "--yes", "--config", house.config).returncode == 2
        assert in_store(house) == before


@pytest.mark.slow
@pytest.mark.parametrize("rating", ["99", "50001", "1000.5", "-5"])
def test_a_rating_that_the_system_refuses_stops_the_whole_import(rating: str, tmp_path: Path) -> None:
    house = a_machine(tmp_path / "house")
    file = tmp_path / "skills.csv"
    file.write_text(f"id,rating\n{player(1)},1000\n{player(2)},{rating}\n")
    done = pool(house, "import", "--ratings", file, "--yes")
    assert (done.returncode, in_store(house)) == (2, {})
    assert f"skills.csv: line 3: {player(2)}" in done.stderr


PLAYERS_CSV = '''"playerId","lastName","skill","kills","hideranking","game"
"1","one, two","3000","9","0","tf"
"2","say ""hi""","1000","0","0","tf"
"3","hidden","9000","0","1","tf"
'''
IDS_CSV = "playerId;uniqueId;game;merge\n1;0:1;tf;\n1;1:1;tf;NULL\n2;1:2;tf;\n3;0:3;tf;\n"


@pytest.mark.slow
def test_the_two_tables_of_hlstatsx_may_come_as_csv(tmp_path: Path) -> None:
    found = read({"players.csv": PLAYERS_CSV.encode(), "ids.csv": IDS_CSV.encode()}, "tf")
    assert {str(id): (one.name, one.skill) for id, one in found.listed.items()} == {
        "76561197960265730": ("one, two", 3000.0),
        "76561197960265731": ("one, two", 3000.0),
        "76561197960265733": ('say "hi"', 1000.0),
    }
    assert found.skipped == {"hidden from the ranking": 1}
    house = a_machine(tmp_path / "house")
    (tmp_path / "players.csv").write_text(PLAYERS_CSV)
    (tmp_path / "ids.csv").write_text(IDS_CSV.replace("1;1:1;tf;NULL", "1;1:1"))
    words = ("--hlstatsx", tmp_path / "players.csv", "--hlstatsx", tmp_path / "ids.csv")
    wrong = pool(house, "import", *words)
    assert wrong.returncode == 2
    assert "ids.csv: line 3: 2 cells" in wrong.stderr
    (tmp_path / "ids.csv").write_text(IDS_CSV)
    dry = pool(house, "import", *words)
    assert "hidden from the ranking" in dry.stdout
    assert "this would import 3 ratings;" in dry.stdout
    assert pool(house, "import", *words, "--yes").returncode == 0
    assert in_store(house)[PlayerId("76561197960265730")] == in_store(house)[PlayerId("76561197960265731")]


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "rating"), [("y", 1234.0), ("n", None)])
def test_on_a_terminal_it_asks(answer: str, rating: float | None, tmp_path: Path) -> None:
    house = a_machine(tmp_path / "house")
    file = tmp_path / "skills.csv"
    file.write_text(f"id,rating\n{player(1)},1234\n")
    code, said = at_a_terminal(answer, "pool", "import", "--ratings", file, "--config", house.config)
    assert code == (0 if answer == "y" else 1), said
    assert "Import these ratings? [y/N]" in said
    assert in_store(house) == ({} if rating is None else {str(player(1)): (rating, 0)})


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    house = a_machine(tmp_path / "new")
    os.mkfifo(tmp_path / "skills.csv")
    done = pool(house, "import", "--ratings", tmp_path / "skills.csv", "--yes")
    assert (done.returncode, "skills.csv: not a regular file" in done.stderr) == (2, True)


@pytest.mark.slow
def test_only_one_kind_of_file_is_taken(tmp_path: Path) -> None:
    house = a_machine(tmp_path / "house")
    for words in ((), (house.config, "--ratings", house.config)):
        done = run("pool", "import", *words, "--config", house.config)
        assert done.returncode == 2
        assert "Give one of FILE, --ratings and --hlstatsx" in done.stderr


# Dumps that are wrong: `test_hlstatsx_dump` reads those of a real server.

DUMP = b"""-- MariaDB dump 10.19  Distrib 10.11.6-MariaDB
CREATE TABLE `hlstats_Players` (
  `playerId` int(10) unsigned NOT NULL AUTO_INCREMENT,
  `lastName` varchar(64) NOT NULL DEFAULT '',
  `skill` int(11) NOT NULL DEFAULT 1000,
  `lat` float(7,4) DEFAULT NULL,
  `game` varchar(32) NOT NULL,
  `hideranking` int(3) unsigned NOT NULL DEFAULT 0,
  PRIMARY KEY (`playerId`)
);
INSERT INTO `hlstats_Players` VALUES (1,'it\\'s; one',1010,-12.5,'tf',0),
(2,x'74776f',1020,NULL,_utf8mb4'tf',b'0'),
(3,0x7468726565,1030,NULL,'tf',0),
(4,0xF,1040,NULL,N'tf',1);
# it is no comment of a program
INSERT INTO `hlstats_PlayerUniqueIds` (`playerId`, `uniqueId`, `game`) VALUES (1,'0:1','tf'),(2,'0:2','tf');
INSERT INTO `hlstats_PlayerUniqueIds` (`playerId`, `uniqueId`, `game`) VALUES (3,'0:3','tf'),(4,'0:4','tf');
-- Dump completed on 2026-11-20
"""


def test_literals_of_every_kind_are_read() -> None:
    found = read({"a.sql": DUMP}, "tf")
    assert [(one.name, one.skill) for one in found.listed.values()] == [
        ("it's; one", 1010),
        ("two", 1020),
        ("three", 1030),
    ]
    assert found.skipped == {"hidden from the ranking": 1}


@pytest.mark.parametrize(
    ("there", "instead", "said"),
    [
        (b"x'74776f'", b"x'zz'", "line 12: x'zz' is no value of SQL"),
        (b"x'74776f'", b"X'747'", "line 12: X'747' is no value of SQL"),
        (b"x'74776f'", b"x'74 77'", "line 12: x'74 77' is no value of SQL"),
        (b"0x7468726565", b"0xZZ", "line 13: 0xZZ is no value of SQL"),
        (b"0x7468726565", b"0x", "line 13: 0x is no value of SQL"),
        (b"b'0'", b"b'2'", "line 12: b'2' is no value of SQL"),
        (b"b'0'", b"b''", "line 12: b'' is no value of SQL"),
        (b"1030", b"CURRENT_TIMESTAMP", "line 13: CURRENT_TIMESTAMP is no value of SQL"),
        (b"1030", b"1e999", "line 13: the skill of player 3 is '1e999', and no number"),
        (b"1030", b"9" * 5000, "line 13: the skill of player 3 is '99999"),
        (b"1030", b"NULL", "line 13: the skill of player 3 is None, and no number"),
        (b"1030", b"'\xff\xfe'", "line 13: the skill of player 3 is '\ufffd\ufffd', and no number"),
        (b"1030", b"", "line 13: a row of hlstats_players is cut off, or has not 6 values"),
        (b"1030,NULL", b"1030,NULL,7", "line 13: a row of hlstats_players is cut off, or has not 6 values"),
        (b"'tf',1);", b"'tf,1);", "line 14: a row of hlstats_players is cut off, or has not 6 values"),
        (b"'0:4'", b"'0:4", "line 17: a row of hlstats_playeruniqueids is cut off, or has not 3 values"),
        (b"`playerId` int", b"playerNumber int", "line 11: hlstats_players has no column playerid"),
    ],
)
def test_what_is_wrong_in_a_dump_is_said_with_file_and_line(there: bytes, instead: bytes, said: str) -> None:
    wrong = DUMP.replace(there, instead, 1)
    with pytest.raises(FileError) as refused:
        read({"a.sql": wrong}, "tf")
    assert str(refused.value).startswith(said)
    assert len(str(refused.value)) < 160
    assert refused.value.file == "a.sql"


LONG = 20_000_000
STRINGS = {"plain": b"x" * LONG, "escapes": b"\\n" * (LONG // 2), "quotes": b"''" * (LONG // 2)}


@pytest.mark.slow
@pytest.mark.parametrize("text", STRINGS.values(), ids=list(STRINGS))
@pytest.mark.parametrize("place", ["a name", "a column that is not read", "another table", "in double quotes"])
def test_a_string_of_20_mb_in_a_dump_takes_little_memory(place: str, text: bytes) -> None:
    there, instead = {
        "a name": (b"'it\\'s; one'", b"'" + text + b"'"),
        "a column that is not read": (b"-12.5", b"'" + text + b"'"),
        "another table": (b"# it is no", b"INSERT INTO chat VALUES (1,'" + text + b"');\n# it is no"),
        "in double quotes": (
            b"# it is no",
            b'INSERT INTO chat VALUES (1,"' + text.replace(b"'", b'"') + b'");\n# it is no',
        ),
    }[place]
    dump = DUMP.replace(there, instead, 1)
    tracemalloc.start()
    try:
        if place == "a name":
            with pytest.raises(
                FileError, match=r"line 11: the lastname in a row of hlstats_players has 20,000,002 bytes"
            ):
                read({"a.sql": dump}, "tf")
        else:
            assert len(read({"a.sql": dump}, "tf").listed) == 3
        assert tracemalloc.get_traced_memory()[1] < 30_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("cell", ["x" * LONG, "x" * LONG + "\U0001f3b2"])
def test_a_cell_of_20_mb_in_a_table_is_refused_in_little_memory(cell: str) -> None:
    table = f"id,rating\n76561197960287930,1200\n{cell},1500\n".encode()
    tracemalloc.start()
    try:
        with pytest.raises(FileError, match=r"line 3: the line has 20,000,0\d\d bytes; up to 1,048,576 are read"):
            read_table(table)
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()


PIECES = b"""x'zz' 0xZZ 0x b'2' ' \\ " ` /* -- # ; , ( ) - NULL 1e9 N' _x' \x00 \xff""".split(b" ")
PIECES += [b"", b"-- \n", b"9" * 400, b"\n", b"INSERT INTO hlstats_Players VALUES ("]
CHANGE = some.tuples(some.integers(0, len(DUMP)), some.integers(0, 12), some.sampled_from(PIECES))


@pytest.mark.slow
@settings(max_examples=15 * settings.default.max_examples)
@given(some.lists(CHANGE, max_size=4), some.booleans())
def test_a_dump_that_is_cut_or_changed_anywhere_is_read_or_refused_by_its_line(
    changes: list[tuple[int, int, bytes]], cut: bool
) -> None:
    data = DUMP
    for place, length, piece in changes:
        data = data[:place] + piece + (b"" if cut else data[place + length :])
    try:
        read({"a.sql": data}, "tf")
    except FileError as refused:
        error = refused
    else:
        return
    if error.file is None:  # a table, or the game, is not there at all
        assert re.match(r"there are no |no player of the game", str(error))
    else:
        assert re.match(r"line \d+: |the file is ", str(error))
