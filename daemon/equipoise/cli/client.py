"""The HTTP client for the daemon's admin interface, and what the commands that use it share.

Standard library only, so that commands start fast.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import sys
import time
import tomllib
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import click

from equipoise.cli.options import FAILED, Stopped, config_option, past, stop, wide_option
from equipoise.cli.output import json_text
from equipoise.files import read_small

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

T = TypeVar("T")

REFUSED = FAILED
NO_DAEMON = 3
TIMEOUT_SECONDS = 10
LINE_SECONDS = 60
"""How long a piece of a long answer is waited for."""
SECRET = 4096
"""Bytes of a file with a secret."""
ANOTHER = "another program listens there"
START = "start it: systemctl start equipoise, or equipoise serve"


class Unreachable(Stopped):
    """No daemon answers; `--watch` and `--follow` ask again."""

    nobody = False
    """Nothing listens at the address. Any other fault is one of a daemon, or of a program, that is there."""


@dataclass(frozen=True, slots=True)
class Client:
    """A daemon's address and the token for it."""

    url: str
    token: str
    config: Path | None = None
    """The daemon's configuration; None: the daemon was named by its address, and may be anywhere."""

    @classmethod
    def of(cls, config: Path, url: str | None, token: str | None) -> Client:
        """From the options, else from the configuration and the `owner.token` that `init` wrote beside it."""
        if not (url or token or config.exists()) and os.access(config.parent, os.X_OK):
            stop(f"not set up yet: there is no {config}. Run `equipoise init`, or name another file by --config")
        secret = token or _token(config.with_name("owner.token"))
        if url:
            return cls(_checked(url), _sendable(secret))
        return cls(configured_url(config), _sendable(secret), config)

    def get(self, *path: str, **query: str | float | None) -> Any:
        """Send GET; returns the daemon's answer. A query parameter that is None is left out."""
        return self._call("GET", path, query, None)

    def send(
        self, method: str, *path: str, body: Any = None, wait: float = TIMEOUT_SECONDS, **query: str | None
    ) -> Any:
        """Send a request that changes something, and wait this many seconds; returns the daemon's answer."""
        return self._call(method, path, query, body, wait)

    def reload(self, *, dry: bool) -> Any:
        """Have the daemon read its files again.

        The unit's user cannot read the RCON passwords: systemd copied them at the start, and newer ones go by here.
        """
        passwords = {}
        for file in sorted(self.config.parent.glob("secrets/*")) if self.config else ():
            with suppress(OSError, ValueError):
                passwords[f"secrets/{file.name}"] = read_small(file, SECRET).decode()
        return self.send("POST", "reload", body={"dry_run": dry, "rcon_passwords": passwords or None})

    def lines(self, page: str, **query: str | None) -> Generator[Any, None, None]:
        """Yield the JSON values that the page answers with, a line for each."""
        client = self.moved() or self
        target = f"{urlsplit(client.url).path.rstrip('/')}/{page}{_query(query)}"
        return client._pieces(target, lambda answer: (line := answer.readline()) and json.loads(line))

    def export(self, pool: str, size: int) -> Iterator[bytes]:
        """Yield a whole pool in pieces of a size; `Unreachable.nobody`: nothing listens at the address."""
        client = self.moved() or self
        return client._pieces(client._target(("pools", pool, "export")), lambda answer: answer.read(size))

    def _pieces(self, target: str, read: Callable[[http.client.HTTPResponse], T]) -> Generator[T, None, None]:
        begun = False
        try:
            with closing(self._connection(LINE_SECONDS)) as connection:
                connection.request("GET", target, headers={"Authorization": f"Bearer {self.token}"})
                answer = connection.getresponse()
                if answer.status != 200:
                    stop(_refusal(json.loads(answer.read())["error"]), REFUSED)
                begun = True
                while piece := read(answer):
                    yield piece
        except (OSError, ValueError, LookupError, TypeError, http.client.HTTPException) as error:
            if begun and isinstance(error, OSError | http.client.IncompleteRead):
                stop("the daemon's answer ended too early: its log says why", FAILED)
            raise self._unreachable(error) from None

    def _call(
        self,
        method: str,
        path: tuple[str, ...],
        query: Mapping[str, object],
        body: Any,
        wait: float = TIMEOUT_SECONDS,
    ) -> Any:
        if "" in path:
            stop("a name or an id is empty")
        target = self._target(path) + _query(query)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        text = None if body is None else json_text(body, indent=None)
        try:
            answer = self._answer(method, target, text, headers, wait)
        except Unreachable as error:
            # The port in the file may be new, and the daemon not started since: it has noted where it listens.
            address = self.moved()
            try:
                answer = address and address._answer(method, target, text, headers, wait)
            except Unreachable:  # it has stopped
                address = None
            if address is None:
                raise error from None
        if not answer["ok"]:
            stop(_refusal(answer.get("error", {})), REFUSED)
        return answer

    def _answer(self, method: str, target: str, text: str | None, headers: Mapping[str, str], wait: float) -> Any:
        try:
            with closing(self._connection(wait)) as connection:
                connection.request(method, target, text, headers)
                answer = json.loads(connection.getresponse().read())
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise self._unreachable(error) from None
        # Every answer of ours has `ok`; something else speaks HTTP at this address.
        if not isinstance(answer, dict) or "ok" not in answer:
            raise Unreachable(f"no daemon answers at {self.url}: {ANOTHER}", NO_DAEMON)
        return answer

    def moved(self) -> Client | None:
        """Return the client for the address where the daemon listens; None: it is the configuration's, or unknown."""
        url = None if self.config is None else listening_url(self.config)
        return None if url in (None, self.url) else Client(url, self.token)

    def _target(self, path: tuple[str, ...]) -> str:
        below = urlsplit(self.url).path.rstrip("/")
        return f"{below}/v1/admin/" + "/".join(quote(_as_typed(part), safe="") for part in path)

    def _connection(self, wait: float) -> http.client.HTTPConnection:
        address = urlsplit(self.url)
        kind = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
        return kind(address.hostname or "", address.port, timeout=wait)

    def _unreachable(self, error: Exception) -> Unreachable:
        unreachable = Unreachable(f"no daemon answers at {self.url}: {_why(error, self.url)}", NO_DAEMON)
        unreachable.nobody = isinstance(error, ConnectionRefusedError)
        return unreachable


