"""Bytes of a game script to values of ours, refused with the JSON path of what is wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TypeVar
from urllib.parse import parse_qsl

import msgspec

from equipoise.core.model import PlayerId, ServerId
from equipoise.errors import ScriptError
from equipoise.wire import events, scalars
from equipoise.wire.people import Here, player_id
from equipoise.wire.values import Batch

T = TypeVar("T")

_PATH = re.compile(r"(.*) - at `(.*)`", re.DOTALL)
"""How msgspec ends its texts, unless the whole body is meant."""

CHARSETS = frozenset({"utf-8", "utf8", "us-ascii", "ascii"})


def decode_batch(body: bytes) -> Batch:
    """A posted batch; ScriptError 400 when it is no JSON, 422 when it is not a batch."""
    return batch_of(decode_as(body, events.Batch))


def batch_of(posted: events.Batch) -> Batch:
    """The values of a well-formed batch; ScriptError where parts of an event contradict each other."""
    server = ServerId(str(posted.server))
    return Batch(
        server=server,
        boot=int(posted.boot),
        seq=int(posted.seq),
        at=posted.at,
        events=tuple(event.fact(Here(server, f"$.events[{n}]", posted.at)) for n, event in enumerate(posted.events)),
        dropped=int(posted.dropped),
        names=dict(_names(posted)),
        plugin=next((str(event.plugin) for event in posted.events if isinstance(event, events.Hello)), None),
    )


def decode_as(body: bytes, kind: type[T]) -> T:
    """Any message of ours; ScriptError 400 when it is no JSON, 422 with the path when it does not fit."""
    try:
        return msgspec.json.decode(body, type=kind, dec_hook=scalars.read)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise _refusal(body, kind, error) from None


def decode_form(body: bytes, charset: str = "utf-8") -> tuple[str, bytes]:
    """The fields `secret` and `data` of a form; ScriptError 400 when they cannot be read."""
    if charset.lower() not in CHARSETS:
        raise ScriptError("charset", "a form is read as UTF-8 only", status=400)
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=8, errors="strict")
    except ValueError:
        raise ScriptError("form", "this is no form of UTF-8 text", status=400) from None
    fields = dict(pairs)
    if len(fields) != len(pairs) or not fields.keys() >= {"secret", "data"}:
        raise ScriptError("form", "a form needs the fields secret and data, once each", status=400)
    return fields["secret"], fields["data"].encode()


def _names(posted: events.Batch) -> Iterator[tuple[PlayerId, str]]:
    for event in posted.events:
        if isinstance(event, events.PlayerJoined) and event.name:
            yield player_id(event.id), str(event.name)


def _refusal(body: bytes, kind: type[T], error: Exception) -> ScriptError:
    """Why a body was not decoded: it is no JSON, or, at a path, it does not fit.

    The second reading is lenient about NaN and Infinity, which scripts write unawares: they get their path.
    """
    try:
        msgspec.convert(json.loads(body), type=kind, dec_hook=scalars.read)
    except msgspec.ValidationError as invalid:
        found = _PATH.fullmatch(str(invalid))
        return ScriptError("schema", found[1] if found else str(invalid), path=found[2] if found else "$")
    except (ValueError, RecursionError) as malformed:
        return ScriptError("json", f"this is no JSON: {malformed}", status=400)
    return ScriptError("json", f"this is no JSON as we read it: {error}", status=400)
