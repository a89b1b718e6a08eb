"""People who are shown nowhere, what is stored about one, what a forgetting does not reach, and seasons."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.cli.house import run
from tests.web.daemon import Answer, Daemon
from tests.web.test_admin import SIX
from tests.wire.samples import HELLO, KOTH, finished, posted, seats

ME, OTHER = SIX[0], SIX[1]
NAMES = {player: f"Nick{player[-2:]}" for player in SIX}
HERE = seats(SIX)


def play(daemon: Daemon, count: int = 9) -> None:
    """Rounds of three against three by chance, of six people with names, a while ago."""
    random = Random(1)
    joins = [{"kind": "player_joined", "id": player, "name": name} for player, name in NAMES.items()]
    daemon.post(posted(HELLO, *joins, {"kind": "roster", "players": HERE}, seq=1))
    for number in range(1, count + 1):
        game = {"winner": random.choice(["red", "blu"]), "started_at": time.time() - 9_000 + 100 * number}
        daemon.post(posted(finished(random.sample(SIX, 6), **game, round=f"1-{number}"), seq=number + 1))


def said(daemon: Daemon, seq: int, *words: str, by: str = OTHER) -> list[dict[str, Any]]:
    """The lines that a player is told in answer to a command of the chat."""
    orders = daemon.post(posted({"kind": "command", "words": list(words), "by": by, "admin": False}, seq=seq)).body[
        "orders"
    ]
    return [line for order in orders if order["kind"] == "tell" for line in order["lines"]]


def ask(daemon: Daemon, path: str, who: str = "owner", body: Any = None) -> Answer:
    return daemon.call("GET" if body is None else "POST", f"/v1/admin/{path}", body, who)


READS = (
    "pools/main/top",
    "pools/main/players?text=7656",
    f"players/{OTHER}/mates",
    "rounds/arena-1/1-1",
    "servers/arena-1",
    "servers/arena-1/roster",
    "decisions",
    "audit",
    "pools/main/seasons/First",
)


def test_who_is_hidden_is_rated_and_shown_to_admins_alone(daemon: Daemon) -> None:
    play(daemon)
    move = {"kind": "command", "words": ["move", ME], "by": OTHER, "admin": True}
    daemon.post(posted({**KOTH, "session": "1-2"}, {"kind": "roster", "players": HERE}, move, seq=19))
    daemon.call("PUT", f"/v1/admin/players/{ME}", {"rating": 1001})
    ask(daemon, "pools/main/seasons", body={"name": "First"})
    before = {path: ask(daemon, path, "guest").raw.decode() for path in READS}
    assert {path for path, text in before.items() if ME in text} == set(READS)
    places = [row["id"] for row in ask(daemon, "pools/main/top").body["players"]]

    hidden = ask(daemon, f"players/{ME}/hide", body={"hidden": True}).body["player"]
    assert (hidden["hidden"], hidden["rounds"], hidden["name"]) == (True, 9, NAMES[ME])
    for path in READS:
        text = ask(daemon, path, "guest").raw.decode()
        assert ME not in text, path
        assert NAMES[ME] not in text, path
    for path in ("", "/rounds", "/curve", "/mates"):
        for name in (ME, NAMES[ME]):
            assert ask(daemon, f"players/{name}{path}", "guest").code == "not_found"
            assert ask(daemon, f"players/{name}{path}").code == "ok"
    # The leaderboard has them for nobody; admins find them.
    assert [row["id"] for row in ask(daemon, "pools/main/top").body["players"]] == [id for id in places if id != ME]
    found = {row["id"]: row["hidden"] for row in ask(daemon, "pools/main/players?text=7656").body["players"]}
    assert found == {player: player == ME for player in SIX}
    sides = {"a": [NAMES[ME]], "b": [OTHER]}
    assert ask(daemon, "pools/main/match", "guest", sides).code == "not_found"
    by_id = ask(daemon, "pools/main/match", "guest", sides | {"a": [ME]}).body
    assert by_id["a"] == [{"id": ME, "name": None}]

    assert said(daemon, 20, "rating", ME)[0]["phrase"] == "Equipoise_UnknownPlayer"
    assert ask(daemon, f"players/{ME}/hide", body={"hidden": False}).body["player"]["hidden"] is False
    assert [row["id"] for row in ask(daemon, "pools/main/top").body["players"]] == places
    lines = [(line["action"], line["target"]) for line in ask(daemon, "audit").body["audit"]]
    assert lines[:3] == [("unhide", ME), ("hide", ME), ("season", "pool main")]


def test_a_player_hides_by_a_word_in_chat_and_is_still_told_their_own_rating(daemon: Daemon) -> None:
    play(daemon)
    assert said(daemon, 20, "hide", by=ME) == [{"phrase": "Equipoise_Hidden", "args": []}]
    assert said(daemon, 21, "hide", by=ME) == [{"phrase": "Equipoise_Hidden", "args": []}]
    assert not any(NAMES[ME] in line["args"] for line in said(daemon, 22, "top"))
    assert said(daemon, 23, "rank", by=ME)[0]["phrase"] == "Equipoise_RankNone"
    assert said(daemon, 24, "rating", by=ME)[0]["phrase"] == "Equipoise_Rating"
    assert said(daemon, 25, "hide", "off", by=ME) == [{"phrase": "Equipoise_Shown", "args": []}]
    assert said(daemon, 26, "rank", by=ME)[0]["phrase"] == "Equipoise_Rank"
    assert [line["action"] for line in ask(daemon, "audit").body["audit"]] == ["unhide", "hide"]


def test_an_export_has_every_row_about_a_person_and_nobody_else(daemon: Daemon) -> None:
    play(daemon)
    ask(daemon, "pools/main/seasons", body={"name": "First"})
    said(daemon, 20, "friend", OTHER, by=ME)
    said(daemon, 21, "friend", ME, by=OTHER)
    daemon.call("PUT", f"/v1/admin/players/{ME}", {"rating": 1234})
    answer = ask(daemon, f"players/{ME}/export")
    tables = answer.body["tables"]
    assert {table: len(rows) for table, rows in tables.items()} == {
        "players": 1,
        "names": 1,
        "rounds": 9,
        "participants": 9,
        "edited": 1,
        "seasons": 1,
        "audit": 1,
        "sessions": 1,
    }
    assert (tables["names"][0]["name"], tables["players"][0]["rating"]) == (NAMES[ME], 1234)
    assert tables["sessions"][0]["memory"]["memory"]["friendships"] == [[ME, "(another player)"]]
    assert ME in [present["id"] for present in tables["rounds"][0]["lineup"]], "a list of values, and no text"
    for other in SIX[1:]:
        assert other not in answer.raw.decode()
        assert NAMES[other] not in answer.raw.decode()
    assert ask(daemon, f"players/{ME}/export", "guest").code == "role"


def test_a_season_keeps_the_leaderboard_of_its_beginning(daemon: Daemon) -> None:
    assert ask(daemon, "pools/main/seasons", body={"name": "First"}).code == "refused"  # nobody is on it
    play(daemon)
    board = ask(daemon, "pools/main/top").body["players"]
    begun = ask(daemon, "pools/main/seasons", body={"name": "First"}).body["seasons"]
    assert [(season["name"], season["players"]) for season in begun] == [("First", len(board))]
    assert begun[0]["at"] == pytest.approx(time.time(), abs=30)
    daemon.call("PUT", f"/v1/admin/players/{ME}", {"rating": 9999})
    kept = ask(daemon, "pools/main/seasons/First", "guest").body["players"]
    assert kept == [
        {"place": place, "player": row["id"], "name": row["name"], "rating": row["rating"], "rounds": row["rounds"]}
        | row["record"]
        for place, row in enumerate(board, 1)
    ]
    again = ask(daemon, "pools/main/seasons", body={"name": "First"})
    assert (again.code, again.body["error"]["message"]) == (
        "refused",
        "pool main has a season 'First' already: choose another name",
    )
    assert ask(daemon, "pools/main/seasons/Second").code == "not_found"
    for wrong in (" ", "a/b", ""):
        assert ask(daemon, "pools/main/seasons", body={"name": wrong}).code == "schema"
    assert ask(daemon, "pools/main/top").body["players"][0]["rating"] == 9999


@pytest.mark.slow
def test_what_a_forgetting_does_not_reach_is_named(daemon: Daemon, tmp_path: Path) -> None:
    play(daemon)
    daemon.post(posted({"kind": "roster", "players": []}, seq=30))
    backup = daemon.state / "backups" / "by-hand.db"
    backup.parent.mkdir()
    assert run("backup", backup, "--config", tmp_path / "config.toml").returncode == 0
    damaged = daemon.state / "main.ring.damaged-1"
    damaged.write_bytes(b"..." + ME.encode())
    (daemon.state / "empty").touch()
    (daemon.state / "of-others.db").write_bytes(b"SQLite format 3, not really")
    ask(daemon, "pools/main/export")
    trial = ask(daemon, f"players/{ME}/forget", body={"dry_run": True}).body
    assert (trial["stand_in"], trial["name"], trial["dry_run"]) == (None, NAMES[ME], True)
    assert [copy["file"] for copy in trial["copies"]] == [str(backup), str(damaged)]
    assert [(made["who"], made["target"]) for made in trial["exports"]] == [("token:owner", "export of pool main")]
    assert ask(daemon, f"players/{ME}").code == "ok"
    done = ask(daemon, f"players/{NAMES[ME]}/forget", body={}).body
    assert done | {"stand_in": None, "dry_run": True, "seen": trial["seen"]} == trial
    assert ask(daemon, f"players/{ME}").code == "not_found"
    (stand_in,) = ask(daemon, f"pools/main/players?text={done['stand_in'][:-1]}").body["players"]
    assert (stand_in["name"], stand_in["hidden"], stand_in["rounds"]) == ("(forgotten)", True, 9)


def test_a_person_who_is_not_as_they_were_seen_is_neither_hidden_shown_nor_forgotten(daemon: Daemon) -> None:
    play(daemon)
    daemon.post(posted({"kind": "roster", "players": []}, seq=30))

    def seen(path: str) -> dict[str, Any]:
        body: dict[str, Any] = ask(daemon, f"players/{ME}/{path}", body={"dry_run": True}).body
        return {"seen": body["seen"]}

    def found() -> Any:
        return ask(daemon, f"players/{ME}").body

    before = found()
    shown = {path: seen(path) for path in ("hide", "forget")}
    assert (found(), ask(daemon, "audit").body["audit"]) == (before, []), "a dry run changes nothing"
    # The player hides by themselves: no old page of an admin undoes that.
    said(daemon, 31, "hide", by=ME)
    for path, more in (("hide", {"hidden": False}), ("hide", {}), ("forget", {})):
        assert ask(daemon, f"players/{ME}/{path}", body=shown[path] | more).code == "changed", path
    assert found()["player"]["hidden"] is True
    assert ask(daemon, f"players/{ME}/hide", body=seen("hide") | {"hidden": False}).body["player"]["hidden"] is False
    for number, change in enumerate(
        (
            lambda: daemon.call("PUT", f"/v1/admin/players/{ME}", {"rating": 1001}),
            lambda: daemon.post(posted({"kind": "player_joined", "id": ME, "name": "Another"}, seq=40)),
            lambda: ask(daemon, "pools/main/export"),
            lambda: (daemon.state / "copy").write_text(ME),
        )
    ):
        shown = {path: seen(path) for path in ("hide", "forget")}
        change()
        assert ask(daemon, f"players/{ME}/forget", body=shown["forget"]).code == "changed", number
        assert ask(daemon, f"players/{ME}/hide", body=shown["hide"]).code == ("changed" if number == 1 else "ok")
        ask(daemon, f"players/{ME}/hide", body={"hidden": False})
    assert "forget" not in [line["action"] for line in ask(daemon, "audit").body["audit"]]
    assert ask(daemon, f"players/{ME}/forget", body=seen("forget")).body["stand_in"]
    assert ask(daemon, f"players/{ME}").code == "not_found"


@pytest.mark.slow
def test_the_commands_say_what_they_did(daemon: Daemon) -> None:
    play(daemon)
    daemon.post(posted({"kind": "roster", "players": []}, seq=30))
    there = "--url", f"http://{daemon.host}:{daemon.port}", "--token", "owner token"

    def said_by(*words: str) -> str:
        done = run(*words, *there)
        assert done.returncode == 0, done.stderr
        return done.stdout

    name = NAMES[ME]
    assert said_by("player", "hide", ME) == f"{ME} {name} is shown to admins alone.\n"
    assert re.search(r"^SHOWN +hidden$", said_by("player", "show", ME), re.MULTILINE)
    assert said_by("player", "unhide", name) == f"{ME} {name} is shown again.\n"
    assert "6 players of the leaderboard are kept" in said_by("pool", "season", "start", "Winter 2026")
    assert said_by("pool", "season", "list", "--csv").splitlines()[1].startswith("Winter 2026,")
    assert len(said_by("pool", "season", "show", "Winter 2026", "--csv").splitlines()) == 1 + len(SIX)
    assert json.loads(said_by("player", "export", name))["tables"]["names"][0]["name"] == name
    file = daemon.state / "list.csv"
    file.write_text(ME)
    trial = said_by("player", "forget", ME, "--dry-run")
    assert trial.startswith(f"{ME} {name} would be forgotten, for good.\n")
    assert str(file) in trial
    assert run("player", "forget", ME, *there).returncode == 2
    done = said_by("player", "forget", ME, "--yes")
    assert re.match(r"Forgotten\. 7656119\d{10} stands in their place\.\n", done)
    assert str(file) in done
