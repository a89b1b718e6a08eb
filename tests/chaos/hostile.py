"""Requests that no script sends: damaged batches, impossible values, wrong secrets, routes that are not there.

They go to the server `junk`, in whose pool a request that turns out to be right does no harm. Those with the name of
another server carry a wrong secret, and no round of theirs may be found stored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from random import Random
from typing import Any

from tests.chaos.calls import Request, bearer
from tests.chaos.games import EPOCH, a_round, hello, roster

STRANGE: tuple[Any, ...] = (
    None,
    True,
    -1,
    0.5,
    2**63,
    10**400,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "x" * 5000,
    "\x00",
    "\ud800",
    "bot:1",
    "9" * 5000,
    [],
    {},
    [[]],
    {"id": {}},
)
PATHS = (
    "/v1/rounds",
    "/v1/splits",
    "/v1/admin/players/1",
    "/v1/admin/players/%00",
    "/v1/admin/decisions?limit=x",
    "/v1/admin/pools/none/top?limit=-1",
    "/v1/admin/servers/junk/scramble",
    "/healthz",
    "/metrics",
    "/",
    "/v1/events/../events",
    "/%ff",
    "/" + "x" * 6000,
)
METHODS = ("GET", "PUT", "DELETE", "POST", "PATCH", "OPTIONS", "LOCK", "TRACE")

Maker = Callable[[Random, str, str], Request]


def requests(rng: Random, count: int, junk: str, other: str) -> Iterator[Request]:
    """So many requests; `junk` is the secret of the server `junk`, `other` that of another server."""
    for _ in range(count):
        yield rng.choice(MAKERS)(rng, junk, other)


def batch(rng: Random, server: str = "junk") -> dict[str, Any]:
    """A right one."""
    boot = 1000 * EPOCH + rng.randrange(10**6)
    event = a_round(rng, f"{boot}-{rng.randrange(10**9)}", f"{boot}-1", 1)
    events = [hello(f"{boot}-1"), roster(rng), event]
    whole = {"v": 1, "server": server, "boot": boot, "seq": rng.randrange(1, 10**6), "at": 1.0, "events": events}
    return deepcopy(whole)


def strange_value(rng: Random, junk: str, other: str) -> Request:
    """One value of a right batch is replaced."""
    value = batch(rng)
    holders = [each for each in containers(value) if each]
    holder = rng.choice(holders)
    place = rng.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
    holder[place] = rng.choice(STRANGE)
    return Request("POST", "/v1/events", bearer(junk), encoded(value))


def containers(value: Any) -> Iterator[Any]:
    """Every list and object in a value, itself too."""
    if isinstance(value, dict | list):
        yield value
        for each in value.values() if isinstance(value, dict) else value:
            yield from containers(each)


def damaged_bytes(rng: Random, junk: str, other: str) -> Request:
    """Cut, doubled, or with wrong bytes."""
    body = bytearray(encoded(batch(rng)))
    place = rng.randrange(len(body))
    kind = rng.randrange(4)
    if kind == 0:
        del body[place:]
    elif kind == 1:
        body += bytes(body)
    else:
        body[place : place + rng.randrange(1, 9)] = rng.randbytes(rng.randrange(9))
    return Request("POST", "/v1/events", bearer(junk), bytes(body))


def deep(rng: Random, junk: str, other: str) -> Request:
    """Brackets in brackets, or a number without an end."""
    body = rng.choice((b"[" * 40_000, b'{"a":' * 30_000, b"9" * 100_000, b'"\\u', b"\xff\xfe", b""))
    return Request("POST", rng.choice(("/v1/events", "/v1/rounds", "/v1/splits")), bearer(junk), body)


def wrong_secret(rng: Random, junk: str, other: str) -> Request:
    """A right batch of another server, in the name of `junk` or without a name."""
    secret = rng.choice((junk, "", "wrong", "\u00e4" * 40, other + "x"))
    headers = bearer(secret) if rng.random() < 0.9 else {"Content-Type": "application/json"}
    return Request("POST", "/v1/events", headers, encoded(batch(rng, "arena-1")))


def wrong_type(rng: Random, junk: str, other: str) -> Request:
    """Another content type, or a form that is none."""
    kind = rng.choice(("text/plain", "application/x-www-form-urlencoded", "", "multipart/form-data", "a/b;c=d"))
    headers = {**bearer(junk), "Content-Type": kind}
    return Request("POST", "/v1/events", headers, rng.choice((encoded(batch(rng)), b"secret=%ff&data=%00", b"&&=")))


def wrong_route(rng: Random, junk: str, other: str) -> Request:
    """A method or a path that is not there, or not for scripts."""
    return Request(rng.choice(METHODS), rng.choice(PATHS), bearer(junk), rng.choice((b"", b"{}", b"[]", b"null")))


def large(rng: Random, junk: str, other: str) -> Request:
    """More than the protocol allows."""
    return Request("POST", "/v1/events", bearer(junk), b" " * rng.choice((262_145, 1_000_000)))


def strange_head(rng: Random, junk: str, other: str) -> Request:
    """A right batch below a head that browsers, proxies and other hosts send."""
    header = rng.choice((("Host", "example.org"), ("Origin", "http://example.org"), ("Sec-Fetch-Site", "cross-site")))
    return Request("POST", "/v1/events", dict([*bearer(junk).items(), header]), encoded(batch(rng)))


def encoded(value: object) -> bytes:
    """As Python writes it: NaN and Infinity too."""
    return json.dumps(value).encode()


MAKERS: tuple[Maker, ...] = (
    *(9 * (strange_value,)),
    *(3 * (damaged_bytes, deep, wrong_type, wrong_route, large, strange_head)),
    wrong_secret,
)
"""By how often they are drawn; wrong secrets are few because the daemon answers them later and later."""