def _query(query: Mapping[str, object]) -> str:
    parameters = urlencode({name: _as_typed(str(value)) for name, value in query.items() if value is not None})
    return f"?{parameters}" if parameters else ""


def _refusal(error: Mapping[str, str]) -> str:
    """The daemon's message; where it is about one value of several, with the value's name."""
    message, name = error.get("message", "refused"), error.get("path", "").removeprefix("$.")
    return f"{name}: {message}" if error.get("code") == "schema" and name.isidentifier() else message


def _as_typed(text: str) -> str:
    """An argument as UTF-8, also where the locale is not: Python hides the bytes that it cannot read in surrogates."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _why(error: Exception, url: str) -> str:
    """Why no daemon answers, with what to do."""
    if getattr(error, "reason", None) == "WRONG_VERSION_NUMBER":  # of ssl.SSLError, which costs time to import
        return f"what listens there speaks http: use --url {url.replace('https://', 'http://', 1)}"
    if isinstance(error, TimeoutError):
        return f"nothing came within {TIMEOUT_SECONDS} s"
    if isinstance(error, OSError):
        return f"{error.strerror or error}; {START}"
    return ANOTHER


def _checked(url: str) -> str:
    """The address, if a connection can be made to it."""
    if "://" not in url:
        stop(f"--url {url}: http:// is missing; write http://{url}")
    try:
        address = urlsplit(url)
        good = address.scheme in ("http", "https") and address.hostname and (address.port is None or address.port >= 0)
    except ValueError as error:
        stop(f"--url {url}: {error}")
    if not good:
        stop(f"--url {url}: expected an address like http://127.0.0.1:27500")
    return url


def configured_url(config: Path) -> str:
    """The daemon's address in a configuration, whose other keys are not read and may be wrong."""
    web = _table(config, "web")
    return _url(str(web.get("host", "127.0.0.1")), web.get("port", 27500))


def configured_names(config: Path) -> list[str]:
    """The names that a daemon behind a proxy is called by; none without a proxy."""
    web = _table(config, "web")
    names = web.get("hosts")
    return [str(name) for name in names] if web.get("proxies") and isinstance(names, list) else []


def listening_url(config: Path) -> str | None:
    """The address at which the daemon of a configuration listens, as it wrote it beside its store; None: unknown."""
    from equipoise.config import STORE, state_directory
    from equipoise.config.sections import Store

    try:
        directory = state_directory(Store(str(_table(config, "store").get("directory", ""))), os.environ, config)
        _, address = read_small(directory / f"{STORE}.lock", SECRET).decode().splitlines()
    except (OSError, ValueError, RuntimeError):  # RuntimeError: nobody's home
        return None
    host, _, port = address.rpartition(":")
    return _url(host.strip("[]"), port)


