"""Compares a store with the book: what is lost, there twice, out of order, or rated otherwise than the formulas say."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from tests.chaos import stored
from tests.chaos.book import Book, Entry, Key
from tests.chaos.formulas import Change, Parameters, Population
from tests.chaos.rules import SCORE, is_rated, lineup_of, teams_of
from tests.chaos.stored import StoredRound

CLOSE = 1e-12
"""Predictions may differ by a rounding of the sums; ratings are whole numbers and may not differ at all."""


@dataclass
class Verdict:
    """What is wrong, one line per case."""

    lost: list[str] = field(default_factory=list)
    """Rounds that were answered and are not stored."""
    duplicated: list[str] = field(default_factory=list)
    """Rounds stored twice, or stored and never sent."""
    reordered: list[str] = field(default_factory=list)
    """Rounds stored before one that was answered before they were sent, or that came before them in their batch."""
    differ: list[str] = field(default_factory=list)
    """Facts and ratings that are not those of the round that was sent."""
    early: list[str] = field(default_factory=list)
    """Answers that left before what they say was synced."""
    late: list[str] = field(default_factory=list)
    """The event loop was held for more than a tenth of a second."""
    gaps: list[str] = field(default_factory=list)
    """Gaps of two in a round that got neither a move nor a reason within ten seconds."""
    replay: list[str] = field(default_factory=list)
    """Ratings and skills that are others after a start, or in a replay of all rounds and edits."""
    answers: list[str] = field(default_factory=list)
    """Questions that failed, answers and ends of the daemon, that the documents do not allow."""

    def __iter__(self) -> Iterator[tuple[str, list[str]]]:
        for each in fields(self):
            yield each.name, getattr(self, each.name)

    def __bool__(self) -> bool:
        """Something is wrong; a loop that was held is told, and may be this machine's."""
        return any(cases for name, cases in self if name != "late")

    def add(self, other: Verdict) -> None:
        """Take over another's cases."""
        for name, cases in other:
            getattr(self, name).extend(cases)


