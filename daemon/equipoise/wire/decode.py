"""Decode what scripts and programs send; a message that does not fit is refused with its JSON path.

msgspec checks shapes and ranges in one pass. What one field alone cannot show, such as a player who is listed twice, is
checked when the values of the core are made.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import unquote_to_bytes

import msgspec

from equipoise.core.events import ScriptEvent
from equipoise.core.model import PlayerId, ServerId
from equipoise.errors import ScriptError
from equipoise.wire import events, scalars
from equipoise.wire.events import Here, player_id

T = TypeVar("T")

MOST_DIGITS = 400
"""Of an integer. A double ends at 309 digits, and Python reads no integer of more than 4300."""

MOST_FIELDS = 8
"""Of a form."""
MOST_SECRET = 4096
"""Bytes of a form's secret, as it is quoted."""

_PATH = re.compile(r"(.*) - at `(.*)`", re.DOTALL)
"""msgspec's error texts end with the path, unless the error concerns the whole body."""

_EVENT = re.compile(r"\$\.events\[(\d+)\]")
_KIND = re.compile(rb'"kind"\s*:\s*"([\w.-]{1,64})"', re.ASCII)

CHARSETS = frozenset({"utf-8", "utf8", "us-ascii", "ascii"})
"""Names of encodings that a form may declare: UTF-8 reads all of them."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Events of one script in order; batches are numbered within a boot."""

    server: ServerId
    boot: int
    seq: int
    at: float
    """The script's monotonic clock, seconds."""
    events: tuple[ScriptEvent, ...]
    dropped: int = 0
    names: Mapping[PlayerId, str] = field(default_factory=dict)
    """Names of joining players, where the script sent them."""
    plugin: str | None = None
    """The script's version, when the batch holds a hello."""
    unranked: str = ""
    """With a hello: why the game does not rank its rounds; empty: it does, or that is not known."""


def decode_batch(body: bytes) -> Batch:
    """A posted batch. ScriptError 400 when the body is not JSON, 422 with the path when it is not a batch."""
    return batch_of(decode_as(body, events.Batch))


def batch_of(posted: events.Batch) -> Batch:
    """The core's values of a well-formed batch. ScriptError where parts of an event contradict each other."""
    server = ServerId(str(posted.server))
    # One script, one version: each hello of a batch says the same.
    hello = next((event for event in posted.events if isinstance(event, events.Hello)), None)
    return Batch(
        server=server,
        boot=posted.boot,
        seq=posted.seq,
        at=posted.at,
        events=tuple(_fact(event, Here(server, f"$.events[{n}]", posted.at)) for n, event in enumerate(posted.events)),
        dropped=posted.dropped,
        names=dict(_names(posted)),
        plugin=str(hello.plugin) if hello else None,
        unranked=hello.unranked if hello else "",
    )


def _fact(event: events.AnyEvent, here: Here) -> ScriptEvent:
    if isinstance(event, events.ScriptEvent):
        return event.fact(here)
    # These events are the core's own structs, which know no batch.
    return event if event.at is not None else msgspec.structs.replace(event, at=here.at)


def _names(posted: events.Batch) -> Iterator[tuple[PlayerId, str]]:
    for event in posted.events:
        if isinstance(event, events.PlayerJoined) and event.name:
            yield player_id(event.id), str(event.name)


def kinds_of(posted: events.Batch) -> list[str]:
    """The kinds of a batch's events, in their order."""
    return [str(type(event).__struct_config__.tag) for event in posted.events]


def at_fault(kinds: Sequence[str], path: str | None) -> tuple[str, ...]:
    """Return the kinds of events that may be at fault in a refused batch: the one at the path, else all.

    >>> at_fault(["heartbeat", "roster"], "$.events[1].players"), at_fault(["heartbeat", "roster"], "$.at")
    (('roster',), ('heartbeat', 'roster'))
    """
    place = _EVENT.match(path or "")
    return tuple(kinds[int(place[1]) :][:1] if place else dict.fromkeys(kinds))


def decode_as(body: bytes, kind: type[T]) -> T:
    """A message of any kind of struct. ScriptError 400 when the body is not JSON, 422 with the path otherwise."""
    try:
        return msgspec.json.decode(body, type=kind, dec_hook=scalars.read)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        return _read_again(body, kind, error)


def _read_again(body: bytes, kind: type[T], error: Exception) -> T:
    """A message with whole numbers as Lua may write them, 17.0; a ScriptError says what in another does not fit.

    The standard library accepts NaN and Infinity: scripts write them by accident, and their authors are helped by the
    path more than by "not JSON".
    """
    refusal = ScriptError("json", f"this is no JSON as we read it: {error}", status=400)
    try:
        plain = json.loads(body, parse_int=_bounded, parse_float=_number)
        message = msgspec.convert(plain, type=kind, dec_hook=scalars.read)
        # What is no JSON is refused, also where this version reads no field.
        msgspec.json.decode(body)
        return message
    except msgspec.ValidationError as invalid:
        match = _PATH.fullmatch(str(invalid))
        refusal = ScriptError("schema", match[1] if match else str(invalid), path=match[2] if match else "$")
    except (msgspec.DecodeError, UnicodeError):
        pass
    except (ValueError, RecursionError) as malformed:
        refusal = ScriptError("json", f"this is no JSON: {malformed}", status=400)
    if kind is events.Batch:
        # Only an event has a `kind`; a body that is no JSON shows its own as well as any other.
        refusal.kinds = at_fault([match.decode() for match in _KIND.findall(body)], refusal.path)
    raise refusal from None


def _bounded(digits: str) -> int | float:
    """An integer; infinity for one with too many digits, which is then refused like any number out of its range."""
    return int(digits) if len(digits) < MOST_DIGITS else float(digits)


def _number(digits: str) -> int | float:
    """A number with a point or an exponent; an integer where it is whole and a double counts so far."""
    number = float(digits)
    return int(number) if number.is_integer() and abs(number) <= 2**53 else number


def split_form(body: bytes, charset: str = "utf-8") -> tuple[str, bytes]:
    """The fields `secret` and `data` of a form, the latter still quoted. ScriptError 400 when there are no such fields.

    To unquote 256 KB takes 20 ms, in which no other caller is answered: the secret is checked before.

    >>> split_form(b"secret=s%21&data=%7B%7D")
    ('s!', b'%7B%7D')
    """
    if charset.lower() not in CHARSETS:
        raise ScriptError("charset", "a form is read as UTF-8 only", status=400)
    pairs = [pair.partition(b"=") for pair in body.split(b"&", MOST_FIELDS) if pair]
    fields = {name: value for name, _, value in pairs}
    if len(pairs) > MOST_FIELDS or len(fields) < len(pairs) or not fields.keys() >= {b"secret", b"data"}:
        raise ScriptError("form", "a form needs the fields secret and data, once each", status=400)
    if len(fields[b"secret"]) > MOST_SECRET:
        raise ScriptError("form", f"a secret has at most {MOST_SECRET} bytes", status=400)
    return unquoted(fields[b"secret"]).decode(), fields[b"data"]


def unquoted(value: bytes) -> bytes:
    """The value of a form's field. ScriptError 400 when it is not UTF-8.

    >>> unquoted(b"%7B+%7D")
    b'{ }'
    """
    plain = unquote_to_bytes(value.replace(b"+", b" "))
    try:
        plain.decode()
    except UnicodeDecodeError:
        raise ScriptError("form", "this is no form of UTF-8 text", status=400) from None
    return plain
