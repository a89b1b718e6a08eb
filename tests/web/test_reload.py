"""The configuration is read again while the daemon runs: what changes at once, what stays, and what is refused."""

from __future__ import annotations

import http.client
import logging
import os
import threading
import time

import pytest

from tests.store.failing import locked
from tests.web.daemon import CONFIG, SECRETS
from tests.web.edited import Edited, digest
from tests.web.test_batches import ROSTER, batch, ended
from tests.wire.samples import HELLO, RED, posted

pytestmark = pytest.mark.slow

ARENA = {**HELLO, "facts": {"game_type": 4}}
LIVE = {"kind": "round_live", "round": "1-1", "players": ROSTER["players"]}


def test_a_server_is_added_and_its_script_is_answered(edited: Edited, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SECRETS, "dustbowl", "dust secret")
    assert edited.daemon.post(posted(server="dustbowl"), who="dustbowl").status == 401

    edited.add_server("dustbowl", "dust secret")
    assert edited.changes(dry=True) == ["[server.dustbowl] added"]
    assert edited.daemon.post(posted(server="dustbowl"), who="dustbowl").status == 401
    assert edited.changes() == ["[server.dustbowl] added"]

    assert edited.daemon.post(posted(server="dustbowl"), who="dustbowl").status == 200
    shown = edited.daemon.call("GET", "/v1/admin/servers").body["servers"]
    assert [each["server"] for each in shown] == ["arena-1", "ns2-1", "dustbowl"]
    audit = edited.daemon.call("GET", "/v1/admin/audit").body["audit"][0]
    assert (audit["who"], audit["action"], audit["after"]) == ("token:owner", "reload", "[server.dustbowl] added")


def test_a_removed_server_is_refused_and_finds_its_session_when_it_is_added_again(
    edited: Edited, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SECRETS, "dustbowl", "dust secret")
    file = edited.add_server("dustbowl", "dust secret")
    edited.reload()
    here = {"server": "dustbowl"}
    edited.daemon.post(batch(1, ARENA, ROSTER, LIVE, **here), "dustbowl")
    edited.daemon.post(batch(2, ended(1), **here), "dustbowl")
    edited.daemon.call("POST", "/v1/admin/servers/dustbowl/off", {})
    before = edited.daemon.call("GET", "/v1/admin/servers/dustbowl").body["server"]

    edited.daemon.post(batch(3, {**LIVE, "round": "1-2"}, **here), "dustbowl")  # a round is running
    text = file.read_text()
    file.unlink()
    assert edited.changes() == ["[server.dustbowl] removed"]
    assert edited.daemon.post(batch(4, ended(2), **here), "dustbowl").status == 401
    assert edited.daemon.call("GET", "/v1/admin/servers/dustbowl").code == "not_found"
    assert "dustbowl" not in edited.daemon.call("GET", "/metrics").raw.decode()

    file.write_text(text)
    assert edited.changes() == ["[server.dustbowl] added"]
    after = edited.daemon.call("GET", "/v1/admin/servers/dustbowl").body["server"]
    assert (after["enabled"], after["streak"], after["map"]) == (False, 1, before["map"])
    again = edited.daemon.post(batch(4, ended(2), **here), "dustbowl").body
    assert (again["rounds"], set(again["want"])) == ({"1-2": "stored"}, {"hello", "roster"})
    assert edited.daemon.call("GET", f"/v1/admin/players/{RED}").body["player"]["rounds"] == 2


def test_rules_change_in_the_middle_of_a_round_and_the_session_stays(edited: Edited) -> None:
    edited.daemon.post(batch(1, ARENA, ROSTER, LIVE))
    edited.edit("[web]", "poll_seconds = 2\n[triggers]\narena = { round_two = true, streak = 1, chance = true }\n[web]")
    edited.add("[server.ns2-1.triggers]\narena = { round_two = true, streak = 9, chance = true }\n")

    assert sorted(edited.changes()) == [
        "poll_seconds: 5 -> 2 for arena-1, ns2-1",
        "triggers.arena.streak: 3 -> 1 for arena-1",
        "triggers.arena.streak: 3 -> 9 for ns2-1",
    ]

    reply = edited.daemon.post(batch(2)).body
    assert (reply["next"], reply["want"], reply["pending"]) == (2.0, [], False)
    assert edited.daemon.call("GET", "/v1/admin/servers/arena-1").body["server"]["phase"] == "running"
    assert edited.daemon.post(batch(3, ended(1))).body["pending"] is True