class Audit:
    """Follows one store: every call of `check` reads the rounds that came since the last."""

    def __init__(self, book: Book, pools: Mapping[str, Parameters]) -> None:
        self._book = book
        self._populations = {name: Population(parameters) for name, parameters in pools.items()}
        self._number = self._failure = 0
        self._seen: set[Key] = set()
        self._last_sent: dict[str, tuple[float, Key]] = {}
        self._last_played: dict[tuple[str, str], float] = {}

    @property
    def rounds(self) -> int:
        """Rounds seen so far."""
        return len(self._seen)

    def check(self, database: sqlite3.Connection) -> Verdict:
        """Compare what is new, and all players."""
        verdict = Verdict()
        for one in stored.rounds_after(database, self._number):
            self._number = one.row["number"]
            if one.row["pool"] in self._populations:
                self._check_round(one, verdict)
        self._check_players(database, verdict)
        verdict.lost += [f"{key}: answered, and not stored" for key in sorted(self._book.owed() - self._seen)]
        there = {tuple(row) for row in database.execute("SELECT server, id FROM rounds")}
        verdict.lost += [f"{key}: was stored, and is gone" for key in sorted(self._seen - there)]
        for number, server, reason in stored.failures_after(database, self._failure):
            self._failure = number
            if not any(words in reason for words in self._book.causes):
                verdict.answers.append(f"{server}: a question failed: {reason}")
        return verdict

    def _check_round(self, one: StoredRound, verdict: Verdict) -> None:
        entry = self._book.rounds.get(one.key)
        if entry is None or one.key in self._seen:
            verdict.duplicated.append(f"{one.key}: {'never sent' if entry is None else 'stored twice'}")
            return
        self._check_order(one, entry, verdict)
        self._seen.add(one.key)
        sent, there = facts_of(entry.event), {name: one.row[name] for name in facts_of(entry.event)}
        if self._book.clock_turned and there["started_at"] < sent["started_at"]:
            sent["started_at"] = there["started_at"]
        if sent != there:
            verdict.differ.append(f"{one.key}: sent {sent}, stored {there}")
        self._check_ratings(one, entry, verdict)

    def _check_order(self, one: StoredRound, entry: Entry, verdict: Verdict) -> None:
        if entry.behind is not None and entry.behind not in self._seen:
            verdict.reordered.append(f"{one.key}: stored before {entry.behind}, which came before it in its batch")
        pool = one.row["pool"]
        latest, key = self._last_sent.get(pool, (-math.inf, one.key))
        if entry.answered is not None and latest > entry.answered:
            verdict.reordered.append(f"{one.key}: stored behind {key}, which was sent after it was answered")
        self._last_sent[pool] = max((latest, key), (entry.sent, one.key))

    def _check_ratings(self, one: StoredRound, entry: Entry, verdict: Verdict) -> None:
        population, event = self._populations[one.row["pool"]], entry.event
        expected: dict[str, Change] = {}
        prediction = None
        for name, skill in one.row["skill_at_start"].items():
            if not population.ever(name, skill):
                verdict.differ.append(f"{one.key}: {name} never had the {skill} that they are said to have begun with")
        if is_rated(event):
            prediction = population.predict(lineup_of(event), one.row["skill_at_start"])
            expected = population.rate(prediction, teams_of(event), SCORE[event["winner"]])
        for name in expected:
            played = max(self._last_played.get((one.row["pool"], name), 0.0), one.row["started_at"])
            self._last_played[one.row["pool"], name] = played
        if not same(prediction, one.row["prediction"]) or (prediction is None) != (one.row["unrated"] is not None):
            verdict.differ.append(f"{one.key}: prediction {one.row['prediction']}, by the formulas {prediction}")
        found = {row["player"]: row for row in one.participants}
        if found.keys() != expected.keys():
            verdict.differ.append(f"{one.key}: participants {sorted(found)}, by the rules {sorted(expected)}")
        for name in found.keys() & expected.keys():
            self._check_change(one.key, found[name], expected[name], verdict)
        for answer in entry.numbers:
            self._check_answer(one, answer, verdict)

    def _check_change(self, key: Key, row: Mapping[str, Any], change: Change, verdict: Verdict) -> None:
        there = Change(*(row[each.name] for each in fields(Change)))
        exact = ("player", "side", "before", "after", "score", "rounds", "visible")
        if any(getattr(there, name) != getattr(change, name) for name in exact) or not same(
            there.prediction, change.prediction
        ):
            verdict.differ.append(f"{key}: stored {there}, by the formulas {change}")

    def _check_answer(self, one: StoredRound, answer: Mapping[str, Any], verdict: Verdict) -> None:
        rows = [(row["player"], row["before"], row["after"], row["rounds"]) for row in one.participants]
        said = [(each["id"], each["before"], each["after"], each["rounds"]) for each in answer["players"]]
        if said != rows or answer["win_probability"] != one.row["prediction"]:
            verdict.differ.append(f"{one.key}: answered {answer}, stored {rows}")

    def _check_players(self, database: sqlite3.Connection, verdict: Verdict) -> None:
        rows = {(row["pool"], row["id"]): row for row in stored.players(database) if row["pool"] in self._populations}
        for pool, population in self._populations.items():
            for name, player in population.players.items():
                row = rows.pop((pool, name), None)
                there = row and (row["rating"], row["rounds"], row["last_played"])
                if there != (player.rating, player.rounds, self._last_played[pool, name]):
                    verdict.differ.append(f"player {name} of {pool}: stored {there}, by the formulas {player.rating}")
        verdict.duplicated += [f"player {name} of {pool}: was never rated" for pool, name in rows]


def same(one: float | None, other: float | None) -> bool:
    """Equal but for the rounding of a sum."""
    return one == other or (one is not None and other is not None and abs(one - other) <= CLOSE)


def facts_of(event: Mapping[str, Any]) -> dict[str, Any]:
    """A sent round by the columns in which it is stored."""
    captures = event.get("captures", {})
    return {
        "session": event["session"],
        "map": event["map"],
        "mode": "koth",
        "started_at": event["started_at"],
        "seconds": event["seconds"],
        "winner": {"red": "a", "blu": "b", "none": None}[event["winner"]],
        "captures_a": captures.get("red", 0),
        "captures_b": captures.get("blu", 0),
        "partial": int(event.get("partial", False)),
        "waiting": int(event.get("waiting", False)),
    }
