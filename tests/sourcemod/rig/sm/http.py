"""sm-ripext's HTTP natives: real HTTP to a real address, answers on later frames.

As in the extension (extension.cpp FrameHook, AsyncPerformRequests): a verb only queues its request; the next frame
wakes the thread that starts up to ten; each frame delivers one answer at most, in the order in which they ended. So an
answer comes two frames after its verb at the earliest.

In the rig a frame that has nothing to deliver waits for an answer (real time, at most `patience`; by default until one
request ends, if only by its own timeout), so that a test does not depend on how fast the machine is. `held` keeps all
answers back, as a slow network would, until the request's timeout has passed on the game's clock; `offline` refuses
every connection.
"""

from base64 import b64encode
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from ..binding import Call, Callback, Text, native
from ..machine import NativeError
from ..memory import Buffer
from . import json
from .transfers import Order, Result, transfer

if TYPE_CHECKING:
    from ..sourcemod import SourceMod

EXTENSION, LIBRARY = "rip.ext", "ripext"
PER_WAKE = 10
THREADS = 64


@dataclass(eq=False, slots=True)
class HTTPRequest:
    """A request being prepared. Times are whole seconds."""

    url: str
    headers: dict[str, str] = field(
        default_factory=lambda: {"Accept": "application/json", "Content-Type": "application/json"}
    )
    query: list[tuple[str, str]] = field(default_factory=list)
    form: list[tuple[str, str]] = field(default_factory=list)
    connect_timeout: int = 10
    timeout: int = 30
    max_redirects: int = 5
    max_recv_speed: int = 0
    max_send_speed: int = 0

    @property
    def address(self) -> str:
        """The URL with its query, which begins with `?` whatever the URL holds (HTTPRequest::AppendQueryParam)."""
        return f"{self.url}?{encoded(self.query)}" if self.query else self.url


@dataclass(eq=False, slots=True)
class HTTPResponse:
    """An answer, whole or not, as the callback sees it. `data` is the handle that `.Data` gave out."""

    result: Result
    data: int = 0


@dataclass(frozen=True, slots=True)
class Sent:
    """What a plugin sends: for assertions."""

    method: str
    url: str
    headers: dict[str, str]
    body: str
    request: HTTPRequest


@dataclass(eq=False, slots=True)
class Flight:
    """A request under way. `since` is the engine time of its start, None while it is queued."""

    sent: Sent
    callback: Callback | None
    value: int
    since: float | None = None
    answer: "Future[Result] | None" = None


