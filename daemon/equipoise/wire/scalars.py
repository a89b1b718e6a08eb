"""The smallest things on the wire, each checked as it is read, so that a refusal carries its JSON path.

Lua writes 17.0 for 17, and NS2 knows players by account id: both are made regular here.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Self, TypeGuard

from msgspec import Meta

from equipoise.core.model import STEAM_ID_BASE

MOST = 2**53
"""Beyond this a number from Lua or SourcePawn is no longer exact."""
ACCOUNTS = 2**32

Seconds = Annotated[float, Meta(ge=0, le=1e12)]
Share = Annotated[float, Meta(ge=0, le=1)]


class Scalar:
    """What msgspec does not know; `read` raises ValueError with a text for the script's author."""

    __slots__ = ()
    schema: ClassVar[dict[str, Any]]

    @classmethod
    def read(cls, value: object) -> Self:
        """The value as this type."""
        raise NotImplementedError


class Count(Scalar, int):
    """A whole number from 0; an integral float is one."""

    __slots__ = ()
    least: ClassVar[int] = 0
    schema: ClassVar[dict[str, Any]] = {"type": "integer", "minimum": 0, "maximum": MOST}

    @classmethod
    def read(cls, value: object) -> Self:
        """The value as this type."""
        if not _is_number(value) or not math.isfinite(value) or value != int(value):
            raise ValueError(f"Expected a whole number, got {value!r:.40}")
        if not cls.least <= value <= MOST:
            raise ValueError(f"Expected a whole number from {cls.least} to 2^53, got {value!r:.40}")
        return cls(value)


class Ordinal(Count):
    """A whole number from 1."""

    __slots__ = ()
    least: ClassVar[int] = 1
    schema: ClassVar[dict[str, Any]] = {"type": "integer", "minimum": 1, "maximum": MOST}


class Version(Ordinal):
    """The protocol's version: 1."""

    __slots__ = ()
    schema: ClassVar[dict[str, Any]] = {"const": 1}

    @classmethod
    def read(cls, value: object) -> Self:
        """The value as this type."""
        if value != 1 or value is True:
            raise ValueError(f"This daemon speaks version 1, got {value!r:.40}")
        return cls(1)


class Word(Scalar, str):
    """A short identifier: of a server, a session, a round, an order."""

    __slots__ = ()
    longest: ClassVar[int] = 64
    schema: ClassVar[dict[str, Any]] = {"type": "string", "minLength": 1, "maxLength": 64}

    @classmethod
    def read(cls, value: object) -> Self:
        """The value as this type."""
        if not isinstance(value, str) or not 1 <= len(value) <= cls.longest or not value.isprintable():
            raise ValueError(f"Expected 1 to {cls.longest} printable characters, got {value!r:.40}")
        return cls(value)


class MapName(Word):
    """Workshop maps have long ones."""

    __slots__ = ()
    longest: ClassVar[int] = 128
    schema: ClassVar[dict[str, Any]] = {"type": "string", "minLength": 1, "maxLength": 128}


class Line(Scalar, str):
    """What a human typed: any text of 0 to 128 characters, control characters dropped."""

    __slots__ = ()
    schema: ClassVar[dict[str, Any]] = {"type": "string", "maxLength": 128}

    @classmethod
    def read(cls, value: object) -> Self:
        """The value as this type."""
        if not isinstance(value, str) or len(value) > 128:
            raise ValueError(f"Expected a text of at most 128 characters, got {value!r:.40}")
        return cls("".join(letter for letter in value if letter.isprintable()))


class Player(Scalar, str):
    """A SteamID64, an account id made one, or `bot:<userid>`."""

    __slots__ = ()
    schema: ClassVar[dict[str, Any]] = {"type": "string", "examples": ["76561197960287930", "bot:7"]}

    @classmethod
    def read(cls, value: object) -> Self:
        """The value as this type."""
        number = _whole(value)
        if number is not None and 0 < number < ACCOUNTS:
            return cls(STEAM_ID_BASE + number)
        if number is not None and STEAM_ID_BASE < number < STEAM_ID_BASE + ACCOUNTS and isinstance(value, str):
            return cls(number)
        if isinstance(value, str) and value.startswith("bot:") and _whole(value[4:]) is not None:
            return cls(value)
        raise ValueError(f"Expected a SteamID64 as a string or bot:<userid>, got {value!r:.40}")


class Caller(Player):
    """A player, or nobody: the server's console."""

    __slots__ = ()
    schema: ClassVar[dict[str, Any]] = {"type": "string", "examples": ["76561197960287930", ""]}

    @classmethod
    def read(cls, value: object) -> Self:
        """The value as this type."""
        return cls() if value == "" else super().read(value)


def read(kind: type[Scalar], value: object) -> Scalar:
    """msgspec's `dec_hook`."""
    return kind.read(value)


def schema(kind: type) -> dict[str, Any]:
    """msgspec's `schema_hook`; `object` is anything."""
    return kind.schema if issubclass(kind, Scalar) else {"description": "anything"}


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _whole(value: object) -> int | None:
    """A number, or its decimal digits without sign, space or leading zero."""
    if isinstance(value, str):
        return (
            int(value)
            if value.isascii() and value.isdigit() and len(value) <= 17 and value == str(int(value))
            else None
        )
    if _is_number(value) and math.isfinite(value) and value == int(value):
        return int(value)
    return None
