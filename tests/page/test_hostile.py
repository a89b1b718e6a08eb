"""Texts of strangers on every page, and pages of strangers in the same browser: nothing of theirs is run or obeyed."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from playwright.sync_api import Browser, Page

from equipoise.core.model import Mode, Side
from equipoise.lab.simulation.game_server import Map
from equipoise.page.visits import form_token
from tests.page.chromium import tab
from tests.page.games import Game, Home
from tests.web.daemon import CONFIG, Daemon, running
from tests.web.edited import digest

pytestmark = pytest.mark.world
TEXTS = [
    "<script>document.title=1;alert(1)</script>",
    "\"><img src=x onerror=alert(1)>'><svg/onload=alert(1)>",
    "</title></script><script>alert(1)</script><!--",
    "{{7*7}} ${7*7} <%= 7*7 %> {% raw %}",
    "javascript:alert(1)//%0aalert(1)",
    "@everyone <@1> **bold** [x](javascript:alert(1))",
    "../../etc/passwd?a=b&c=d#e/f;g,h%2f%00",
    "\u202e\u2066evil \u200b\u200b\u200bzero\u0000width\x1b[31m",
    "z\u0338\u0322\u031b\u0337" * 25,
    "\N{FIRE}" * 64,
    "\u0645\u062d\u0645\u062f " * 21,
    "W" * 128,
    " \u3164",
    "null",
]
MAPS = ["<img src=x onerror=alert(1)>/../" + "w" * 90, "workshop/cp_a%2f%00?a=b&c=d#e;f,g+h.ugc123", "W" * 128]
OTHER = """
[server.other-1]
secret_sha256 = "{}"
game = "other"
sides = ["<b>Wolves&\\"'", "WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW"]
"""
MOST = {"players": 16, "servers": 30, "rounds": 12, "maps": 12}
"""Pages of a kind that are opened; of others eight."""
INJECTED = """() => {
  const all = [...document.querySelectorAll("*")];
  const foreign = "script:not([src^='/static/']), img, iframe, object, embed, base, [href^='javascript:' i]";
  return all.filter(each => each.matches(foreign) || [...each.attributes].some(one => one.name.startsWith("on")))
    .map(each => each.outerHTML.slice(0, 200));
}"""


def other_game(daemon: Daemon) -> None:
    """A round of a game that Equipoise does not know, on sides with names of their own."""
    players = [{"id": f"7656119796031000{n}", "side": "ab"[n % 2]} for n in range(8)]
    hello = {"kind": "hello", "plugin": TEXTS[1][:40], "game": "other", "map": MAPS[0], "session": TEXTS[0][:60]}
    joins = [{"kind": "player_joined", "id": each["id"], "name": TEXTS[n]} for n, each in enumerate(players)]
    live = {"kind": "round_live", "round": "<i>1/../2?", "players": players}
    batch = {"v": 1, "server": "other-1", "boot": 1763622000123, "seq": 1, "at": 812.4}
    events = [{**hello, "phase": "running", "facts": {}}, *joins, {"kind": "roster", "players": players}, live]
    body = json.dumps({**batch, "events": events}).encode()
    answer = daemon.request("POST", "/v1/events", body, authorization="Bearer other-1")
    assert answer.body["ok"], answer.body
    refused = json.dumps({**batch, "seq": 2, "events": [{"kind": TEXTS[0]}]}).encode()
    assert daemon.request("POST", "/v1/events", refused, authorization="Bearer other-1").status == 422


@contextmanager
def hostile(folder: Path) -> Iterator[Home]:
    """A daemon that was sent such texts in every field that takes any."""
    with running(folder, CONFIG + OTHER.format(digest("other-1"))) as daemon:
        home, game = Home(daemon), Game(daemon, TEXTS)
        for number, name in enumerate(MAPS):
            game.game.change_map(Map(name, Mode.KOTH))
            game.script.introduce()
            game.sync()
            game.game.end_waiting()
            game.begin()
            played = game.end(list(Side)[number % 2])
            game.begin()
        other_game(daemon)
        for text in TEXTS:
            home.ask(f"rounds/arena-1/{played}/void", {"reason": text, "undo": False})
            home.ask(f"rounds/arena-1/{played}/void", {"reason": "", "undo": True})
        player = next(iter(game.names))
        home.ask(f"players/{player}", {"rating": 1234}, "PUT")
        home.ask("servers/arena-1/scramble", {"when": "next"})
        yield home


def test_no_text_of_a_stranger_is_run_or_breaks_a_page(browser: Browser, tmp_path: Path) -> None:
    """Every link is followed, on a phone's width."""
    with hostile(tmp_path) as home, tab(browser, home, width=400) as opened:
        reflected = [
            f"/{path}={quote(text)}"
            for path in ("decisions?player", "players?text", "rounds?map", "login?next")
            for text in (*TEXTS[:3], TEXTS[11])
        ]
        heads = ("", "maps", "players", "rounds", "pools/main", "decisions", "audit", "health", "servers/other-1")
        waiting = [f"/{path}" for path in heads] + reflected
        seen: dict[str, int] = {}
        counts: dict[str, int] = {}
        faults: dict[str, list[Any]] = {}
        texts = ""
        while waiting:
            path = waiting.pop(0)
            opened.errors.clear()
            answer = opened.page.goto(opened.url + path)
            assert answer is not None
            seen[path] = answer.status
            errors = [each for each in opened.errors if answer.status == 200 or "status of 4" not in each]
            if bad := [*errors, *opened.page.evaluate(INJECTED), *([px] if (px := opened.sideways()) else [])]:
                faults[path] = bad
            texts += opened.page.inner_text("body")
            unseen = opened.page.locator(".name").evaluate_all(UNSEEN)
            assert unseen == 0, f"nobody can read who that is: {path}"
            for link in opened.page.locator("main a").evaluate_all("links => links.map(link => link.href)"):
                to = link.removeprefix(opened.url).partition("#")[0]
                assert to.startswith("/"), f"{path} leads to {link}"
                kind = to.split("/")[1].partition("?")[0]
                if to not in seen and to not in waiting and counts.get(kind, 0) < MOST.get(kind, 8):
                    counts[kind] = counts.get(kind, 0) + 1
                    waiting.append(to)
        assert faults == {}
        assert {path: status for path, status in seen.items() if status != 200 and path not in reflected} == {}
        assert opened.strangers == []
        kinds = {path.split("/")[1].partition("?")[0] for path in seen}
        assert {"", "servers", "players", "rounds", "maps", "decisions", "pools"} <= kinds
        for text in (TEXTS[0], "{{7*7}}", MAPS[0], "<b>Wolves"):
            assert text in texts
        assert len(seen) > 60


UNSEEN = "names => names.filter(name => !/[^\\s\\u3164]/.test(name.textContent)).length"


EVIL = """<!doctype html><title>Free hats</title><script>
const tried = {}, at = (path) => TARGET + path;
async function reach(name, path, options) {
  try { tried[name] = (await fetch(at(path), { credentials: "include", ...options })).type; }
  catch { tried[name] = "failed"; }
}
function form(path, fields) {
  const form = document.body.appendChild(document.createElement("form"));
  form.method = "post";
  form.action = at(path);
  for (const [name, value] of Object.entries(fields)) {
    form.append(Object.assign(document.createElement("input"), { name, value }));
  }
  form.submit();
}
</script><body><iframe id="frame"></iframe>"""


class _Evil(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        if "?" in self.path:
            self.send_header("Set-Cookie", f"{urlsplit(self.path).query}; Path=/")
        self.end_headers()
        self.wfile.write(EVIL.encode())

    def log_message(self, *words: object) -> None:
        """Say nothing."""


@contextmanager
def elsewhere() -> Iterator[str]:
    """Another site on this machine: to browsers the same host, whose cookies they send it too."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Evil) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@contextmanager
def victim(browser: Browser, home: Home) -> Iterator[Page]:
    """A tab that is logged in, and may go anywhere."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(home.url + home.ask("login", {})["path"])
    page.click("main button")
    page.wait_for_selector("text=owner (admin)")
    try:
        yield page
    finally:
        context.close()


def test_another_site_reads_nothing_and_orders_nothing_though_it_knows_the_forms_token(
    browser: Browser, daemon: Daemon
) -> None:
    game, home = Game(daemon, TEXTS[:2] * 4), Home(daemon)
    with elsewhere() as site, victim(browser, home) as page:
        page.goto(f"{home.url}/servers/arena-1/off")
        seen = page.get_attribute("[name=seen]", "value")
        (cookie,) = page.context.cookies()
        fields = {"csrf": form_token(cookie["value"]), "seen": seen, "when": "now"}
        page.goto(site)
        page.evaluate("target => { window.TARGET = target; }", home.url)
        page.evaluate(
            """async (fields) => {
              for (const path of ["/", "/audit", "/live", "/v1/admin/servers"]) await reach(path, path, {});
              const body = new URLSearchParams(fields);
              await reach("order", "/servers/arena-1/off", { method: "POST", body, mode: "no-cors" });
              await reach("logout", "/logout", { method: "POST", body, mode: "no-cors" });
            }""",
            fields,
        )
        tried = page.evaluate("tried")
        assert {tried.pop("order"), tried.pop("logout")} <= {"opaque", "failed"}
        assert set(tried.values()) == {"failed"}
        assert len(tried) == 4
        with page.expect_navigation():
            page.evaluate("fields => form('/servers/arena-1/off', fields)", fields)
        assert home.url in page.url
        assert home.ask("servers/arena-1")["server"]["enabled"] is True
        assert (home.audited(), game.sync()) == ([], [])
        page.goto(home.url)
        assert "owner (admin)" in page.inner_text("body")


def test_another_site_cannot_frame_a_page_nor_hold_on_to_its_window(browser: Browser, daemon: Daemon) -> None:
    home = Home(daemon)
    with elsewhere() as site, victim(browser, home) as page:
        page.goto(site)
        page.evaluate("target => { frame.src = target + '/servers/arena-1/off'; }", home.url)
        page.wait_for_function("() => frame.contentDocument === null")
        framed = page.frames[1]
        framed.wait_for_load_state()
        assert "Switch Equipoise off" not in framed.content()
        with page.expect_popup() as popup:
            page.evaluate("target => { window.held = open(target); }", home.url)
        popup.value.wait_for_load_state()
        assert popup.value.evaluate("window.opener") is None
        assert page.evaluate("held.closed") is True
