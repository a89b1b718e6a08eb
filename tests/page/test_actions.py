"""Orders from the page: what is shown is what is ordered, or nothing."""

from __future__ import annotations

import json
import re
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import urlencode

import pytest

from equipoise import __version__
from equipoise.install.game_folders import CFG, PLUGIN, plugin_version
from equipoise.store import connection
from tests.install.game_server import game_server
from tests.page.test_oversight import page as shown
from tests.page.test_site import OWNER
from tests.web.daemon import SECRETS, Answer, Daemon, running
from tests.wire.samples import HELLO, KOTH, posted

FORM = OWNER | {"content_type": "application/x-www-form-urlencoded"}
PATH = "/servers/arena-1/scramble"


def teams(daemon: Daemon, seq: int, sides: dict[str, str]) -> None:
    """The server's players by the last digit of their id, on these sides, on a KOTH map."""
    lines = [{"id": f"7656119796026573{digit}", "side": side} for digit, side in sides.items()]
    answer = daemon.post(posted({**KOTH, "phase": "idle"}, {"kind": "roster", "players": lines}, seq=seq))
    assert answer.body["ok"], answer.body


EIGHT = dict.fromkeys("1234", "red") | dict.fromkeys("5678", "blu")


def confirm(daemon: Daemon, page: str, path: str = PATH, when: str = "next") -> Answer:
    found = re.search(r'name="seen" value="(\w+)"', page)
    assert found is not None, page
    return daemon.request("POST", path, urlencode({"seen": found[1], "when": when}).encode(), **FORM)


def pending(daemon: Daemon) -> str | None:
    reason: str | None = daemon.call("GET", "/v1/admin/servers/arena-1").body["server"]["pending"]
    return reason


def test_a_scramble_is_shown_with_everybodys_place_and_then_ordered(daemon: Daemon) -> None:
    teams(daemon, 1, EIGHT)
    page = shown(daemon, f"{PATH}?when=next")
    assert "Scramble arena-1 at the next round?" in page
    assert page.count('class="name"') == 8
    assert confirm(daemon, page).status == 303
    assert pending(daemon) == "ordered by an admin"
    assert [line["who"] for line in daemon.call("GET", "/v1/admin/audit").body["audit"]] == ["token:owner"]


def test_when_somebody_left_meanwhile_nothing_is_done_and_the_new_proposal_is_shown(daemon: Daemon) -> None:
    teams(daemon, 1, EIGHT)
    page = shown(daemon, f"{PATH}?when=next")
    teams(daemon, 2, {digit: side for digit, side in EIGHT.items() if digit != "8"})
    answer = confirm(daemon, page)
    assert (answer.status, b"teams have changed" in answer.raw) == (409, True)
    assert (pending(daemon), daemon.call("GET", "/v1/admin/audit").body["audit"]) == (None, [])
    assert confirm(daemon, answer.raw.decode()).status == 303
    assert pending(daemon) == "ordered by an admin"


def test_an_order_that_is_not_carried_out_is_so_in_the_audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is noted before it is given: here while the store's file is locked, and somebody leaves meanwhile."""
    monkeypatch.setattr(connection, "BUSY_SECONDS", 60.0)
    with running(tmp_path) as daemon:
        fail_an_order(daemon)


def fail_an_order(daemon: Daemon) -> None:
    def lines() -> list[tuple[str, str]]:
        return [(line["before"], line["after"]) for line in daemon.call("GET", "/v1/admin/audit").body["audit"]]

    teams(daemon, 1, EIGHT)
    page = shown(daemon, f"{PATH}?when=next")
    with ThreadPoolExecutor() as pool:
        with closing(sqlite3.connect(daemon.state / "equipoise.db", isolation_level=None)) as db:
            db.execute("BEGIN IMMEDIATE")
            order = pool.submit(confirm, daemon, page)
            with suppress(TimeoutError):  # reads wait behind it
                while pool.submit(lines).result(0.5) == []:
                    pass
            teams(daemon, 2, {digit: side for digit, side in EIGHT.items() if digit != "8"})
            assert not order.done()
        assert (order.result().status, pending(daemon)) == (409, None)
    given = ("on, pending: nothing", "scramble next")
    assert lines() == [("scramble next", "failed: the teams have changed since you looked: nothing was done"), given]
    teams(daemon, 3, {})
    assert daemon.call("POST", "/v1/admin/servers/arena-1/balance", {}).code == "refused"
    assert lines()[0][0] == "balance"
    assert lines()[0][1].startswith("failed: ")


