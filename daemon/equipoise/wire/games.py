"""The table of games: the names of the sides, and the mode that a map's facts mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import msgspec
from msgspec import field

from equipoise.core.model import NS2_SIDES, TF2_SIDES, Mode, Side
from equipoise.wire.scalars import Count

GameName = Literal["tf2", "ns2", "other"]
ModeName = Literal["arena", "attack_defend", "payload", "koth", "symmetric_cp", "ctf", "payload_race", "other"]
"""The modes that a script of another game may state: all but NS2's own."""


class Facts(msgspec.Struct, frozen=True):
    """What a script knows of a map's rules: TF2's own description, or the mode itself."""

    game_type: Count = field(default_factory=Count)
    """`m_nGameType`."""
    koth: bool = False
    """TF2: `m_bPlayingKoth`."""
    multiple_trains: bool = False
    """TF2: `m_bMultipleTrains`."""
    attack_defend: bool = False
    """Control points: RED owns all of them at the start, or the map switches teams on a win."""
    mode: ModeName = "other"
    """Read of the game `other` alone, whose script states the mode."""


@dataclass(frozen=True, slots=True)
class Game:
    """A game: its side words, A first, and how it tells the mode."""

    name: GameName
    sides: tuple[str, str]
    mode: Callable[[Facts], Mode]

    def word(self, side: Side | None) -> str:
        """The side as this game's script writes it.

        >>> NS2.word(Side.B), NS2.word(None)
        ('aliens', 'none')
        """
        return "none" if side is None else self.sides[side is Side.B]


def _tf2_mode(facts: Facts) -> Mode:
    """From `m_nGameType`: 1 CTF, 2 control points, 3 escort, 4 arena; the rest has no rules of its own."""
    match facts.game_type:
        case 1:
            return Mode.CTF
        case 2 if facts.koth:
            return Mode.KOTH
        case 2:
            return Mode.ATTACK_DEFEND if facts.attack_defend else Mode.SYMMETRIC_CP
        case 3:
            return Mode.PAYLOAD_RACE if facts.multiple_trains else Mode.PAYLOAD
        case 4:
            return Mode.ARENA
        case _:
            return Mode.OTHER


TF2 = Game("tf2", TF2_SIDES, _tf2_mode)
NS2 = Game("ns2", NS2_SIDES, lambda _facts: Mode.NS2)
OTHER = Game("other", ("a", "b"), lambda facts: Mode(facts.mode))
"""A game that Equipoise does not know: its script writes `a` and `b`, whatever players call the sides."""
GAMES: dict[str, Game] = {game.name: game for game in (TF2, NS2, OTHER)}

SideWord = Literal["red", "blu", "marines", "aliens", "a", "b"]
SIDES = {word: side for game in GAMES.values() for word, side in zip(game.sides, Side, strict=True)}
"""The words of all games: no two share one, so a word alone names the side. "none" and "any" are not in it."""
