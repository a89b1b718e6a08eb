"""A request passes the checks of docs/protocol.md one by one; the first it fails is its answer, and is counted."""

from __future__ import annotations

import gzip
import socket
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.web.daemon import SECRETS, Answer, Daemon
from tests.web.test_connections import EVENTS, Client
from tests.wire.samples import ROUND, body, posted

ORDER = [
    ("encoding", 415),
    ("host", 421),
    ("origin", 403),
    ("content_type", 415),
    ("size", 413),
    ("credentials", 401),
    ("role", 403),
    ("json", 400),
    ("schema", 422),
    ("server", 403),
]
BODIES = {"size": b"[" * 300_000, "json": b"[" * 40_000, "schema": b'{"v": 1}', "server": body(server="ns2-1")}


def first(wrongs: list[str], worst: dict[str, Any], good: Any) -> Any:
    """One part of a request: as the earliest of these wrongs that concerns it makes it, else the good one."""
    return next((worst[wrong] for wrong in wrongs if wrong in worst), good)


def wrong_request(daemon: Daemon, wrongs: list[str]) -> Answer:
    secret = first(wrongs, {"credentials": "nobody's", "role": SECRETS["guest"]}, SECRETS["arena-1"])
    return daemon.request(
        "POST",
        "/v1/events",
        first(wrongs, BODIES, body()),
        host=first(wrongs, {"host": "evil.example"}, f"{daemon.host}:{daemon.port}"),
        origin=first(wrongs, {"origin": "http://evil.example"}, ""),
        content_type=first(wrongs, {"content_type": "text/plain"}, "application/json"),
        authorization=f"Bearer {secret}",
        content_encoding=first(wrongs, {"encoding": "gzip"}, ""),
    )


@pytest.mark.parametrize(("number", "code", "status"), [(n, *check) for n, check in enumerate(ORDER)])
def test_of_all_that_is_wrong_the_first_check_answers(untouched: Daemon, number: int, code: str, status: int) -> None:
    before = untouched.refused().get(code, 0)
    answer = wrong_request(untouched, [later for later, _ in ORDER[number:]])
    assert (answer.code, answer.status) == (code, status)
    assert untouched.refused()[code] == before + 1
    alone = wrong_request(untouched, [code])
    assert (alone.code, alone.status) == (code, status)
    assert answer.headers["Content-Type"] == "application/json"
    assert "Location" not in answer.headers


def authorized(daemon: Daemon, who: str = "owner", **headers: str) -> Answer:
    return daemon.request("GET", "/v1/admin/servers", authorization=f"Bearer {SECRETS[who]}", **headers)


def test_the_daemon_goes_by_its_address_and_by_localhost_at_any_port_of_a_tunnel(untouched: Daemon) -> None:
    for name in ("127.0.0.1", "localhost", "LOCALHOST", "[::1]"):
        for port in (f":{untouched.port}", "", ":1", ":9000"):
            assert authorized(untouched, host=f"{name}{port}").status == 200
    origin = "http://localhost:9000"
    assert authorized(untouched, host="localhost:9000", origin=origin, sec_fetch_site="same-origin").status == 200
    assert authorized(untouched, host="localhost:9001", origin=origin).code == "origin"


@pytest.mark.parametrize(
    "host",
    [
        *("localhost.evil.example:27500", "127.0.0.1.evil.example", "evil.example:27500", "*", "127.0.0.2:27500"),
        *("localhost:", "localhost:9000:1", "localhost:x", "localhost@evil.example", "[::1", "::1", "0.0.0.0:27500"),
    ],
)
def test_any_other_host_is_421_and_the_refusal_says_what_it_was(untouched: Daemon, host: str) -> None:
    answer = authorized(untouched, host=host)
    assert answer.status == 421
    assert f"the Host header is {host!r}" in answer.body["error"]["message"]
    assert "web.hosts" in answer.body["error"]["message"]


def test_a_request_that_names_no_host_is_421(untouched: Daemon) -> None:
    with socket.create_connection((untouched.host, untouched.port), timeout=20) as connection:
        connection.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
        assert connection.recv(4096).startswith(b"HTTP/1.0 421 ")


def test_a_page_of_our_own_may_call_and_none_of_another_site(untouched: Daemon) -> None:
    own = f"http://127.0.0.1:{untouched.port}"
    assert authorized(untouched, origin=own, sec_fetch_site="same-origin").status == 200
    assert authorized(untouched, sec_fetch_site="none").status == 200
    for origin in ("null", "http://127.0.0.1", "http://evil.example", f"{own}.evil.example"):
        assert authorized(untouched, origin=origin).code == "origin"
    for site in ("cross-site", "same-site"):
        assert authorized(untouched, sec_fetch_site=site).code == "origin"


FORM = "application/x-www-form-urlencoded"


@pytest.mark.parametrize(
    ("path", "content_type"),
    [
        *(("events", kind) for kind in ("", "text/json", "multipart/form-data", "application/octet-stream")),
        ("splits", FORM),
    ],
)
def test_another_content_type_is_415_and_so_is_a_form_for_anything_but_events(
    untouched: Daemon, path: str, content_type: str
) -> None:
    auth = f"Bearer {SECRETS['arena-1']}"
    answer = untouched.request("POST", f"/v1/{path}", body(), content_type=content_type, authorization=auth)
    assert (answer.code, answer.status) == ("content_type", 415)


def padded(size: int) -> bytes:
    """A batch that is no batch, of this many bytes."""
    return b'{"v": 1' + b" " * (size - 8) + b"}"


def test_256_kib_are_read_and_one_byte_more_is_not(untouched: Daemon) -> None:
    auth = f"Bearer {SECRETS['arena-1']}"
    assert untouched.request("POST", "/v1/events", padded(262_144), authorization=auth).code == "schema"
    assert untouched.request("POST", "/v1/events", padded(262_145), authorization=auth).code == "size"


