"""sm-ripext's HTTP natives: real HTTP to a real address, answers on later frames, one per frame.

A request starts when its verb is called, in a thread of its own. A frame waits for the oldest request in flight (real
time, bounded by the request's own timeout) and delivers its answer, so the order of answers is the order of requests
and a test is deterministic. `Http.held` keeps all answers back, as a slow network would, until the request's timeout
has passed on the game's clock; `Http.offline` makes every connection fail.
"""

import http.client
from base64 import b64encode
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode, urljoin, urlsplit

from ..binding import Call, Callback, Text, native
from ..machine import NativeError
from ..memory import Buffer
from . import json

if TYPE_CHECKING:
    from ..sourcemod import SourceMod

EXTENSION, LIBRARY = "rip.ext", "ripext"


@dataclass(eq=False, slots=True)
class HTTPRequest:
    """A request being prepared. Times are seconds."""

    url: str
    headers: dict[str, str] = field(default_factory=lambda: {"Accept": "application/json"})
    query: list[tuple[str, str]] = field(default_factory=list)
    form: list[tuple[str, str]] = field(default_factory=list)
    connect_timeout: int = 10
    timeout: int = 30
    max_redirects: int = 5
    max_recv_speed: int = 0
    max_send_speed: int = 0

    @property
    def address(self) -> str:
        """The URL with its query."""
        mark = "&" if "?" in self.url else "?"
        return f"{self.url}{mark}{urlencode(self.query, quote_via=quote)}" if self.query else self.url


@dataclass(eq=False, slots=True)
class HTTPResponse:
    """An answer, or a transport failure: status 0 and the reason in `error`."""

    status: int
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    error: str = ""
    data: int = 0


@dataclass(frozen=True, slots=True)
class Sent:
    """What went over the wire: for assertions."""

    method: str
    url: str
    headers: dict[str, str]
    body: str
    request: HTTPRequest


@dataclass(eq=False, slots=True)
class Flight:
    """A request under way. `since` is engine time."""

    sent: Sent
    answer: "Future[HTTPResponse]"
    callback: Callback
    value: int
    since: float


@dataclass(slots=True)
class Http:
    """All requests of a server."""

    sm: "SourceMod"
    sent: list[Sent] = field(default_factory=list)
    flying: list[Flight] = field(default_factory=list)
    held: bool = False
    offline: bool = False
    _threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(max_workers=8))

    def send(self, method: str, request: HTTPRequest, body: str, callback: Callback, value: int) -> None:
        """Start a request."""
        sent = Sent(method, request.address, dict(request.headers), body, request)
        self.sent.append(sent)
        answer = self._threads.submit(_unreachable if self.offline else perform, sent, sent.url, request.max_redirects)
        self.flying.append(Flight(sent, answer, callback, value, self.sm.world.now))

    def run(self) -> None:
        """One frame: deliver the oldest answer that did not start in this very frame."""
        flight = next((f for f in self.flying if f.since < self.sm.world.now), None)
        if flight is None:
            return
        if self.held:
            if self.sm.world.now - flight.since < flight.sent.request.timeout:
                return
            response = HTTPResponse(0, error="Timeout was reached")
        else:
            response = flight.answer.result()
        self.flying.remove(flight)
        self._deliver(flight, response)

    def forget(self, plugin: object) -> None:
        """An unloaded plugin's answers come to nobody."""
        self.flying = [flight for flight in self.flying if flight.callback.plugin is not plugin]

    def close(self) -> None:
        """Let the threads end."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _deliver(self, flight: Flight, response: HTTPResponse) -> None:
        handle = self.sm.handles.open(response, closable=False)
        try:
            flight.callback(handle, flight.value, response.error)
        finally:
            self.sm.handles.drop(handle)
            self.sm.handles.drop(response.data)


def _unreachable(sent: Sent, url: str, redirects: int) -> HTTPResponse:
    return HTTPResponse(0, error="Couldn't connect to server")


def perform(sent: Sent, url: str, redirects: int) -> HTTPResponse:
    """Do one request for real; headers go to a redirect's target too, as with curl."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port or 80, timeout=sent.request.timeout)
    try:
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request(sent.method, target, sent.body.encode() or None, sent.headers)
        answer = connection.getresponse()
        body = answer.read().decode("utf-8", "surrogateescape")
    except TimeoutError:
        return HTTPResponse(0, error="Timeout was reached")
    except ConnectionRefusedError:
        return _unreachable(sent, url, redirects)
    except (OSError, http.client.HTTPException) as error:
        return HTTPResponse(0, error=f"Failure when receiving data from the peer ({error})")
    finally:
        connection.close()
    if 300 <= answer.status < 400 and (location := answer.headers.get("Location")):
        if not redirects:
            return HTTPResponse(0, error="Number of redirects hit maximum amount")
        return perform(sent, urljoin(url, location), redirects - 1)
    return HTTPResponse(answer.status, body, {k.lower(): v for k, v in answer.headers.items()})


