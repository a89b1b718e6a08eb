"""nginx and Caddy in front of a real daemon, as docs/page.md sets them up: TLS, a path, the live stream, addresses."""

from __future__ import annotations

import http.client
import logging
import os
import re
import signal
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from equipoise.web import refusals
from tests.page.browser import Browser
from tests.page.test_site import References
from tests.programs import installed
from tests.web.daemon import CONFIG, SECRETS, Answer, Daemon, running
from tests.wire.samples import HELLO, posted

pytestmark = pytest.mark.world

NAME = "balance.example.org"
DOCUMENT = (Path(__file__).parents[2] / "docs" / "page.md").read_text()
SETTINGS = re.findall(r"```toml\n\[web\]\n(.*?)```", DOCUMENT, re.DOTALL)[0]
OWNER = SECRETS["owner"]
SOMEBODY = "127.0.0.9"
"""The address that browsers call the proxy from: loopback, and none of the proxy's own."""


def block(language: str, place: int, daemon: Daemon, port: int) -> str:
    """A block of the document, for this daemon and a port of the proxy."""
    text = re.findall(rf"```{language}\n(.*?)```", DOCUMENT, re.DOTALL)[place]
    return text.replace("127.0.0.1:27500", f"127.0.0.1:{daemon.port}").replace("listen 443", f"listen 127.0.0.1:{port}")


def nginx(folder: Path, place: int, daemon: Daemon, port: int) -> list[str]:
    """The command of nginx by one of its blocks; one that begins with `location` stands in the first one's server."""
    certificate, key = folder / "fullchain.pem", folder / "privkey.pem"
    words = ("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    files = ("-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}", "-keyout", key, "-out", certificate)
    subprocess.run([installed("openssl"), *words, *files], check=True, capture_output=True)
    server = block("nginx", 0, daemon, port)
    if place:
        server = re.sub(r"    location / \{.*?\n    \}\n", block("nginx", place, daemon, port), server, flags=re.DOTALL)
    server = re.sub(r"/etc/letsencrypt/live/\S+/", f"{folder}/", server)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    places = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in kinds)
    user = "user root;\n" if os.geteuid() == 0 else ""
    head = f"{user}daemon off;\npid {folder}/pid;\nerror_log stderr;\nevents {{}}\n"
    (folder / "nginx.conf").write_text(f"{head}http {{\naccess_log off;\n{places}{server}}}")
    return [installed("nginx"), "-e", "stderr", "-p", str(folder), "-c", str(folder / "nginx.conf")]