def test_a_body_that_grows_past_the_limit_unannounced_is_413(untouched: Daemon) -> None:
    chunks = b"40001\r\n" + b" " * 0x40001 + b"\r\n0\r\n\r\n"
    auth = f"Bearer {SECRETS['arena-1']}"
    answer = untouched.request("POST", "/v1/events", chunks, transfer_encoding="chunked", authorization=auth)
    assert (answer.code, answer.status) == ("size", 413)


@pytest.mark.parametrize("path", ["/v1/events", "/v1/admin/servers", "/healthz", "/nowhere"])
@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "x", "identity, gzip"])
def test_a_packed_body_is_refused_before_anything_else(untouched: Daemon, path: str, encoding: str) -> None:
    answer = untouched.request("POST", path, gzip.compress(bytes(1_000_000)), content_encoding=encoding, host="evil")
    assert (answer.code, answer.status, answer.headers["Connection"]) == ("encoding", 415, "close")


def test_a_body_packed_for_the_transfer_is_refused(untouched: Daemon) -> None:
    packed = gzip.compress(body())
    chunk = b"%x\r\n%s\r\n0\r\n\r\n" % (len(packed), packed)
    auth = f"Bearer {SECRETS['arena-1']}"
    answer = untouched.request("POST", "/v1/events", chunk, transfer_encoding="gzip, chunked", authorization=auth)
    assert (answer.code, answer.status) == ("encoding", 415)


def test_a_body_that_is_not_packed_may_say_so(untouched: Daemon) -> None:
    answer = untouched.request("GET", "/healthz", content_encoding="Identity")
    assert answer.status == 200


def test_a_secret_in_the_header_is_checked_before_the_body_is_read(untouched: Daemon) -> None:
    client = Client(untouched.host, untouched.port)
    with client.socket:
        client.send(EVENTS, secret="nobody's", length=1000)
        assert client.answer().startswith(b"HTTP/1.1 401 ")


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Basic b3duZXI6", "Bearer owner token extra", "Bearer ÿ"])
def test_without_a_known_secret_it_is_401(untouched: Daemon, header: str) -> None:
    answer = untouched.request("GET", "/v1/admin/servers", authorization=header)
    assert (answer.code, answer.status) == ("credentials", 401)
    assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_an_unknown_path_and_a_wrong_method_are_answered_in_json(untouched: Daemon) -> None:
    assert (untouched.call("GET", "/v2/events").code, untouched.call("GET", "/v2/events").status) == ("not_found", 404)
    wrong = untouched.call("GET", "/v1/events")
    assert (wrong.code, wrong.status, wrong.headers["Allow"]) == ("method", 405, "POST")
    assert untouched.call("POST", "/v1/admin/servers/arena-1/explode", {}).status == 404
    assert untouched.call("GET", "/v1/admin/servers/arena-9").code == "not_found"
    assert untouched.call("GET", "/v1/admin/pools/side/top").code == "not_found"


def form(secret: str, data: bytes) -> bytes:
    return urlencode({"secret": secret, "data": data}).encode()


@pytest.mark.parametrize(
    ("sent", "charset", "code", "status"),
    [
        (form("nobody's", body(server="ns2-1")), "", "credentials", 401),
        (form("nobody's", b"{"), "", "credentials", 401),
        (form("nobody's", b"\xff"), "", "credentials", 401),
        (form("x" * 4097, b"{}"), "", "form", 400),
        (form(SECRETS["guest"], b"{"), "", "role", 403),
        (form(SECRETS["ns2-1"], b"{"), "", "json", 400),
        (form(SECRETS["ns2-1"], b"\xff"), "", "form", 400),
        (form(SECRETS["ns2-1"], b"{}"), "", "schema", 422),
        (form(SECRETS["ns2-1"], body(server="arena-1")), "", "server", 403),
        (form(SECRETS["ns2-1"], body(server="ns2-1")), "; charset=klingon", "charset", 400),
        (b"data=%7B%7D", "", "form", 400),
        (b"x" * 300_000, "", "size", 413),
    ],
)
def test_a_form_is_checked_like_a_header_and_a_body(
    untouched: Daemon, sent: bytes, charset: str, code: str, status: int
) -> None:
    answer = untouched.request("POST", "/v1/events", sent, content_type=f"{FORM}{charset}")
    assert (answer.code, answer.status) == (code, status)


def test_a_body_with_text_that_is_not_unicode_is_refused(untouched: Daemon) -> None:
    for sent in (posted({"kind": "\ud800"}), posted({**ROUND, "winner": "\udfff"}), posted(server="\ud800")):
        assert untouched.post(sent).status in (400, 422)
    assert untouched.call("POST", "/v1/splits", {"\ud800": 1}).status in (400, 422)


def test_query_parameters_are_checked(untouched: Daemon) -> None:
    assert untouched.call("GET", "/v1/admin/audit?limit=0").code == "schema"
    assert untouched.call("GET", "/v1/admin/audit?limt=5").code == "schema"
    assert untouched.call("GET", "/v1/admin/audit?limit=5&limit=6").code == "schema"
    for limit in ("-1", "1001", "1e9", "1.5", "9" * 20, "9" * 5000, "%D9%A3", "", "NaN", "%00", "%ff"):
        assert untouched.call("GET", f"/v1/admin/audit?limit={limit}").code == "schema"
    assert untouched.call("GET", "/v1/admin/audit?limit=5").status == 200


def test_answers_forbid_caching_and_calls_from_other_sites(untouched: Daemon) -> None:
    headers = untouched.call("GET", "/v1/admin/servers").headers
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "Access-Control-Allow-Origin" not in headers
