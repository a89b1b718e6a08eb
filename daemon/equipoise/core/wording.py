"""Sides, chances and decisions in words for operators: the terminal and the page say the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from equipoise.core.model import DueIf, Side
from equipoise.core.phrases import LEAST_PART


def side_word(sides: Sequence[str], side: str | None) -> str:
    """Return the game's word for side `a` or `b`.

    >>> side_word(["red", "blu"], "b"), side_word(["marines", "aliens"], "a"), side_word(["red", "blu"], None)
    ('BLU', 'Marines', '-')
    >>> side_word(["a", "b"], "b"), side_word(["Allies", "the Axis"], "b")
    ('B', 'the Axis')
    """
    if side is None:
        return "-"
    word = sides[side == "b"]
    if word in ("red", "blu", "a", "b"):
        return word.upper()
    return word.capitalize() if word in ("marines", "aliens") else word


def chance(sides: Sequence[str], of_a: float | None, outlook: Mapping[str, Any] | None = None) -> str:
    """Which side is to win, and how probably; with the interval of that, where it is known.

    >>> chance(["red", "blu"], 0.39), chance(["red", "blu"], 0.498), chance(["red", "blu"], None)
    ('BLU 61 %', 'even', '-')
    >>> chance(["red", "blu"], 0.39, {"low": 0.2, "high": 0.65})
    'BLU 61 % (35 to 80)'
    """
    if of_a is None:
        return "-"
    text = interval(outlook if of_a >= 0.5 else _of_b(outlook))
    if percent(of_a) == "50 %" and not text:
        return "even"
    return f"{side_word(sides, 'a' if of_a >= 0.5 else 'b')} {percent(max(of_a, 1 - of_a))}{text}"


def _of_b(outlook: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if outlook is None or outlook["low"] is None:
        return None
    return {"low": 1 - outlook["high"], "high": 1 - outlook["low"]}


def percent(probability: float, digits: int = 0) -> str:
    """A probability in percent.

    >>> percent(0.614), percent(0.614, 1)
    ('61 %', '61.4 %')
    """
    return f"{100 * probability:.{digits}f} %"


def interval(outlook: Mapping[str, Any] | None) -> str:
    """The 80 % interval of a chance, behind it.

    >>> interval({"low": 0.3, "high": 0.73}), interval({"low": None, "high": None}), interval(None)
    (' (30 to 73)', '', '')
    """
    if outlook is None or outlook["low"] is None:
        return ""
    return f" ({100 * outlook['low']:.0f} to {100 * outlook['high']:.0f})"


def of_the_map(outlook: Mapping[str, Any] | None) -> str:
    """The part that map and sides have in side A's chance, behind it, where players read it too.

    >>> of_the_map({"chance": 0.46, "of_teams": 0.5}), of_the_map({"chance": 0.46, "of_teams": None}), of_the_map(None)
    (", including the map's −4 %", '', '')
    """
    if outlook is None or outlook.get("of_teams") is None:
        return ""
    part = round(100 * (outlook["chance"] - outlook["of_teams"]))
    return f", including the map's {part:+} %".replace("-", "−") if abs(part) >= LEAST_PART else ""


def change(sides: Sequence[str], found: Mapping[str, Any]) -> str:
    """How the chance of side A changes, with the interval of what it becomes and the map's part in it.

    >>> change(["red", "blu"], {"before": 0.61, "after": 0.5}), change(["red", "blu"], {"before": None, "after": 0.5})
    ('RED 61 % → 50 %', 'RED 50 %')
    >>> outlook = {"chance": 0.46, "low": 0.3, "high": 0.63, "of_teams": 0.49}
    >>> change(["red", "blu"], {"before": 0.26, "after": 0.46, "after_outlook": outlook})
    "RED 26 % → 46 % (30 to 63), including the map's −3 %"
    """
    before, after = found.get("before"), found.get("after")
    if after is None:
        return ""
    was = "" if before is None else f"{percent(before)} → "
    outlook = found.get("after_outlook")
    return f"{side_word(sides, 'a')} {was}{percent(after)}{interval(outlook)}{of_the_map(outlook)}"


def span(seconds: float) -> str:
    """Return a time as people say it.

    >>> span(95), span(600), span(90_000)
    ('95 s', '10 min', '25 h')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"


