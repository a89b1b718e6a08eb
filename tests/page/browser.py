"""A browser without a screen: it keeps cookies, and fills in and sends the forms of pages."""

from __future__ import annotations

import http.cookies
from html.parser import HTMLParser
from urllib.parse import urlencode

from tests.web.daemon import Answer, Daemon


class Form(HTMLParser):
    """The form in the main part of a page: where it goes, and the fields that it has by itself."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.action: str | None = None
        self.fields: dict[str, str] = {}
        self._in_main = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self._in_main = self._in_main or tag == "main"
        if self._in_main and tag == "form":
            self.action = named["action"]
        if self._in_main and tag == "input" and named.get("type") == "hidden":
            self.fields[named["name"] or ""] = named["value"] or ""


class Browser:
    """One browser at one address of a daemon. `headers` are sent with each request."""

    def __init__(self, daemon: Daemon, **headers: str) -> None:
        self.daemon = daemon
        self.headers = {"accept": "text/html", "content_type": "", **headers}
        self.cookies: dict[str, str] = {}
        self.page: Answer

    def get(self, path: str, **headers: str) -> Answer:
        """Open a page, without going on to where it leads."""
        return self._send("GET", path, None, headers)

    def post(self, path: str, fields: dict[str, str], **headers: str) -> Answer:
        """Send a form that nobody has filled in."""
        named = {"content_type": "application/x-www-form-urlencoded", **headers}
        return self._send("POST", path, urlencode(fields).encode(), named)

    def form(self) -> Form:
        """The form of the page that is open."""
        return Form(self.text)

    def send(self, token: str | None = None, **headers: str) -> Answer:
        """Send the form of the page that is open, filled in with a token if there is one."""
        form = self.form()
        assert form.action is not None, self.text
        return self.post(form.action, form.fields if token is None else {**form.fields, "token": token}, **headers)

    def log_in(self, token: str) -> Answer:
        self.get("/login")
        return self.send(token=token)

    @property
    def text(self) -> str:
        return self.page.raw.decode()

    def _send(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Answer:
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        self.page = self.daemon.request(method, path, body, **{"cookie": cookie, **self.headers, **headers})
        for morsel in self.set_cookies().values():
            if morsel["max-age"] == "0":
                self.cookies.pop(morsel.key, None)
            else:
                self.cookies[morsel.key] = morsel.value
        return self.page

    def set_cookies(self) -> http.cookies.SimpleCookie:
        """The cookies that the last answer has set."""
        return http.cookies.SimpleCookie(self.page.headers.get("Set-Cookie", ""))
