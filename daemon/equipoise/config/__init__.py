"""The configuration: a TOML file and those of the servers beside it, read strictly.

`config.example.toml` is the reference of all keys. An unknown key, a wrong type and a number out of range are refused
with a `ConfigError` that names the file and the key's path. Callers' secrets are known by their SHA-256 only.

Rules at the top level hold for all servers; a server's own table overrides them key by key.
"""

from __future__ import annotations

import base64
import ipaddress
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from equipoise import ratings
from equipoise.config.rule_keys import defaults, effective, merged, read_rules
from equipoise.config.sections import (
    Backup,
    Event,
    File,
    Log,
    NoticeKeys,
    Public,
    Raw,
    Retention,
    Role,
    ServerKeys,
    Shared,
    Splits,
    Store,
    TokenKeys,
    Web,
    convert,
    written,
)
from equipoise.config.sources import Database, Secrets, located, read_database, read_sources
from equipoise.core.model import ServerId
from equipoise.core.rules import Rules
from equipoise.errors import ConfigError, RatingError
from equipoise.ratings.system import System

MACHINE_CONFIG = Path("/etc/equipoise/config.toml")
"""The configuration that the systemd unit reads."""
MACHINE_STATE = Path("/var/lib/equipoise")
"""The unit's `StateDirectory`; a link for root where the unit's user is dynamic."""
STORE = "equipoise.db"
"""The store's file in the state directory."""
LEAST_ROUNDS_DAYS = 30
"""A script keeps a finished round, and sends it again, until it is answered: longer than any daemon is down."""


@dataclass(frozen=True, slots=True)
class Pool:
    """A rating population: the systems that rate it, and the parameters that the file gives."""

    name: str
    system: str
    params: Mapping[str, object]
    balance: str | None = None
    """The system that teams are made by; None: `system`."""
    balance_params: Mapping[str, object] = field(default_factory=dict)
    balance_left_open: bool = False
    """The file does not say: `balance` is the default of new pools, and one that has played without goes on so."""
    database: Database | None = None
    """Its log, where several machines share it; None: it is this daemon's own."""


Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = tuple[str, int]
"""A literal IP address and a port."""


@dataclass(frozen=True, slots=True)
class Rcon:
    """A game server's RCON, or NS2's web admin, which asks for a user too."""

    address: Address
    password: str = field(repr=False)
    user: str = ""


@dataclass(frozen=True, slots=True)
class Server:
    """A game server of the configuration: its pool, its rules, and the digest of its secret."""

    name: ServerId
    file: Path
    """The file with its table: the configuration itself, or one of its own in `servers.d`."""
    pool: str
    game: Literal["tf2", "ns2", "other"]
    digest: bytes
    """SHA-256 of its script's secret."""
    rules: Rules
    rcon: Rcon | None
    query: Address | None
    """The address at which it answers A2S queries."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token of the admin interface; the audit log shows its name."""

    name: str
    role: Role
    digest: bytes
    """SHA-256 of the token."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """A webhook that is told what happens: a table `[notice.NAME]`."""

    name: str
    kind: Literal["discord", "generic"]
    url: str = field(repr=False)
    """Who knows it may write there."""
    key: bytes = field(repr=False)
    """The key of its signatures; empty for Discord, which asks for none."""
    events: tuple[Event, ...]
    servers: tuple[str, ...]
    """Empty: all."""
    status: bool


@dataclass(frozen=True, slots=True)
class Config:
    """The whole configuration, with defaults filled in and secrets read."""

    path: Path
    web: Web
    public: Public
    store: Store
    retention: Retention
    backup: Backup
    splits: Splits
    log: Log
    shared: Shared
    proxies: tuple[Network, ...]
    """Those of `web.proxies`."""
    directory: Path
    """The state directory: database, rings' files."""
    pools: Mapping[str, Pool]
    servers: Mapping[ServerId, Server]
    tokens: Mapping[str, Token]
    webhooks: Mapping[str, Webhook] = field(default_factory=dict)
    late: tuple[str, ...] = ()
    """Keys whose passwords are there after the next start only; `started` of `load` says when."""

    def pool(self, name: str | None) -> Pool:
        """Return a pool; None means the only one. ConfigError: there is none of this name, or there are several."""
        if name is None and len(self.pools) == 1:
            return next(iter(self.pools.values()))
        names = ", ".join(self.pools)
        if name is None:
            raise ConfigError(f"{self.path}: there are several pools: name one by --pool: {names}")
        if name not in self.pools:
            raise ConfigError(f"{self.path}: there is no [pool.{name}]; there are {names}")
        return self.pools[name]