def test_a_map_that_is_switched_off_in_the_middle_of_a_round_is_left_alone_from_then_on(edited: Edited) -> None:
    edited.edit("[web]", "[triggers]\narena = { streak = 1 }\n[web]")
    edited.reload()
    edited.daemon.post(batch(1, ARENA, ROSTER, LIVE))
    edited.edit("[triggers]", "[maps]\narena_ = 'off'\n[triggers]")
    assert edited.changes() == ["maps.arena_: none -> off for arena-1, ns2-1"]
    reply = edited.daemon.post(batch(2, ended(1))).body
    assert (reply["level"], reply["pending"], reply["orders"]) == ("off", False, [])
    edited.edit("'off'", "'balance'")
    edited.reload()
    assert edited.daemon.post(batch(3)).body["level"] == "balance"


def test_a_round_of_a_removed_server_that_waits_in_the_ring_is_still_applied(edited: Edited) -> None:
    with locked(edited.daemon.state / "equipoise.db"):
        assert edited.daemon.post(batch(1, HELLO, ROSTER, ended(1))).body["rounds"] == {"1-1": "kept"}
        edited.edit('[server.arena-1]\nsecret_file = "arena-1"\n', "")
        assert edited.changes() == ["[server.arena-1] removed"]
        assert edited.daemon.post(batch(2)).status == 401
    edited.daemon.post(batch(1, HELLO, ROSTER, ended(2), server="ns2-1"), who="ns2-1")
    assert edited.daemon.call("GET", f"/v1/admin/players/{RED}").body["player"]["rounds"] == 2


@pytest.mark.questions_fail
def test_what_is_counted_and_was_refused_of_a_server_is_known_after_it_has_got_another_pool(
    edited: Edited, monkeypatch: pytest.MonkeyPatch
) -> None:
    def counted() -> dict[str, float]:
        lines = edited.daemon.call("GET", "/metrics").raw.decode().splitlines()
        found = dict(line.rsplit(" ", 1) for line in lines if "_total{" in line and 'server="arena-1"' in line)
        return {name: float(number) for name, number in found.items() if float(number)}

    def failing(*asked: object) -> None:
        raise MemoryError

    edited.daemon.post(batch(1, ARENA, ROSTER))
    with monkeypatch.context() as patched:
        patched.setattr("equipoise.service.host.outlook_now", failing)
        edited.daemon.call("GET", "/v1/admin/servers/arena-1")
    edited.daemon.post(batch(5, dropped=3))
    edited.daemon.post(batch(5, dropped=3))
    edited.daemon.post(posted({"kind": "vote_ended"}))
    before = counted()
    assert {name.partition("{")[0].removeprefix("equipoise_") for name in before} == {
        "decisions_total",
        "question_failures_total",
        "server_dropped_rounds_total",
        "server_refused_total",
        "server_repeated_total",
        "server_skipped_total",
    }
    edited.add("[pool.side]\n")
    edited.edit("[server.arena-1]", '[server.arena-1]\npool = "side"')
    assert "server.arena-1.pool: main -> side" in edited.changes()
    assert counted() == before
    server = edited.daemon.call("GET", "/v1/admin/servers/arena-1").body["server"]
    assert (server["pool"], [each["kinds"] for each in server["refused_batches"]]) == ("side", [["vote_ended"]])


def test_a_removed_pool_keeps_its_waiting_rounds_until_it_is_back(
    edited: Edited, caplog: pytest.LogCaptureFixture
) -> None:
    edited.add("[pool.side]\n")
    edited.edit('game = "ns2"', 'game = "ns2"\npool = "side"')
    assert edited.changes() == ["server.ns2-1.pool: main -> side", "[pool.side] added"]
    with locked(edited.daemon.state / "equipoise.db"):
        kept = edited.daemon.post(batch(1, HELLO, ROSTER, ended(1), server="ns2-1"), who="ns2-1").body
        assert kept["rounds"] == {"1-1": "kept"}
        edited.edit('\npool = "side"', "")
        edited.edit("[pool.side]\n", "")
        with caplog.at_level(logging.WARNING):
            assert edited.changes() == ["server.ns2-1.pool: side -> main", "[pool.side] removed"]
        assert "rounds that wait stay in the ring until this pool is back: 1" in caplog.messages
    edited.add("[pool.side]\n")
    edited.reload()
    assert edited.daemon.call("GET", f"/v1/admin/players/{RED}?pool=side").body["player"]["rounds"] == 1


