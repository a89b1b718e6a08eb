"""The way in: a token or a link logs a browser in, and that browser alone, until its token or its time is over."""

from __future__ import annotations

import asyncio
import http.client
import json
import logging
import re
from pathlib import Path
from urllib.parse import quote

import pytest

from equipoise.errors import ScriptError
from equipoise.page import site
from equipoise.page.visits import Page, Pages, Shown, Visit, form_token
from equipoise.service import live
from equipoise.web import logins, refusals
from equipoise.web.routes import READERS
from tests.page.browser import Browser
from tests.web.daemon import CONFIG, SECRETS, Daemon, running
from tests.web.edited import Edited

OWNER = SECRETS["owner"]
LOCATION = re.compile(r"url=([^\"]+)")


@pytest.fixture
def browser(daemon: Daemon) -> Browser:
    return Browser(daemon)


def path_of(page: Page) -> str:
    """A path of a page, with the first word where there are several."""
    return re.sub(r"{\w+}", "arena-1", re.sub(r"{\w+:(\w+)[^}]*}", r"\1", page.path))


def link_of(daemon: Daemon, who: str = "owner") -> str:
    answer = daemon.call("POST", "/v1/admin/login", who=who)
    assert answer.status == 200, answer.body
    path: str = answer.body["path"]
    return path


def test_who_is_not_logged_in_is_led_to_the_login_and_then_to_where_they_wanted(browser: Browser) -> None:
    assert browser.get("/decisions?limit=x").status == 303, "what is wrong with an address is no stranger's business"
    away = browser.get("/?order=name")
    assert (away.status, away.headers["Location"]) == (303, "/login?next=%2F%3Forder%3Dname")
    assert browser.get(away.headers["Location"]).status == 200
    back = browser.send(token=OWNER)
    assert (back.status, back.headers["Location"]) == (303, "/?order=name")
    wall = browser.get("/?order=name")
    assert wall.status == 200
    assert "owner (admin)" in browser.text


def test_without_a_login_every_page_is_the_login(browser: Browser) -> None:
    pages = [page for page in site.TABLE if page.roles]
    assert len(pages) > 5
    for page in pages:
        path = path_of(page)
        if page.method == "GET":
            answer = browser.get(f"{path}?x=y")
            assert (answer.status, answer.raw, answer.headers["Location"]) == (
                303,
                b"",
                f"/login?next={quote(f'{path}?x=y', safe='')}",
            )
        else:
            answer = browser.post(path, {})
            assert (answer.status, "nothing was done" in browser.text) == (403, True)
        assert browser.daemon.request(page.method, path, None if page.method == "GET" else b"").status == 401


@pytest.mark.parametrize(
    "elsewhere", ["//evil.example", "/\\evil.example", "https://evil.example", "evil.example", "/\r\nX: 1", "/ö", ""]
)
def test_the_login_leads_to_no_other_machine(browser: Browser, elsewhere: str) -> None:
    browser.get("/login")
    fields = {**browser.form().fields, "token": OWNER}
    answer = browser.post(f"/login?next={quote(elsewhere)}", fields)
    assert (answer.status, answer.headers["Location"]) == (303, "/")


def test_the_cookie_is_for_this_site_alone_and_no_script_reads_it(browser: Browser) -> None:
    browser.log_in(OWNER)
    (morsel,) = browser.set_cookies().values()
    assert morsel.key == f"equipoise-{browser.daemon.port}"
    assert (morsel["httponly"], morsel["samesite"], morsel["path"], morsel["domain"]) == (True, "Strict", "/", "")
    assert morsel["secure"] == "", "over http a browser would not keep it"
    assert int(morsel["max-age"]) == 30 * 86400


def test_what_was_in_the_cookie_before_the_login_is_worth_nothing_after_it(browser: Browser) -> None:
    browser.get("/login")
    planted = dict(browser.cookies)
    browser.send(token=OWNER)
    assert browser.cookies.keys() == planted.keys()
    assert browser.cookies != planted
    thief = Browser(browser.daemon)
    thief.cookies = planted
    assert thief.get("/").status == 303


def test_a_login_over_another_one_ends_that(browser: Browser) -> None:
    browser.log_in(SECRETS["guest"])
    first = dict(browser.cookies)
    browser.log_in(OWNER)
    assert "owner (admin)" in (browser.get("/"), browser.text)[1]
    browser.cookies = first
    assert browser.get("/").status == 303