def _url(host: str, port: object) -> str:
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _table(config: Path, name: str) -> dict[str, Any]:
    """A table of the configuration; empty where there is none, or it cannot be read."""
    try:
        text = read_small(config).decode()
        try:
            table = tomllib.loads(text).get(name)
        except tomllib.TOMLDecodeError:
            # A daemon runs on, and is asked, while the file is edited: what is wrong in it may stand elsewhere.
            match = re.search(rf"^\[{name}\].*\n((?:(?!\[).*\n)*)", text, re.MULTILINE)
            table = tomllib.loads(match[1]) if match else None
    except (OSError, ValueError):
        return {}
    return table if isinstance(table, dict) else {}


def _token(file: Path) -> str:
    try:
        return file.read_text("utf-8").strip()
    except PermissionError:
        stop(f"cannot read {file}: permission denied; use sudo, or EQUIPOISE_TOKEN")
    except (OSError, ValueError):
        stop(f"no token in {file}: run `equipoise init`, or use --token or EQUIPOISE_TOKEN")


def _sendable(token: str) -> str:
    if not (token.isascii() and token.isprintable()):
        stop("the token has a character that no token has")
    return token


Command = Callable[..., None]


url_option = click.option(
    "--url", envvar="EQUIPOISE_URL", help="The daemon's address. [env: EQUIPOISE_URL; default: config]"
)
token_option = click.option(
    "--token", envvar="EQUIPOISE_TOKEN", help="A token. [env: EQUIPOISE_TOKEN; default: owner.token beside it]"
)


json_option = click.option("--json", "as_json", is_flag=True, help="Print the daemon's answer as JSON.")


def connected(command: Command) -> Command:
    """Give a command the daemon's client, from options that all such commands have."""

    @config_option
    @url_option
    @token_option
    @wraps(command)
    def with_client(path: Path, url: str | None, token: str | None, **arguments: Any) -> None:
        command(Client.of(path, url, token), **arguments)

    return with_client


def remote(command: Command) -> Command:
    """Give a command the daemon's client, and a choice of its answer as JSON."""
    return connected(json_option(command))


def listing(command: Command) -> Command:
    """Give a command that prints a list the daemon's client, and the forms of lists."""

    @click.option("--csv", "as_csv", is_flag=True, help="Print the list as CSV.")
    @wide_option
    @wraps(command)
    def in_one_form(*client: Client, as_json: bool, as_csv: bool, **arguments: Any) -> None:
        if as_json and as_csv:
            raise click.UsageError("--json and --csv exclude each other")
        command(*client, as_json=as_json, as_csv=as_csv, **arguments)

    return remote(in_one_form)


PATIENCE = 1.0
"""Seconds that a person waits for what Tab offers."""
WORD = re.compile(r"[\w.@+=~-]+")
"""A name that no shell takes apart."""


def _while_typing(context: click.Context, *path: str, **query: str) -> Any:
    """The daemon's answer for a command that is being typed; None without one."""
    options = context.params
    try:
        client = Client.of(options["path"], options.get("url"), options.get("token"))
        return client.send("GET", *path, wait=PATIENCE, **query)
    except click.ClickException:
        return None