def test_tokens_and_secrets_change_at_once_and_are_never_shown(edited: Edited) -> None:
    with_old = edited.daemon.call("GET", "/v1/admin/servers", who="guest")
    edited.add(f"[token.bob]\nrole = 'viewer'\nsecret_sha256 = '{digest('bob')}'\n")
    edited.edit('secret_file = "guest"\nrole = "viewer"', f"secret_sha256 = '{digest('new')}'\nrole = 'admin'")
    edited.edit('secret_file = "arena-1"', f"secret_sha256 = '{digest('arena new')}'")
    changes = edited.changes()
    assert sorted(changes) == [
        "[server.arena-1] secret changed",
        "[token.bob] added",
        "[token.guest] role: viewer -> admin",
        "[token.guest] secret changed",
    ]
    assert with_old.status == 200
    assert edited.daemon.call("GET", "/v1/admin/servers", who="guest").status == 401
    assert edited.daemon.post(batch(1)).status == 401
    assert edited.as_caller("bob", "GET", "/v1/admin/servers").status == 200
    assert edited.as_caller("new", "POST", "/v1/admin/reload", b"{}").status == 200
    edited.edit("[token.bob]", "[token.ann]")
    assert edited.changes() == ["[token.ann] added", "[token.bob] removed"]


def test_what_needs_a_restart_is_named_and_the_rest_is_in_force(edited: Edited) -> None:
    edited.edit("port = 0", "port = 1\nhosts = ['balance.example']\nmax_connections = 32\nallow_remote = true")
    edited.edit("shadow_rounds = 2", "shadow_rounds = 3\nstale_days = 9")
    edited.edit('/state"', '/elsewhere"')
    edited.add("[splits]\nseconds = 2\n[retention]\naudit_days = 7\n[log]\nlevel = 'warning'\n")
    answer = edited.reload().body
    assert sorted(answer["changes"]) == [
        "log.level: info -> warning",
        "retention.audit_days: 0 -> 7",
        "splits.seconds: 1 -> 2",
        'web.hosts: [] -> ["balance.example"]',
        "web.max_connections: 256 -> 32",
    ]
    state = edited.daemon.state
    restart = [
        "web.port: 0 -> 1",
        "web.allow_remote: false -> true",
        f"store.directory: {state} -> {state.with_name('elsewhere')}",
        "pool.main.shadow_rounds: 2 -> 3",
        "pool.main.stale_days: 30 -> 9",
    ]
    assert sorted(answer["restart"]) == sorted(restart)
    assert edited.daemon.call("GET", "/v1/admin/servers").body["configuration"]["restart"] == answer["restart"]
    headers = {"host": "balance.example", "authorization": f"Bearer {SECRETS['owner']}"}
    assert edited.daemon.request("GET", "/v1/admin/servers", **headers).status == 200
    assert edited.reload().body == {"ok": True, "changes": [], "restart": answer["restart"], "rcon": []}


def test_a_wrong_file_leaves_everything_as_it_was_and_status_says_why(edited: Edited) -> None:
    before = edited.config.read_text()
    assert edited.configuration() == {"refused": None, "refused_since": None, "restart": []}
    edited.add(f"[token.bob]\nrole = 'viewer'\nsecret_sha256 = '{digest('bob')}'\n[arena]\nround_on = 3\n")
    said = f"{edited.config}: $.arena.round_on: no such key; is it round_one?"
    assert edited.reload(dry=True).body["error"]["message"] == said
    assert edited.configuration()["refused"] is None
    assert edited.refusal() == said
    assert edited.as_caller("bob", "GET", "/v1/admin/servers").status == 401
    assert edited.daemon.post(batch(1)).status == 200
    first = edited.configuration()
    assert first["refused"] == said
    assert time.time() - 60 < first["refused_since"] <= time.time()
    edited.edit("round_on", "round_in")
    assert "round_in" in edited.refusal()
    assert edited.configuration()["refused_since"] == first["refused_since"]
    edited.config.write_text(before)
    assert edited.changes() == []
    assert edited.configuration()["refused"] is None


