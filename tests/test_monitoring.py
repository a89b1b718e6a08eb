"""examples/monitoring: a real Prometheus scrapes real daemons; panels show data, alerts see what is broken."""

from __future__ import annotations

import json
import re
import shutil
import socket
import sqlite3
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from equipoise import app
from equipoise.service import jobs
from tests.game.query_server import right
from tests.game.rcon_servers import PASSWORD, fake_server, free_port
from tests.programs import installed
from tests.store.damage import wreck
from tests.test_operations import first_cells
from tests.web.daemon import CONFIG, SECRETS, Daemon, running
from tests.web.test_batches import ROSTER, batch, ended
from tests.wire.samples import HELLO

MONITORING = Path(__file__).parents[1] / "examples" / "monitoring"
DASHBOARD = json.loads((MONITORING / "grafana.json").read_text())
ALERTS = (MONITORING / "equipoise-alerts.yml").read_text()
PARTS = re.compile(r"_(?:bucket|sum|count)$")
PATIENCE = 40.0
"""Seconds until something is given up."""


def queries() -> list[tuple[str, str]]:
    """The dashboard's panels and their queries, with its variables as Grafana puts them in."""
    texts = [(panel["title"], target["expr"]) for panel in DASHBOARD["panels"] for target in panel["targets"]]
    return [
        (title, re.sub(r"\$(?:instance|server)", ".*", text).replace("$__range", "1h").replace("[30m]", "[1m]"))
        for title, text in texts
    ]


def rules() -> dict[str, str]:
    """The alerts and their expressions."""
    texts = re.findall(r"- alert: (\w+)\n +expr: (\|\n(?: {10}.+\n)+|.+\n)", ALERTS)
    return {name: " ".join(text.removeprefix("|").split()) for name, text in texts}


def test_every_metric_of_the_dashboard_and_of_the_alerts_exists() -> None:
    text = " ".join([*(query for _, query in queries()), *rules().values()])
    used = {PARTS.sub("", name) for name in re.findall(r"\bequipoise_\w+", text)}
    assert len(used) > 20
    assert used <= first_cells("metrics.md", "metric")


@pytest.mark.world
def test_promtool_accepts_the_rules_and_their_tests_which_name_every_alert(tmp_path: Path) -> None:
    promtool, tests = installed("promtool"), MONITORING / "equipoise-alerts-test.yml"
    subprocess.run([promtool, "check", "rules", MONITORING / "equipoise-alerts.yml"], check=True)
    subprocess.run([promtool, "test", "rules", tests], check=True)
    assert set(re.findall(r'alertname="(\w+)"', tests.read_text())) == rules().keys()
    assert len(rules()) == ALERTS.count("- alert:")


