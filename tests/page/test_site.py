"""Pages of a real daemon: what every page has in common."""

from __future__ import annotations

from html.parser import HTMLParser

from tests.web.daemon import SECRETS, Daemon

OWNER = {"authorization": f"Bearer {SECRETS['owner']}", "accept": "text/html"}


class References(HTMLParser):
    """What a page makes a browser fetch."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if tag in ("link", "script", "img"):
            self.found.append(named.get("href") or named["src"] or "")


def test_the_wall_is_a_page_whose_files_are_all_the_daemons_own_and_kept_under_their_version(daemon: Daemon) -> None:
    wall = daemon.request("GET", "/", **OWNER)
    assert (wall.status, wall.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert "default-src 'none'" in wall.headers["Content-Security-Policy"]
    assert "unsafe" not in wall.headers["Content-Security-Policy"]
    found = References(wall.raw.decode()).found
    assert len(found) == 3
    for reference in found:
        assert reference.startswith("/static/")
        file = daemon.request("GET", reference)
        assert (file.status, "immutable" in file.headers["Cache-Control"]) == (200, True)
        assert daemon.request("GET", reference, if_none_match=file.headers["ETag"]).status == 304


def test_no_other_file_is_sent(daemon: Daemon) -> None:
    for name in ("..%2fsite.py", "%2e%2e/site.py", "../templates/wall.html", "nothing.css", "%00", ""):
        assert daemon.request("GET", f"/static/{name}", **OWNER).status in (400, 404), name


def test_what_is_not_there_is_a_page_for_people_and_json_for_programs(daemon: Daemon) -> None:
    person = daemon.request("GET", "/no/such/page", **OWNER)
    assert (person.status, b"Nothing is here" in person.raw) == (404, True)
    assert daemon.request("GET", "/v1/no/such", **OWNER).code == "not_found"
    assert daemon.request("GET", "/no/such/page").code == "not_found"
