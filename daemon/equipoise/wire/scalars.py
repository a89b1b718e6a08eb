"""Strings, side words and player ids of the wire, each checked as it is read, so that a refusal carries its JSON path.

An irregularity ends here: NS2 knows players by 32-bit account id. Another, Lua's 17.0 for 17, ends in `codec`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

from msgspec import Meta

from equipoise.core.model import NS2_SIDES, STEAM_ID_BASE, TF2_SIDES, PlayerId, Side

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


# The forms in which people write a player's Steam id, each read as the SteamID64 by which the daemon knows them.
#
# Valve's page on the SteamID (https://developer.valvesoftware.com/wiki/SteamID) has the arithmetic: `STEAM_X:Y:Z` and
# `[U:1:W]` are the same account where W = 2·Z + Y, and its SteamID64 is W + 0x0110000100000000. X is the universe: old
# games print 0 for the public one, newer games 1.

LONGEST = 256
"""Characters of an id or name: more is neither."""
_NUMBER = "([0-9]{1,20})"
_STEAM2 = re.compile(f"STEAM_([01]):([01]):{_NUMBER}", re.IGNORECASE)
_STEAM3 = re.compile(rf"\[U:1:{_NUMBER}\]|U:1:{_NUMBER}", re.IGNORECASE)
_ADDRESS = re.compile(r"(?:https?://)?(?:www\.)?steamcommunity\.com/(\w+)/([^/?#]+)(?:[/?#].*)?", re.IGNORECASE)
_ATTEMPT = re.compile(r"STEAM_|\[[A-Z]:\d|https?://|\S*steamcommunity\.com|bot:", re.IGNORECASE)
"""How texts begin that are meant as an id, so that a wrong one is not looked for among the names."""

FORMS = "76561197960287930, STEAM_0:0:11101, [U:1:22202] or https://steamcommunity.com/profiles/76561197960287930"
VANITY = (
    "a profile address with a name in it does not contain the id, and the daemon asks nobody on the internet: open the "
    "profile in a browser, add ?xml=1 to its address, and use the number in <steamID64>"
)


def written_id(text: str) -> PlayerId | None:
    """The player whose id the text is; None where it is no id, and so perhaps a name.

    A number of up to ten digits is an account number, as NS2 shows it. ValueError, with a text for the person who wrote
    it: it is meant as an id, and is none.

    >>> written_id("STEAM_0:0:11101"), written_id("[U:1:22202]"), written_id("22202")
    ('76561197960287930', '76561197960287930', '76561197960287930')
    >>> written_id("https://steamcommunity.com/profiles/76561197960287930/")
    '76561197960287930'
    >>> written_id("gaben")
    >>> written_id("https://steamcommunity.com/profiles/22202")
    Traceback (most recent call last):
    ...
    ValueError: https://steamcommunity.com/profiles/22202: a SteamID64 has 17 digits
    """
    text = text.strip()
    if not text or len(text) > LONGEST or not text.isprintable():
        raise ValueError(f"an id or a name has 1 to {LONGEST} characters, all of which can be seen")
    if address := _ADDRESS.fullmatch(text):
        return _in_address(text, *address.groups())
    if number := _STEAM2.fullmatch(text):
        _, low, high = number.groups()
        return _account(text, 2 * int(high) + int(low))
    if number := _STEAM3.fullmatch(text):
        return _account(text, int(number[1] or number[2]))
    if re.fullmatch("[0-9]+", text):
        return _number(text)
    if _ATTEMPT.match(text):
        raise ValueError(f"{text} is no Steam id: write {FORMS}")
    return None


def _in_address(text: str, kind: str, last: str) -> PlayerId:
    if kind.lower() == "id":
        raise ValueError(f"{text}: {VANITY}")
    if kind.lower() != "profiles":
        raise ValueError(f"{text} is no profile of a player")
    if number := _STEAM3.fullmatch(last):
        return _account(text, int(number[1] or number[2]))
    if not re.fullmatch("[0-9]{17}", last):
        raise ValueError(f"{text}: a SteamID64 has 17 digits")
    return _number(last)


def _number(text: str) -> PlayerId:
    if len(text) <= 10:
        return _account(text, int(text))
    # Digits are not limited in a name or number that somebody pastes, and int() reads no more than 4300.
    number = int(text) if len(text) == 17 else 0
    if not STEAM_ID_BASE < number < STEAM_ID_BASE + ACCOUNTS:
        least, most = STEAM_ID_BASE + 1, STEAM_ID_BASE + ACCOUNTS - 1
        raise ValueError(f"{text} is no SteamID64 of a player: these are {least} to {most}")
    return PlayerId(str(number))


def _account(text: str, number: int) -> PlayerId:
    if not 0 < number < ACCOUNTS:
        raise ValueError(f"{text} is no player's account: the numbers are 1 to {ACCOUNTS - 1}")
    return PlayerId(str(STEAM_ID_BASE + number))