def test_a_logout_ends_the_login_and_takes_the_cookie(browser: Browser) -> None:
    browser.log_in(OWNER)
    kept = dict(browser.cookies)
    browser.get("/")
    token = re.search(r'name="csrf" value="(\w{64})"', browser.text)
    assert token is not None
    out = browser.post("/logout", {"csrf": token[1]})
    assert (out.status, out.headers["Location"], browser.cookies) == (303, "/login", {})
    browser.cookies = kept
    assert browser.get("/").status == 303


def test_no_form_is_taken_without_the_token_of_the_browsers_own_cookie(browser: Browser) -> None:
    paths = [path_of(page) for page in site.TABLE if page.method == "POST"]
    assert {"/login", "/logout", "/servers/arena-1/scramble"} <= set(paths)
    browser.log_in(OWNER)
    other = Browser(browser.daemon)
    other.get("/login")
    for path in paths:
        for csrf in ("", "x", "ö", other.form().fields["csrf"]):
            answer = browser.post(path, {"csrf": csrf, "token": OWNER})
            assert (answer.status, "nothing was done" in browser.text) == (403, True), path
    assert browser.get("/").status == 200
    for path in ("/login", "/logout"):
        other.cookies.clear()
        assert other.post(path, {"csrf": "", "token": OWNER}).status == 403
        assert "allow cookies" in other.text