class Prometheus:
    """Debian's, with the example's configuration."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}/api/v1/"

    def ask(self, query: str) -> list[Any]:
        """The samples of a query now."""
        return list(self._get("query?" + urlencode({"query": query})).get("result", ()))

    def wait_for(self, query: str) -> list[Any]:
        """Its samples, once there are any; none after that time."""
        end = time.monotonic() + PATIENCE
        while not (samples := self.ask(query)) and time.monotonic() < end:
            time.sleep(0.2)
        return samples

    def alerts(self) -> frozenset[str]:
        """The alerts whose expression was true when Prometheus last looked, be they due or not yet."""
        alerts = self._get("alerts").get("alerts", ())
        texts = [text for alert in alerts for text in alert["annotations"].values()]
        assert not [text for text in texts if "error expanding" in text or "no value" in text]
        return frozenset(alert["labels"]["alertname"] for alert in alerts)

    def become(self, alerts: frozenset[str]) -> None:
        """Wait until these alerts and no others are true."""
        end = time.monotonic() + PATIENCE
        while (now := self.alerts()) != alerts and time.monotonic() < end:
            time.sleep(0.2)
        assert now == alerts

    def _get(self, path: str) -> Any:
        with suppress(OSError), urlopen(self._url + path, timeout=20) as response:
            return json.load(response)["data"]
        return {}


@contextmanager
def scraping(folder: Path, port: int) -> Iterator[Prometheus]:
    """A Prometheus that scrapes and judges a daemon at this port every second."""
    program, own = installed("prometheus"), free_port()
    folder.mkdir()
    (folder / "token").write_text(SECRETS["guest"])
    text = (MONITORING / "prometheus.yml").read_text()
    for old, new in (
        ("127.0.0.1:27500", f"127.0.0.1:{port}"),
        ("/etc/prometheus/equipoise.token", str(folder / "token")),
        ("scrape_interval: 15s", "scrape_interval: 1s"),
        ("equipoise-alerts.yml", str(MONITORING / "equipoise-alerts.yml")),
    ):
        assert old in text
        text = text.replace(old, new)
    (folder / "prometheus.yml").write_text(f"{text}\nglobal: {{evaluation_interval: 1s}}\n")
    command = [program, f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([*command, f"--web.listen-address=127.0.0.1:{own}"], stderr=log)
    try:
        yield Prometheus(own)
    finally:
        process.terminate()
        process.wait(60)


@contextmanager
def watched(folder: Path, keys: str = "", head: str = "") -> Iterator[tuple[Daemon, Prometheus]]:
    """A daemon with one server, a backup and some rounds, for which no alert is true; and its Prometheus."""
    port = free_port()
    with running(folder, settings(port, keys, head)) as daemon, scraping(folder / "prometheus", port) as prometheus:
        healthy(daemon, prometheus)
        yield daemon, prometheus


def settings(port: int, keys: str = "", head: str = "") -> str:
    """The usual configuration with one server alone."""
    text = re.sub(r"\[server\.ns2-1\][^[]+", f"{keys}\n", CONFIG)
    return head + text.replace("port = 0", f"port = {port}").replace('balance = "synelo"', 'balance = "trueskill"')


def healthy(daemon: Daemon, prometheus: Prometheus) -> None:
    """Play a few rounds, and poll until Prometheus has seen enough for a rate: no alert is true then."""
    play(daemon)
    assert prometheus.wait_for("equipoise_backup_timestamp_seconds > 0")
    for seq in count(100):
        if prometheus.ask('count_over_time(up{job="equipoise"}[1m]) >= 5'):
            break
        assert daemon.post(batch(seq)).code == "ok"
        time.sleep(0.2)
    prometheus.become(frozenset())


def play(daemon: Daemon) -> None:
    """Play three rounds with a beginning and an end."""
    daemon.post(batch(1, HELLO, ROSTER))
    for number in range(1, 4):
        live = {**ROSTER, "kind": "round_live", "round": f"1-{number}"}
        daemon.post(batch(2 * number, {**ROSTER, "kind": "round_started"}, live))
        daemon.post(batch(2 * number + 1, ended(number)))


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Daily jobs that were missed run a second after the start, and game servers are looked at every second."""
    monkeypatch.setattr(jobs, "MISSED_SECONDS", 1.0)
    monkeypatch.setattr(app, "QUERY_SECONDS", 1.0)
    monkeypatch.setattr("equipoise.game.query.SILENT_SECONDS", 12.0)


@contextmanager
def game_server(folder: Path) -> Iterator[str]:
    """A game server that answers RCON and A2S, as keys of the configuration."""
    (folder / "rcon").write_text(PASSWORD)
    with fake_server() as rcon, socket.socket(type=socket.SOCK_DGRAM) as listener:
        listener.bind(("127.0.0.1", 0))

        def serve() -> None:
            with suppress(OSError):  # shut down
                while (request := listener.recvfrom(1400))[0]:
                    for part in right(request[0]):
                        listener.sendto(part, request[1])

        thread = threading.Thread(target=serve, name="game server", daemon=True)
        thread.start()
        yield "\n".join(
            (
                f"rcon = '127.0.0.1:{rcon}'",
                "rcon_password_file = 'rcon'",
                f"query = '127.0.0.1:{listener.getsockname()[1]}'",
            )
        )
        with suppress(OSError):  # not connected, and awake all the same
            listener.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.mark.world
def test_every_panel_shows_data_of_a_real_daemon(tmp_path: Path) -> None:
    with game_server(tmp_path) as keys, watched(tmp_path, keys) as (daemon, prometheus):
        daemon.call("POST", "/v1/admin/servers/arena-1/scramble")
        daemon.post(batch(500, {"kind": "of another version"}))
        assert not [(title, query) for title, query in queries() if not prometheus.wait_for(query)]