@dataclass(slots=True)
class Http:
    """All requests of a server. `flying` holds those whose callbacks have not come."""

    sm: "SourceMod"
    sent: list[Sent] = field(default_factory=list)
    flying: list[Flight] = field(default_factory=list)
    held: bool = False
    offline: bool = False
    patience: float | None = None
    _threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(max_workers=THREADS))

    def send(self, method: str, request: HTTPRequest, body: str, callback: Callback, value: int) -> None:
        """Queue a request."""
        self.sent.append(Sent(method, request.address, dict(request.headers), body, request))
        self.flying.append(Flight(self.sent[-1], callback, value))

    def run(self) -> None:
        """One frame: wake the thread, and deliver the answer that ended first."""
        if not self.flying:
            return
        started = [flight for flight in self.flying if flight.since is not None]
        for flight in [flight for flight in self.flying if flight.since is None][:PER_WAKE]:
            self._start(flight)
        if self.held:
            self._time_out(started)
            return
        answers = [flight.answer for flight in started if flight.answer is not None]
        if answers:
            wait(answers, timeout=self.patience, return_when=FIRST_COMPLETED)
        ended = [flight for flight in started if flight.answer is not None and flight.answer.done()]
        if ended:
            self._deliver(min(ended, key=_ended), None)

    def forget(self, plugin: object) -> None:
        """An unloaded plugin's callbacks never come, but its requests go out, also those that are queued."""
        for flight in self.flying:
            if flight.callback is not None and flight.callback.plugin is plugin:
                flight.callback = None

    def close(self) -> None:
        """Let the threads end."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _start(self, flight: Flight) -> None:
        flight.since = self.sm.world.now
        sent, request = flight.sent, flight.sent.request
        order = Order(
            sent.method, sent.url, sent.headers, sent.body.encode("utf-8", "surrogateescape"),
            request.connect_timeout, request.timeout, request.max_redirects,
        )  # fmt: skip
        flight.answer = self._threads.submit(_refused if self.offline else transfer, order)

    def _time_out(self, started: list[Flight]) -> None:
        for flight in started:
            waited = self.sm.world.now - (flight.since or 0.0)
            if flight.sent.request.timeout and waited >= flight.sent.request.timeout:
                text = f"Operation timed out after {round(waited * 1000)} milliseconds with 0 bytes received"
                self._deliver(flight, Result(error=text))
                return

    def _deliver(self, flight: Flight, instead: Result | None) -> None:
        self.flying.remove(flight)
        assert flight.answer is not None
        response = HTTPResponse(instead or flight.answer.result())
        handle = self.sm.handles.open(response, closable=False)
        try:
            if flight.callback is not None:
                flight.callback(handle, flight.value, response.result.error)
        finally:
            self.sm.handles.drop(handle)
            self.sm.handles.drop(response.data)


def _ended(flight: Flight) -> float:
    assert flight.answer is not None
    return flight.answer.result().ended


def _refused(order: Order) -> Result:
    parts = urlsplit(order.url)
    return Result(error=f"Failed to connect to {parts.hostname} port {parts.port or 80}: Connection refused")


def encoded(values: list[tuple[str, str]]) -> str:
    """Names and values percent-encoded, as curl_easy_escape does."""
    return "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in values)


def _start(call: Call, request: HTTPRequest, method: str, body: str, callback: Callback, value: int) -> None:
    """The extension frees the request's handle with the verb."""
    call.sm.handles.drop(call.sm.handles.find(request))
    call.sm.http.send(method, request, body, callback, value)


@native("HTTPRequest.HTTPRequest")
def request_new(call: Call, url: str) -> int:
    return call.open(HTTPRequest(url))


def _named(what: str, name: str) -> str:
    if not name:
        raise NativeError(f"{what} name cannot be empty.")
    return name


@native("HTTPRequest.SetHeader")
def set_header(call: Call, request: HTTPRequest, name: str, text: Text) -> None:
    request.headers[_named("Header", name)] = str(text)


@native("HTTPRequest.AppendQueryParam")
def append_query(call: Call, request: HTTPRequest, name: str, text: Text) -> None:
    request.query.append((_named("Parameter", name), str(text)))


@native("HTTPRequest.AppendFormParam")
def append_form(call: Call, request: HTTPRequest, name: str, text: Text) -> None:
    request.form.append((_named("Parameter", name), str(text)))


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
        _start(call, request, method, json.encode(data.value), callback, value)


for _method in ("POST", "PUT", "PATCH"):
    _with_body(_method)


@native("HTTPRequest.PostForm")
def post_form(call: Call, request: HTTPRequest, callback: Callback, value: int) -> None:
    request.headers["Accept"] = "application/json"
    request.headers["Content-Type"] = "application/x-www-form-urlencoded"
    _start(call, request, "POST", encoded(request.form), callback, value)


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
    return response.result.status


@native("HTTPResponse.Data.get")
def data(call: Call, response: HTTPResponse) -> int:
    """The extension frees this handle itself; the same one is given out every time."""
    if not response.data:
        text = response.result.body.split(b"\0")[0].decode("utf-8", "surrogateescape") if response.result.body else None
        response.data = call.sm.handles.open(json.wrap(json.parse(text)), closable=False)
    return response.data


@native("HTTPResponse.GetHeader")
def header(call: Call, response: HTTPResponse, name: str, buffer: Buffer) -> bool:
    value = response.result.headers.get(name.lower())
    if value is not None:
        buffer.write(value)
    return value is not None
