"""People at the page, who open what it offers and send its forms, and readers of the live stream, some of them slow."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections import Counter
from contextlib import suppress
from html.parser import HTMLParser
from random import Random
from threading import Event
from urllib.parse import urlencode

from tests.chaos.calls import bearer
from tests.chaos.daemon import Daemon

PATIENCE = 60.0
LEFT_ALONE = {"logout", "login", "forget", "off"}
"""The driver comes in by the page; it would not know whom it forgot; a server that is off closes no gap."""
ALIVE = 5.0
"""Seconds after which a stream without a line is dead."""
DOWN = 0.3
"""Seconds until somebody tries again whom nobody answered."""
FINE = {200, 303, 409}
"""Of what a page offers: shown; done; changed since it was shown, and shown anew."""
GONE = {404, 422, 503}
"""Also of what may be gone by now, or cannot be done; or the store is away."""


class Offers(HTMLParser):
    """What a page offers: its links, and its forms with their fields."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.forms: list[tuple[str, str, dict[str, str]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "a" and given.get("href", "").startswith("/"):
            self.links.append(given["href"])
        elif tag == "form":
            self.forms.append((given.get("method", "get").upper(), given["action"], {}))
        elif tag in ("input", "select", "textarea") and given.get("name") and self.forms:
            self.forms[-1][2][given["name"]] = given.get("value", "")


def browse(daemon: Daemon, rng: Random, ends: Event, tried: Counter[str], wrong: list[str]) -> None:
    """Go from page to page by what each offers; everything that is offered is there."""
    path = "/"
    while not ends.wait(rng.uniform(0.0, 0.05)):
        answer = requested(daemon, "GET", path)
        if answer is None:
            tried["no answer"] += 1
            ends.wait(DOWN)
            continue
        status, text = answer
        tried[f"page {status}"] += 1
        if status not in FINE | GONE:
            wrong.append(f"GET {path}: {status}: {text[-600:]}")
        offers = Offers(text)
        forms = [form for form in offers.forms if not LEFT_ALONE & set(form[1].split("/"))]
        if forms and rng.random() < 0.5:
            method, action, fields = rng.choice(forms)
            if method == "GET":
                path = f"{action}?{urlencode(fields)}"
                continue
            if (sent := requested(daemon, method, action, urlencode(fields | {"sure": "true"}))) is not None:
                tried[f"form {sent[0]}"] += 1
                if sent[0] not in FINE | GONE:
                    wrong.append(f"POST {action} {fields}: {sent[0]}: {sent[1][-600:]}")
        links = [link for link in offers.links if not link.startswith(("/static", "/logout", "/v1", "//"))]
        path = rng.choice(links) if links and rng.random() < 0.9 else "/"


def requested(daemon: Daemon, method: str, path: str, body: str | None = None) -> tuple[int, str] | None:
    """Status and text of an answer; None where none came."""
    connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=PATIENCE)
    headers = bearer(daemon.token) | {"Accept": "text/html", "Content-Type": "application/x-www-form-urlencoded"}
    try:
        connection.request(method, path, body, {**headers, "Sec-Fetch-Site": "same-origin"})
        response = connection.getresponse()
        return response.status, response.read().decode()
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def watch(daemon: Daemon, rng: Random, ends: Event, tried: Counter[str], wrong: list[str]) -> None:
    """Read the stream: whole, in pieces, slowly, or not at all; connect again where it ended."""
    last = ""
    while not ends.wait(0.1):
        try:
            with socket.create_connection(("127.0.0.1", daemon.port), PATIENCE) as reader:
                reader.settimeout(ALIVE)
                headers = bearer(daemon.token) | {"Host": f"127.0.0.1:{daemon.port}"}
                headers |= {"Last-Event-ID": last} if last else {}
                lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
                reader.sendall(f"GET /v1/live HTTP/1.1\r\n{lines}\r\n".encode())
                if (
                    how := rng.choice(("reads", "reads", "reads slowly", "reads nothing", "leaves"))
                ) == "reads nothing":
                    ends.wait(rng.uniform(0, 3))
                elif how != "leaves":
                    last = read(reader, rng, ends, wrong, slowly=how == "reads slowly") or last
                tried[f"stream: {how}"] += 1
        except OSError:
            tried["stream: cut"] += 1
            ends.wait(DOWN)


def read(reader: socket.socket, rng: Random, ends: Event, wrong: list[str], *, slowly: bool) -> str:
    """Read events for a while; the last id. Every one is whole, and says of which server it is."""
    last, ends_at = "", time.monotonic() + rng.uniform(0.5, 6.0)
    with reader.makefile("rb") as stream, suppress(OSError):
        while time.monotonic() < ends_at and not ends.is_set():
            line = stream.readline()
            if not line:
                return last
            if line.startswith(b"id: "):
                last = line[4:].strip().decode()
            elif line.startswith(b"data: "):
                try:
                    data = json.loads(line[6:])
                except ValueError:
                    if line.endswith(b"\n"):  # else it was cut
                        wrong.append(f"GET /v1/live: {line[:300]!r}")
                else:
                    if not {"server", "at"} & data.keys():
                        wrong.append(f"GET /v1/live: {line[:300]!r}")
            if slowly:
                ends.wait(0.3)
    return last