def due_sentence(pending: str | None, outcomes: Iterable[DueIf], sides: Sequence[str], what: str = "scramble") -> str:
    """Return what is due, or after which outcomes of the running round a scramble will be; empty: after none.

    >>> due_sentence(None, [DueIf(Side.A)], ["red", "blu"])
    'A scramble is due if RED wins.'
    >>> due_sentence(None, [DueIf(Side.A, shutout=True), DueIf(None)], ["red", "blu"])
    'A scramble is due if RED wins without a capture by BLU, or if nobody wins.'
    >>> due_sentence("3 wins in a row", [], ["red", "blu"])
    'A scramble is due: 3 wins in a row.'
    """
    if pending is not None:
        return f"A {what} is due: {pending}."
    due_if = list(outcomes)
    if {outcome.winner for outcome in due_if if not outcome.shutout} >= {*Side}:
        return f"A {what} is due after this round."
    parts = [_outcome(outcome, sides) for outcome in due_if]
    return f"A {what} is due {', or '.join(parts)}." if parts else ""


def _outcome(outcome: DueIf, sides: Sequence[str]) -> str:
    if outcome.winner is None:
        return "if nobody wins"
    wins = f"if {side_word(sides, outcome.winner.value)} wins"
    return f"{wins} without a capture by {side_word(sides, outcome.winner.other.value)}" if outcome.shutout else wins


def moved(kind: str, detail: Mapping[str, Any], names: Mapping[str, str], sides: Sequence[str]) -> str:
    """Return who changes place by a decision of this kind, and where they go; of one that moves nobody, who sits out.

    >>> split = {"a": ["1", "2"], "b": ["3"], "bench": ["4"]}
    >>> moved("scramble", {"split": split, "players": ["2"]}, {"2": "Ann", "4": "Bob"}, ["red", "blu"])
    'Ann → RED; Bob sits out'
    >>> moved("kept", {"players": ["2"], "side": "b"}, {"2": "Ann"}, ["red", "blu"])
    'Ann stays on BLU'
    """
    movers = detail.get("players", ())
    if "split" not in detail:
        how = {"kept": " stays on", "chair": " of"}.get(kind, " →")
        where = f"{how} {side_word(sides, detail['side'])}" if "side" in detail else ""
        return _listed(movers, names) + where
    places = (("a", side_word(sides, "a")), ("b", side_word(sides, "b")), ("bench", "sits out"))
    words = []
    for place, word in places:
        ids = [player for player in detail["split"][place] if player in movers or place == "bench"]
        if ids:
            words.append(f"{_listed(ids, names)} → {word}" if place != "bench" else f"{_listed(ids, names)} {word}")
    likely = f"; likely commanders: {_listed(detail['likely'], names)}" if "likely" in detail else ""
    # Why a split is not even, or moves nobody.
    cause = f" ({detail['cause']})" if "cause" in detail else ""
    return ("; ".join(words) or ("nobody moves" if "players" in detail else "")) + likely + cause


def _listed(ids: Iterable[str], names: Mapping[str, str]) -> str:
    return ", ".join(names.get(player) or player for player in ids)


def about(kind: str, detail: Mapping[str, Any], player: str, sides: Sequence[str]) -> str:
    """Return what became of one player by a decision of this kind.

    >>> about("move", {"players": ["2"], "side": "b"}, "2", ["red", "blu"])
    'moved to BLU'
    """
    if "split" in detail:
        return _in_split(detail, player, sides)
    side = side_word(sides, detail.get("side"))
    if kind == "kept":
        return f"had to stay on {side}" if "side" in detail else "could not be moved"
    if kind == "chair":
        return f"asked to command {side}"
    if kind == "refused":
        return "an admin command in their name was refused"
    if kind == "failed":
        return "the move failed"
    return f"{'moved' if kind == 'move' else 'placed'} to {side}" if "side" in detail else "took part"


def _in_split(detail: Mapping[str, Any], player: str, sides: Sequence[str]) -> str:
    split = detail["split"]
    if player in split["bench"]:
        return "sits out"
    side = side_word(sides, "a" if player in split["a"] else "b")
    if "players" not in detail:
        return f"plays on {side}"
    return f"moved to {side}" if player in detail["players"] else f"stays on {side}"
