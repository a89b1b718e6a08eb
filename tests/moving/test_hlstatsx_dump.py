"""First ratings from dumps that a real MariaDB server writes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from equipoise.errors import FileError
from equipoise.moving.first_ratings import Players, read
from tests.cli.house import House
from tests.moving import mariadb
from tests.moving.machines import a_machine, pool

pytestmark = pytest.mark.world

NAMES = [
    "plain",
    "it's",
    'quo"ted',
    "back\\slash\\",
    "end\\'",
    "semi;colon); DROP TABLE `hlstats_Players`; --",
    "(1,'x',2),(3,'y',4)",
    "-- comment",
    "/* comment */ # and /*! more",
    "new\nline\r\ttab",
    "nul\0 and ctrl-z\x1a",
    "percent %s under_score",
    "Ünï 🎲 שלום",
    "‮rtl and zero​width",
    "NULL",
    "`tick`",
    "",
    "=cmd|'/c calc'!A0",
    "𝕏" * 64,
    "INSERT INTO `hlstats_Players` VALUES (99,'z');",
]
BASE = 76561197960265728


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[mariadb.Server]:
    """Players 1, 2, 3 … with skills 1010, 1020, 1030 …; bots, hidden players and those of another game beside them."""
    with mariadb.serving(tmp_path_factory.mktemp("mariadb")) as started:
        rows, ids = [], []
        for number, name in enumerate(NAMES, start=1):
            full = "NULL" if number % 2 else mariadb.quoted(name)
            rows.append(f"({number},{mariadb.quoted(name)},{1000 + 10 * number},{full},-12.5,'tf',0)")
            ids.append(f"({number},'{number % 2}:{number // 2}','tf')")
        rows.append("(50,'hidden',9000,NULL,NULL,'tf',1),(51,'banned',9000,NULL,NULL,'tf',2)")
        rows.append(
            "(60,'bot',9000,NULL,NULL,'tf',0),(61,'lan',9000,NULL,NULL,'tf',0),(70,'css',9000,NULL,NULL,'css',0)"
        )
        ids.append("(50,'0:50','tf'),(51,'0:51','tf'),(60,'BOT:0f1e2d','tf'),(61,'STEAM_ID_LAN','tf')")
        ids.append("(61,'VALVE_ID_PENDING','tf'),(61,'192.168.0.7','tf'),(70,'0:70','css'),(99,'0:99','tf')")
        started.run(
            "USE hlstats; INSERT INTO hlstats_Players (playerId, lastName, skill, fullName, lat, game, hideranking) "
            f"VALUES {','.join(rows)}; INSERT INTO hlstats_PlayerUniqueIds (playerId, uniqueId, game) "
            f"VALUES {','.join(ids)};"
        )
        chat = (f"({number},{mariadb.quoted(name)},0x00275C22FF3B)" for number, name in enumerate(NAMES))
        started.run(f"USE hlstats; INSERT INTO hlstats_Events_Chat VALUES {','.join(chat)};")
        started.run(
            "USE hlstats;\nDELIMITER ;;\nCREATE TRIGGER t BEFORE INSERT ON hlstats_Events_Chat FOR EACH ROW BEGIN "
            "SET NEW.message = 'it''s; \\'x\\''; END;;\nDELIMITER ;"
        )
        yield started


def expected() -> dict[str, tuple[str, float]]:
    """By SteamID64: STEAM_0:Y:Z is account 2·Z + Y, which is the number here."""
    shown = ("".join(letter for letter in name if letter.isprintable()) for name in NAMES)
    return {str(BASE + number): (name, 1000.0 + 10 * number) for number, name in enumerate(shown, start=1)}


def listed(found: Players) -> dict[str, tuple[str, float]]:
    return {str(player): (one.name, one.skill) for player, one in found.listed.items()}


@pytest.mark.parametrize(
    "options",
    [
        ("hlstats",),
        ("hlstats", "hlstats_Players", "hlstats_PlayerUniqueIds"),
        ("--complete-insert", "--no-create-info", "hlstats"),
        ("--skip-extended-insert", "hlstats"),
        ("--databases", "hlstats", "--skip-opt"),
        ("--hex-blob", "--insert-ignore", "--skip-comments", "hlstats"),
        ("--replace", "--skip-quote-names", "--compact", "hlstats"),
        ("--compatible=ansi", "--default-character-set=utf8mb4", "hlstats"),
    ],
    ids=" ".join,
)
def test_every_way_to_dump_gives_the_same_players(server: mariadb.Server, options: tuple[str, ...]) -> None:
    found = read({"dump.sql": server.dump(*options)}, "tf")
    assert listed(found) == expected()
    assert found.skipped == {
        "hidden from the ranking": 2,
        "bots": 1,
        "LAN and pending ids": 2,
        "no SteamIDs": 1,
        "ids without a player": 1,
    }
    assert found.games == {"tf": len(NAMES) + 4, "css": 1}


def test_a_dump_that_is_cut_off_anywhere_is_refused(server: mariadb.Server) -> None:
    whole = server.dump("hlstats")
    for end in range(1, whole.rindex(b"-- Dump completed"), 97):
        with pytest.raises(FileError):
            read({"dump.sql": whole[:end]}, "tf")


def test_a_dump_without_names_of_columns_or_without_the_game_says_what_to_do(server: mariadb.Server) -> None:
    with pytest.raises(FileError, match=r"line \d+: .*--complete-insert"):
        read({"dump.sql": server.dump("--no-create-info", "hlstats")}, "tf")
    with pytest.raises(FileError, match=r"--game-code names one of: tf \(24\), css \(1\)"):
        read({"dump.sql": server.dump("hlstats")}, "tf2")
    with pytest.raises(FileError, match="no rows of hlstats_playeruniqueids"):
        read({"dump.sql": server.dump("hlstats", "hlstats_Players")}, "tf")


def test_players_of_a_dump_are_rated_in_its_order(server: mariadb.Server, tmp_path: Path) -> None:
    house: House = a_machine(tmp_path / "house")
    dump = tmp_path / "hlstatsx.sql"
    dump.write_bytes(server.dump("hlstats"))
    dry = pool(house, "import", "--hlstatsx", dump, "--spread", "150", "--json")
    assert dry.returncode == 0, dry.stderr
    found = json.loads(dry.stdout)
    assert found["written"] is False
    assert found["ratings"] == len(NAMES)
    assert [each["id"] for each in found["highest"]] == [str(BASE + n) for n in range(len(NAMES), len(NAMES) - 10, -1)]
    done = pool(house, "import", "--hlstatsx", dump, "--spread", "150", "--yes")
    assert done.returncode == 0, done.stderr
    assert "imported 20 ratings" in done.stdout
