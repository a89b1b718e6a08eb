"""Where a game server is reached by its own protocols: RCON and A2S queries."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field

from equipoise.config.secret_files import Secrets
from equipoise.config.tables import ServerKeys
from equipoise.errors import ConfigError

Address = tuple[str, int]
"""A literal IP address and a port."""


@dataclass(frozen=True, slots=True)
class Rcon:
    """A game server's RCON."""

    address: Address
    password: str = field(repr=False)


def read_rcon(server: ServerKeys, path: str, secrets: Secrets) -> Rcon | None:
    """A server's RCON, None without one and until systemd hands its password over; `path` is that of its table."""
    if not server.rcon:
        if server.rcon_password_file:
            raise ConfigError("rcon, the address that it belongs to, is missing", path=f"{path}.rcon_password_file")
        return None
    if server.game == "ns2":
        raise ConfigError("ns2 has no RCON", path=f"{path}.rcon")
    key = f"{path}.rcon_password_file"
    if not server.rcon_password_file:
        raise ConfigError("this key is required beside rcon", path=key)
    password = secrets.password(server.rcon_password_file, key)
    if password is None:
        return None
    if not password or not password.isprintable():
        raise ConfigError(f"{server.rcon_password_file} must hold the RCON password in one line", path=key)
    return Rcon(_address(server.rcon, f"{path}.rcon"), password)


def read_query(server: ServerKeys, path: str, rcon: Rcon | None) -> Address | None:
    """Where a server answers A2S queries, None: it is never asked. A TF2 server answers at the address of its RCON."""
    if server.query is None:
        return rcon.address if rcon else None
    return _address(server.query, f"{path}.query") if server.query else None


def joined(address: Address) -> str:
    """As it stands in the file.

    >>> joined(("127.0.0.1", 27015)), joined(("::1", 27015))
    ('127.0.0.1:27015', '[::1]:27015')
    """
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _address(text: str, path: str) -> Address:
    """`127.0.0.1:27015`, `[::1]:27015` or `localhost:27015`; names are not looked up, which may take minutes."""
    host, _, port = text.rpartition(":")
    host = "127.0.0.1" if host == "localhost" else host.removeprefix("[").removesuffix("]")
    try:
        ipaddress.ip_address(host)
        if port.isascii() and port.isdecimal() and 0 < int(port) < 65536:
            return host, int(port)
    except ValueError:
        pass
    raise ConfigError(f"expected an IP address or localhost, and a port, as 127.0.0.1:27015, not {text!r}", path=path)