def _start(call: Call, request: HTTPRequest, method: str, body: str, callback: Callback, value: int) -> None:
    """The extension frees the request's handle as soon as it has started."""
    call.sm.handles.drop(call.sm.handles.find(request))
    call.sm.http.send(method, request, body, callback, value)


@native("HTTPRequest.HTTPRequest")
def request_new(call: Call, url: str) -> int:
    return call.open(HTTPRequest(url))


@native("HTTPRequest.SetHeader")
def set_header(call: Call, request: HTTPRequest, name: str, text: Text) -> None:
    request.headers[name] = str(text)


@native("HTTPRequest.AppendQueryParam")
def append_query(call: Call, request: HTTPRequest, name: str, text: Text) -> None:
    request.query.append((name, str(text)))


@native("HTTPRequest.AppendFormParam")
def append_form(call: Call, request: HTTPRequest, name: str, text: Text) -> None:
    request.form.append((name, str(text)))


@native("HTTPRequest.SetBasicAuth")
def set_basic_auth(call: Call, request: HTTPRequest, user: str, password: str) -> None:
    request.headers["Authorization"] = "Basic " + b64encode(f"{user}:{password}".encode()).decode()


@native("HTTPRequest.Get")
def get(call: Call, request: HTTPRequest, callback: Callback, value: int) -> None:
    _start(call, request, "GET", "", callback, value)


@native("HTTPRequest.Delete")
def delete(call: Call, request: HTTPRequest, callback: Callback, value: int) -> None:
    _start(call, request, "DELETE", "", callback, value)


def _with_body(method: str) -> None:
    @native(f"HTTPRequest.{method.capitalize()}")
    def send(call: Call, request: HTTPRequest, data: json.JSON, callback: Callback, value: int) -> None:
        request.headers["Content-Type"] = "application/json"
        _start(call, request, method, json.encode(data.value), callback, value)


for _method in ("POST", "PUT", "PATCH"):
    _with_body(_method)


@native("HTTPRequest.PostForm")
def post_form(call: Call, request: HTTPRequest, callback: Callback, value: int) -> None:
    request.headers["Content-Type"] = "application/x-www-form-urlencoded"
    _start(call, request, "POST", urlencode(request.form), callback, value)


def _option(name: str, attribute: str) -> None:
    @native(f"HTTPRequest.{name}.get")
    def read(call: Call, request: HTTPRequest) -> int:
        return int(getattr(request, attribute))

    @native(f"HTTPRequest.{name}.set")
    def write(call: Call, request: HTTPRequest, value: int) -> None:
        setattr(request, attribute, value)


for _name, _attribute in {
    "ConnectTimeout": "connect_timeout",
    "Timeout": "timeout",
    "MaxRedirects": "max_redirects",
    "MaxRecvSpeed": "max_recv_speed",
    "MaxSendSpeed": "max_send_speed",
}.items():
    _option(_name, _attribute)


@native("HTTPResponse.Status.get")
def status(call: Call, response: HTTPResponse) -> int:
    return response.status


@native("HTTPResponse.Data.get")
def data(call: Call, response: HTTPResponse) -> int:
    """The extension frees this handle itself; the same one is given out every time."""
    if not response.data:
        try:
            response.data = call.sm.handles.open(json.wrap(json.decode(response.body)), closable=False)
        except ValueError as error:
            raise NativeError(f"Invalid JSON in line -1, column -1: {error}") from None
    return response.data


@native("HTTPResponse.GetHeader")
def header(call: Call, response: HTTPResponse, name: str, buffer: Buffer) -> bool:
    value = response.headers.get(name.lower())
    if value is not None:
        buffer.write(value)
    return value is not None