def test_no_other_site_sends_a_form(browser: Browser) -> None:
    browser.log_in(OWNER)
    browser.get("/")
    csrf = re.search(r'name="csrf" value="(\w{64})"', browser.text)
    assert csrf is not None
    for headers in ({"origin": "https://evil.example"}, {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate"}):
        assert browser.post("/logout", {"csrf": csrf[1]}, **headers).status == 403
    assert browser.get("/").status == 200


def test_a_link_on_another_site_shows_the_page_to_who_is_logged_in_and_the_login_to_others(browser: Browser) -> None:
    clicked = {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate"}
    browser.log_in(OWNER)
    cookies = dict(browser.cookies)
    # SameSite=Strict: the browser keeps the cookie back. What answers must not take it away from the browser.
    away = browser.get("/?a=b", cookie="", **clicked)
    assert away.status == 303
    assert browser.get(away.headers["Location"], cookie="", **clicked).status == 200
    assert browser.cookies == cookies
    onward = LOCATION.search(browser.text)
    assert onward is not None
    assert browser.get(onward[1], sec_fetch_site="same-origin", sec_fetch_mode="navigate").status == 200
    link = link_of(browser.daemon)
    browser.get(link, cookie="", **clicked)
    assert f'url={link}"' in browser.text
    stranger = Browser(browser.daemon)
    away = stranger.get(onward[1], sec_fetch_site="same-origin", sec_fetch_mode="navigate")
    assert away.status == 303
    assert stranger.get(away.headers["Location"]).status == 200
    assert "Token" in stranger.text


def test_no_page_can_be_put_into_a_frame(browser: Browser) -> None:
    browser.get("/login")
    for answer in (browser.page, browser.get("/no/such"), browser.get("/")):
        assert answer.headers["X-Frame-Options"] == "DENY"
        assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
        assert answer.headers["Cache-Control"] == "no-store"
    browser.log_in(OWNER)
    assert browser.get("/").headers["X-Frame-Options"] == "DENY"


def test_a_wrong_token_says_so_and_many_of_them_are_answered_late(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refusals, "TRIES", 3)
    monkeypatch.setattr(refusals, "DELAY_SECONDS", 0.01)
    browser.get("/login")
    seen = [browser.send(token="wrong").status for _ in range(5)]
    assert seen == [401, 401, 401, 429, 429]
    assert "More than 3 wrong" in browser.text
    assert browser.send(token=OWNER).status == 303, "the right one is never throttled"


def test_a_game_servers_secret_opens_no_page(browser: Browser) -> None:
    assert browser.log_in(SECRETS["arena-1"]).status == 403
    assert "secret of a game server" in browser.text
    assert browser.get("/").status == 303


def test_a_link_logs_in_once_and_a_program_that_only_looks_does_not_use_it_up(browser: Browser) -> None:
    link = link_of(browser.daemon, "guest")
    for _ in range(3):
        assert browser.get(link).status == 200
    assert "guest (viewer)" in browser.text
    assert browser.get("/").status == 303
    browser.get(link)
    assert browser.send().status == 303
    assert "guest (viewer)" in (browser.get("/"), browser.text)[1]

    late = Browser(browser.daemon)
    assert late.get(link).status == 410
    assert "equipoise page" in late.text
    assert late.post(link, late.form().fields).status == 401
    assert late.get("/").status == 303


def test_a_link_is_good_for_ten_minutes_and_a_few_wait_at_a_time() -> None:
    links = logins.Links()
    first = links.make(b"owner", 0.0)
    assert links.token(first, 599.9, use=False) == b"owner"
    assert links.token(first, 600.0, use=True) is None
    mine = [links.make(b"owner", 0.0) for _ in range(logins.MOST_LINKS + 2)]
    others = links.make(b"guest", 0.0)
    assert [links.token(link, 1.0, use=True) for link in mine] == [None] * 2 + [b"owner"] * logins.MOST_LINKS
    assert links.token(others, 1.0, use=True) == b"guest"


def test_a_login_ends_after_two_weeks_without_use_and_after_a_month_with_it(tmp_path: Path) -> None:
    day = logins.DAY

    async def month() -> None:
        kept = logins.Logins(tmp_path)
        idle, used = await kept.open(b"t", "admin", 0.0), await kept.open(b"t", "admin", 0.0)
        for each in range(1, 30):
            login = kept.find(used, each * day)
            assert login is not None
            await kept.use(login, each * day)
            assert (kept.find(idle, each * day) is not None) is (each < 14)
        assert kept.find(used, 30 * day) is None
        again = logins.Logins(tmp_path)
        assert again.find(used, 30 * day - 1) is not None, "its last use was written"
        await kept.open(b"t", "admin", 30 * day)
        assert len(json.loads((tmp_path / logins.FILE).read_bytes())) == 1, "those that are over are dropped"

    asyncio.run(month())


def test_of_one_token_so_many_logins_are_kept_and_those_of_others_are_none_of_its_business(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logins, "MOST_LOGINS", 3)

    async def opened() -> list[bool]:
        kept = logins.Logins(tmp_path)
        other = await kept.open(b"other", "admin", 0.0)
        mine = [await kept.open(b"mine", "viewer", 1.0) for _ in range(5)]
        return [kept.find(name, 2.0) is not None for name in (other, *mine)]

    assert asyncio.run(opened()) == [True, False, False, True, True, True]


def test_a_login_ends_with_its_token_its_secret_or_its_role(edited: Edited) -> None:
    guest, owner = Browser(edited.daemon), Browser(edited.daemon)
    guest.log_in(SECRETS["guest"])
    owner.log_in(OWNER)
    edited.edit('secret_file = "guest"\nrole = "viewer"', 'secret_file = "guest"\nrole = "admin"')
    edited.reload()
    assert guest.get("/").status == 303, "another role is another login"
    guest.log_in(SECRETS["guest"])
    assert guest.get("/").status == 200
    link = link_of(edited.daemon, "guest")
    edited.edit('[token.guest]\nsecret_file = "guest"\nrole = "admin"\n', "")
    edited.reload()
    assert guest.get("/").status == 303
    assert guest.get(link).status == 410
    assert owner.get("/").status == 200
    edited.add('[token.guest]\nsecret_file = "guest"\nrole = "admin"\n')
    edited.reload()
    assert guest.get("/").status == 303, "it does not come back with the token"


def test_a_form_that_comes_after_the_login_has_ended_says_that_nothing_was_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = Pages()

    @more.add("POST", "/done", READERS)
    async def done(visit: Visit) -> Shown:
        return Shown("refusal.html", "Done", {"error": ScriptError("done", f"by {visit.caller.name}")})

    monkeypatch.setattr(site, "TABLE", (*site.TABLE, *more))
    with running(tmp_path) as daemon:
        _come_late(Browser(daemon))


def _come_late(browser: Browser) -> None:
    browser.log_in(OWNER)
    fields = {"csrf": form_token(*browser.cookies.values())}
    page = f"http://127.0.0.1:{browser.daemon.port}/?a=b"
    assert browser.post("/done", fields, referer=page).status == 200
    browser.post("/logout", fields)
    browser.get("/login")
    answer = browser.post("/done", fields, referer=page)
    assert (answer.status, "nothing was done" in browser.text) == (403, True)
    assert browser.send(token=OWNER).headers["Location"] == "/?a=b", "back to where the form was"


def test_a_restart_keeps_logins_and_forgets_links_and_no_file_holds_what_opens_one(tmp_path: Path) -> None:
    with running(tmp_path) as daemon:
        browser = Browser(daemon)
        browser.log_in(OWNER)
        link = link_of(daemon)
        file = daemon.state / logins.FILE
        assert file.stat().st_mode & 0o777 == 0o600
        assert all(value.encode() not in file.read_bytes() for value in (*browser.cookies.values(), OWNER))
    with running(tmp_path, CONFIG.replace("port = 0", f"port = {daemon.port}")) as daemon:
        assert browser.get("/").status == 200
        assert browser.get(link).status == 410


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"a": {"token": 1}}', b"\xff" * 100, b"[" * 100_000])
def test_a_file_of_logins_that_cannot_be_read_costs_its_logins_alone(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / logins.FILE).write_bytes(content)
    with running(tmp_path) as daemon:
        assert f"{logins.FILE} cannot be read" in caplog.text
        browser = Browser(daemon)
        assert browser.log_in(OWNER).status == 303
        assert browser.get("/").status == 200
        assert len(json.loads((daemon.state / logins.FILE).read_bytes())) == 1


def test_a_browser_logs_in_though_no_file_can_be_written(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with running(tmp_path) as daemon:
        (daemon.state / "logins.json.part").mkdir()
        browser = Browser(daemon)
        assert browser.log_in(OWNER).status == 303
        assert browser.get("/").status == 200
        assert "cannot be written" in caplog.text


def test_the_live_stream_is_for_who_is_logged_in_and_ends_with_the_login(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "ALIVE_SECONDS", 0.1)
    assert browser.get("/live", accept="text/event-stream").status == 401
    browser.log_in(OWNER)
    cookie = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    connection = http.client.HTTPConnection(browser.daemon.host, browser.daemon.port, timeout=20)
    connection.request("GET", "/live", headers={"Cookie": cookie, "Accept": "text/event-stream"})
    response = connection.getresponse()
    assert (response.status, response.headers["Content-Type"]) == (200, "text/event-stream")
    assert response.readline() == b"retry: 2000\n"
    browser.get("/")
    browser.post("/logout", {"csrf": form_token(*browser.cookies.values())})
    rest = response.read()
    assert b"event: server" in rest
    connection.close()


def test_logins_are_in_the_audit_and_all_of_them_in_the_log(browser: Browser, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    browser.log_in("wrong")
    browser.log_in(SECRETS["guest"])
    link = link_of(browser.daemon)
    browser.get(link)
    browser.send()
    browser.get("/")
    browser.post("/logout", {"csrf": re.findall(r'name="csrf" value="(\w{64})"', browser.text)[0]})
    lines = browser.daemon.call("GET", "/v1/admin/audit").body["audit"]
    assert [(line["who"], line["action"], line["after"]) for line in lines] == [
        ("token:owner", "login", "by a link"),
        ("token:guest", "login", "by a token"),
    ]
    said = [
        (record.getMessage(), getattr(record, "caller", None), record.peer)
        for record in caplog.records
        if hasattr(record, "peer")
    ]
    assert said == [
        ("refused", None, "127.0.0.1"),
        ("logged in by a token", "token:guest", "127.0.0.1"),
        ("logged in by a link", "token:owner", "127.0.0.1"),
        ("logged out", "token:owner", "127.0.0.1"),
    ]
    assert all(secret not in caplog.text for secret in (OWNER, SECRETS["guest"], "wrong", link))


def test_without_the_page_there_is_no_path_of_it(tmp_path: Path) -> None:
    with running(tmp_path, CONFIG.replace("[web]", "[web]\npage = false")) as daemon:
        browser = Browser(daemon)
        for path in ("/", "/login", "/static/page.css"):
            assert browser.get(path).code == "not_found"
        refusal = daemon.call("POST", "/v1/admin/login")
        assert (refusal.status, "page = true" in refusal.body["error"]["message"]) == (409, True)
        assert daemon.call("GET", "/v1/admin/servers").status == 200
        assert not (daemon.state / logins.FILE).exists()
