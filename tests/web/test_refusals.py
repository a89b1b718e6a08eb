"""What operators see of refused requests, and what callers who try secrets get."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import time
import tracemalloc
from pathlib import Path

import pytest

import equipoise
from equipoise.core.model import ServerId
from equipoise.errors import ScriptError
from equipoise.service import log_lines
from equipoise.service.log_lines import JournalFormatter
from equipoise.service.metrics import Metrics
from equipoise.service.status import MOST_KINDS, REMEMBERED_SECONDS, RefusedBatches
from equipoise.web import Refusals, refusals
from tests.web.daemon import CONFIG, SECRETS, Daemon, running
from tests.web.test_batches import ended
from tests.web.test_connections import EVENTS, Client
from tests.wire.samples import HELLO, RED, body, posted

pytestmark = pytest.mark.slow

HOSTILE = ["x\n<0>kernel: panic", "\x1b[2J\x1b[31m", "n" * 10_000, "\r\x00\x7f\x9b\u202e", 'a" caller=token:owner']


@pytest.fixture(autouse=True)
def _log_and_no_delay(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    caplog.set_level(logging.INFO, logger="equipoise.web.refusals")
    monkeypatch.setattr(refusals, "DELAY_SECONDS", 0.0)


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What journald would get."""
    records = (each for each in caplog.records if each.name == "equipoise.web.refusals")
    return [JournalFormatter().format(record) for record in records]


def guess(daemon: Daemon, secret: str = "wrong", source: str = "127.0.0.1", **said: str) -> bytes:
    """The answer to a batch with this secret."""
    sent = json.dumps(json.loads(body(**said)), ensure_ascii=False).encode()
    client = Client(daemon.host, daemon.port, source)
    with client.socket:
        client.send(EVENTS, "User-Agent: sm-ripext/1.3", secret=secret, body=sent)
        return client.answer()


def test_a_line_names_what_an_operator_has_to_look_for(daemon: Daemon, caplog: pytest.LogCaptureFixture) -> None:
    guess(daemon, server="dustbowl")
    guess(daemon, SECRETS["ns2-1"], server="arena-1")
    assert lines(caplog) == [
        "<6>equipoise.web.refusals: refused code=credentials status=401 server=dustbowl agent=sm-ripext/1.3 "
        "path=/v1/events peer=127.0.0.1",
        "<6>equipoise.web.refusals: refused code=server status=403 server=arena-1 caller=script:ns2-1 "
        "agent=sm-ripext/1.3 path=/v1/events peer=127.0.0.1",
    ]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_claimed_name_cannot_forge_a_line(daemon: Daemon, caplog: pytest.LogCaptureFixture, name: str) -> None:
    guess(daemon, server=name)
    daemon.request("GET", "/nowhere/%0A%1b[31m" + "x" * 5000, user_agent="\t" + "y" * 5000)
    assert len(lines(caplog)) == 2
    for line in lines(caplog):
        assert line.isascii()
        assert line.isprintable()
        assert len(line) < 600
        assert " caller=" not in line


