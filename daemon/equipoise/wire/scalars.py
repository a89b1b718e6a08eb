"""Strings and side words of the wire, each checked as it is read, so that a refusal carries its JSON path.

An irregularity ends here: NS2 knows players by 32-bit account id. Another, Lua's 17.0 for 17, ends in `decode`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

from msgspec import Meta

from equipoise.core.model import NS2_SIDES, STEAM_ID_BASE, TF2_SIDES, Side

ACCOUNTS = 2**32
"""Account ids that exist: a SteamID64 is one of them added to `STEAM_ID_BASE`."""

_ID = "[1-9][0-9]{0,9}|7656119[7-9][0-9]{9}|7656120[0-2][0-9]{9}|bot:(0|[1-9][0-9]{0,16})"
"""A player id as a regular expression, which cannot say the ranges: an account id, a SteamID64, a bot."""
_ACCOUNT = {"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": ACCOUNTS}

Fraction = Annotated[float, Meta(ge=0, le=1)]


GameName = Literal["tf2", "ns2", "other"]


@dataclass(frozen=True, slots=True)
class Game:
    """A game and its side words, A first."""

    name: GameName
    sides: tuple[str, str]

    def word(self, side: Side | None) -> str:
        """The side as this game's script writes it.

        >>> NS2.word(Side.B), NS2.word(None)
        ('aliens', 'none')
        """
        return "none" if side is None else self.sides[side is Side.B]


TF2 = Game("tf2", TF2_SIDES)
NS2 = Game("ns2", NS2_SIDES)
OTHER = Game("other", ("a", "b"))
"""A game that Equipoise does not know: its script writes `a` and `b`, whatever players call the sides."""
GAMES: dict[str, Game] = {game.name: game for game in (TF2, NS2, OTHER)}

SideWord = Literal["red", "blu", "marines", "aliens", "a", "b"]
SIDES = {word: side for game in GAMES.values() for word, side in zip(game.sides, Side, strict=True)}
"""The words of all games: no two share one, so a word alone names the side. "none" and "any" are not in it."""


class Scalar:
    """A type that msgspec does not know; `read` raises ValueError with a text for the script's author."""

    __slots__ = ()
    schema: ClassVar[dict[str, Any]]

    @classmethod
    def read(cls, value: object) -> Self:
        """The value as this type. ValueError when it is none."""
        raise NotImplementedError


PROTOCOL = 1
"""The version that scripts of this release speak: one more with the next change that an older script cannot follow."""
OLDEST = max(1, PROTOCOL - 1)
"""A daemon serves the version before, too: it is upgraded first, and its game servers at their next start."""


class Version(Scalar, int):
    """The protocol's version; one that this daemon does not serve is refused with the side to upgrade."""

    __slots__ = ()
    schema: ClassVar[dict[str, Any]] = {"type": "integer", "minimum": OLDEST, "maximum": PROTOCOL}

    @classmethod
    def read(cls, value: object) -> Self:
        version = _integer(value)
        if version is None or version < 1:
            raise ValueError(f"Expected a whole number from 1, got {value!r:.40}")
        if not OLDEST <= version <= PROTOCOL:
            versions = " and ".join(map(str, range(OLDEST, PROTOCOL + 1)))
            side = "daemon" if version > PROTOCOL else "script"
            raise ValueError(
                f"The script speaks protocol {version}, this daemon {versions}: upgrade the {side} (equipoise upgrade)"
            )
        return cls(version)


class Word(Scalar, str):
    """An identifier of 1 to 64 printable characters: of a server, a session, a round, an order."""

    __slots__ = ()
    longest: ClassVar[int] = 64
    schema: ClassVar[dict[str, Any]] = {"type": "string", "minLength": 1, "maxLength": 64}

    @classmethod
    def read(cls, value: object) -> Self:
        if not isinstance(value, str) or not 1 <= len(value) <= cls.longest or not value.isprintable():
            raise ValueError(f"Expected 1 to {cls.longest} printable characters, got {value!r:.40}")
        return cls(value)


class MapName(Word):
    """A map's name of up to 128 characters: those from the workshop are long."""

    __slots__ = ()
    longest: ClassVar[int] = 128
    schema: ClassVar[dict[str, Any]] = {"type": "string", "minLength": 1, "maxLength": 128}


class Line(Scalar, str):
    """Text that a person typed, of 0 to 128 characters; control characters are removed."""

    __slots__ = ()
    schema: ClassVar[dict[str, Any]] = {"type": "string", "maxLength": 128}

    @classmethod
    def read(cls, value: object) -> Self:
        if not isinstance(value, str) or len(value) > 128:
            raise ValueError(f"Expected a text of at most 128 characters, got {value!r:.40}")
        return cls("".join(letter for letter in value if letter.isprintable()))


class Player(Scalar, str):
    """A player id: a SteamID64, or `bot:<userid>`. An account id is converted."""

    __slots__ = ()
    schema: ClassVar[dict[str, Any]] = {
        "anyOf": [{"type": "string", "pattern": f"^({_ID})$"}, _ACCOUNT],
        "examples": ["76561197960287930", "bot:7"],
    }

    @classmethod
    def read(cls, value: object) -> Self:
        number = _whole(value)
        if number is not None and 0 < number < ACCOUNTS:
            return cls(STEAM_ID_BASE + number)
        # A SteamID64 only as a string: it is above 2^53, and as a number has lost its last digits on the way.
        if number is not None and STEAM_ID_BASE < number < STEAM_ID_BASE + ACCOUNTS and isinstance(value, str):
            return cls(number)
        if isinstance(value, str) and value.startswith("bot:") and _whole(value[4:]) is not None:
            return cls(value)
        raise ValueError(f"Expected a SteamID64 as a string or bot:<userid>, got {value!r:.40}")


class Caller(Player):
    """A player id, or "" for the server's console."""

    __slots__ = ()
    schema: ClassVar[dict[str, Any]] = {
        "anyOf": [{"type": "string", "pattern": f"^({_ID})?$"}, _ACCOUNT],
        "examples": ["76561197960287930", ""],
    }

    @classmethod
    def read(cls, value: object) -> Self:
        return cls() if value == "" else super().read(value)


def read(kind: type[Scalar], value: object) -> Scalar:
    """Read a `Scalar`: msgspec's `dec_hook`. ValueError when the value is none."""
    return kind.read(value)


def schema(kind: type) -> dict[str, Any]:
    """The JSON schema of a `Scalar`: msgspec's `schema_hook`."""
    return dict(kind.schema) if issubclass(kind, Scalar) else {"description": "anything"}


def _integer(value: object) -> int | None:
    """The integer that a number means, of any size: no integer is made a float, which ends at 1e308."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _whole(value: object) -> int | None:
    """The integer that a number or a string of digits means; signs, spaces and leading zeros are not accepted."""
    if isinstance(value, str):
        digits = value.isascii() and value.isdigit() and len(value) <= 17
        return int(value) if digits and value == str(int(value)) else None
    return _integer(value)
