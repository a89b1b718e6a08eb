"""The answer as a game script reads it: one struct per kind of order, and the reply around them."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType


class Text(msgspec.Struct, frozen=True):
    """A phrase the script translates; an argument `@<id>` is shown as that player's name."""

    phrase: str
    args: tuple[str, ...]


class Order(msgspec.Struct, frozen=True, tag_field="kind"):
    """What every order is."""


class Assign(Order, frozen=True, tag="assign"):
    """Put everybody where the split says."""

    order: str
    reason: Text
    red: tuple[str, ...]
    blu: tuple[str, ...]
    bench: tuple[str, ...]
    moment: Literal["freeze", "now"]


class Move(Order, frozen=True, tag="move"):
    """Move one player when he is next dead, at the latest at the deadline."""

    order: str
    reason: Text
    id: str
    side: str
    deadline: float


class Cancel(Order, frozen=True, tag="cancel"):
    """Forget a move that was not carried out."""

    order: str


class Place(Order, frozen=True, tag="place"):
    """Let him join this side, or have him wait."""

    id: str
    side: str
    reason: Text


class Lock(Order, frozen=True, tag="lock"):
    """Refuse him any other side."""

    id: str
    side: str
    seconds: float


class Unlock(Order, frozen=True, tag="unlock"):
    """Lift locks."""

    ids: tuple[str, ...]


class Say(Order, frozen=True, tag="say"):
    """Tell everybody."""

    text: Text


class Tell(Order, frozen=True, tag="tell"):
    """Tell one, or the console."""

    id: str
    lines: tuple[Text, ...]


AnyOrder = Assign | Move | Cancel | Place | Lock | Unlock | Say | Tell


class PlayerSummary(msgspec.Struct, frozen=True):
    """What the pool knows of a player."""

    id: str
    rating: float
    rounds: int
    visible: bool


class Cache(msgspec.Struct, frozen=True):
    """Splits to fall back on: ids strongest first, and per split one of `A`, `B`, `-` for each id."""

    ids: tuple[str, ...]
    splits: tuple[str, ...]


Rounds = dict[str, Literal["stored", "kept"]]


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """What a batch is answered with."""

    ok: Literal[True] = True
    orders: tuple[AnyOrder, ...]
    rounds: Rounds
    players: tuple[PlayerSummary, ...]
    pending: bool
    reason: Text | None
    due_if: tuple[str, ...]
    cache: Cache | UnsetType = UNSET
    want: tuple[Literal["hello", "roster"], ...]
    enabled: bool
    next: float


class Fault(msgspec.Struct, frozen=True):
    """Why something was refused."""

    code: str
    message: str
    path: str | UnsetType = UNSET


class Refusal(msgspec.Struct, frozen=True):
    """What anything refused is answered with."""

    error: Fault
    ok: Literal[False] = False
    rounds: Rounds | UnsetType = UNSET
