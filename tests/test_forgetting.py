"""A person's data in a real daemon: hidden, exported, forgotten everywhere, and nobody else's rating changes."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import shutil
import sqlite3
import time
import urllib.error
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bench.scripts import BOOT, FACTS, SESSION, Script, hello
from equipoise.core.memory import Memory, Remembered, encode_memory
from equipoise.core.model import STEAM_ID_BASE, PlayerId
from equipoise.service import people
from equipoise.service.ring import Ring, UnstoredRound
from equipoise.store import player_rows as people_of_the_store
from equipoise.store.notes import Audit, Decision, Name
from equipoise.store.player_rows import InForgetting
from equipoise.store.store import Store
from tests.cli.house import run
from tests.daemons import RealDaemon
from tests.store.samples import SERVER, a_round, player

START = time.time() - 300_000.0
SIZE = 4
PEOPLE = [str(76561198000000000 + 7 * number) for number in range(14)]
STAND_IN = PlayerId("76561190000000123")
GONE, FRIEND = PEOPLE[5], PEOPLE[6]
NAMES = {person: f"Player {person[-3:]}" for person in PEOPLE} | {GONE: "Grünfeld der Große"}
STEAM2 = f"STEAM_0:{(int(GONE) - STEAM_ID_BASE) % 2}:{(int(GONE) - STEAM_ID_BASE) // 2}"
SYSTEMS = [
    ("synelo", "joint"),
    *(
        pytest.param(*systems, marks=pytest.mark.world)
        for systems in (("joint", "joint"), ("ns2", "ns2"), ("trueskill2", "joint"), ("teamskill_k", "joint"))
    ),
]


def daemon_of(folder: Path, system: str = "synelo", balance: str = "joint") -> RealDaemon:
    daemon = RealDaemon(folder, forked=True)
    text = daemon.config.read_text()
    kept = [line for line in text.splitlines() if not line.startswith(("k_max", "balance ="))]
    daemon.config.write_text(
        "\n".join(kept).replace(
            'system = "synelo"',
            f'system = "{system}"\nbalance = "{balance}"\n{SHADOW.get(system, "shadow_rounds = 2")}',
        )
    )
    return daemon


def rounds(count: int, first: int = 0, without: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """Rounds of random sides, with counts and squads."""
    draw = random.Random(f"{first}")
    for number in range(first, first + count):
        here = draw.sample([person for person in PEOPLE if person not in without], 2 * SIZE)
        seats = [{"id": person, "side": ("red", "blu")[place % 2]} for place, person in enumerate(here)]
        spent = {"red": ({"red": 300.0, "blu": 0.0}), "blu": ({"red": 0.0, "blu": 300.0})}
        counts = {"kills": number % 7, "deaths": 3, "assists": 1, "points": 4, "classes": {"soldier": 300.0}}
        yield {
            "kind": "round_ended",
            "round": f"{BOOT}-{number}",
            "session": SESSION,
            "map": "koth_harvest_final",
            "game": "tf2",
            "facts": FACTS,
            "started_at": START + 400 * number,
            "seconds": 300.0,
            "winner": draw.choice(("red", "blu")),
            "captures": {"red": 1, "blu": 1},
            "lineup": seats,
            "players": [seat | {"seconds": spent[seat["side"]], "fought": True, "counts": counts} for seat in seats],
            "squads": [here[:2]],
        }


def joined(*who: str) -> list[dict[str, Any]]:
    return [{"kind": "player_joined", "id": person, "name": NAMES[person]} for person in who]


def said(by: str, *words: str) -> dict[str, Any]:
    return {"kind": "command", "words": list(words), "by": by, "admin": False}


def play(daemon: RealDaemon, count: int) -> None:
    """An evening on which everybody comes, two make friends, and new teams are made."""
    with closing(Script(daemon.port, daemon.server, daemon.secret)) as script:
        seats = [{"id": person, "side": ("red", "blu")[n % 2], "connected": 60.0} for n, person in enumerate(PEOPLE)]
        script.post(hello(), *joined(*PEOPLE), {"kind": "roster", "players": seats})
        script.post(said(GONE, "friend", FRIEND), said(FRIEND, "friend", GONE), said(GONE, "vote"))
        for number in rounds(count):
            script.post(number)
        daemon.ask(f"servers/{daemon.server}/scramble", {"when": "next"})
        script.post({"kind": "round_started", "players": seats})


def leave(daemon: RealDaemon) -> None:
    """The next map: nobody of the last round is on it."""
    with closing(Script(daemon.port, daemon.server, daemon.secret, BOOT + 1)) as script:
        script.post(hello() | {"session": f"{BOOT}-2", "phase": "idle"}, {"kind": "roster", "players": []})


def traces(directory: Path, words: Sequence[str]) -> set[str]:
    """Files of a directory, and tables of its stores, in which one of the words stands in any form."""
    forms = {form for word in words for form in forms_of(word)}
    found = set()
    for file in directory.rglob("*"):
        if file.is_file() and any(form in file.read_bytes() for form in forms):
            found.add(file.name)
    with closing(sqlite3.connect(f"file:{directory}/equipoise.db?mode=ro", uri=True)) as db:
        for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            for row in db.execute(f"SELECT * FROM [{table}]"):
                cells = b"\0".join(cell if isinstance(cell, bytes) else str(cell).encode() for cell in row)
                if any(form in cells for form in forms):
                    found.add(table)
    return found


def forms_of(word: str) -> Iterator[bytes]:
    """A word as it is, its hashes, and what a base64 of a text with it has, wherever it stands there."""
    raw = word.encode()
    yield raw
    yield json.dumps(word)[1:-1].encode()
    for kind in (hashlib.md5, hashlib.sha1, hashlib.sha256, hashlib.blake2b):
        yield kind(raw).hexdigest().encode()
        yield kind(raw).digest()
    for shift in range(3):
        yield base64.b64encode(b"\0" * shift + raw)[4:-4]


MEMORY = encode_memory(Remembered(Memory(winners=(PlayerId(GONE),))))
SHADOW = {"teamskill_k": ""}
WORDS = (GONE, STEAM2, f"[U:1:{int(GONE) - STEAM_ID_BASE}]", NAMES[GONE])


def numbers(directory: Path, stand_in: str = GONE) -> dict[str, list[Any]]:
    """Every number that a rating system made, of all but one player; and how the store numbers them."""
    with closing(sqlite3.connect(f"file:{directory}/equipoise.db?mode=ro", uri=True)) as db:
        return {
            "players": db.execute(
                "SELECT id, rating, rounds, visible, last_played, state FROM players WHERE id != ? ORDER BY id",
                (stand_in,),
            ).fetchall(),
            "participants": db.execute(
                "SELECT round, place, before, after, prediction, score, rounds, state FROM participants ORDER BY 1, 2"
            ).fetchall(),
            "rounds": db.execute("SELECT number, prediction, said, unevenness FROM rounds ORDER BY number").fetchall(),
            "own": db.execute("SELECT rating, rounds, state FROM players WHERE id = ?", (stand_in,)).fetchall(),
        }


def refusal(daemon: RealDaemon, path: str, body: Mapping[str, object]) -> dict[str, Any]:
    with pytest.raises(urllib.error.HTTPError) as refused:
        daemon.ask(path, body)
    error: dict[str, Any] = json.load(refused.value)["error"]
    return error


@pytest.mark.slow
@pytest.mark.parametrize(("system", "balance"), SYSTEMS)
def test_nothing_is_left_of_who_is_forgotten_and_no_rating_changes(tmp_path: Path, system: str, balance: str) -> None:
    daemon = daemon_of(tmp_path / "daemon", system, balance)
    state = daemon.folder / "state"
    daemon.start()
    play(daemon, 120)
    daemon.ask(f"players/{GONE}", {"rating": daemon.ask(f"players/{FRIEND}")["player"]["rating"]}, "PUT")
    void = {"reason": f"{NAMES[GONE]} ({STEAM2}) cheated"}
    daemon.ask(f"rounds/{daemon.server}/{BOOT}-7/void", void)
    daemon.ask("pools/main/seasons", {"name": "First"})
    there = refusal(daemon, f"players/{GONE}/forget", {})
    assert there["code"] == "present", there
    leave(daemon)
    while daemon.ask("servers")["servers"][0]["balanced_by"] != balance:
        time.sleep(0.02)
    daemon.stop()
    before = numbers(state)
    daemon.start()
    assert {"names", "participants", "sessions", "audit", "edits", "seasons", "decisions"} < traces(state, WORDS)

    done = daemon.ask(f"players/{GONE}/forget", {})
    stand_in = done["stand_in"]
    assert traces(state, WORDS) == set()
    assert numbers(state, stand_in) == before
    assert stand_in not in [row["id"] for row in daemon.ask("pools/main/top?limit=1000")["players"]]
    # The daemon goes on without them: each round writes the session's memory, which had their friendship.
    with closing(Script(daemon.port, daemon.server, daemon.secret, BOOT + 2)) as script:
        script.post(hello(), *joined(*(person for person in PEOPLE if person != GONE)))
        for number in rounds(5, 400, without=(GONE,)):
            script.post(number)
    daemon.ask("decisions")
    assert traces(state, WORDS) == set()
    # If they play again, they are a newcomer.
    with closing(Script(daemon.port, daemon.server, daemon.secret, BOOT + 3)) as script:
        script.post(hello(), *joined(*PEOPLE))
        for number in rounds(20, 500):
            script.post(number)
    assert daemon.ask(f"players/{GONE}")["player"]["rounds"] < 20
    daemon.stop()

    after = numbers(state, stand_in)
    again = run("pool", "recompute", "--config", daemon.config, "--yes")
    assert again.returncode == 0, again.stderr
    if system != "teamskill_k":  # which sums over groups in the order of ids: the last digits may differ
        assert numbers(state, stand_in) == after


async def test_what_sqlite_leaves_of_deleted_rows_goes_too(tmp_path: Path) -> None:
    """Debian's SQLite overwrites what is deleted; others leave it in the file."""
    store = Store(tmp_path / "equipoise.db")
    await store.open()
    await store._read(lambda db: db.execute("PRAGMA secure_delete = OFF"))
    store.note([Name("main", PlayerId(GONE), NAMES[GONE])])
    store.note([Decision(SERVER, 1.0, "moved", f"{GONE} goes", detail={"players": [GONE]}) for _ in range(100)])
    await store.decisions(None, 1)
    assert await store.prune("decisions", 2.0, 1000) == 100
    await store._read(people_of_the_store.empty_log)
    assert traces(tmp_path, [GONE]) == {"equipoise.db", "names"}
    await store.begin_forgetting(InForgetting(PlayerId(GONE), STAND_IN), Audit(1.0, "owner", "forget", GONE, "", ""))
    await people.finish(store)
    assert traces(tmp_path, WORDS) == set()
    await store.close()


