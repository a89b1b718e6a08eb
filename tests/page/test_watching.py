"""Pages that stay open: what others do meanwhile is seen, and nothing is lost or done twice."""

from __future__ import annotations

import itertools
import time
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route

from equipoise.core.model import Mode
from equipoise.lab.simulation.game_server import Map
from equipoise.page import public_site
from equipoise.page.visits import form_token
from equipoise.service import live
from tests.game.rcon_servers import free_port
from tests.page.chromium import stranger, tab
from tests.page.games import Game, Home
from tests.web.daemon import CONFIG, SECRETS, Daemon, running
from tests.web.edited import Edited

pytestmark = pytest.mark.world
PEOPLE = [f"Player {number}" for number in range(12)]
LIVE = "#line:has-text('live')"


def panels(page: Page) -> list[str]:
    """The names of the wall's servers, in their order; without one that no script has called from."""
    names: list[str] = page.locator(".panels > .panel").evaluate_all("panels => panels.map(panel => panel.id)")
    return [name.removeprefix("server-") for name in names if name != "server-ns2-1"]


def test_a_login_that_ends_in_the_middle_of_a_dialog_does_nothing_and_leads_back_to_it(
    browser: Browser, daemon: Daemon
) -> None:
    Game(daemon, PEOPLE)
    home = Home(daemon)
    with tab(browser, home) as opened:
        opened.go("/servers/arena-1/scramble?when=next")
        (cookie,) = opened.page.context.cookies()
        token = form_token(cookie["value"])
        name = f"{cookie['name']}={cookie['value']}"
        daemon.request("POST", "/logout", f"csrf={token}".encode(), cookie=name, content_type=FORM)
        opened.page.click("text='Scramble next round'")
        assert "nothing was done" in opened.page.inner_text("[role=alert]")
        assert (home.ask("servers/arena-1")["server"]["pending"], home.audited()) == (None, [])
        opened.page.fill("[name=token]", SECRETS["owner"])
        opened.page.keyboard.press("Enter")
        opened.page.wait_for_url("**/servers/arena-1/scramble?when=next")
        opened.page.click("text='Scramble next round'")
        opened.page.wait_for_url("**/servers/arena-1")
        assert home.ask("servers/arena-1")["server"]["pending"] == "ordered by an admin"


FORM = "application/x-www-form-urlencoded"


def test_servers_come_and_go_on_watched_pages_with_the_configuration(browser: Browser, edited: Edited) -> None:
    home = Home(edited.daemon)
    with tab(browser, home) as wall, tab(browser, home) as server:
        wall.page.wait_for_selector(LIVE)
        assert panels(wall.page) == ["arena-1"]
        file = edited.add_server("dustbowl", "secret")
        edited.reload()
        wall.page.wait_for_selector("#server-dustbowl", timeout=8_000)
        server.go("/servers/dustbowl")
        server.page.wait_for_selector(LIVE)
        file.unlink()
        edited.reload()
        wall.page.wait_for_selector("#server-dustbowl", state="detached", timeout=8_000)
        assert panels(wall.page) == ["arena-1"]
        assert wall.errors == []
        server.page.wait_for_selector("text=No server 'dustbowl'", timeout=8_000)
        assert "is configured" in server.page.inner_text("main")


