"""Commands that ask a running daemon."""

from __future__ import annotations

import json
import re
import socket
import sqlite3
from contextlib import closing
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.cli.house import House, ask, one_line, post, run, serving
from tests.wire.samples import BLU, HELLO, RED, ROUND, posted, seats

pytestmark = pytest.mark.slow


def test_status_is_a_table_or_json(house: House, daemon: str) -> None:
    table = ask(house, daemon, "status").stdout.splitlines()
    assert table[0].split() == ["SERVER", "STATE", "MAP", "ROUND", "PLAYERS", "FAVOURITE", "STREAK", "NEXT"]
    assert re.split("  +", table[1]) == [
        "arena-1", "on", "koth_nucleus (koth)", "1 over", "3 RED, 3 BLU", "RED 51 %", "RED 1", "scramble"
    ]  # fmt: skip
    assert table[2] == "arena-1: a scramble is due at the next round start: the losing side captured nothing."
    assert table[4].startswith("PLAYERS: on each side, and those who wait. FAVOURITE: ")
    (server,) = json.loads(ask(house, daemon, "status", "--json").stdout)["servers"]
    assert server["players_a"] == 3


def test_status_says_that_the_store_is_in_trouble_and_nothing_when_it_is_not(house: House, daemon: str) -> None:
    assert "store" not in ask(house, daemon, "status").stdout
    with closing(sqlite3.connect(house.state / "equipoise.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        post(daemon, house.secret, posted({**ROUND, "round": "1-5"}, seq=2))
        _, _, _, blank, line, *_ = ask(house, daemon, "status").stdout.splitlines()
        found = json.loads(ask(house, daemon, "status", "--json").stdout)
    assert blank == ""
    assert re.fullmatch(
        r"The store is locked since 20..-..-.. ..:..:.., 1 round waits: end the other program .*\.", line
    )
    assert (found["store"]["state"], found["waiting_rounds"]) == ("locked", 1)


def test_status_says_why_a_map_is_left_alone(house: House) -> None:
    with serving(house) as (_, address):
        reply = post(address, house.secret, posted({**HELLO, "map": "vsh_dust"}, seq=1))
        assert (reply["level"], reply["level_reason"], reply["want"]) == ("off", "vsh_", [])
        assert ask(house, address, "status").stdout.splitlines()[1].startswith("arena-1  inactive: vsh_  ")
        refused = ask(house, address, "server", "scramble", "arena-1")
        assert (refused.returncode, refused.stderr) == (1, "equipoise: Equipoise leaves this map alone (vsh_).\n")


def test_status_says_which_of_two_scripts_with_one_name_is_served(house: House, daemon: str) -> None:
    post(daemon, house.secret, posted(HELLO, boot=7, seq=1))
    with pytest.raises(HTTPError, match="409"):
        post(daemon, house.secret, posted(seq=2))
    last = ask(house, daemon, "status").stdout.splitlines()[3]
    assert last.startswith("2 scripts call as arena-1: boot 7 is served, boot 1763622000123 is stale since 2")
    assert last.endswith("; is the plugin loaded on two servers?")
    (server,) = json.loads(ask(house, daemon, "status", "--json").stdout)["servers"]
    assert [script["boot"] for script in server["stale_scripts"]] == [1763622000123]


def test_status_shows_a_vote_that_players_ask_for(house: House, daemon: str) -> None:
    # There is no vote while a scramble is due, as after this round, or while the teams are even.
    ask(house, daemon, "player", "set", RED, "9000", "--yes")
    assert ask(house, daemon, "server", "cancel", "arena-1").returncode == 0
    for seq, shown in ((2, "asked for a vote: 1"), (3, "vote running")):
        wish = {"kind": "command", "words": ["vote"], "by": str(int(RED) + seq)}
        post(daemon, house.secret, posted(wish, seq=seq))
        assert shown in ask(house, daemon, "status").stdout.splitlines()[1]


def test_players_are_shown_reset_and_ranked(house: House, daemon: str) -> None:
    assert RED in ask(house, daemon, "player", "show", RED).stdout
    assert json.loads(ask(house, daemon, "player", "reset", RED, "--yes", "--json").stdout)["player"]["rounds"] == 0
    assert ask(house, daemon, "player", "top").stdout == (
        "Nobody has 50 rounds yet; 2 are in their first 50. A rating is shown after them.\n"
    )


def test_intervals_records_and_evenness_are_shown(house: House) -> None:
    house.edit("synelo", "glicko")
    house.edit("k_max = 12", "")
    with serving(house) as (_, address):
        post(address, house.secret, posted({**HELLO, "map": "koth_nucleus"}, {**ROUND, "map": "koth_nucleus"}, seq=1))
        shown = ask(house, address, "player", "show", RED).stdout
        rows = ask(house, address, "player", "find", RED, "--csv").stdout.splitlines()
        even = ask(house, address, "pool", "evenness", RED, "vs", BLU, "--mode", "koth")
        before = ask(house, address, "match", "quality", RED, "vs", BLU, "--mode", "koth")
        plain = json.loads(ask(house, address, "pool", "evenness", RED, "vs", BLU, "--json").stdout)
        wrong = [
            ask(house, address, "pool", "evenness", *words)
            for words in ((RED, BLU), (RED, "vs"), (RED, "vs", BLU, "--mode", "kotj"))
        ]
    assert re.search(
        r"^SKILL, 80 %     \d+ to \d+\nROUNDS          1\nWON-DRAWN-LOST  1-0-0\nLEFT            0$", shown, re.M
    )
    assert re.match(rf"PLAYER          {RED}\n", shown)
    assert rows[0].split(",")[3:10] == ["deviation", "low", "high", "rounds", "wins", "draws", "losses"]
    assert rows[1].split(",")[6:11] == ["1", "1", "0", "0", "0"]
    a, b, chance, evenness = even.stdout.splitlines()
    assert (a, b) == (f"Side A   {RED}", f"Side B   {BLU}")
    assert re.fullmatch(r"Chance   \d\d % \(\d+ to \d\d\) for side A to win", chance)
    assert evenness == f"Evenness {plain['evenness']:.2f}"
    assert before.stdout == even.stdout
    assert before.stderr == "`equipoise match quality` is now `equipoise pool evenness`.\n"
    assert [each.returncode for each in wrong] == [2, 2, 2]
    assert "the word vs" in wrong[0].stderr
    assert "'kotj' is not one of 'arena'" in wrong[2].stderr


def test_an_order_that_waits_or_that_the_game_still_has_to_carry_out_says_what_comes(house: House, daemon: str) -> None:
    line = ask(house, daemon, "server", "scramble", "arena-1", "--when", "next").stdout
    assert line == "New teams at the next round (the losing side captured nothing).\n"
    players = seats([str(int(RED) + n) for n in range(6)])
    post(daemon, house.secret, posted({"kind": "round_started", "players": players}, seq=2))
    ordered = ask(house, daemon, "server", "scramble", "arena-1")
    assert (ordered.returncode, ordered.stderr) == (0, "")
    assert ordered.stdout == "Ordered. `equipoise why` shows what became of it.\n"


def test_a_scramble_can_be_tried_dry_and_then_ordered(house: House, daemon: str) -> None:
    for number in (0, 2, 4):  # who stand on RED
        ask(house, daemon, "player", "set", str(int(RED) + number), "2000", "--yes", "--new")
    dry = ask(house, daemon, "server", "scramble", "arena-1", "--dry-run")
    assert dry.returncode == 0, dry.stderr
    chance, spread, head, *moves = dry.stdout.splitlines()
    assert re.fullmatch(r"Chance to win: RED \d\d % → \d\d %", chance)
    assert re.fullmatch(r"Spread of skill within the sides: \d+ / \d+ → \d+ / \d+ points", spread)
    assert head.split() == ["PLAYER", "NAME", "TO"]
    assert {move.split()[-1] for move in moves} == {"RED", "BLU"}
    assert ask(house, daemon, "server", "scramble", "arena-1", "--when", "next").returncode == 0
    assert ask(house, daemon, "server", "cancel", "arena-1").returncode == 0
    again = ask(house, daemon, "server", "cancel", "arena-1")
    assert (again.returncode, again.stderr) == (1, "equipoise: No scramble is due.\n")


def test_without_a_token_one_line_says_where_it_is_looked_for(house: House) -> None:
    (house.folder / "owner.token").unlink()
    assert "EQUIPOISE_TOKEN" in one_line(run("status", "--config", house.config))


def test_a_wrong_token_is_refused(house: House, daemon: str) -> None:
    wrong = run("status", "--url", f"http://{daemon}", "--token", "nobody's")
    assert (wrong.returncode, wrong.stderr) == (1, "equipoise: this secret is not known here\n")


def test_page_says_how_to_open_it_here_and_from_another_machine(house: House, daemon: str) -> None:
    here = {"SSH_CONNECTION": "93.184.216.34 50000 93.184.216.35 2222", "SUDO_USER": "ada"}
    shown = run("page", "--config", house.config, **here)
    link = re.search(rf"^  (http://{daemon}/login\?link=[\w-]{{32}})$", shown.stdout, re.MULTILINE)
    assert link is not None, shown
    with urlopen(Request(link[1], headers={"Accept": "text/html"}), timeout=60) as page:
        assert b"owner (admin)" in page.read()
    port = daemon.rpartition(":")[2]
    tunnel = f"ssh -N -L {port}:127.0.0.1:{port} -p 2222 ada@93.184.216.35"
    assert f"\n  {tunnel}\n" in shown.stdout
    assert "proxy" not in shown.stdout
    house.edit("[web]", '[web]\nproxies = ["127.0.0.1"]\nhosts = ["eq.example"]')
    answer = json.loads(run("page", "--config", house.config, "--json", **here).stdout)
    assert (answer["address"], answer["ssh"]) == (f"http://{daemon}{answer['path']}", tunnel)
    private = run("page", "--config", house.config, **{**here, "SSH_CONNECTION": "10.0.0.1 50000 10.0.0.2 22"}).stdout
    assert f"\n  ssh -N -L {port}:127.0.0.1:{port} ada@{socket.gethostname()}\n" in private
    assert "\n  https://eq.example/login?link=" in private


def test_of_a_daemon_somewhere_else_page_says_the_address_alone(house: House, daemon: str) -> None:
    shown = ask(house, daemon, "page")
    assert shown.stdout.startswith(f"Open in a browser:\n\n  http://{daemon}/login?link=")
    assert "ssh" not in shown.stdout


def test_where_the_page_is_off_page_says_how_to_switch_it_on(house: House) -> None:
    house.edit("[web]", "[web]\npage = false")
    with serving(house) as (_, address):
        refused = ask(house, address, "page")
        said = "equipoise: the page is off: write page = true in [web], and start the daemon again\n"
        assert (refused.returncode, refused.stderr) == (1, said)
