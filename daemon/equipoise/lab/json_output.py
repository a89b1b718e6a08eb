"""Results as values for `--json` and CSV."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.core.model import PlayerId
from equipoise.errors import RatingError
from equipoise.lab.backtest import Backtest, difference
from equipoise.lab.models import Forecast, Model, RankedPlayer
from equipoise.lab.simulation.measures import Summary
from equipoise.lab.simulation.population import Scenario
from equipoise.lab.tune import Tuned
from equipoise.ratings.history import History, scores
from equipoise.ratings.system import Match, System

if TYPE_CHECKING:
    from equipoise.lab.reading import Reading

Json = dict[str, object]


def model(one: Model) -> Json:
    """A system's name and settings."""
    return {"name": one.name, "settings": dict(one.settings)}


def backtest(done: Backtest) -> Json:
    """One system's measures, without predictions of single matches."""
    return {
        "model": model(done.model),
        "burn_in": done.burn_in,
        "quality": asdict(done.quality),
        "accuracy": done.accuracy and asdict(done.accuracy),
        "correction": done.correction and asdict(done.correction),
        "uncorrected": {"log_loss": asdict(done.uncorrected)},
    }


def checked(reading: Reading) -> Json:
    """Return how a history's files were read, and what is wrong in them."""
    faults, history = reading.faults, reading.history
    return {
        "files": [
            {
                "file": table.name,
                "form": table.form,
                "rows": len(table),
                "columns": dict(table.read_as),
                "unread": table.unread(),
            }
            for table in reading.tables
        ],
        "understood": dict(reading.understood),
        "matches": None if history is None else len(history),
        "players": None if history is None else len(history.players),
        "faults": {
            "count": faults.counts.total(),
            "first": [
                {
                    "fact": fact or None,
                    "file": file,
                    "line": line or None,
                    "reason": reason,
                    "stops": reading.stopped(fact),
                }
                for fact, file, line, reason in faults.each()
            ],
        },
    }


PREDICTED = ("match", "row", "time", "team1", "team2", "predicted", "score", "measured")
"""The columns of `predictions`."""


def predictions(done: Backtest, history: History, row: Callable[[int], str]) -> Iterator[Sequence[object]]:
    """Each match with its prediction for the first team; those of the burn-in are without a correction."""
    chances = np.concatenate((done.forecast.predicted[: done.burn_in], done.predicted)).tolist()
    for match, (chance, score) in enumerate(zip(chances, scores(history).tolist(), strict=True)):
        first, second = (_names(history, team) for team in (2 * match, 2 * match + 1))
        yield match + 1, row(match), _time(history, match), first, second, chance, score, int(match >= done.burn_in)


def _names(history: History, team: int) -> str:
    return ",".join(history.players[member] for member in history.members[slice(*history.teams[team : team + 2])])


def _time(history: History, match: int) -> str | None:
    time = float(history.started_at[match])
    return None if math.isnan(time) else datetime.fromtimestamp(time, UTC).isoformat()


def chance(system: System[Any], history: History, teams: tuple[str, str], *, home: bool) -> Json:
    """The chances of a match to come. RatingError for a player who is not in the history."""
    sides = tuple(tuple(_known(history, name.strip()) for name in team.split(",")) for team in teams)
    prediction = system.predict(Match(sides, sides=("home", "away") if home else ()))
    wins, loses = prediction.wins
    return {
        "team": teams[0],
        "against": teams[1],
        "wins": wins,
        "draw": prediction.draw,
        "loses": loses,
        "expected": prediction.expected(0),
    }


def curve(made: Forecast, history: History, name: str) -> list[Json]:
    """A player's rating after each match. RatingError for one who is not in the history."""
    number = history.players.index(_known(history, name))
    places = np.flatnonzero(history.members == number)
    assert made.after is not None, "a forecast has curves unless it was told otherwise"
    matches = (np.searchsorted(history.teams, places, side="right") - 1) // 2
    rows = zip(matches.tolist(), made.after[places].tolist(), strict=True)
    return [
        {"player": name, "match": match + 1, "time": _time(history, match), "rating": rating} for match, rating in rows
    ]


def _known(history: History, name: str) -> PlayerId:
    if name not in history.players:
        near = get_close_matches(name, history.players, n=3)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise RatingError(f"{name!r} is not in the history{hint}")
    return PlayerId(name)


def compared(backtests: Sequence[Backtest]) -> list[Json]:
    """Several systems' measures, each with its difference to the first."""
    return [backtest(done) | {"difference": asdict(difference(done, backtests[0]))} for done in backtests]


def tuned(found: Tuned) -> Json:
    """The best settings that were found, and whether they are better on matches that the search had not seen."""
    return {
        "start": model(found.start),
        "model": model(found.model),
        "gain": found.gain and asdict(found.gain),
        "unseen": found.unseen,
        "take": found.is_better,
        "log_loss_before": found.before,
        "log_loss_after": found.after,
        "trials": found.trials,
        "finished": found.finished,
    }


def standings(places: Iterable[RankedPlayer]) -> list[Json]:
    """The places of a leaderboard, the highest first."""
    return [
        {
            "place": place.place,
            "player": place.summary.id,
            "rating": place.summary.rating,
            "rounds": place.summary.rounds,
            "visible": place.summary.visible,
            "last_played": place.summary.last_played,
            "uncertainty": place.uncertainty,
            "interval": place.interval and {"low": place.interval[0], "high": place.interval[1]},
        }
        for place in places
    ]


def simulated(scenario: Scenario, summaries: Sequence[tuple[Model, Summary]], balance: Model | None = None) -> Json:
    """A scenario, the system that made the teams of all pools if one did, and the summary of each system's pool."""
    return {
        "scenario": asdict(scenario) | {"mode": scenario.mode.value},
        "balance": balance and model(balance),
        "pools": [{"model": model(name), **asdict(summary)} for name, summary in summaries],
    }
