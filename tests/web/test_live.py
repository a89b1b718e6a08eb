"""The live stream: what a reader is told and when, and that no reader costs scripts or other readers anything."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import itertools
import json
import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from equipoise.app import SystemClock
from equipoise.page import wall
from equipoise.service import copies, live
from equipoise.service.event_loop import Precedence
from equipoise.store.store import Store
from tests.store.failing import locked
from tests.web.daemon import CONFIG, SECRETS, Daemon, running
from tests.web.edited import Edited
from tests.web.test_batches import ROSTER, batch, ended
from tests.web.test_connections import MOST, connect, few, metric
from tests.wire.samples import BLU, HELLO, RED

pytestmark = pytest.mark.slow

QUIET = 1.2
"""Seconds in which a change would have come."""


class Event(NamedTuple):
    kind: str
    id: str
    data: Any

    @property
    def server(self) -> dict[str, Any]:
        """The status of the server."""
        return self.data["server"]  # type: ignore[no-any-return]


class Page:
    """A reader of the stream, as a browser is one: it knows the id of the last event."""

    def __init__(
        self, daemon: Daemon, query: str = "", who: str = "guest", last: str = "", path: str = "/v1/live"
    ) -> None:
        self._connection = http.client.HTTPConnection(daemon.host, daemon.port, timeout=20)
        headers = {"Authorization": f"Bearer {SECRETS[who]}"} | ({"Last-Event-ID": last} if last else {})
        self._connection.request("GET", f"{path}{query}", headers=headers)
        self.answer = self._connection.getresponse()
        self.last = last

    def events(self) -> Iterator[Event]:
        """Every event until the stream ends."""
        fields: dict[str, str] = {}
        for line in self.answer:
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name:
                fields[name] = value
            elif "event" in fields:
                self.last = fields.get("id", self.last)
                yield Event(fields["event"], fields.get("id", ""), json.loads(fields["data"]))
                fields = {}

    def next(self) -> Event:
        """The next event that is more than a sign of life."""
        return next(event for event in self.events() if event.kind != "alive")

    def until(self, fits: Callable[[dict[str, Any]], bool]) -> Event:
        """The next event of a server whose status fits."""
        return next(event for event in self.events() if event.kind == "server" and fits(event.server))

    def for_a_while(self, seconds: float = QUIET) -> list[Event]:
        """What comes within so many seconds, but signs of life."""
        end, came = time.monotonic() + seconds, list[Event]()
        for event in self.events():
            if event.kind != "alive":
                came.append(event)
            if time.monotonic() > end:  # signs of life come all the time
                return came
        raise AssertionError("the stream has ended")

    def close(self) -> None:
        self.answer.close()
        self._connection.close()


@contextmanager
def reading(
    daemon: Daemon, query: str = "", who: str = "guest", last: str = "", path: str = "/v1/live"
) -> Iterator[Page]:
    page = Page(daemon, query, who, last, path)
    try:
        yield page
    finally:
        page.close()


@pytest.fixture(autouse=True)
def _quick_signs_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "ALIVE_SECONDS", 0.2)


def without_seconds(answer: dict[str, Any]) -> dict[str, Any]:
    passing = {"silent_seconds": 0, "served_seconds": 0}
    return {**answer, "at": 0, "server": {**answer["server"], **passing}}


def test_a_reader_is_told_of_every_server_and_then_of_each_change_as_the_route_answers(daemon: Daemon) -> None:
    with reading(daemon) as page:
        assert page.answer.status == 200
        headers = {name: page.answer.headers[name] for name in ("Content-Type", "Cache-Control", "X-Accel-Buffering")}
        assert [*headers.values()] == ["text/event-stream", "no-store", "no"]
        assert [page.next().server["server"] for _ in range(2)] == ["arena-1", "ns2-1"]

        daemon.post(batch(1, HELLO, ROSTER, ended(1)))
        changed = page.until(lambda server: server["players_a"] == 1)
        page.for_a_while()
        daemon.call("POST", "/v1/admin/servers/arena-1/off", {})
        changed = page.until(lambda server: not server["enabled"])
        assert [decision["kind"] for decision in changed.data["decisions"]] == ["switch"]
        answer = daemon.call("GET", "/v1/admin/servers/arena-1").body
        assert without_seconds(changed.data) == without_seconds(answer)
        assert changed.data["at"] <= answer["at"] <= time.time()


def test_a_heartbeat_says_nothing_and_signs_of_life_come_all_the_time(daemon: Daemon) -> None:
    daemon.post(batch(1, HELLO, ROSTER))
    with reading(daemon) as page:
        assert {page.next().server["server"] for _ in range(2)} == {"arena-1", "ns2-1"}
        for seq in range(2, 6):
            daemon.post(batch(seq))
        assert page.for_a_while() == []
        signs = [event for event, _ in zip(page.events(), range(3), strict=False)]
        assert {event.kind for event in signs} == {"alive"}
        assert signs[0].data["at"] < signs[1].data["at"] <= time.time()
        assert {event.id for event in signs} == {""}


def test_a_script_that_falls_silent_is_a_change_and_that_it_comes_back(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon.post(batch(1, HELLO, ROSTER))
    with reading(daemon, "?server=arena-1") as page:
        page.until(lambda server: not server["lost"])
        monkeypatch.setattr(SystemClock, "monotonic", lambda clock: clock._began + time.monotonic() + 90.0)
        page.until(lambda server: server["lost"])
        daemon.post(batch(2))
        page.until(lambda server: not server["lost"])


def test_a_server_has_at_most_two_messages_a_second_and_the_last_state_comes_to_all(daemon: Daemon) -> None:
    gone = [{"kind": "player_left", "id": player} for player in (RED, BLU)]
    with reading(daemon, "?server=arena-1") as page, reading(daemon) as other:
        began, seq = time.monotonic(), 1
        daemon.post(batch(1, HELLO))
        while time.monotonic() < began + 3.0:
            seq += 2
            daemon.post(batch(seq - 1, ROSTER))
            daemon.post(batch(seq, gone[seq % 4 // 2]))
        daemon.post(batch(seq + 1, *gone, dropped=7))
        posted = time.time()
        assert seq > 50

        came = [page.next()]
        while came[-1].server["dropped_rounds"] != 7:
            came.append(page.next())
        assert page.for_a_while() == []
        times = [event.data["at"] for event in came]
        assert times[-1] < posted + 2.0
        assert min(after - before for before, after in itertools.pairwise(times)) >= live.LOOK_SECONDS
        # Made once: what another reader gets is what this one got.
        assert next(event for event in other.events() if event.id == came[-1].id) == came[-1]


def test_a_reader_who_comes_again_gets_what_has_changed_meanwhile(daemon: Daemon) -> None:
    daemon.post(batch(1, HELLO, ROSTER))
    with reading(daemon) as page:
        page.until(lambda server: server["server"] == "ns2-1")
        page.for_a_while()
    while metric(daemon, "equipoise_live_readers"):
        time.sleep(0.05)
    time.sleep(2 * live.LOOK_SECONDS)  # nobody looks
    with reading(daemon, last=page.last) as again:
        assert again.for_a_while() == []
    daemon.post(batch(2, {"kind": "player_left", "id": BLU}))
    with reading(daemon, last=page.last) as again:
        changed = again.next()
        assert (changed.server["server"], changed.server["players_b"]) == ("arena-1", 0)
        assert again.for_a_while() == []


def test_a_reader_of_another_daemon_gets_all(daemon: Daemon) -> None:
    for last in ("0badc0de-7", "7", "☭", "-", "0badc0de-99999999999999999999"):
        with reading(daemon, last=last.encode().decode("latin-1")) as page:
            assert [page.next().server["server"] for _ in range(2)] == ["arena-1", "ns2-1"], last


def test_one_server_alone_is_read(daemon: Daemon) -> None:
    with reading(daemon, "?server=ns2-1") as page:
        assert page.next().server["server"] == "ns2-1"
        daemon.post(batch(1, HELLO, ROSTER))
        assert page.for_a_while() == []
    assert daemon.call("GET", "/v1/live?server=dustbowl").code == "not_found"
    assert daemon.call("GET", "/v1/live?sever=ns2-1").code == "schema"


def test_a_reload_brings_servers_and_takes_them(edited: Edited) -> None:
    with reading(edited.daemon) as page:
        page.for_a_while(0.5)
        file = edited.add_server("dustbowl", "dust secret")
        edited.reload()
        assert page.next().server["server"] == "dustbowl"
        before = page.last
        file.unlink()
        edited.reload()
        gone = page.next()
        assert (gone.kind, gone.data) == ("gone", {"server": "dustbowl"})
        with reading(edited.daemon) as fresh, reading(edited.daemon, last=before) as again:
            assert {event.server["server"] for event in fresh.for_a_while(0.5)} == {"arena-1", "ns2-1"}
            assert [event.kind for event in again.for_a_while(0.5)] == ["gone"]
        edited.edit("[server.ns2-1]", "[server.ns2-1]\nsides = ['Blue', 'Gold']")
        edited.reload()
        assert page.next().server["sides"] == ["Blue", "Gold"]


def test_a_stream_ends_when_its_token_is_taken_away(edited: Edited) -> None:
    with reading(edited.daemon) as guest, reading(edited.daemon, who="owner") as owner:
        guest.next(), owner.next()
        edited.edit('[token.guest]\nsecret_file = "guest"\nrole = "viewer"\n', "")
        edited.reload()
        assert {event.kind for event in guest.events()} <= {"server", "alive"}  # to its end
        owner.for_a_while(0.5)


def test_a_stream_ends_when_its_reader_may_read_no_longer(tmp_path: Path) -> None:
    logged_in = [True]

    async def read() -> bytes:
        hub = live.Live(
            {}, lambda *_: pytest.fail("there is no server"), Store(tmp_path / "store"), SystemClock(), Precedence()
        )
        reader = live.Reader("token:guest", lambda: None, lambda: bool(logged_in), None, None)
        asyncio.get_running_loop().call_later(0.5, logged_in.clear)
        return b"".join([piece async for piece in hub.read(reader)])

    assert asyncio.run(asyncio.wait_for(read(), 5.0)).count(b"event: alive") in (1, 2)


async def test_a_stop_at_the_moment_in_which_a_reader_comes_does_not_leave_them_waiting(tmp_path: Path) -> None:
    hub = live.Live({}, lambda *_: pytest.fail("none"), Store(tmp_path / "store"), SystemClock(), Precedence())
    stream = hub.read(live.Reader("token:guest", lambda: None, lambda: True, None, None))
    assert await anext(stream) == live.RETRY  # nobody has looked at the servers yet
    await hub.close()
    async with asyncio.timeout(10):
        assert [piece async for piece in stream] == []


def test_a_page_is_sent_only_what_has_changed_since_it_was_made(daemon: Daemon) -> None:
    wall = {"accept": "text/html", "authorization": f"Bearer {SECRETS['guest']}"}

    def since() -> str:
        found = re.search(r'data-since="([\w-]+)"', daemon.request("GET", "/", **wall).raw.decode())
        assert found
        return f"?since={found[1]}"

    daemon.post(batch(1, HELLO, ROSTER))
    with reading(daemon, since(), path="/live") as page:  # until now nobody has looked at any server
        assert {page.next().server["server"] for _ in range(2)} == {"arena-1", "ns2-1"}
    with reading(daemon, since(), path="/live") as page:
        assert page.for_a_while() == []
        daemon.call("POST", "/v1/admin/servers/arena-1/off", {})
        page.until(lambda server: not server["enabled"])
    before = since()
    daemon.call("POST", "/v1/admin/servers/arena-1/on", {})
    with reading(daemon, before, path="/live") as page:
        assert page.next().server["enabled"]


def test_walls_share_a_panel_for_a_second_until_its_server_says_something_else(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = {"accept": "text/html", "authorization": f"Bearer {SECRETS['guest']}"}

    def panel() -> str:
        return daemon.request("GET", "/?servers=arena-1", **headers).raw.decode()

    def differs_after(before: str) -> bool:
        time.sleep(1.1)  # the round's clock goes on
        return panel() != before

    live_round = {"kind": "round_live", "round": "1-1", "players": ROSTER["players"]}
    daemon.post(batch(1, HELLO, ROSTER, live_round))
    with reading(daemon, "?server=arena-1") as page:
        page.until(lambda server: server["phase"] == "running")
        assert differs_after(panel())
        monkeypatch.setattr(wall, "SHARED_SECONDS", 60.0)
        time.sleep(1.1)  # the last one is shared no longer
        assert not differs_after(panel())
        daemon.call("POST", "/v1/admin/servers/arena-1/off", {})
        page.until(lambda server: not server["enabled"])
        assert "Switched off by an admin." in panel()
    while metric(daemon, "equipoise_live_readers"):
        time.sleep(0.05)
    time.sleep(2 * live.LOOK_SECONDS)
    assert differs_after(panel())  # nobody would see what changes


def test_a_rating_that_an_admin_sets_is_a_change_of_its_server_once_a_figure_has_gone_a_whole_step(
    daemon: Daemon,
) -> None:
    def rate(points: int) -> None:
        daemon.call("PUT", f"/v1/admin/players/{RED}", {"rating": points, "new": True})

    daemon.post(batch(1, HELLO, ROSTER))
    rate(1000)
    with reading(daemon, "?server=arena-1") as page:
        page.until(lambda server: server["win_probability"] == 0.5)
        rate(1004)
        assert page.for_a_while() == []
        rate(1040)
        page.until(lambda server: server["sum_a"] == 1040)
        rate(1800)
        page.until(lambda server: server["win_probability"] > 0.55)


def test_a_status_comes_while_the_store_takes_nothing(daemon: Daemon) -> None:
    daemon.post(batch(1, HELLO, ROSTER))
    with locked(daemon.state / "equipoise.db"), reading(daemon, "?server=arena-1") as page:
        page.until(lambda server: server["players_a"] == 1)
        daemon.post(batch(2, ended(1)))
        page.until(lambda server: server["ring"] == 1)


def test_a_fault_ends_the_streams_and_readers_who_come_again_go_on(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def failing(_: object) -> None:
        raise MemoryError

    with reading(daemon) as page:
        page.for_a_while(0.3)
        with monkeypatch.context() as patched:
            patched.setattr("equipoise.service.host.Host.signs", failing)
            assert {event.kind for event in page.events()} <= {"alive"}  # to its end
    assert "MemoryError" in caplog.text
    daemon.post(batch(1, HELLO, ROSTER))
    with reading(daemon, last=page.last) as again:
        assert again.next().server["server"] == "arena-1"


def test_too_many_readers_are_refused_and_scripts_are_answered_as_ever(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with running(tmp_path, CONFIG) as daemon, ExitStack() as stack:
        statuses = list[int]()
        for _ in range(live.MOST_READERS + 20):
            connection = http.client.HTTPConnection(daemon.host, daemon.port, timeout=20)
            stack.callback(connection.close)
            connection.request("GET", "/v1/live", headers={"Authorization": f"Bearer {SECRETS['guest']}"})
            answer = connection.getresponse()
            stack.callback(answer.close)
            statuses.append(answer.status)
            if answer.status == 503:
                error = json.load(answer)["error"]
                connection.close()
        assert (statuses.count(200), statuses.count(503)) == (live.MOST_READERS, 20)
        assert error["code"] == "busy"
        assert "close pages" in error["message"]
        assert metric(daemon, "equipoise_live_readers") == live.MOST_READERS
        for seq in range(1, 20):
            began = time.monotonic()
            assert daemon.post(batch(seq, HELLO, ROSTER)).status == 200
            assert time.monotonic() - began < 0.5
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


def test_readers_take_no_connection_from_scripts(tmp_path: Path) -> None:
    with few(tmp_path) as daemon, ExitStack() as stack:
        script = connect(stack, daemon)
        pages = list[Page]()
        for seq in range(1, 2 * MOST):
            pages.append(stack.enter_context(reading(daemon)))
            assert pages[-1].next().kind == "server"
            assert script.post("arena-1", seq) == 200
        assert MOST - 2 <= metric(daemon, "equipoise_connections", proven="yes") <= MOST
        assert next(pages[-1].events())


def test_readers_who_hang_up_make_room(daemon: Daemon) -> None:
    for _ in range(3):
        pages = [Page(daemon) for _ in range(live.MOST_READERS)]
        assert {page.answer.status for page in pages} == {200}
        for page in pages:
            page.close()
        end = time.monotonic() + 10.0
        while metric(daemon, "equipoise_live_readers"):
            assert time.monotonic() < end


def test_a_reader_who_does_not_read_is_dropped_and_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(live, "STALLED_SECONDS", 1.0)
    # A sign of life that fills the buffers of sockets in moments.
    monkeypatch.setattr(live, "RETRY", b":" + b" " * 8_000_000 + b"\n\n")
    with running(tmp_path) as daemon, ExitStack() as stack:
        stalled = socket.socket()
        stack.callback(stalled.close)
        stalled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stalled.connect((daemon.host, daemon.port))
        authorization = f"Host: {daemon.host}:{daemon.port}\r\nAuthorization: Bearer {SECRETS['guest']}"
        stalled.sendall(f"GET /v1/live HTTP/1.1\r\n{authorization}\r\n\r\n".encode())
        page = stack.enter_context(reading(daemon, who="owner"))
        page.next()
        for seq in range(1, 8):
            began = time.monotonic()
            assert daemon.post(batch(seq, HELLO, ROSTER)).status == 200
            assert time.monotonic() - began < 0.5
            page.for_a_while(0.3)
        assert metric(daemon, "equipoise_live_dropped_total") == 1
        assert metric(daemon, "equipoise_live_readers") == 1
        with contextlib.suppress(ConnectionResetError):
            while stalled.recv(1_000_000):
                pass
    assert [vars(record)["caller"] for record in caplog.records if "is dropped" in record.message] == ["token:guest"]


def test_a_stop_ends_all_streams_and_waits_neither_for_who_reads_nothing_nor_for_a_body_that_does_not_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "written", lambda _: iter([b" " * 8_000_000] * 100))
    with ExitStack() as stack:
        with running(tmp_path) as daemon:
            pages = [stack.enter_context(reading(daemon)) for _ in range(8)]
            for page in pages:
                page.next()
            monkeypatch.setattr(live, "RETRY", b":" + b" " * 8_000_000 + b"\n\n")
            stalled = stack.enter_context(reading(daemon))
            download = stack.enter_context(reading(daemon, who="owner", path="/v1/admin/pools/main/export"))
            half = connect(stack, daemon).socket
            head = f"POST /v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {SECRETS['arena-1']}\r\n"
            half.sendall(f"{head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{".encode())
            assert daemon.post(batch(1, HELLO, ROSTER, ended(1))).body["rounds"] == {"1-1": "stored"}
            began = time.monotonic()
        assert time.monotonic() - began < 2.0
        for page in pages:
            assert {event.kind for event in page.events()} <= {"server", "alive"}  # to its end
        with contextlib.suppress(ConnectionError, http.client.IncompleteRead):
            stalled.answer.read()
        with pytest.raises((http.client.IncompleteRead, ConnectionError)):
            download.answer.read()
    with running(tmp_path) as daemon:
        assert len(daemon.call("GET", "/v1/admin/rounds").body["rounds"]) == 1
