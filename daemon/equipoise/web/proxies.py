"""Requests that come through a proxy: who has really called, over TLS or not, by which name, and below which path.

A proxy says so in headers that anybody can send. They are read from the configured addresses alone (`web.proxies`), and
what is no address, name or path in them is as if it were not there.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from aiohttp import web

Network = IPv4Network | IPv6Network

HOST = web.RequestKey("host", str)
"""The name by which a browser has called the proxy."""
PREFIX = web.RequestKey("prefix", str)
"""The path below which the proxy has the daemon."""

_HOST = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")
_PREFIX = re.compile(r"(?:/[A-Za-z0-9_~-][A-Za-z0-9._~-]*){1,8}")


def seen_through(request: web.Request, proxies: Collection[Network]) -> web.Request:
    """Return the request as the proxy got it; the request itself where no trusted proxy has sent it."""
    peer = _address(request.remote or "")
    if peer is None or not _within(peer, proxies):
        return request
    # A proxy adds the address that called it at the end: the last one that is none of ours has called.
    for text in reversed(",".join(request.headers.getall("X-Forwarded-For", [])).split(",")):
        before = _address(text.strip())
        if before is None:
            break
        peer = before
        if not _within(peer, proxies):
            break
    scheme = request.headers.get("X-Forwarded-Proto", "").lower()
    seen = request.clone(remote=str(peer), scheme=scheme if scheme in ("http", "https") else "http")
    host, prefix = request.headers.get("X-Forwarded-Host", ""), request.headers.get("X-Forwarded-Prefix", "")
    if _HOST.fullmatch(host):
        seen[HOST] = host
    if _PREFIX.fullmatch(prefix.rstrip("/")):
        seen[PREFIX] = prefix.rstrip("/")
    return seen


def _address(text: str) -> IPv4Address | IPv6Address | None:
    """Return an address as proxies write it: with a port or without, and of IPv6 in brackets or not."""
    bare = re.sub(r"^\[(.*)\](:\d+)?$|^([\d.]+):\d+$", r"\1\3", text)
    try:
        address = ip_address(bare)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _within(address: IPv4Address | IPv6Address, networks: Collection[Network]) -> bool:
    return any(address in network for network in networks)
