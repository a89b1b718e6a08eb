"""Rounds are played while the configuration is read again and again."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.web.daemon import SECRETS, Daemon
from tests.web.edited import Edited
from tests.web.test_batches import ROSTER, batch, ended
from tests.wire.samples import HELLO, RED

RELOADS = 40


def reloads(edited: Edited, text: str, first: int) -> list[int]:
    """Every second of the reloads. By turns a server is removed, another moved to a pool, one added, one moved back."""
    statuses = []
    moved = text.replace('game = "ns2"', 'game = "ns2"\npool = "side"')
    for number in range(first, RELOADS, 2):
        match number % 4:
            case 0:
                (edited.folder / "servers.d" / "dustbowl.toml").unlink(missing_ok=True)
            case 2:
                edited.add_server("dustbowl", SECRETS["dustbowl"])
            case turn:
                new = edited.config.with_name("config.new")
                new.write_text((moved if turn == 1 else text).replace("streak = 5", f"streak = {number + 1}"))
                new.replace(edited.config)
        statuses.append(edited.reload().status)
    return statuses


def play(daemon: Daemon, server: str, over: threading.Event) -> int:
    """Rounds of a script, which sends what was refused again, as the plugin does; how many it knows to be stored."""
    stored = 0
    while True:
        told = batch(stored + 1, *((HELLO, ROSTER) if not stored else ()), ended(stored + 1), server=server)
        while (answer := daemon.post(told, who=server)).status != 200:
            assert answer.code in ("busy", "credentials", "throttled", "not_found"), answer.body
            if over.is_set() and answer.code != "busy":  # the server is not configured any more
                return stored
            time.sleep(0.01)
        stored += 1
        assert answer.body["rounds"] == {f"1-{stored}": "stored"}
        if over.is_set():
            return stored


@pytest.mark.slow
def test_rounds_played_while_the_configuration_is_reloaded_40_times_are_all_stored_once(
    edited: Edited, monkeypatch: pytest.MonkeyPatch
) -> None:
    edited.add("[pool.side]\n[server.ns2-1.triggers]\narena = { streak = 5 }\n")
    edited.reload()
    monkeypatch.setitem(SECRETS, "dustbowl", "dust")
    over, text = threading.Event(), edited.config.read_text()
    with ThreadPoolExecutor(5) as threads:
        playing = [threads.submit(play, edited.daemon, server, over) for server in ("arena-1", "ns2-1", "dustbowl")]
        reloading = [threads.submit(reloads, edited, text, first) for first in (0, 1)]
        statuses = [status for each in reloading for status in each.result()]
        over.set()
        played = [each.result() for each in playing]

    assert (len(statuses), set(statuses)) == (RELOADS, {200})
    assert played[0] > 0 < played[1]
    assert 'equipoise_waiting_rounds{pool="main"} 0.0' in edited.daemon.call("GET", "/metrics").raw.decode()
    rated = (edited.daemon.call("GET", f"/v1/admin/players/{RED}?pool={pool}").body for pool in ("main", "side"))
    assert sum(each["player"]["rounds"] for each in rated) == sum(played)