def load(
    path: Path, environ: Mapping[str, str], *, started: bool = False, passed: Mapping[str, str] | None = None
) -> Config:
    """Read the files and the secrets that they name; `ConfigError` if anything in them is wrong.

    `started`: a daemon that runs reads them. A password that systemd hands over at the next start is no error then.
    `passed`: RCON passwords by file, newer than systemd's copies.
    """
    sources, late = read_sources(path), list[str]()
    secrets = Secrets(path.parent, environ.get("CREDENTIALS_DIRECTORY"), late if started else None, passed or {})
    with located(path):
        # Rules stand at the top level beside the tables: what is no
        # table of the file is taken for a rule, and refused there.
        tables, own = _apart(sources.tables, msgspec.structs.asdict(File()))
        file = convert(tables, File, "$")
        rules = merged(defaults(), read_rules(own, "$", File.__struct_fields__))
        _check_listener(file.web, len(file.server))
        proxies = tuple(_network(text, f"$.web.proxies[{place}]") for place, text in enumerate(file.web.proxies))
        _check_retention(file.retention)
        _check_time(file.backup.at, "$.backup.at")
        _check_time(file.public.at, "$.public.at")
        pools = {name: _pool(name, keys, secrets) for name, keys in file.pool.items()}
        tokens = {name: _token(name, keys, secrets) for name, keys in file.token.items()}
        webhooks = [_webhook(name, keys, file.server, secrets) for name, keys in file.notice.items()]
    servers: dict[ServerId, Server] = {}
    for name, keys in file.server.items():
        with located(sources.files[name]):
            servers[ServerId(name)] = _server(name, keys, sources.files[name], rules, pools, secrets)
    _check_distinct(path, servers, tokens)
    return Config(
        path=path,
        web=file.web,
        public=file.public,
        store=file.store,
        retention=file.retention,
        backup=file.backup,
        splits=file.splits,
        log=file.log,
        shared=file.shared,
        proxies=proxies,
        directory=state_directory(file.store, environ, path),
        pools=pools,
        servers=servers,
        tokens=tokens,
        webhooks={webhook.name: webhook for webhook in webhooks if webhook},
        late=tuple(late),
    )


def state_directory(store: Store, environ: Mapping[str, str], config: Path) -> Path:
    """The directory of a configuration's state.

    It is the configured one, else systemd's `$STATE_DIRECTORY`, else for the machine's configuration that of its unit,
    so that commands beside the unit use its store; else the user's.

    >>> state_directory(Store(), {"STATE_DIRECTORY": "/srv/fair"}, Path("config.toml")).as_posix()
    '/srv/fair'
    >>> state_directory(Store(), {}, Path("/etc/equipoise/config.toml")).as_posix()
    '/var/lib/equipoise'
    """
    if chosen := store.directory or environ.get("STATE_DIRECTORY"):
        return Path(chosen).expanduser()
    # Not `resolve`: a configuration that is linked from somewhere else is still the unit's.
    if config.absolute() == MACHINE_CONFIG:
        return MACHINE_STATE
    state = environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "equipoise"


def _apart(keys: Raw, known: Mapping[str, object]) -> tuple[Raw, Raw]:
    """The keys that `known` has, and the rest, which are rules."""
    return {k: v for k, v in keys.items() if k in known}, {k: v for k, v in keys.items() if k not in known}


def _check_listener(web: Web, servers: int) -> None:
    if not web.allow_remote and not _loopback(web.host):
        raise ConfigError(f"{web.host} is not a loopback address; web.allow_remote = true allows it", path="$.web.host")
    if web.max_connections < 2 * servers:
        message = (
            f"{servers} servers need at least {2 * servers}: a script may open a second one before it closes the first"
        )
        raise ConfigError(message, path="$.web.max_connections")


def _network(text: str, path: str) -> Network:
    try:
        network = ipaddress.ip_network(text)
    except ValueError as error:
        raise ConfigError(
            f"expected an address or a network, as 127.0.0.1 or 10.0.0.0/24: {error}", path=path
        ) from None
    if network.prefixlen == 0:
        raise ConfigError("these are all addresses: anybody could say who has called", path=path)
    return network


def _check_retention(retention: Retention) -> None:
    if 0 < retention.rounds_days < LEAST_ROUNDS_DAYS:
        raise ConfigError(
            f"at least {LEAST_ROUNDS_DAYS}, or 0 for ever: a round sent again after it was deleted counts twice",
            path="$.retention.rounds_days",
        )