def test_a_public_page_fetches_itself_again_without_losing_the_place_of_who_reads_it(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(public_site, "LIVE_SECONDS", 0)
    port = free_port()
    with running(tmp_path, CONFIG.replace("[store]", f"[public]\nport = {port}\n[store]")) as daemon:
        game, edited = Game(daemon, PEOPLE), Edited(daemon, tmp_path)
        file = edited.add_server("dustbowl", "secret")
        edited.reload()
        with stranger(browser, f"http://127.0.0.1:{port}") as wall, stranger(browser, wall.url) as server:
            for each, path in ((wall, "/"), (server, "/servers/dustbowl")):
                each.page.clock.install()
                each.go(path)
            assert sorted(panels(wall.page)) == ["arena-1", "dustbowl"]
            wall.page.focus("#server-arena-1 h2 a")
            file.unlink()
            edited.reload()
            game.game.change_map(Map("cp_badlands", Mode.SYMMETRIC_CP))
            game.script.introduce()
            game.sync()
            for each in (wall, server):
                each.page.clock.fast_forward(30_000)
            wall.page.wait_for_selector("text=cp_badlands")
            assert panels(wall.page) == ["arena-1"]
            assert wall.page.evaluate("document.activeElement.textContent") == "arena-1"
            server.page.wait_for_selector("text=Nothing is here")
            assert (wall.errors, wall.strangers) == ([], [])


def test_a_game_server_that_is_killed_comes_first_on_the_wall_and_says_so(browser: Browser, tmp_path: Path) -> None:
    with running(tmp_path, f"silence_seconds = 10\n{CONFIG}") as daemon:
        edited = Edited(daemon, tmp_path)
        edited.add_server("dustbowl", "dustbowl")
        edited.reload()
        killed = Game(daemon, PEOPLE[:4])
        other = Game(daemon, PEOPLE, server="dustbowl", first=100)
        with tab(browser, Home(daemon)) as opened:
            opened.page.wait_for_selector(LIVE)
            assert panels(opened.page) == ["dustbowl", "arena-1"]
            for _ in range(12):
                time.sleep(1.0)
                other.game.pass_time(1.0)
                other.sync()
            opened.page.wait_for_selector("#server-arena-1 >> text=The script has not called", timeout=3_000)
            assert panels(opened.page) == ["arena-1", "dustbowl"]
            assert "need-bad" in (opened.page.get_attribute("#server-arena-1", "class") or "")
            killed.game.pass_time(12.0)
            killed.sync()
            opened.page.wait_for_selector("#server-arena-1:not(:has-text('has not called'))", timeout=3_000)
            assert panels(opened.page) == ["dustbowl", "arena-1"]
            assert opened.errors == []


def test_an_hour_of_the_stream_leaves_the_focus_and_the_memory_as_they_were(
    browser: Browser, edited: Edited, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In fast motion: whatever waits waits a hundredth of its time, and players come and go on two servers."""
    monkeypatch.setattr(live, "LOOK_SECONDS", live.LOOK_SECONDS / 100)
    edited.add_server("dustbowl", "dustbowl")
    edited.reload()
    games = [Game(edited.daemon, PEOPLE), Game(edited.daemon, PEOPLE, server="dustbowl", first=100)]
    with tab(browser, Home(edited.daemon)) as opened:
        page = opened.page
        page.route("**/static/live.js*", _hurry)
        opened.go("/")
        page.wait_for_selector(LIVE)
        page.evaluate(COUNT)
        page.focus("#server-dustbowl h2 a")
        devtools = page.context.new_cdp_session(page)
        devtools.send("Performance.enable")
        sizes: list[dict[str, float]] = []
        orders = set()
        for number in itertools.count():
            _come_or_go(games[number // 8 % 2], number % 8)
            orders.add(tuple(panels(page)))
            assert page.evaluate(FOCUSED) == "/servers/dustbowl"
            # Measured with the same people there, and while no exchange holds parts of two pages.
            if number % 8 == 7 and page.evaluate("exchanged") >= (len(sizes) + 1) * HOUR / 4:
                page.wait_for_timeout(300)
                devtools.send("HeapProfiler.collectGarbage")
                sizes.append(
                    {each["name"]: each["value"] for each in devtools.send("Performance.getMetrics")["metrics"]}
                )
                if len(sizes) == 4:
                    break
        for game in games:
            assert len(page.locator(f"#server-{game.game.name}").all()) == 1
        assert opened.errors == []
    assert orders == {("arena-1", "dustbowl"), ("dustbowl", "arena-1")}
    assert sizes[3]["Nodes"] < sizes[0]["Nodes"] + 100
    assert sizes[3]["JSHeapUsedSize"] < sizes[0]["JSHeapUsedSize"] + 150_000


HOUR = 720
"""Changes in an hour of a server on which something happens every five seconds."""
COUNT = """() => {
  window.exchanged = 0;
  new MutationObserver((seen) => {
    for (const each of seen) exchanged += [...each.addedNodes].filter((node) => node.matches?.("[data-part]")).length;
  }).observe(document.querySelector("main"), { childList: true, subtree: true });
}"""
FOCUSED = "new URL(document.activeElement.href ?? 'about:nothing').pathname"


def _come_or_go(game: Game, moment: int) -> None:
    """Four players leave, one at each moment, and come again in the same order."""
    player = list(game.names)[moment % 4]
    if moment < 4:
        game.game.disconnect(player)
    else:
        game.game.connect(player)
        game.game.want(player, game.seats[player])
    game.sync()


def _hurry(route: Route) -> None:
    file = route.fetch()
    route.fulfill(response=file, body=file.text().replace("REST_MS = 1000", "REST_MS = 10"))


def test_a_watched_page_goes_to_the_login_when_its_login_ends(browser: Browser, edited: Edited) -> None:
    home = Home(edited.daemon)
    with tab(browser, home) as opened:
        opened.go("/servers/arena-1")
        opened.page.wait_for_selector(LIVE)
        (edited.folder / "owner").write_text((edited.folder / "guest").read_text())
        edited.edit('[token.guest]\nsecret_file = "guest"\nrole = "viewer"\n', "")
        edited.daemon.call("POST", "/v1/admin/reload", {})
        opened.page.wait_for_url("**/login?next=%2Fservers%2Farena-1", timeout=8_000)
        assert opened.page.locator("input[name=token]").count() == 1