def test_an_admin_does_not_undo_unseen_what_another_one_did(daemon: Daemon) -> None:
    teams(daemon, 1, EIGHT)
    path = "/servers/arena-1/off"
    mine, yours = shown(daemon, path), shown(daemon, path)
    assert confirm(daemon, mine, path).status == 303
    assert confirm(daemon, yours, path).status == 409
    assert daemon.call("GET", "/v1/admin/servers/arena-1").body["server"]["enabled"] is False


@pytest.mark.parametrize("action", ["scramble", "balance"])
def test_what_cannot_be_done_says_why_and_offers_nothing(daemon: Daemon, action: str) -> None:
    teams(daemon, 1, {})
    page = shown(daemon, f"/servers/arena-1/{action}")
    assert ('name="seen"' in page, "Back to arena-1" in page) == (False, True)


def test_orders_are_for_admins(daemon: Daemon) -> None:
    guest = OWNER | {"authorization": f"Bearer {SECRETS['guest']}"}
    for method in ("GET", "POST"):
        answer = daemon.request(method, PATH, b"seen=x", **FORM | guest)
        assert (answer.status, b"viewer" in answer.raw) == (403, True)
    assert daemon.request("POST", PATH, b"", **FORM | OWNER).status == 409


def test_an_old_plugin_is_updated_by_a_button_where_the_daemon_may_write(daemon: Daemon) -> None:
    def said(path: str = "/servers/arena-1/plugin", status: int = 200) -> str:
        return shown(daemon, path, status=status)

    daemon.post(posted({**HELLO, "plugin": "0.0.1"}))
    assert "/servers/arena-1/plugin" in said("/servers/arena-1")
    assert "equipoise server update arena-1 --tf DIR" in said()
    tf = game_server(daemon.state.parent)
    folders = daemon.state.parent / "folders.json"
    folders.write_text(json.dumps({"arena-1": {"tf": str(tf.with_name("elsewhere"))}}))
    assert f"sudo equipoise server update arena-1 --tf {tf.with_name('elsewhere')}" in said()
    folders.write_text(json.dumps({"arena-1": {"tf": str(tf)}}))
    (tf / PLUGIN).write_bytes(b"an older one")
    (tf / CFG).write_text("equipoise_server arena-1\nequipoise_secret kept\n")
    page = said()
    assert str(tf) in page
    assert "when it starts next" in page
    assert (tf / PLUGIN).read_bytes() == b"an older one"
    stale = daemon.request("POST", "/servers/arena-1/plugin", urlencode({"seen": "0.0.1"}).encode(), **FORM)
    assert (stale.status, (tf / PLUGIN).read_bytes()) == (409, b"an older one")
    done = daemon.request("POST", "/servers/arena-1/plugin", urlencode({"seen": __version__}).encode(), **FORM)
    assert (done.status, b"sm plugins reload equipoise" in done.raw) == (200, True)
    assert plugin_version((tf / PLUGIN).read_bytes()) == __version__
    assert "equipoise_secret kept" in (tf / CFG).read_text()
    (line, *_) = daemon.call("GET", "/v1/admin/audit").body["audit"]
    assert (line["who"], line["action"], line["after"]) == ("token:owner", "plugin", __version__)


def test_an_ns2_servers_teams_are_left_as_they_are_and_no_other_games(daemon: Daemon) -> None:
    sides = [{"id": f"7656119796026573{n}", "side": ("marines", "aliens")[n % 2]} for n in range(8)]
    hello = {**HELLO, "game": "ns2", "map": "ns2_veil", "facts": {}}
    path = "/servers/ns2-1/scramble"
    daemon.post(posted(hello, {"kind": "roster", "players": sides}, server="ns2-1"), "ns2-1")
    assert f'href="{path}?when=skip"' in shown(daemon, "/servers/ns2-1")
    page = shown(daemon, f"{path}?when=skip")
    assert "Leave the teams of ns2-1 as they are?" in page
    assert confirm(daemon, page, path, when="skip").status == 303
    logged = daemon.call("GET", "/v1/admin/decisions?server=ns2-1").body["decisions"]
    assert "before the next round" in json.dumps(logged[0])
    # The page that is still open says what is no longer so.
    assert confirm(daemon, page, path, when="skip").status == 409
    teams(daemon, 1, EIGHT)
    assert "when=skip" not in shown(daemon, "/servers/arena-1")
    for dry in (True, False):
        body = {"when": "skip", "dry_run": dry}
        answer = daemon.call("POST", "/v1/admin/servers/arena-1/scramble", body)
        assert (answer.status, answer.code) == (409, "refused")