def _check_time(at: str, path: str) -> None:
    if not re.fullmatch(r"([01]\d|2[0-3]):[0-5]\d", at):
        raise ConfigError(f'expected a time of day as "04:30", not {at!r}', path=path)


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _named(table: str, name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", name):
        raise ConfigError("a name is up to 64 of A-Z a-z 0-9 _ -", path=f"$.{table}.{written(name)}")
    return f"$.{table}.{name}"


def _pool(name: str, keys: Raw, secrets: Secrets) -> Pool:
    path = _named("pool", name)
    params = dict(keys)
    database = read_database(params, path, secrets)
    # What is left in `params` are the system's own: each system says itself which it knows.
    system, balance = params.pop("system", "synelo"), params.pop("balance", None)
    balance_params = params.pop("balance_params", None)
    rater = _rating_system(system, params, f"{path}.system", path)
    if balance is None:
        if balance_params is not None:
            raise ConfigError("its system is missing: give `balance` too", path=f"{path}.balance_params")
        default = ratings.BALANCED_BY.get(rater.name)
        return Pool(name, system, params, default, balance_left_open=default is not None, database=database)
    inner = f"{path}.balance_params"
    if not isinstance(balance_params, dict | None):
        raise ConfigError(f"expected a table, not {balance_params!r}", path=inner)
    balancer = _rating_system(balance, balance_params or {}, f"{path}.balance", inner)
    # The same system twice would only cost memory: the pool's own makes the teams then.
    if balancer.name == rater.name and (balance_params is None or balancer.params == rater.params):
        return Pool(name, system, params, database=database)
    return Pool(name, system, params, balance, balance_params or {}, database=database)


def _rating_system(name: object, params: Mapping[str, object], path: str, params_path: str) -> System[Any]:
    """The system without players; `path` is the key that names it."""
    if not isinstance(name, str) or name not in ratings.SYSTEMS:
        raise ConfigError(f"there is {', '.join(ratings.SYSTEMS)}, not {name!r}", path=path)
    try:
        rater = ratings.create(name, **params)
    except RatingError as error:
        key, _, text = str(error).partition(": ")
        raise ConfigError(text, path=f"{params_path}.{key}") from None
    if not rater.live:
        raise ConfigError(f"{name} rates histories, it cannot rate a pool", path=path)
    return rater


def _server(name: str, keys: Raw, file: Path, rules: Raw, pools: Mapping[str, Pool], secrets: Secrets) -> Server:
    path = _named("server", name)
    own, overrides = _apart(keys, dict.fromkeys(ServerKeys.__struct_fields__))
    server = convert(own, ServerKeys, path)
    rules = merged(rules, read_rules(overrides, path, ServerKeys.__struct_fields__))
    if server.pool not in pools:
        raise ConfigError(f"there is no [pool.{server.pool}]", path=f"{path}.pool")
    rcon = _rcon(server, path, secrets)
    return Server(
        name=ServerId(name),
        file=file,
        pool=server.pool,
        game=server.game,
        digest=secrets.digest(server, path),
        rules=effective(rules),
        rcon=rcon,
        query=_query(server, path, rcon),
    )


def _token(name: str, keys: Raw, secrets: Secrets) -> Token:
    path = _named("token", name)
    token = convert(keys, TokenKeys, path)
    return Token(name, token.role, secrets.digest(token, path))


def _webhook(name: str, keys: Raw, servers: Iterable[str], secrets: Secrets) -> Webhook | None:
    """A webhook; None until systemd hands over a file that it names."""
    path = _named("notice", name)
    notice = convert(keys, NoticeKeys, path)
    for number, server in enumerate(notice.servers):
        if server not in servers:
            raise ConfigError(f"there is no [server.{written(server)}]", path=f"{path}.servers[{number}]")
    if bool(notice.url) == bool(notice.url_file):
        message = "url_file is there too: only one of them" if notice.url else "this key, or url_file, is required"
        raise ConfigError(message, path=f"{path}.url")
    generic = notice.kind == "generic"
    if generic != bool(notice.secret_file):
        message = "this key is required: deliveries are signed" if generic else "Discord asks for no signature"
        raise ConfigError(message, path=f"{path}.secret_file")
    if generic and notice.status:
        raise ConfigError("only Discord has a message that can be edited", path=f"{path}.status")
    key = f"{path}.url_file" if notice.url_file else f"{path}.url"
    url = secrets.password(notice.url_file, key) if notice.url_file else notice.url
    secret = secrets.password(notice.secret_file, f"{path}.secret_file") if generic else ""
    if url is None or secret is None:
        return None
    _check_webhook(url, notice.kind, key)
    signing_key = _signing_key(secret, f"{path}.secret_file") if generic else b""
    return Webhook(name, notice.kind, url, signing_key, notice.events, notice.servers, notice.status)


def _check_webhook(text: str, kind: str, path: str) -> None:
    """Refuse what is no address of a webhook. It is not shown: who knows it may write there."""
    try:
        url = urlsplit(text)
        valid = url.scheme in ("https", "http") and url.hostname and url.port != 0 and text.isascii()
    except ValueError:
        valid = False
    if not valid or not text.isprintable() or " " in text:
        raise ConfigError("expected the URL of a webhook in one line, as https://example.org/…", path=path)
    if url.scheme == "http" and not _loopback(url.hostname or ""):
        raise ConfigError("only https, except to this machine itself: the URL is a secret", path=path)
    if kind == "discord" and not re.fullmatch(r"/api(/v\d+)?/webhooks/\d+/[\w-]+", url.path):
        raise ConfigError("expected Discord's URL, as https://discord.com/api/webhooks/NUMBER/TOKEN", path=path)


def _signing_key(text: str, path: str) -> bytes:
    """The key in the form of Standard Webhooks: `whsec_`, then 24 to 64 bytes in base64."""
    try:
        key = base64.b64decode(text.removeprefix("whsec_"), validate=True)
    except ValueError:
        key = b""
    if not text.startswith("whsec_") or not 24 <= len(key) <= 64:
        message = 'expected whsec_ and 24 to 64 bytes in base64: echo "whsec_$(openssl rand -base64 32)" makes them'
        raise ConfigError(message, path=path)
    return key


def _check_distinct(path: Path, servers: Mapping[ServerId, Server], tokens: Mapping[str, Token]) -> None:
    """Refuse equal secrets: a request is attributed by its secret alone."""
    secrets = [(server.file, f"$.server.{server.name}", server.digest) for server in servers.values()]
    secrets += [(path, f"$.token.{token.name}", token.digest) for token in tokens.values()]
    owners: dict[bytes, str] = {}
    for file, key, digest in secrets:
        if digest in owners:
            raise ConfigError(f"the same secret as {owners[digest]}", path=key, file=file)
        owners[digest] = key if file == path else f"{key} in {file}"


def _rcon(server: ServerKeys, path: str, secrets: Secrets) -> Rcon | None:
    """A server's RCON, None without one and until systemd hands its password over; `path` is that of its table."""
    if not server.rcon:
        for name in ("rcon_password_file", "rcon_user"):
            if getattr(server, name):
                raise ConfigError("rcon, the address that it belongs to, is missing", path=f"{path}.{name}")
        return None
    _check_user(server, f"{path}.rcon_user")
    key = f"{path}.rcon_password_file"
    if not server.rcon_password_file:
        raise ConfigError("this key is required beside rcon", path=key)
    password = secrets.password(server.rcon_password_file, key)
    if password is None:
        return None
    if not password or not password.isprintable():
        raise ConfigError(f"{server.rcon_password_file} must hold the RCON password in one line", path=key)
    return Rcon(_address(server.rcon, f"{path}.rcon"), password, server.rcon_user)


def _check_user(server: ServerKeys, path: str) -> None:
    if server.game != "ns2":
        if server.rcon_user:
            raise ConfigError("only the web admin of an ns2 server has users", path=path)
    elif not server.rcon_user:
        raise ConfigError("this key is required beside rcon: the web admin's -webuser", path=path)
    elif ":" in server.rcon_user or not server.rcon_user.isprintable():
        raise ConfigError("a user of the web admin has no colon and is one line", path=path)


def _query(server: ServerKeys, path: str, rcon: Rcon | None) -> Address | None:
    """Return the address for A2S queries, None: it is never asked. A TF2 server answers at the address of its RCON."""
    if server.query is None:
        return rcon.address if rcon and not rcon.user else None
    return _address(server.query, f"{path}.query") if server.query else None


def joined(address: Address) -> str:
    """Return an address as the file has it.

    >>> joined(("127.0.0.1", 27015)), joined(("::1", 27015))
    ('127.0.0.1:27015', '[::1]:27015')
    """
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _address(text: str, path: str) -> Address:
    """`127.0.0.1:27015`, `[::1]:27015` or `localhost:27015`; names are not looked up, which may take minutes."""
    host, _, port = text.rpartition(":")
    # Not looked up, although it could be `::1`: game servers listen on IPv4.
    host = "127.0.0.1" if host == "localhost" else host.removeprefix("[").removesuffix("]")
    try:
        ipaddress.ip_address(host)
        if port.isascii() and port.isdecimal() and 0 < int(port) < 65536:
            return host, int(port)
    except ValueError:
        pass
    raise ConfigError(f"expected an IP address or localhost, and a port, as 127.0.0.1:27015, not {text!r}", path=path)