def servers(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Game servers whose names begin so."""
    answer = _while_typing(context, "servers") or {"servers": []}
    return [row["server"] for row in answer["servers"] if row["server"].startswith(incomplete)]


def pools(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Pools whose names begin so."""
    answer = _while_typing(context, "pools") or {"pools": []}
    return [row["pool"] for row in answer["pools"] if row["pool"].startswith(incomplete)]


def players(context: click.Context, option: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Players whose last names or ids begin so, of one pool or of all: by name where a shell leaves it whole."""
    from click.shell_completion import CompletionItem

    items = {}
    for pool in [context.params["pool"]] if context.params.get("pool") else pools(context, option, ""):
        path, query = ("players", {"text": incomplete}) if incomplete else ("top", {})
        for row in (_while_typing(context, "pools", pool, path, limit="20", **query) or {"players": []})["players"]:
            name = row["name"] or ""
            if name.casefold().startswith(incomplete.casefold()):
                value, label = (name, row["id"]) if WORD.fullmatch(name) else (row["id"], name)
            elif row["id"].startswith(incomplete):
                value, label = row["id"], name
            else:
                continue
            items[row["id"]] = CompletionItem(value, help=label or None)
    return list(items.values())


pool_option = click.option("--pool", shell_complete=pools, help="The pool; needed only where there are several.")


def pool_options(command: Command) -> Command:
    """Give a command the name of a pool, by an argument or by `--pool`, which the commands on players have.

    Without either, a command with the daemon's client has the only pool; one that reads the configuration gets None.
    """

    @click.option("--pool", "by_option", shell_complete=pools, help="The pool; needed only where there are several.")
    @click.argument("pool", metavar="[POOL]", required=False, shell_complete=pools)
    @wraps(command)
    def named(*client: Client, pool: str | None, by_option: str | None, **arguments: Any) -> None:
        if pool and by_option and pool != by_option:
            raise click.UsageError(f"name one pool: {pool} or {by_option}")
        name = pool or by_option
        command(*client, name=one_pool(client[0], name) if client else name, **arguments)

    return named


def one_pool(client: Client, name: str | None) -> str:
    """The pool that was named, else the daemon's only one."""
    if name is not None:
        return name
    names = [pool["pool"] for pool in client.get("pools")["pools"]]
    if len(names) != 1:
        stop(f"there are several pools: name one by --pool: {', '.join(names)}")
    return str(names[0])


def print_json(answer: Any, as_json: bool) -> bool:
    """Print the answer if JSON was asked for; True if it was."""
    if as_json:
        # A terminal that cannot show a name would make another name of it.
        click.echo(json_text(answer, ascii_only=sys.stdout.encoding.lower() != "utf-8"))
    return as_json


UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
DATES = ("%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S")
PAGE = 1000
"""The longest page that the daemon gives."""


def since_time(value: str) -> float:
    """Return the seconds since the epoch of a time that long ago, such as 2h, or of a date by the reader's clock."""
    if match := re.fullmatch(r"([0-9]{1,9})([smhdw])", value):
        return time.time() - int(match[1]) * UNITS[match[2]]
    for form in DATES:
        with suppress(ValueError, OverflowError):
            return datetime.strptime(value, form).timestamp()  # noqa: DTZ007 (by the reader's clock)
    message = f"{value!r} is neither like 30m, 2h, 3d, 1w nor a date like 2026-11-22 or '2026-11-22 18:30'"
    raise click.BadParameter(message)


def limited(default: int) -> Callable[[Command], Command]:
    """Give a command the options of a list whose length people choose."""

    def decorate(command: Command) -> Command:
        what = f"How many, at most. [default: {default}; with --since all]"
        command = click.option("--limit", type=click.IntRange(1, 1_000_000), metavar="N", help=what)(command)
        return click.option("--since", type=since_time, metavar="TIME", help="Since 30m, 2h, 3d, 1w ago, or a date.")(
            command
        )

    return decorate


def pages(
    client: Client, *path: str, key: str, limit: int | None, since: float | None, default: int, **query: Any
) -> Any:
    """The daemon's answer with as much of the list as was asked for, and what its pages say beside it."""
    most = limit or (default if since is None else 1_000_000)
    answer: dict[str, Any] = {}
    before = None
    while True:
        count = len(answer.get(key, ()))
        # No more than is left: the last page would be cut here otherwise.
        page = {**query, "since": since, "before": before, "limit": min(PAGE, most - count)}
        part = client.get(*path, **page)
        for name, value in part.items():
            if isinstance(value, list):
                answer[name] = [*answer.get(name, ()), *value]
            elif isinstance(value, dict):
                answer[name] = {**answer.get(name, {}), **value}
            else:
                answer[name] = value
        before = part["before"]
        if before is None or len(answer[key]) >= most:
            return answer


SECONDS = 2.0
"""Between two questions: scripts are heard every five."""
CLEAR = "\x1b[H\x1b[J"
"""Cursor to the top, and everything below it away."""


def redrawn(draw: Callable[[], Callable[[], None]]) -> None:
    """Show again and again what `draw` has asked for, on a terminal in the place of the last; until Ctrl-C."""
    terminal = sys.stdout.isatty()
    try:
        while True:
            try:
                show = draw()
            except Unreachable as error:
                show = partial(click.echo, f"{error.format_message()} It is asked again.")
            if terminal:
                click.echo(CLEAR, nl=False, color=True, file=past(sys.stdout))
            click.echo(f"{time.strftime('%Y-%m-%d %H:%M:%S')}, every {SECONDS:g} s; Ctrl-C ends.")
            show()
            if not terminal:
                click.echo()
            time.sleep(SECONDS)
    except KeyboardInterrupt:
        click.echo()


def appended(ask: Callable[[], None]) -> None:
    """Ask again and again for what is new, and say once when no daemon answers; until Ctrl-C."""
    away = False
    try:
        while True:
            try:
                ask()
                away = False
            except Unreachable as error:
                if not away:
                    error.show()
                away = True
            time.sleep(SECONDS)
    except KeyboardInterrupt:
        click.echo(err=True)