def caddy(folder: Path, place: int, daemon: Daemon, port: int) -> list[str]:
    """The command of Caddy by one of its blocks; its certificate is its own instead of a public one."""
    site = block("caddy", place, daemon, port).replace(
        f"{NAME} {{", f"{NAME}:{port} {{\n    bind 127.0.0.1\n    tls internal"
    )
    options = ("admin off", "auto_https disable_redirects", "skip_install_trust", f"storage file_system {folder}/data")
    head = "{\n" + "\n".join(options) + "\n}\n"
    (folder / "Caddyfile").write_text(head + site)
    return [installed("caddy"), "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]


class Behind(Daemon):
    """A daemon as a browser finds it behind a proxy: at the proxy's port, over TLS, below a path."""

    def connection(self) -> http.client.HTTPSConnection:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # it is nobody's but the test's
        connection = http.client.HTTPSConnection(NAME, self.port, timeout=20, context=context)
        raw = socket.create_connection((self.host, self.port), timeout=20, source_address=(SOMEBODY, 0))
        connection.sock = context.wrap_socket(raw, server_hostname=NAME)
        return connection

    def request(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        named = {name.replace("_", "-").title(): value for name, value in headers.items() if value}
        connection = self.connection()
        connection.request(method, path, body, {"Host": f"{NAME}:{self.port}", **named})
        with connection.getresponse() as response:
            answer = Answer(response.status, dict(response.getheaders()), response.read())
        connection.close()
        return answer


@contextmanager
def proxied(
    folder: Path, command: Callable[[Path, int, Daemon, int], list[str]], place: int
) -> Iterator[tuple[Daemon, Behind]]:
    """A daemon, and the same as it is found through the proxy."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = SETTINGS.replace(f'"{NAME}"', f'"{NAME}", "{NAME}:{port}"')
    with running(folder, CONFIG.replace("[web]\n", f"[web]\n{settings}")) as daemon:
        words = command(folder, place, daemon, port)
        with (folder / "proxy.log").open("wb") as log:
            process = subprocess.Popen(words, stdout=log, stderr=log, env={**os.environ, "HOME": str(folder)})
        try:
            behind = Behind(daemon.host, port, daemon.state)
            _await(behind, process, folder / "proxy.log")
            yield daemon, behind
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def _await(behind: Behind, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(200):
        assert process.poll() is None, log.read_text()
        try:
            behind.request("GET", "/healthz")
        except OSError:
            time.sleep(0.05)
        else:
            return
    pytest.fail(log.read_text())


@pytest.mark.parametrize("command", [nginx, caddy])
@pytest.mark.parametrize(("place", "prefix"), [(0, ""), (1, "/equipoise")])
def test_the_page_behind_a_proxy_as_the_document_sets_it_up(
    tmp_path: Path,
    command: Callable[[Path, int, Daemon, int], list[str]],
    place: int,
    prefix: str,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(refusals, "TRIES", 2)
    monkeypatch.setattr(refusals, "DELAY_SECONDS", 0.01)
    caplog.set_level(logging.INFO)
    with proxied(tmp_path, command, place) as (daemon, behind):
        # What a browser claims by these headers the proxy puts right.
        claims = {"x_forwarded_for": "203.0.113.7", "x_forwarded_host": "evil.example", "x_forwarded_proto": "http"}
        if not prefix:
            claims["x_forwarded_prefix"] = "/evil"
        browser = Browser(behind, **claims, origin=f"https://{NAME}:{behind.port}")
        away = browser.get(f"{prefix}/")
        assert (away.status, away.headers["Location"]) == (303, f"{prefix}/login")
        browser.get(away.headers["Location"])
        guesses = [browser.send(token="wrong").status for _ in range(3)]
        assert guesses == [401, 401, 429]
        assert Browser(daemon).log_in("wrong").status == 401, "other addresses are not throttled"
        assert browser.send(token=OWNER).headers["Location"] == f"{prefix}/"
        (morsel,) = browser.set_cookies().values()
        kind = "__Secure-" if prefix else "__Host-"
        assert (morsel.key, morsel["secure"]) == (f"{kind}equipoise-{behind.port}", True)
        assert (morsel["path"], morsel["samesite"]) == (prefix or "/", "Strict")
        assert browser.get(f"{prefix}/").status == 200
        for reference in References(browser.text).found:
            assert browser.get(reference).status == 200
        _stream_flows(daemon, behind, browser, f"{prefix}/live")
    peers = {record.peer for record in caplog.records if record.getMessage() in ("refused", "logged in by a token")}
    assert peers == {SOMEBODY, "127.0.0.1"}


def _stream_flows(daemon: Daemon, behind: Behind, browser: Browser, path: str) -> None:
    """What happens on a server is in the stream at once, and not when a buffer of the proxy is full."""
    connection = behind.connection()
    cookie = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    headers = {"Host": f"{NAME}:{behind.port}", "Accept": "text/event-stream", "Cookie": cookie}
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    assert (response.status, response.headers["Content-Type"]) == (200, "text/event-stream")
    daemon.post(posted({**HELLO, "map": "koth_nucleus"}, seq=1))
    connection.sock.settimeout(5)
    while b"koth_nucleus" not in response.readline():
        pass
    connection.close()