@pytest.mark.parametrize("left", ["", "# Equipoise\n", CONFIG.split("[token")[0]])
def test_a_file_that_was_cut_off_behind_a_line_is_refused(edited: Edited, left: str) -> None:
    edited.config.write_text(left.format(state=edited.daemon.state))
    assert edited.refusal().endswith("is the file being written?" if left else "is it being written?")
    assert edited.daemon.post(batch(1)).status == 200


def test_a_file_whose_name_is_no_text_is_refused_in_words_that_can_be_sent(edited: Edited) -> None:
    file = edited.add_server("dustbowl", "dust")
    file.rename(os.fsdecode(os.fsencode(file.parent) + b"/\xff.toml"))
    assert "/?.toml: " in edited.refusal()
    assert "/?.toml: " in edited.configuration()["refused"]


def test_a_new_pool_whose_stored_ratings_another_system_made_is_refused(edited: Edited) -> None:
    edited.add("[pool.side]\n")
    edited.reload()
    edited.edit("[pool.side]\n", "")
    edited.reload()
    edited.add(
        f"[pool.new]\n[pool.side]\nsystem = 'elo'\n[token.bob]\nrole = 'viewer'\nsecret_sha256 = '{'ab' * 32}'\n"
    )
    for dry in (True, False):
        message = edited.reload(dry=dry).body["error"]["message"]
        assert message.startswith(
            f"{edited.config}: $.pool.side: the stored ratings were made with synelo, not with elo"
        )
    edited.edit("system = 'elo'\n", "")
    assert edited.changes() == ["[pool.new] added", "[pool.side] added", "[token.bob] added"]


def test_what_cannot_be_opened_leaves_everything_as_it_was(edited: Edited) -> None:
    """Of two new pools and a server the second pool fails: the first one is closed again, and can be opened later."""
    (edited.daemon.state / "side.ring").mkdir()
    edited.add("[pool.first]\n[pool.side]\n")
    edited.add_server("dustbowl", "dust")
    before = edited.daemon.call("GET", "/v1/admin/servers").body["servers"]
    for _ in range(2):
        refused = edited.reload()
        assert (refused.status, refused.code) == (503, "unavailable")
        assert "side.ring" in refused.body["error"]["message"]
    assert "side.ring" in edited.configuration()["refused"]
    after = edited.daemon.call("GET", "/v1/admin/servers").body["servers"]
    assert [each["server"] for each in after] == [each["server"] for each in before]
    assert edited.daemon.call("GET", "/v1/admin/pools/first/top").status == 404
    (edited.daemon.state / "side.ring").rmdir()
    assert edited.changes() == ["[server.dustbowl] added", "[pool.first] added", "[pool.side] added"]
    assert edited.daemon.call("GET", "/v1/admin/pools/first/top").status == 200


def test_a_connection_whose_secret_is_no_longer_known_proves_nothing(edited: Edited) -> None:
    def proven() -> float:
        lines = edited.daemon.call("GET", "/metrics").raw.decode().splitlines()
        (line,) = (line for line in lines if line.startswith('equipoise_connections{proven="yes"}'))
        return float(line.split()[1])

    kept = http.client.HTTPConnection(edited.daemon.host, edited.daemon.port, timeout=20)
    headers = {"Authorization": f"Bearer {SECRETS['guest']}"}
    kept.request("GET", "/v1/admin/servers", headers=headers)
    kept.getresponse().read()
    before = proven()
    edited.edit('[token.guest]\nsecret_file = "guest"\nrole = "viewer"\n', "")
    edited.reload()
    assert proven() == before - 1
    kept.request("GET", "/v1/admin/servers", headers=headers)
    refused = kept.getresponse()
    assert (refused.status, refused.getheader("Connection")) == (401, "close")
    kept.close()


def test_a_file_that_is_being_written_is_not_taken_in_half(edited: Edited) -> None:
    """The writer stops behind each line: every beginning of the file is a valid one without the tokens."""
    lines = edited.config.read_text().splitlines(keepends=True)
    edited.reload()

    def write() -> None:
        with edited.config.open("w") as file:
            for line in lines:
                file.write(line)
                file.flush()
                time.sleep(0.05)

    writer = threading.Thread(target=write)
    writer.start()
    time.sleep(0.1)
    answer = edited.reload()
    writer.join()
    assert answer.body.get("changes", []) == []
    assert edited.changes() == []
