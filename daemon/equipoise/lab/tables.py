"""Results as tables of text, for the terminal and the report alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from equipoise.lab.backtest import Backtest, difference
from equipoise.lab.correction import Correction
from equipoise.lab.models import Model, labels
from equipoise.lab.simulation.measures import Summary
from equipoise.lab.simulation.population import Scenario
from equipoise.lab.standings import Leaderboard
from equipoise.lab.words import shown
from equipoise.ratings.quality import Estimate, Quality
from equipoise.ratings.system import Convergence

MAPS = 12
"""As many maps are listed: those that are worth most."""
NAME = 60
"""Letters of a name from a file at most; longer ones are shown in part."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    texts: int = 1
    """Columns of text, the first ones; the others are figures."""


def comparison(backtests: Sequence[Backtest]) -> Sheet:
    """One row per system, and what it loses against the first, match by match."""
    best = backtests[0]
    rows = []
    for label, done in zip(labels([done.model for done in backtests]), backtests, strict=True):
        quality, less = done.quality, difference(done, best)
        rows.append(
            (
                label,
                estimate(quality.log_loss),
                estimate(quality.brier),
                "-" if done.accuracy is None else estimate(done.accuracy, percent=True),
                f"{quality.calibration_error:.4f}",
                "-" if done is best else estimate(less.log_loss, signed=True),
                "-" if done is best else estimate(less.brier, signed=True),
            )
        )
    head = ("system", "log loss", "Brier", "accuracy", "ECE", "Δ log loss", "Δ Brier")
    title = f"{best.quality.rounds:,} matches after a burn-in of {best.burn_in:,}"
    return Sheet(title, head, tuple(rows), "± is one standard error; Δ is against the first row, match by match.")


def settings(models: Sequence[Model]) -> Sheet:
    """Which settings each system had."""
    rows = tuple(zip(labels(models), map(str, models), strict=True))
    return Sheet("Settings", ("system", "as given"), rows, texts=2)


def bins(quality: Quality, label: str) -> Sheet:
    """The calibration table of one system."""
    rows = tuple(
        (
            f"{each.low:.0%} to {each.high:.0%}",
            f"{each.rounds:,}",
            f"{each.predicted:.1%}",
            estimate(each.scored, percent=True),
        )
        for each in quality.calibration
    )
    return Sheet(f"Calibration of {label}", ("predicted", "matches", "mean prediction", "mean score"), rows)


def corrected(correction: Correction, label: str) -> Sheet:
    """What was fitted around one system's predictions."""
    maps = sorted((correction.maps or {}).items(), key=lambda one: -abs(one[1]))
    rows = [("temperature", f"{correction.temperature:.3f}")]
    rows += [
        (f"side {shown(name, NAME)}", f"{side_skills:+.3f}") for name, side_skills in (correction.sides or {}).items()
    ]
    rows += [(f"map {shown(name, NAME)}", f"{side_skills:+.3f}") for name, side_skills in maps[:MAPS]]
    note = f"and {len(maps) - MAPS} maps that are worth less" if len(maps) > MAPS else ""
    return Sheet(f"Correction of {label}, in log-odds", ("what", "worth"), tuple(rows), note)


def fitted(ended: Convergence, label: str) -> Sheet:
    """How a whole-history fit ended."""
    rows = (
        ("iterations", f"{ended.iterations:,}"),
        ("gradient", f"{ended.gradient:.3g}"),
        ("converged", "yes" if ended.converged else "NO"),
    )
    return Sheet(f"Fit of {label} to the whole history", ("what", "value"), rows)


def leaderboard(board: Leaderboard) -> Sheet:
    """Who is best, and how many are not shown."""
    rows = tuple(
        (
            shown(one.summary.id, NAME),
            f"{one.place}",
            f"{one.summary.rating:,.1f}",
            f"{one.summary.rounds:,}",
            f"{one.uncertainty:.4g}",
        )
        for one in board.places
    )
    who = "1 player" if board.hidden == 1 else f"{board.hidden:,} players"
    are = "is" if board.hidden == 1 else "are"
    note = f"{who} in their first {board.shadow_rounds:,} rounds {are} not shown: --all" if board.hidden else ""
    return Sheet("Leaderboard", ("player", "place", "rating", "rounds", "uncertainty"), rows, note)