@pytest.mark.world
def test_a_game_server_that_goes_away_is_alerted(tmp_path: Path) -> None:
    with ExitStack() as stack:
        here = stack.enter_context(ExitStack())
        keys = here.enter_context(game_server(tmp_path))
        daemon, prometheus = stack.enter_context(watched(tmp_path, keys, "silence_seconds = 10\n"))
        command = {"command": "status"}
        assert daemon.call("POST", "/v1/admin/servers/arena-1/rcon", command).status == 200
        here.close()
        assert daemon.call("POST", "/v1/admin/servers/arena-1/rcon", command).status != 200
        prometheus.become(frozenset({"EquipoiseRconRefused", "EquipoiseGameServerSilent", "EquipoisePluginSilent"}))


@pytest.mark.world
def test_what_a_script_does_wrong_is_alerted(tmp_path: Path) -> None:
    with watched(tmp_path) as (daemon, prometheus):
        daemon.post(batch(500, {"kind": "of another version"}))
        alerts = frozenset({"EquipoiseBatchesRefused"})
        prometheus.become(alerts)

        daemon.post(batch(501, dropped=2))
        alerts |= {"EquipoiseRoundsLost"}
        prometheus.become(alerts)

        daemon.post(batch(1, HELLO, ROSTER, boot=1763622000125))
        daemon.post(batch(502))  # the start before that one still calls
        alerts |= {"EquipoiseTwoScripts"}
        prometheus.become(alerts)

        for _ in range(40):
            daemon.request("GET", "/v1/admin/servers", authorization="Bearer wrong")
        prometheus.become(alerts | {"EquipoiseGuessed"})


@pytest.mark.world
def test_a_store_a_backup_and_a_daemon_that_fail_are_alerted(tmp_path: Path) -> None:
    port = free_port()
    text = settings(port)
    with scraping(tmp_path / "prometheus", port) as prometheus:
        with running(tmp_path, text) as daemon:
            healthy(daemon, prometheus)
            with closing(sqlite3.connect(daemon.state / "equipoise.db", isolation_level=None)) as lock:
                lock.execute("BEGIN IMMEDIATE")
                daemon.post(batch(500, ended(20)))
                prometheus.become(frozenset({"EquipoiseStoreTrouble", "EquipoiseRoundsWaiting"}))
                lock.execute("ROLLBACK")
            daemon.post(batch(501, ended(20)))
            prometheus.become(frozenset())
        prometheus.become(frozenset({"EquipoiseDown"}))

        shutil.rmtree(daemon.state / "backups")
        (daemon.state / "backups").write_text("no folder")
        with running(tmp_path, text) as daemon:
            daemon.post(batch(502, HELLO, ROSTER))
            prometheus.become(frozenset({"EquipoiseBackupFailed"}))

        wreck(daemon.state / "equipoise.db", "rounds")
        with running(tmp_path, text) as daemon:
            daemon.post(batch(503, HELLO, ROSTER))
            damage = frozenset({"EquipoiseStoreDamaged", "EquipoiseStoreTrouble", "EquipoiseBackupFailed"})
            prometheus.become(damage | {"EquipoiseJobFailed", "EquipoiseBalanceNotReady"})


@pytest.mark.world
@pytest.mark.questions_fail
def test_want_of_memory_and_a_loop_that_is_held_are_alerted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise MemoryError

    def holds(*_: object) -> None:
        time.sleep(0.6)
        raise MemoryError

    with watched(tmp_path) as (_, prometheus):
        monkeypatch.setattr("equipoise.service.host.outlook_now", fails)
        prometheus.become(frozenset({"EquipoiseQuestionsFail"}))
        monkeypatch.setattr("equipoise.service.host.outlook_now", holds)
        prometheus.become(frozenset({"EquipoiseQuestionsFail", "EquipoiseLoopHeld"}))


def test_every_alert_is_seen_by_a_test() -> None:
    text = Path(__file__).read_text()
    assert set(re.findall(r'"(Equipoise\w+)"', text)) == rules().keys()
