"""Orders and outcomes in plain English, with the names of the people: what the ticker says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from equipoise.core.model import PlayerId, Side
from equipoise.core.phrases import Phrase
from equipoise.wire import orders as wire

Names = Mapping[PlayerId, str]
_PHRASES = {phrase.key: phrase for phrase in Phrase}
SIDE_NAMES = {Side.A: "RED", Side.B: "BLU"}
DUEL = Phrase.REASON_DUEL.key
EQUAL_SIDES = Phrase.REASON_EQUAL_SIDES.key
REFUSALS = frozenset(phrase.key for phrase in Phrase if phrase.name.startswith("REFUSED"))


@dataclass(frozen=True, slots=True)
class Teams:
    """Who is where, and RED's win probability by the ratings (None while a side is empty)."""

    red: tuple[PlayerId, ...]
    blu: tuple[PlayerId, ...]
    bench: tuple[PlayerId, ...]
    chance: float | None

    def moved_to(self, other: Teams) -> int:
        """How many changed from one side to the other."""
        return len({*self.red} & {*other.blu}) + len({*self.blu} & {*other.red})


def english(text: wire.Text, names: Names) -> str:
    """A phrase as the game shows it."""
    said = _PHRASES[text.phrase].value
    for number, arg in enumerate(text.args, 1):
        name = names.get(PlayerId(arg[1:]), arg) if arg.startswith("@") else arg
        said = said.replace(f"{{{number}}}", name)
    return said


def listed(ids: Iterable[PlayerId], names: Names) -> str:
    """Names, as a sentence has them."""
    *rest, last = [names[id] for id in ids] or [""]
    return f"{', '.join(rest)} and {last}" if rest else last


def percent(chance: float | None) -> str:
    """A probability as players read it; a dash for none."""
    return "–" if chance is None else f"{100 * chance:.0f} %"


def scrambled(reason: str, before: Teams, after: Teams, names: Names, *, fair: bool) -> str:
    """A scramble with its reason, its effect on the odds, its moves and its bench; `fair`: it is their turn."""
    moved = before.moved_to(after)
    lineup = len({*after.red, *after.blu} - {*before.red, *before.blu})
    parts = [f"RED {percent(before.chance)} → {percent(after.chance)}", f"{moved or 'nobody'} moved"]
    if lineup > 1:
        parts.append(f"{lineup} in from the bench")
    if after.bench:
        parts.append(_sits_out(after.bench, names, fair=fair))
    return f"{reason[:1].upper()}{reason[1:]} → scrambled: {', '.join(parts)}"


def _sits_out(bench: tuple[PlayerId, ...], names: Names, *, fair: bool) -> str:
    sit, have = ("sits", "has") if len(bench) == 1 else ("sit", "have")
    return f"{listed(bench, names)} {sit} out" + (f" ({have} sat out least)" if fair else "")


def finished(number: int, winner: Side, teams: Teams, names: Names, *, predicted: float) -> str:
    """A round's result against what was expected of it."""
    chance = predicted if winner is Side.A else 1 - predicted
    upset = ", against the odds" if chance < 0.45 else ""
    bench = f" · {listed(teams.bench, names)} sat out" if 0 < len(teams.bench) < 4 else ""
    return f"Round {number}: {SIDE_NAMES[winner]} wins ({percent(chance)} expected{upset}){bench}"


def due(outcomes: tuple[str, ...], *, pending: bool) -> str:
    """What makes a scramble due, from the protocol's words."""
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