def scenario(played: Scenario) -> Sheet:
    """What was simulated."""
    given = asdict(played) | {"mode": played.mode.value}
    rows = tuple((name.replace("_", " "), f"{value}") for name, value in given.items())
    return Sheet(
        "Scenario", ("what", "value"), rows, "Skill is in log-odds; equipoise simulate --help says what each is."
    )


def simulated(summaries: Sequence[tuple[str, Summary]]) -> Sheet:
    """What the pools came to, side by side."""
    rows = [(name, over, *(read(summary) for _, summary in summaries)) for name, over, read in _MEASURES]
    head = ("what", "over", *(label for label, _ in summaries))
    note = "Overconfidence: what the system's favourites were to score, less what they scored. ± is one standard error."
    return Sheet("The pool in closed loop", head, tuple(rows), note, texts=2)


def fates(summaries: Sequence[tuple[str, Summary]]) -> Sheet:
    """How each kind of people fared."""
    rows = tuple(
        (
            f"{label}: {group.kind.value}",
            f"{group.people}",
            _share(group.won),
            _share(group.won_honestly),
            _share(group.won_thrown),
            f"{group.rated:.2f}",
            f"{group.true:.2f}",
        )
        for label, summary in summaries
        for group in summary.groups
    )
    head = ("people", "number", "won", "won honestly", "won thrown", "place by rating", "true place")
    note = (
        "Everybody who played, over the whole run. Shares of all rounds, of those that were not thrown, of those that "
        "were. Places among all of them: 0 the lowest, 1 the highest."
    )
    return Sheet("Who they were", head, rows, note)


_MEASURES: tuple[tuple[str, str, Callable[[Summary], str]], ...] = (
    ("rounds rated", "whole run", lambda s: f"{s.rated:,} of {s.rounds:,}"),
    ("order found, Spearman's ρ", "last quarter", lambda s: "-" if s.found is None else f"{s.found:.2f}"),
    ("rounds until 90 % of that", "whole run", lambda s: "-" if s.found_after is None else f"{s.found_after:,}"),
    ("favourite's true chance", "second half", lambda s: _share(s.favourite)),
    ("the same in random teams", "second half", lambda s: _share(s.random)),
    ("Brier score", "second half", lambda s: "-" if s.quality is None else estimate(s.quality.brier)),
    ("Brier score of who knows", "second half", lambda s: "-" if s.reachable is None else f"{s.reachable:.4f}"),
    ("log loss", "second half", lambda s: "-" if s.quality is None else estimate(s.quality.log_loss)),
    ("calibration error", "second half", lambda s: "-" if s.quality is None else f"{s.quality.calibration_error:.3f}"),
    ("overconfidence", "second half", lambda s: _signed(s.overconfidence)),
    ("moved by splits per player and round", "whole run", lambda s: f"{s.assigned:.3f}"),
    ("moved in rounds per player and round", "whole run", lambda s: f"{s.moved:.4f}"),
    ("share of rounds sat out", "whole run", lambda s: "-" if s.bench is None else f"{s.bench.share:.1%}"),
    ("times sat out, most less least", "whole run", lambda s: "-" if s.bench is None else f"{s.bench.apart:.2f}"),
)


def estimate(value: Estimate, *, percent: bool = False, signed: bool = False) -> str:
    """A mean and its standard error."""
    kind = ("+" if signed else "") + (".1%" if percent else ".4f")
    error = "" if value.error is None else f" ± {value.error:{kind.lstrip('+')}}"
    return f"{value.value:{kind}}{error}"


def _signed(value: Estimate | None) -> str:
    return "-" if value is None else estimate(value, percent=True, signed=True)


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"