def test_repeats_are_one_number_a_minute(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with running(tmp_path) as daemon:
        for _ in range(20):
            guess(daemon, server="dustbowl")
        assert len(lines(caplog)) == 1
        assert daemon.refused()["credentials"] == 20
    assert len(lines(caplog)) == 2
    assert "refused, again code=credentials status=401 server=dustbowl" in lines(caplog)[1]
    assert lines(caplog)[1].endswith(" count=19")


def test_a_minute_ends_by_itself(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_lines, "MINUTE", 0.0)

    async def twice() -> None:
        counted = log_lines.Repeats(refusals.log, logging.INFO)
        for _ in range(2):
            counted.log("key", "one")
            counted.log("key", "one")
            await asyncio.sleep(0.01)

    asyncio.run(twice())
    assert [line.split(": ")[1] for line in lines(caplog)] == ["one", "one, again count=1"] * 2


def test_different_lines_are_bounded_too(caplog: pytest.LogCaptureFixture) -> None:
    async def many() -> None:
        counted = log_lines.Repeats(refusals.log, logging.INFO)
        for number in range(1000):
            counted.log(number, "one")
        counted.close()

    asyncio.run(many())
    assert len(lines(caplog)) == 101
    assert lines(caplog)[-1].endswith("more lines were left out count=900")


def test_an_address_that_tries_secrets_is_throttled_and_the_right_secret_is_not(daemon: Daemon) -> None:
    for _ in range(refusals.TRIES):
        assert b" 401 " in guess(daemon)
    throttled = guess(daemon)
    head, _, sent = throttled.partition(b"\r\n\r\n")
    assert b" 429 " in head
    assert b"Retry-After: 60" in head
    assert json.loads(sent)["error"]["code"] == "throttled"
    assert b" 200 " in guess(daemon, SECRETS["arena-1"])
    assert b" 401 " in guess(daemon, source="127.0.0.2")
    assert daemon.refused()["throttled"] == 1


def test_addresses_that_are_told_apart_are_bounded() -> None:
    async def many() -> list[int]:
        refused = Refusals(Metrics())
        error = ScriptError("credentials", "", status=401)
        peers = [f"2001:db8::{number:x}" for number in range(refusals.ADDRESSES + refusals.TRIES + 1)]
        return [(await refused.throttled(peer, error)).status for peer in peers]

    assert asyncio.run(many()) == [401] * (refusals.ADDRESSES + refusals.TRIES) + [429]


def test_wrong_secrets_that_are_answered_late_hold_no_bodies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    form = b"secret=wrong&data=" + b"x" * 250_000
    with running(tmp_path) as daemon:
        for _ in range(refusals.TRIES):
            guess(daemon)
        monkeypatch.setattr(refusals, "DELAY_SECONDS", 20.0)
        tracemalloc.start()
        try:
            for _ in range(40):
                with socket.create_connection((daemon.host, daemon.port), timeout=60) as connection:
                    head = f"Host: {daemon.host}:{daemon.port}\r\nContent-Type: application/x-www-form-urlencoded\r\n"
                    head = f"POST /v1/events HTTP/1.1\r\n{head}Content-Length: {len(form)}\r\n\r\n"
                    connection.sendall(head.encode() + form)
            while b'equipoise_connections{proven="no"} 0.0' not in daemon.call("GET", "/metrics").raw:
                time.sleep(0.01)  # until all were read to their ends
            held, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert held < 10 * len(form)


# What the daemon refuses of a configured server's own script.


OLD = {"winner": "draw"}
"""What another version of a script calls a round without a winner."""


def refused_batches(daemon: Daemon, server: str = "arena-1") -> list[dict[str, object]]:
    servers = daemon.call("GET", "/v1/admin/servers").body["servers"]
    (found,) = (each["refused_batches"] for each in servers if each["server"] == server)
    return list(found)


def shown(daemon: Daemon) -> str:
    """What `equipoise status` and `equipoise doctor` say of the scripts."""
    remarks = daemon.call("GET", "/v1/admin/servers").body["remarks"]
    findings = daemon.call("GET", "/v1/admin/doctor").body["findings"]
    found = [f"{each['about']}: {each['what']}; {each['advice']}." for each in findings if "refused" in each["what"]]
    assert [line for line in remarks if "refused" in line] == found
    return "\n".join(found)


def counted(daemon: Daemon) -> list[str]:
    text = daemon.call("GET", "/metrics").raw.decode()
    return [line for line in text.splitlines() if line.startswith("equipoise_server_refused_total")]


def noted(caplog: pytest.LogCaptureFixture) -> list[str]:
    records = (each for each in caplog.records if each.name == "equipoise.service.status")
    return [JournalFormatter().format(record).split(": ", 1)[1] for record in records]


def test_a_script_whose_rounds_are_refused_is_seen_until_one_is_taken(
    daemon: Daemon, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="equipoise.service.status")
    daemon.post(posted(HELLO, seq=1))
    assert (refused_batches(daemon), shown(daemon), counted(daemon)) == ([], "", [])
    for seq in range(2, 12, 2):
        assert daemon.post(posted({"kind": "heartbeat"}, ended(seq, **OLD), seq=seq)).code == "schema"
        assert daemon.post(posted({"kind": "heartbeat"}, seq=seq + 1)).code == "ok"  # it goes on, without its round
    (found,) = refused_batches(daemon)
    assert {**found, "since": 0, "last": 0} == {
        "code": "schema",
        "status": 422,
        "path": "$.events[1].winner",
        "message": "Invalid enum value 'draw'",
        "kinds": ["round_ended"],
        "count": 5,
        "since": 0,
        "last": 0,
    }
    assert found["since"] <= found["last"]  # type: ignore[operator]
    assert shown(daemon) == (
        "arena-1: batches of its script refused: 5, the last one 0 min ago: schema at $.events[1].winner: Invalid enum "
        f"value 'draw'; install the plugin that came with this daemon ({equipoise.__version__}), and load it anew; "
        "it is over when round_ended is taken."
    )
    assert counted(daemon) == ['equipoise_server_refused_total{code="schema",server="arena-1"} 5.0']
    line = "server=arena-1 path=$.events[1].winner kinds=round_ended count=1"
    assert noted(caplog) == [f"a batch of the script is refused code=schema {line}"]

    assert daemon.post(posted(ended(12), seq=12)).code == "ok"

    assert (refused_batches(daemon), shown(daemon)) == ([], "")
    assert len(counted(daemon)) == 1
    assert noted(caplog)[1].startswith("batches like those that were refused are taken again code=schema ")


def test_a_script_of_another_version_begins_without_refusals_and_one_of_the_same_does_not(daemon: Daemon) -> None:
    daemon.post(posted(HELLO, seq=1))
    daemon.post(posted(ended(2, **OLD), seq=2))
    daemon.post(posted(HELLO, boot=5, seq=1))  # the game server was restarted in the night
    assert [each["count"] for each in refused_batches(daemon)] == [1]
    daemon.post(posted({**HELLO, "plugin": "1.1"}, boot=6, seq=1))
    assert refused_batches(daemon) == []


def test_a_hello_behind_a_refusal_does_not_end_it(daemon: Daemon) -> None:
    """As after a restart of the daemon, which learns a script's version only then."""
    daemon.post(posted(ended(2, **OLD), seq=2))
    daemon.post(posted(HELLO, seq=3))
    assert [each["kinds"] for each in refused_batches(daemon)] == [["round_ended"]]


def test_a_batch_that_is_no_json_is_over_when_all_its_kinds_of_events_were_taken(daemon: Daemon) -> None:
    roster = {"kind": "roster", "players": []}
    broken = json.dumps(posted({"kind": "heartbeat"}, roster, HELLO, seq=1)).replace("}]}", "}]").encode()
    answer = daemon.request("POST", "/v1/events", broken, authorization=f"Bearer {SECRETS['arena-1']}")
    assert (answer.status, answer.code) == (400, "json")
    assert refused_batches(daemon)[0]["kinds"] == ["heartbeat", "hello", "roster"]
    daemon.post(posted({"kind": "heartbeat"}, HELLO, seq=2))
    assert refused_batches(daemon)[0]["kinds"] == ["roster"]
    daemon.post(posted(roster, seq=3))
    assert refused_batches(daemon) == []


def test_refused_forms_are_those_of_their_server(daemon: Daemon) -> None:
    daemon.form(posted(server="ns2-1", at=-1))
    daemon.form("{")
    found = [(each["code"], each["path"], each["kinds"]) for each in refused_batches(daemon, "ns2-1")]
    assert found == [("schema", "$.at", []), ("json", "", [])]
    assert "install the mod that came with" in shown(daemon)
    daemon.post(posted(server="ns2-1"), who="ns2-1")
    assert refused_batches(daemon, "ns2-1") == []


def test_the_author_of_a_script_of_another_game_is_told_where_to_look(tmp_path: Path) -> None:
    with running(tmp_path, CONFIG.replace('game = "ns2"', 'game = "other"')) as daemon:
        daemon.post(posted({"kind": "teleported"}, server="ns2-1"), who="ns2-1")
        assert "compare what the script sends with docs/protocol.md; it is over when teleported is taken" in shown(
            daemon
        )


def test_a_batch_that_is_too_large_is_its_servers_although_nobody_read_it(daemon: Daemon) -> None:
    assert daemon.post(posted(names="x" * 300_000)).code == "size"
    assert [(each["code"], each["kinds"]) for each in refused_batches(daemon)] == [("size", [])]


def test_what_events_contradict_is_refused_by_the_event(daemon: Daemon) -> None:
    twice = {"kind": "roster", "players": [{"id": RED, "side": "red"}, {"id": RED, "side": "blu"}]}
    assert daemon.post(posted(HELLO, twice)).code == "twice"
    assert [(each["path"], each["kinds"]) for each in refused_batches(daemon)] == [
        ("$.events[1].players[1].id", ["roster"])
    ]


def test_wrong_secrets_other_servers_tokens_and_stale_batches_are_no_refused_batches(daemon: Daemon) -> None:
    guess(daemon)
    guess(daemon, SECRETS["ns2-1"], server="arena-1")
    daemon.post(posted(ended(1, **OLD)), who="owner")
    daemon.post(posted(HELLO, seq=5))
    assert daemon.post(posted(seq=4)).status == 409
    assert (refused_batches(daemon), refused_batches(daemon, "ns2-1"), counted(daemon)) == ([], [], [])


@pytest.mark.parametrize("name", HOSTILE)
def test_a_refused_batch_cannot_forge_a_line_or_reach_a_terminal(
    daemon: Daemon, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    caplog.set_level(logging.INFO, logger="equipoise.service.status")
    for seq, wrong in enumerate(({"kind": name}, {"kind": "hello", name: 1, "game": name}, {"kind": "vote_ended"})):
        assert daemon.post(posted(wrong, seq=seq + 1)).code == "schema"
    daemon.post(posted(**{name: 1}, v=2))
    assert len(refused_batches(daemon)) == 4
    assert shown(daemon).replace("\n", "").isprintable()
    assert len(shown(daemon)) < 4000
    for line in noted(caplog):
        assert line.isascii()
        assert line.isprintable()


def refusal(code: str = "schema", path: str = "$.events[0].x", status: int = 422) -> ScriptError:
    error = ScriptError(code, "no", path=path, status=status)
    error.kinds = ("round_ended",)
    return error


def test_refusals_of_yesterday_are_over_and_their_number_is_bounded() -> None:
    async def noted() -> RefusedBatches:
        refused = RefusedBatches(ServerId("arena-1"))
        refused.note(refusal(path="$.events[3].x"), None, 0.0)
        refused.note(refusal(path="$.events[0].x"), None, 50_000.0)
        assert [(each.count, each.since) for each in refused.current(50_000.0 + REMEMBERED_SECONDS - 1)] == [(2, 0.0)]
        assert refused.current(50_000.0 + REMEMBERED_SECONDS) == ()
        refused.note(refusal(), None, 50_000.0 + REMEMBERED_SECONDS)
        assert [each.count for each in refused.current(50_000.0 + REMEMBERED_SECONDS)] == [1]
        refused.note(refusal("busy", status=503), None, 50_001.0)
        assert (refused.counted["schema"], refused.counted["busy"]) == (3, 0)
        for number in range(100):
            refused.note(refusal(path=f"$.{number}"), None, 60_000.0)
        refused.close()
        return refused

    found = asyncio.run(noted()).current(60_000.0)
    assert [each.path for each in found] == [f"$.{number}" for number in range(92, 100)]


def test_a_script_that_sends_ever_other_kinds_of_events_does_not_fill_memory() -> None:
    async def noted() -> RefusedBatches:
        refused = RefusedBatches(ServerId("arena-1"))
        for number in range(200):
            error = refusal()
            error.kinds = (f"kind{number}", "round_ended")
            refused.note(error, None, float(number))
        refused.close()
        return refused

    (found,) = asyncio.run(noted()).current(200.0)
    assert found.count == 200
    assert {"round_ended", "kind199"} <= set(found.kinds)
    assert len(found.kinds) == MOST_KINDS