# Killed.

WAITING = a_round(900, a=(1, 2), b=(3, 4))


def kept_round(directory: Path) -> None:
    """A round with the person that waits in the ring's file, with a memory that names them."""
    text = msgspec.json.encode(UnstoredRound(WAITING, None, time.time())).replace(player(1).encode(), GONE.encode())
    ring = Ring(directory / "main.ring")
    ring.open()
    ring.push(msgspec.structs.replace(msgspec.json.decode(text, type=UnstoredRound), memory=MEMORY))
    ring.close()


async def forget_and_copy(state: Path, copies: Path) -> int:
    """Forget the person; how many copies there are, each as kill -9 leaves the folder before a statement of SQLite.

    The first is the first one after the journal was written. VACUUM has many.
    """
    store, count = Store(state / "equipoise.db"), 0
    await store.open()
    await store.begin_forgetting(InForgetting(PlayerId(GONE), STAND_IN), Audit(1.0, "owner", "forget", GONE, "", ""))

    def step(_: str) -> None:
        nonlocal count
        shutil.copytree(state, copies / str(count))
        count += 1

    await store._read(lambda db: db.set_trace_callback(step))
    await people.finish(store)
    await store.close()
    return count


async def begin_to_start(state: Path) -> None:
    """What a daemon's start does first."""
    store = Store(state / "equipoise.db")
    await store.open()
    await people.finish(store)
    await store.close()


