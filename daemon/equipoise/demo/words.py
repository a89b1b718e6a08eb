"""Orders and results in plain English, with players' names: the lines of the ticker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from equipoise.core.model import PlayerId, Side
from equipoise.core.phrases import Text

Names = Mapping[PlayerId, str]
Odds = tuple[float | None, float | None]
"""Side A's win probability before and after."""
SIDE_NAMES = {Side.A: "RED", Side.B: "BLU"}
UPSET = 0.45
"""A side that wins with a lower probability wins against the odds."""


@dataclass(frozen=True, slots=True)
class Teams:
    """Players on both sides and on none, and side A's win probability as predicted (None while a side is empty)."""

    a: tuple[PlayerId, ...]
    b: tuple[PlayerId, ...]
    bench: tuple[PlayerId, ...]
    chance: float | None

    def moved_to(self, other: Teams) -> int:
        """How many players changed from one side to the other."""
        return len({*self.a} & {*other.b}) + len({*self.b} & {*other.a})


def english(text: Text, names: Names) -> str:
    """A phrase as the game shows it.

    >>> from equipoise.core.phrases import Phrase
    >>> ann = PlayerId("76561197960265729")
    >>> english(Text(Phrase.RANK, (f"@{ann}", "2", "11", "1204", "7-0-5")), {ann: "Ann"})
    'Ann: rank 2 of 11, ladder points 1204, won-drawn-lost 7-0-5.'
    """

    def argument(arg: str | Text) -> str:
        if isinstance(arg, Text):
            return english(arg, names)
        return names.get(PlayerId(arg[1:]), arg) if arg.startswith("@") else arg

    return Text(text.phrase, tuple(map(argument, text.args))).english


def listed(ids: Iterable[PlayerId], names: Names) -> str:
    """Names as a sentence lists them.

    >>> listed([PlayerId("1"), PlayerId("2"), PlayerId("3")], {"1": "Ann", "2": "Bob", "3": "Cid"})
    'Ann, Bob and Cid'
    """
    *rest, last = [names[id] for id in ids] or [""]
    return f"{', '.join(rest)} and {last}" if rest else last


def percent(chance: float | None) -> str:
    """A probability as players read it; a dash for none.

    >>> percent(0.517)
    '52 %'
    """
    return "–" if chance is None else f"{100 * chance:.0f} %"


def scrambled(odds: Odds, reason: str, before: Teams, after: Teams, names: Names, *, fair: bool) -> str:
    """A scramble: its reason, RED's chance before and after, moves and bench; `fair`: no one has sat out less."""
    moved = before.moved_to(after)
    lineup = len({*after.a, *after.b} - {*before.a, *before.b})
    parts = [f"RED {percent(odds[0])} → {percent(odds[1])}", f"{moved or 'nobody'} moved"]
    if lineup > 1:
        parts.append(f"{lineup} in from the bench")
    if after.bench:
        parts.append(_sits_out(after.bench, names, fair=fair))
    return f"{reason[:1].upper()}{reason[1:]} → scrambled: {', '.join(parts)}"


def _sits_out(bench: tuple[PlayerId, ...], names: Names, *, fair: bool) -> str:
    sit, have = ("sits", "has") if len(bench) == 1 else ("sit", "have")
    return f"{listed(bench, names)} {sit} out" + (f" ({have} sat out least)" if fair else "")


def finished(number: int, winner: Side, teams: Teams, names: Names, *, predicted: float) -> str:
    """A round's result, with the chance that the winner had as predicted; `predicted` is RED's."""
    chance = predicted if winner is Side.A else 1 - predicted
    upset = ", against the odds" if chance < UPSET else ""
    bench = f" · {listed(teams.bench, names)} sat out" if 0 < len(teams.bench) < 4 else ""
    return f"Round {number}: {SIDE_NAMES[winner]} wins (had a {percent(chance)} chance{upset}){bench}"


def due(outcomes: tuple[str, ...], *, pending: bool) -> str:
    """What makes a scramble due, from the protocol's words.

    >>> due(("red", "none"), pending=False)
    'scramble due if RED wins or after a stalemate'
    """
    if pending:
        return "scramble at the next round start"
    if not outcomes:
        return ""
    if {"red:0", "blu:0"} == set(outcomes):
        return "scramble due after a shutout"
    return f"scramble due {' or '.join(_OUTCOMES[outcome] for outcome in outcomes)}"


_OUTCOMES = {
    "any": "when this round ends",
    "none": "after a stalemate",
    "red": "if RED wins",
    "blu": "if BLU wins",
    "red:0": "if RED shuts BLU out",
    "blu:0": "if BLU shuts RED out",
}
