"""Results as JSON values, for `--json`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from equipoise.lab.backtest import Backtest, difference
from equipoise.lab.leaderboard import Leaderboard
from equipoise.lab.models import Model
from equipoise.lab.reading import Reading, stopped
from equipoise.lab.simulation.measures import Summary
from equipoise.lab.simulation.population import Scenario
from equipoise.lab.tune import Tuned
from equipoise.ratings.calibration import Calibration
from equipoise.ratings.quality import Group
from equipoise.ratings.system import Convergence

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
        "correction": done.correction and correction(done.correction),
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
            "count": faults.count(faults.facts()),
            "first": [
                {"fact": fact or None, "file": file, "line": line or None, "reason": reason, "stops": stopped(fact)}
                for fact in faults.facts()
                for file, line, reason in faults.first([fact])
            ],
        },
    }


def compared(backtests: Sequence[Backtest]) -> list[Json]:
    """Several systems' measures, each with its difference to the first."""
    return [backtest(done) | {"difference": asdict(difference(done, backtests[0]))} for done in backtests]


def divisions(groups: Sequence[Group]) -> list[Json]:
    """Calibration by group of players."""
    return [asdict(group) for group in groups]


def correction(one: Calibration) -> Json:
    """The correction that was fitted to the predictions."""
    return {"temperature": one.temperature, "sides": dict(one.sides), "maps": dict(one.maps)}


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


def standings(board: Leaderboard) -> list[Json]:
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
        for place in board.places
    ]


def fitted(ended: Convergence, board: Leaderboard) -> Json:
    """How a whole-history fit ended, and the leaderboard by it."""
    return {"convergence": asdict(ended), "standings": standings(board)}


def simulated(scenario: Scenario, summaries: Sequence[tuple[Model, Summary]], balance: Model | None = None) -> Json:
    """A scenario, the system that made the teams of all pools if one did, and the summary of each system's pool."""
    return {
        "scenario": asdict(scenario) | {"mode": scenario.mode.value, "attendance": scenario.attendance.value},
        "balance": balance and model(balance),
        "pools": [{"model": model(name), **_summary(summary)} for name, summary in summaries],
    }


def _summary(summary: Summary) -> Json:
    groups = [asdict(group) | {"kind": group.kind.value} for group in summary.groups]
    return asdict(summary) | {"groups": groups}
