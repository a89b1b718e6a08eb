"""`equipoise pool export` and `pool import FILE`: a whole pool from one machine to another."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from io import BytesIO
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as some

from equipoise.core.effects import RecordRound
from equipoise.core.model import STEAM_ID_BASE
from equipoise.errors import FileError
from equipoise.moving.jsonl import VERSION, Reader
from equipoise.service.pool import Pool
from equipoise.service.retention import Retention, RetentionDays
from equipoise.service.ring import Ring, UnstoredRound
from equipoise.store.notes import Audit, BalancePrediction, BalancePredictions, Name, Note
from equipoise.store.past import VoidStrike
from equipoise.store.player_rows import PlayerRow
from equipoise.store.round_rows import SteamId
from equipoise.store.sequence import BulkEdit
from equipoise.wire.scalars import ACCOUNTS
from tests.cli.house import EQUIPOISE, House, ask, run, serving
from tests.hosts import GivenClock
from tests.moving.machines import a_machine, exported, grown, pool, sealed, with_a_past
from tests.pools import PLAYERS, pool_in, some_rounds, stored
from tests.store.samples import opened, player

pytestmark = pytest.mark.slow

Lines = list[bytes]


def everything(house: House) -> dict[str, list[tuple[object, ...]]]:
    """What the import must leave alone when it refuses."""
    with closing(sqlite3.connect(house.state / "equipoise.db")) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: database.execute(f"SELECT * FROM {name}").fetchall() for name in sorted(tables)}


async def _noted(house: House, *notes: Note) -> None:
    async with opened(house.state / "equipoise.db") as store:
        store.note(notes)


def records(house: House) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(house.state / "equipoise.db")) as database:
        return database.execute("SELECT id, wins, draws, losses, leaves FROM players ORDER BY id").fetchall()


async def _pruned(house: House) -> None:
    """Without most of its rounds, which were old."""
    async with opened(house.state / "equipoise.db") as store:
        await store.prune_rounds("main", 0, 1_900_000_000.0, 30)


async def _with_edits(house: House) -> None:
    """Edits between its rounds, as admins make them and as an import does."""
    async with pool_in(house.state) as pool:
        await pool.edit(player(3), 1500.0, "token:owner")
        await pool.edit(player(4), None, "token:owner")
        pool.system.seed(player(77), rating=1300.0)
        row = PlayerRow(player(77), 0, 1300.0, 0, False, None, pool.system.state(player(77)), ())
        await pool.adopt(BulkEdit("import", 1.5, "console", [row], "", "1 rating"))
        await pool.undo(player(3), "token:owner")
        voided = next(record.round for record in some_rounds(10) if not record.unrated)
        await pool.void(VoidStrike(voided.server, voided.id), "token:owner", "played by cheaters")


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> House:
    """A machine whose pool has rounds, names and an audit."""
    house = with_a_past(a_machine(tmp_path_factory.mktemp("old") / "etc"), rounds=20)
    asyncio.run(_with_edits(house))
    with_a_past(house, rounds=40)
    names = [Name("main", player(n), name) for n, name in enumerate(("Ünï 🎲", 'a"b\\c', "=1+1", "שלום", "x" * 128), 1)]
    lines = [
        Audit(1.0, "console", "recompute", "pool main", "elo", "synelo"),
        Audit(2.5, "token:owner", "set", player(3), "1000 after 0 rounds", "1200 after 0 rounds"),
        Audit(3.0, "token:owner", "command", "arena-1", "", "scramble"),
        Audit(4.0, "token:owner", "command", "another-pools-server", "", "scramble"),
    ]
    predicted = BalancePredictions({3: BalancePrediction(0.4, 0.375, 0.125), 4: BalancePrediction(0.625, None, None)})
    asyncio.run(_noted(house, *names, *lines, predicted))
    return house


@pytest.fixture(scope="module")
def export(old: House) -> bytes:
    return exported(old)


@pytest.fixture
def new(tmp_path: Path) -> House:
    return a_machine(tmp_path / "new")


async def _with_a_season(house: House) -> None:
    """A leaderboard that was kept, and somebody who is hidden since."""
    async with opened(house.state / "equipoise.db") as store:
        assert await store.begin_season("main", "winter", None, Audit(1.0, "console", "season", "main", "", "winter"))
        await store.hide("main", player(3), Audit(2.0, "console", "hide", player(3), "", ""), hide=True)


@pytest.mark.parametrize(
    ("system", "params"), [("elo", {"k": 24.0, "shadow_rounds": 5}), ("teamskill_k", {}), ("ns2", {"shadow_rounds": 5})]
)
def test_a_moved_pool_is_the_same_to_the_last_byte(system: str, params: dict[str, object], tmp_path: Path) -> None:
    settings = "\n".join((f'system = "{system}"', *(f"{key} = {value}" for key, value in params.items())))
    here = with_a_past(a_machine(tmp_path / "here", settings), system=system, **params)
    asyncio.run(_with_a_season(here))
    there = a_machine(tmp_path / "there", settings)
    (tmp_path / "main.jsonl").write_bytes(text := exported(here))
    assert b'"winter"' in text
    assert b'"hidden":true' in text
    done = pool(there, "import", tmp_path / "main.jsonl")
    assert done.returncode == 0, done.stderr
    assert exported(there) == text
    assert stored(there.state) == stored(here.state)


def test_records_of_rounds_that_were_deleted_move_too(tmp_path: Path) -> None:
    here = with_a_past(a_machine(tmp_path / "here", 'system = "elo"'), system="elo")
    there = a_machine(tmp_path / "there", 'system = "elo"')
    before = records(here)
    asyncio.run(_pruned(here))
    (tmp_path / "main.jsonl").write_bytes(exported(here))
    assert pool(there, "import", tmp_path / "main.jsonl").returncode == 0
    assert records(there) == before


async def _skills(house: House, *, prune: bool = False) -> dict[str, float]:
    """Of a pool of joint, as a daemon that has just started knows them; `prune`: once its old rounds are deleted."""
    async with pool_in(house.state, "joint") as pool:
        if prune:
            await Retention(pool.store, [pool], GivenClock(1_800_000_000.0), RetentionDays(rounds_days=30)).run()
        return skills_in(pool)


def skills_in(pool: Pool) -> dict[str, float]:
    return {player(number): pool.system.skill(player(number)) for number in range(1, PLAYERS + 1)}


def test_what_a_sequential_system_learnt_from_rounds_that_were_deleted_moves_too(tmp_path: Path) -> None:
    here = with_a_past(a_machine(tmp_path / "here", 'system = "joint"'), system="joint")
    there = a_machine(tmp_path / "there", 'system = "joint"')
    with closing(sqlite3.connect(here.state / "equipoise.db")) as database, database:
        database.execute("UPDATE rounds SET recorded_at = 1000 WHERE number <= 25")
    skills = asyncio.run(_skills(here, prune=True))
    file = tmp_path / "main.jsonl"
    file.write_bytes(text := exported(here))
    (base,) = [json.loads(line) for line in text.splitlines() if b'"kind":"base"' in line]
    assert (base["purpose"], base["number"]) == ("system", 0)
    damaged = json.dumps(base | {"data": base["data"][:400]}, separators=(",", ":")).encode()
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes(sealed(re.sub(rb'{"kind":"base".*}', damaged, text)))
    refused = pool(there, "import", bad)
    assert refused.returncode == 2
    assert "bad.jsonl: line 3: joint: the snapshot is damaged" in refused.stderr
    assert pool(there, "import", file).returncode == 0
    assert exported(there) == text
    assert asyncio.run(_skills(there)) == pytest.approx(skills, rel=1e-9)


async def _play(house: House, name: str, records: Iterable[RecordRound], system: str) -> dict[str, float]:
    """Record rounds in a pool; returns what it knows then."""
    async with pool_in(house.state, system, name=name) as pool:
        for record in records:
            await pool.record(record, None)
        return skills_in(pool)


@pytest.mark.slow
def test_a_pool_that_is_moved_without_any_round_left_learns_from_the_next_ones(tmp_path: Path) -> None:
    """Another pool played on, and all rounds of this one were deleted: its snapshot moves, and is the newest event."""
    here = with_a_past(a_machine(tmp_path / "here", 'system = "joint"'), system="joint")
    there = a_machine(tmp_path / "there", 'system = "joint"')
    with closing(sqlite3.connect(here.state / "equipoise.db")) as database, database:
        database.execute("UPDATE rounds SET recorded_at = ?", (1_800_000_000.0 - 40 * 86_400.0,))
    *_, later = some_rounds(41)
    asyncio.run(_play(here, "other", [later], "elo"))
    skills = asyncio.run(_skills(here, prune=True))
    text = exported(here)
    assert b'"kind":"base"' in text
    assert b'"kind":"round"' not in text
    file = tmp_path / "main.jsonl"
    file.write_bytes(text)
    assert pool(there, "import", file).returncode == 0
    learnt = asyncio.run(_play(there, "main", some_rounds(5), "joint"))
    assert learnt != pytest.approx(skills, rel=1e-9)
    assert asyncio.run(_skills(there)) == pytest.approx(learnt, rel=1e-9)


def test_names_and_the_audit_move_with_the_players_and_servers_that_they_are_about(
    old: House, new: House, export: bytes, tmp_path: Path
) -> None:
    (tmp_path / "main.jsonl").write_bytes(export)
    assert pool(new, "import", tmp_path / "main.jsonl").returncode == 0
    assert exported(new) == export
    mine, theirs = everything(new), everything(old)
    assert mine["names"] == theirs["names"]
    assert mine["crowds"] == theirs["crowds"]
    assert mine["edits"] == theirs["edits"]
    assert mine["edited"] == theirs["edited"]
    assert mine["voids"] == theirs["voids"]
    assert [line[4] for line in mine["edits"]] == ["set", "reset", "import", "undo", "void"]
    assert {line[4] for line in theirs["audit"]} - {line[4] for line in mine["audit"]} == {"another-pools-server"}
    assert len(mine["audit"]) == len(theirs["audit"]) - 1


def test_a_daemon_goes_on_with_the_moved_ratings_and_exports_them_again(
    new: House, export: bytes, tmp_path: Path
) -> None:
    file = tmp_path / "main.jsonl"
    file.write_bytes(export)
    assert pool(new, "import", file).returncode == 0
    with serving(new) as (_, address):
        shown = ask(new, address, "player", "show", player(3), "--json")
        expected = next(line for line in map(json.loads, export.splitlines()) if line.get("id") == player(3))
        assert json.loads(shown.stdout)["player"]["rating"] == expected["skill"]["rating"]
        again = ask(new, address, "pool", "export", "main", tmp_path / "again.jsonl")
        assert again.returncode == 0, again.stderr
        assert (tmp_path / "again.jsonl").read_bytes() == export
        assert (tmp_path / "again.jsonl").stat().st_mode & 0o777 == 0o600
        held = run("pool", "import", file, "--config", new.config)
        assert held.returncode == 2
        assert "has the store open" in held.stderr


def test_the_newest_accounts_of_steam_are_read_from_an_export_too() -> None:
    last = str(STEAM_ID_BASE + ACCOUNTS - 1)
    assert msgspec.convert(last, SteamId) == last
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert("76561300000000000", SteamId)


def test_the_same_export_a_second_time_changes_nothing_and_says_so(new: House, export: bytes, tmp_path: Path) -> None:
    file = tmp_path / "main.jsonl"
    file.write_bytes(export)
    assert pool(new, "import", file).returncode == 0
    before = everything(new)
    again = pool(new, "import", file)
    assert (again.returncode, everything(new)) == (0, before)
    assert "nothing was changed" in again.stdout
    assert json.loads(pool(new, "import", file, "--json").stdout)["written"] is False


def test_a_pool_that_has_something_else_is_not_touched(export: bytes, tmp_path: Path) -> None:
    other = with_a_past(a_machine(tmp_path / "other"), rounds=3)
    (tmp_path / "main.jsonl").write_bytes(export)
    before = everything(other)
    done = pool(other, "import", tmp_path / "main.jsonl")
    assert (done.returncode, everything(other)) == (1, before)
    assert "3 rounds" in done.stderr


def _of_an_older_format(export: bytes, version: int) -> tuple[bytes, bytes]:
    """The export as an older program would have written it, and as the pool that was made from that is exported."""
    without = ("counts",) if version == 2 else ("counts", "spans")
    lines = [json.loads(line) for line in export.splitlines()]
    rounds = [line for line in lines if line["kind"] == "round"]
    voids = [line for line in lines if line["kind"] == "void"]
    for name in ("squads", "bots", "balance_prediction", "unevenness"):
        assert [line.pop(name) for line in rounds if name in line]
    for name in without:
        assert [each.pop(name, None) for line in rounds for each in line["participants"] if name in each]
    texts = []
    for number, rest in ((version, []), (VERSION, [None] * len(without))):
        lines[0]["version"] = number
        for line in voids:
            line["participants"] = [[*row[: 15 - len(without)], *rest] for row in line["participants"]]
        left_out = ("record", "seasons") if number == version else ()
        plain = ({key: value for key, value in line.items() if key not in left_out} for line in lines)
        texts.append(sealed(b"".join(msgspec.json.encode(line) + b"\n" for line in plain)))
    return texts[0], texts[1]


@pytest.mark.parametrize("version", [1, 2])
def test_an_export_of_an_older_format_which_lacks_what_came_later_is_read(
    new: House, export: bytes, version: int, tmp_path: Path
) -> None:
    older, later = _of_an_older_format(export, version)
    file = tmp_path / "main.jsonl"
    other = b'"version":%d' % (3 - version)
    file.write_bytes(older.replace(b'"version":%d' % version, other, 1))
    assert "were changed or damaged" in pool(new, "import", file).stderr
    file.write_bytes(older)
    done = pool(new, "import", file)
    assert done.returncode == 0, done.stderr
    assert exported(new) == later


def test_numbers_that_other_pools_have_taken_do_not_matter(export: bytes, tmp_path: Path) -> None:
    """The edit that an undo takes back, and the one that a round was voided by, are named by number."""
    house = a_machine(tmp_path / "two", 'system = "synelo"\n\n[pool.second]\nsystem = "synelo"')
    mine = export.replace(b'"server":"arena-1"', b'"server":"arena-2"').replace(b"of arena-1", b"of arena-2")
    for name, text in (("second", sealed(mine)), ("main", export)):
        file = tmp_path / f"{name}.jsonl"
        file.write_bytes(text)
        done = pool(house, "import", file, "--pool", name)
        assert done.returncode == 0, done.stderr
    texts = exported(house), export
    # The audit has no pool: a line about a player who is in both comes with each.
    kept = ("edit", "edited", "round", "void")
    moved, mine = ([each for each in map(json.loads, text.splitlines()) if each["kind"] in kept] for text in texts)
    assert moved == mine


def test_a_pool_may_take_another_name(new: House, export: bytes, tmp_path: Path) -> None:
    new.edit("[pool.main]", '[pool.second]\nsystem = "synelo"\n\n[pool.main]')
    (tmp_path / "main.jsonl").write_bytes(export)
    assert pool(new, "import", tmp_path / "main.jsonl", "--pool", "second").returncode == 0
    assert "nothing was changed" in pool(new, "import", tmp_path / "main.jsonl", "--pool", "second").stdout
    both = pool(new, "import", tmp_path / "main.jsonl")
    assert both.returncode == 2, "the second pool has its rounds already, and a round is stored once"
    assert re.search(r"line \d+: .*another pool of this store", both.stderr)


def test_a_pool_of_another_system_is_not_imported_before_the_configuration_says_so(
    export: bytes, tmp_path: Path
) -> None:
    house = a_machine(tmp_path / "elo", 'system = "elo"')
    (tmp_path / "main.jsonl").write_bytes(export)
    done = pool(house, "import", tmp_path / "main.jsonl")
    assert done.returncode == 2
    assert "made by synelo, which [pool.main] must say before" in done.stderr


def _without(kind: bytes) -> Callable[[Lines], Lines]:
    def changed(lines: Lines) -> Lines:
        place = next(place for place, line in enumerate(lines) if kind in line)
        return lines[:place] + lines[place + 1 :]

    return changed


def _edited(old: bytes, new: bytes) -> Callable[[Lines], Lines]:
    return lambda lines: [line.replace(old, new, 1) for line in lines]


BROKEN: dict[str, tuple[Callable[[Lines], Lines], str]] = {
    "empty": (lambda lines: [], "line 1: the file is empty"),
    "half": (lambda lines: lines[:25], "line 26: the export ends here"),
    "cut in a line": (lambda lines: [*lines[:25], lines[25][:40]], "line 26: the line is cut off"),
    "without its last line": (lambda lines: lines[:-1], "the export ends here"),
    "doubled": (lambda lines: lines * 2, "something follows the end"),
    "two without the first's end": (lambda lines: lines[:-1] + lines, "a second export begins here"),
    "newer": (_edited(b'"version":5', b'"version":6'), "line 1: it was written by a newer Equipoise (format 6"),
    "foreign JSON": (lambda lines: [b'{"matches": []}\n'], "line 1: this is no export"),
    "text that is not UTF-8": (lambda lines: [b'{"\x84": 1}\n'], "line 1: this is no export"),
    "foreign bytes": (lambda lines: [b"\xff\xfe\x00PK\n"], "line 1: this is no export"),
    "no JSON": (lambda lines: [*lines[:7], b"{nonsense}\n", *lines[8:]], "line 8: "),
    "a field of its own": (_edited(b'"kind":"player",', b'"kind":"player","mine":1,'), "line 3: "),
    "a rating that is text": (_edited(b'"rating":', b'"rating":"a","x":'), "line 3: "),
    "a wrong id": (_edited(b'"id":"76561197960265730"', b'"id":"bot:1"'), "line 4: "),
    "a state of another system": (
        _edited(b'"windowed":', b'"sigma":'),
        "line 3: 76561197960265729: not a synelo state",
    ),
    "a missing player": (_without(b'"kind":"player"'), "has no line above it"),
    "a missing round": (_without(b'"id":"1763622000123-30"'), "were changed or damaged"),
    "a changed number": (
        _edited(b'"recorded_at":1800000000.0', b'"recorded_at":1800000001.0'),
        "were changed or damaged",
    ),
    "a player twice": (lambda lines: [*lines[:3], lines[2], *lines[3:]], "line 4: it is there twice"),
    "players at the end": (
        lambda lines: [*lines[:2], *lines[3:-1], lines[2], lines[-1]],
        "has no line above it",
    ),
    "a name that a terminal obeys": (_edited(b"x" * 128, b"x\\u001b[2J"), "cannot be shown"),
    "an unknown system": (_edited(b'"system":"synelo"', b'"system":"chess"'), "line 2: "),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_export_is_refused_with_its_line_and_nothing_is_imported(
    name: str, new: House, export: bytes, tmp_path: Path
) -> None:
    change, why = BROKEN[name]
    (tmp_path / "broken.jsonl").write_bytes(b"".join(change(export.splitlines(keepends=True))))
    before = everything(new)
    done = pool(new, "import", tmp_path / "broken.jsonl")
    assert (done.returncode, everything(new)) == (2, before)
    assert why in done.stderr
    assert re.search(r"broken\.jsonl: line \d+: ", done.stderr)


@given(some.data())
def test_an_export_with_any_byte_changed_is_refused(export: bytes, data: some.DataObject) -> None:
    """Also without the store: the last line has the digest of the others."""
    place = data.draw(some.integers(0, len(export) - 1))
    byte = data.draw(some.integers(0, 255).filter(lambda byte: byte != export[place]))
    changed = export[:place] + bytes((byte,)) + export[place + 1 :]
    with pytest.raises(FileError):
        list(Reader(BytesIO(changed)).lines())


def test_an_export_overwrites_nothing_and_leaves_nothing_behind(old: House, tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text("precious")
    assert pool(old, "export", "main", file).returncode == 2
    assert file.read_text() == "precious"
    assert pool(old, "export", "nobodys", tmp_path / "no.jsonl").returncode == 2
    assert pool(old, "export", "nobodys", "-").stdout == ""
    assert pool(old, "export", "main", tmp_path / "no" / "where.jsonl").returncode == 1
    assert [path.name for path in tmp_path.iterdir()] == ["mine.jsonl"]


def test_a_full_disk_behind_standard_output_is_said(old: House) -> None:
    with open("/dev/full", "wb") as full:
        words = [EQUIPOISE, "pool", "export", "main", "-", "--config", old.config]
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        2,
        "equipoise: standard output: No space left on device",
    )


def test_rounds_that_wait_in_the_ring_are_not_forgotten(tmp_path: Path) -> None:
    house = with_a_past(a_machine(tmp_path / "ring"), rounds=2)
    ring = Ring(house.state / "main.ring")
    ring.open()
    ring.push(UnstoredRound(next(some_rounds(1, seed=9)), None, 1.0))
    ring.close()
    for done in (pool(house, "export"), pool(house, "import", house.config)):
        assert done.returncode == 2
    assert "rounds wait here" in pool(house, "export").stderr


def test_an_export_of_a_daemon_that_dies_is_no_export(export: bytes, tmp_path: Path) -> None:
    house = a_machine(tmp_path / "dies")
    (tmp_path / "grown.jsonl").write_bytes(grown(export, 8_000))
    assert pool(house, "import", tmp_path / "grown.jsonl").returncode == 0
    file = tmp_path / "main.jsonl"
    with serving(house) as (process, address):
        words = [EQUIPOISE, "pool", "export", "main", file, "--config", house.config, "--url", f"http://{address}"]
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as exporting:
            part = file.with_name(".main.jsonl.part")
            while not (part.exists() and part.stat().st_size):
                assert exporting.poll() is None
                time.sleep(0.001)  # it needs the processor, too
            process.send_signal(signal.SIGKILL)
            _, said = exporting.communicate(timeout=60)
    assert exporting.returncode == 1
    assert "ended too early" in said
    assert not file.exists()
    assert not part.exists()
