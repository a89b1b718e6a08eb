"""Proxies in front of the page: the configured ones say who has called, and nobody else does."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from equipoise.errors import ConfigError
from equipoise.web import refusals
from tests.page.browser import Browser
from tests.page.test_site import References
from tests.web.daemon import CONFIG, SECRETS, running
from tests.web.edited import Edited

OWNER = SECRETS["owner"]
BEHIND = CONFIG.replace("[web]", '[web]\nproxies = ["127.0.0.1", "10.1.0.0/16", "fd00::/8"]\nhosts = ["eq.example"]')
TLS = {"x_forwarded_proto": "https", "x_forwarded_host": "eq.example", "x_forwarded_for": "203.0.113.7"}


def refused_peers(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.peer for record in caplog.records if hasattr(record, "peer") and record.getMessage() == "refused"]


def test_behind_tls_the_cookie_is_secure_and_bound_to_the_host(tmp_path: Path) -> None:
    with running(tmp_path, BEHIND) as daemon:
        browser = Browser(daemon, **TLS)
        browser.get("/login")
        assert "not encrypted" not in browser.text
        browser.send(token=OWNER, origin="https://eq.example")
        (morsel,) = browser.set_cookies().values()
        assert (morsel.key, morsel["secure"], morsel["path"], morsel["domain"]) == ("__Host-equipoise", True, "/", "")
        assert browser.get("/").status == 200
        plain = Browser(daemon)
        plain.cookies = {f"equipoise-{daemon.port}": morsel.value}
        assert plain.get("/").status == 200, "it is the login that counts; a browser sends no cookie of TLS in plain"


def test_below_a_path_all_links_and_the_cookie_stay_below_it(tmp_path: Path) -> None:
    with running(tmp_path, BEHIND) as daemon:
        browser = Browser(daemon, **TLS, x_forwarded_prefix="/games/equipoise/")
        away = browser.get("/?a=b")
        assert away.headers["Location"] == "/games/equipoise/login?next=%2F%3Fa%3Db"
        browser.get("/login?next=%2F%3Fa%3Db")
        assert all(each.startswith("/games/equipoise/static/") for each in References(browser.text).found)
        action = browser.form().action
        assert action is not None
        assert action.startswith("/games/equipoise/login?next=")
        back = browser.post("/login?next=%2F%3Fa%3Db", {**browser.form().fields, "token": OWNER})
        assert back.headers["Location"] == "/games/equipoise/?a=b"
        (morsel,) = browser.set_cookies().values()
        assert (morsel.key, morsel["path"]) == ("__Secure-equipoise", "/games/equipoise")
        for wrong in ("//evil.example", "/a b", "/..", '/"', "evil", "/ä", "/a/" * 100):
            plain = Browser(daemon, **TLS, x_forwarded_prefix=wrong)
            assert plain.get("/").headers["Location"] == "/login", wrong


@pytest.mark.parametrize(
    ("forwarded", "peer"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("198.51.100.1, 203.0.113.7", "203.0.113.7"),
        ("198.51.100.1, 203.0.113.7, 10.1.2.3", "203.0.113.7"),
        ("203.0.113.7:4711", "203.0.113.7"),
        ("[2001:db8::1]:4711", "2001:db8::1"),
        ("2001:db8::1, fd00::2", "2001:db8::1"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("10.1.2.3", "10.1.2.3"),
        ("203.0.113.7, unknown", "127.0.0.1"),
        ("203.0.113.7, nonsense, 10.1.2.3", "10.1.2.3"),
        ("203.0.113.7,", "127.0.0.1"),
        ("", "127.0.0.1"),
        ("ÿ", "127.0.0.1"),
    ],
)
def test_the_last_address_that_is_no_proxys_is_the_one_that_has_called(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, forwarded: str, peer: str
) -> None:
    caplog.set_level(logging.INFO)
    with running(tmp_path, BEHIND) as daemon:
        daemon.request("GET", "/v1/admin/servers", authorization="Bearer wrong", x_forwarded_for=forwarded)
    assert refused_peers(caplog) == [peer]


def test_wrong_tokens_are_counted_by_the_address_that_sends_them_to_the_proxy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refusals, "TRIES", 2)
    monkeypatch.setattr(refusals, "DELAY_SECONDS", 0.01)
    with running(tmp_path, BEHIND) as daemon:
        browser = Browser(daemon, **TLS)
        browser.get("/login")
        assert [browser.send(token="wrong").status for _ in range(3)] == [401, 401, 429]
        other = Browser(daemon, **{**TLS, "x_forwarded_for": "203.0.113.7, 203.0.113.8"})
        other.get("/login")
        assert other.send(token="wrong").status == 401


def test_a_name_that_no_configuration_has_is_refused_behind_a_proxy_too(tmp_path: Path) -> None:
    with running(tmp_path, BEHIND) as daemon:
        assert Browser(daemon, x_forwarded_host="evil.example").get("/login").status == 421
        assert Browser(daemon, x_forwarded_host="eq.example, evil.example").get("/login").status == 200, "no name"
        browser = Browser(daemon, **TLS)
        browser.get("/login")
        assert browser.send(token=OWNER, origin="https://evil.example").status == 403


def test_without_configured_proxies_their_headers_change_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refusals, "TRIES", 2)
    monkeypatch.setattr(refusals, "DELAY_SECONDS", 0.01)
    caplog.set_level(logging.INFO)
    with running(tmp_path) as daemon:
        browser = Browser(daemon, **TLS, x_forwarded_prefix="/away", forwarded="for=203.0.113.7;proto=https")
        assert browser.get("/").headers["Location"] == "/login"
        browser.log_in(OWNER)
        (morsel,) = browser.set_cookies().values()
        assert (morsel.key, morsel["secure"], morsel["path"]) == (f"equipoise-{daemon.port}", "", "/")
        addresses = (f"203.0.113.{number}" for number in range(3))
        guesses = [Browser(daemon, x_forwarded_for=address).log_in("wrong").status for address in addresses]
        assert guesses == [401, 401, 429]
    assert set(refused_peers(caplog)) == {"127.0.0.1"}


def test_proxies_are_read_again_with_the_configuration(tmp_path: Path) -> None:
    with running(tmp_path) as daemon:
        edited = Edited(daemon, tmp_path)
        browser = Browser(daemon, x_forwarded_prefix="/below")
        assert browser.get("/").headers["Location"] == "/login"
        edited.edit("[web]", '[web]\nproxies = ["127.0.0.1"]')
        assert edited.changes() == ['web.proxies: [] -> ["127.0.0.1"]']
        assert browser.get("/").headers["Location"] == "/below/login"
        edited.edit('proxies = ["127.0.0.1"]', 'proxies = ["127.0.0.1/8"]')
        assert "web.proxies[0]" in edited.refusal()


@pytest.mark.parametrize("proxy", ["0.0.0.0/0", "::/0", "proxy.example", "10.0.0.1/8", "", "unix:"])
def test_what_is_no_address_of_a_proxy_is_refused(tmp_path: Path, proxy: str) -> None:
    with (
        pytest.raises(ConfigError, match=r"web\.proxies\[0\]"),
        running(tmp_path, CONFIG.replace("[web]", f'[web]\nproxies = ["{proxy}"]')),
    ):
        pass