@pytest.mark.slow
async def test_a_start_finishes_what_kill_9_ended_at_any_step(tmp_path: Path) -> None:
    daemon = daemon_of(tmp_path / "daemon")
    state, copies = daemon.folder / "state", tmp_path / "copies"
    daemon.start()
    play(daemon, 30)
    leave(daemon)
    daemon.stop()
    kept_round(state)
    count = await forget_and_copy(state, copies)
    assert traces(state, WORDS) == set()
    starts = []
    for copy in (copies / str(number) for number in (0, count // 2, count - 1)):
        shutil.rmtree(state)
        shutil.copytree(copy, state)
        daemon.start()
        daemon.stop()
        assert traces(state, WORDS) == set(), copy
        starts.append(numbers(state, STAND_IN))
        # Of the round that waited, the unevenness is known if the balance's system was ready in time.
        starts[-1]["rounds"][-1] = starts[-1]["rounds"][-1][:3]
    assert starts == starts[:1] * 3
    assert len(starts[0]["rounds"]) == 31
    outcomes = []
    for number in range(count):
        await begin_to_start(copies / str(number))
        assert traces(copies / str(number), WORDS) == set(), number
        outcomes.append(numbers(copies / str(number), STAND_IN))
    assert outcomes == outcomes[:1] * len(outcomes)
    assert {kind: outcomes[0][kind] for kind in ("participants", "rounds")} == {
        kind: starts[0][kind][: len(outcomes[0][kind])] for kind in ("participants", "rounds")
    }
