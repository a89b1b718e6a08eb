"""Results as tables of text, for the terminal and the report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from equipoise.lab.backtest import Backtest, Surprise, difference
from equipoise.lab.models import Leaderboard, Model, labels
from equipoise.lab.simulation.fairness import LIMITS, Fairness
from equipoise.lab.simulation.measures import Between, Summary
from equipoise.lab.simulation.population import Scenario
from equipoise.lab.svg import printable
from equipoise.ratings.calibration import NONE, Calibration
from equipoise.ratings.quality import By, Estimate, Group, Quality
from equipoise.ratings.system import Convergence

if TYPE_CHECKING:
    from equipoise.lab.reading import Reading

MAPS = 12
"""Number of maps listed: those with the largest advantages."""
NAME = 60
"""Letters of a name from a file at most; longer ones are shown in part."""


DIVISIONS: dict[By, str] = {"squad": "squad", "experience": "matches before", "last": "last outcome"}
"""Name of each division of players."""
CHANCES = {"wins", "draw", "loses", "expected"}
"""Values that are shown as percent."""


@dataclass(frozen=True, slots=True)
class Table:
    """A title, a header, rows of equal length, and a note below them."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    texts: int = 1
    """The first so many columns are text, aligned left; the others are figures, aligned right."""
    goes: tuple[str, ...] = ()
    """Columns that a narrow terminal leaves out, the first one first."""


def comparison(backtests: Sequence[Backtest]) -> Table:
    """One row per system, with the difference to the first, match by match."""
    best = backtests[0]
    is_corrected, rows = any(done.correction is not None for done in backtests), []
    for label, done in zip(labels([done.model for done in backtests]), backtests, strict=True):
        quality, gaps = done.quality, ["-", "-"]
        if done is not best:
            less = difference(done, best)
            gaps = [estimate(less.log_loss, signed=True), estimate(less.brier, signed=True)]
        rows.append(
            (
                label,
                estimate(quality.log_loss),
                *([estimate(done.uncorrected)] if is_corrected else []),
                estimate(quality.brier),
                "-" if done.accuracy is None else estimate(done.accuracy, percent=True),
                f"{quality.calibration_error:.4f}",
                *gaps,
            )
        )
    raw = ["uncorrected"] if is_corrected else []
    head = ("system", "log loss", *raw, "Brier", "accuracy", "ECE", "Δ log loss", "Δ Brier")
    title = f"{best.quality.rounds:,} matches after a burn-in of {best.burn_in:,}"
    note = "± is one standard error; Δ is against the first row, match by match."
    note += " Uncorrected: what the system says by itself." if is_corrected else ""
    return Table(title, head, tuple(rows), note, goes=("Δ Brier", "Brier", "ECE", "accuracy"))


def settings(models: Sequence[Model]) -> Table:
    """The settings of each system."""
    rows = tuple(zip(labels(models), map(str, models), strict=True))
    return Table("Settings", ("system", "as given"), rows, texts=2)


def bins(quality: Quality, label: str) -> Table:
    """The calibration table of one system."""
    rows = tuple(
        (
            f"{100 * entry.low:.0f} to {100 * entry.high:.0f} %",
            f"{entry.rounds:,}",
            _percent(entry.predicted),
            estimate(entry.scored, percent=True),
        )
        for entry in quality.calibration
    )
    return Table(f"Calibration of {label}", ("predicted", "matches", "mean prediction", "mean score"), rows)


def divisions(groups: Sequence[Group], label: str) -> Table:
    """Calibration by group of players."""
    rows = tuple(
        (
            DIVISIONS[entry.by],
            entry.name,
            f"{entry.rounds:,}",
            f"{entry.players:,}",
            _percent(entry.predicted),
            _percent(entry.scored),
            estimate(entry.difference, percent=True, signed=True),
        )
        for entry in groups
    )
    head = ("by", "group", "matches", "players", "predicted", "scored", "difference")
    note = "Above 0 the sides of these players scored more than predicted. ± is one standard error, over matches."
    return Table(f"Calibration of {label} by group of players", head, rows, note, texts=2)


def surprising(surprises: Sequence[Surprise]) -> Table:
    """Players whose sides scored otherwise than predicted."""
    rows = tuple(
        (
            printable(entry.player, NAME),
            f"{entry.matches:,}",
            _percent(entry.predicted),
            _percent(entry.scored),
            estimate(entry.difference, percent=True, signed=True),
        )
        for entry in surprises
    )
    head = ("player", "matches", "predicted", "scored", "difference")
    return Table("Players who surprised it", head, rows, "Above 0: better than it knew. ± is one standard error.")


def corrected(correction: Calibration, label: str) -> Table:
    """The correction that was fitted to one system's predictions."""
    maps = sorted(correction.maps.items(), key=lambda one: -abs(one[1]))
    rows = [("temperature", f"{correction.temperature:.3f}")]
    rows += [(f"side {printable(name, NAME)}", f"{advantage:+.3f}") for name, advantage in correction.sides.items()]
    rows += [(f"map {printable(name, NAME)}", f"{advantage:+.3f}") for name, advantage in maps[:MAPS]]
    note = f"{len(maps) - MAPS} maps with a smaller advantage are left out." if len(maps) > MAPS else ""
    note = "None: what was fitted earlier did not predict better." if correction == NONE else note
    return Table(f"Correction of {label}, in log-odds", ("what", "value"), tuple(rows), note)


def fitted(ended: Convergence, label: str) -> Table:
    """How a whole-history fit ended."""
    rows = (
        ("iterations", f"{ended.iterations:,}"),
        ("gradient", f"{ended.gradient:.3g}"),
        ("converged", "yes" if ended.converged else "NO"),
    )
    return Table(f"Fit of {label} to the whole history", ("what", "value"), rows)


def checked(reading: Reading) -> list[Table]:
    """Return how a history's files were read, and what is wrong in them."""
    names = [Path(table.name).name for table in reading.tables]
    facts = [(name, f"{len(table):,} rows, {table.form}") for name, table in zip(names, reading.tables, strict=True)]
    facts += [
        (f"{name}, not read", ", ".join(table.unread()))
        for name, table in zip(names, reading.tables, strict=True)
        if table.unread()
    ]
    columns = tuple(
        (name, column, file)
        for file, table in zip(names, reading.tables, strict=True)
        for column, name in table.read_as.items()
    )
    tables = [
        Table("The history", ("what", "value"), (*facts, *reading.understood.items()), texts=2),
        Table("Columns", ("in the file", "read as", "file"), columns, texts=3),
    ]
    faults = reading.faults
    if not faults.counts:
        return tables
    rows = tuple(
        (f"{Path(file).name}:{line}", reason, ", ".join(reading.stopped(fact)) or "none")
        for fact, file, line, reason in faults.each()
    )
    count = faults.counts.total()
    note = f"and {count - len(rows):,} more" if count > len(rows) else ""
    return [*tables, Table(f"{count:,} faults", ("where", "what", "stops"), rows, note, texts=3)]


def leaderboard(board: Leaderboard, most: int) -> Table:
    """The first places, and how many players have none."""
    places = board.places[:most]
    rows = tuple(
        (
            printable(entry.summary.id, NAME),
            f"{entry.place}",
            f"{entry.summary.rating:,.1f}",
            f"{entry.summary.rounds:,}",
            f"{entry.uncertainty:.4g}",
            *([f"{entry.interval[0]:,.1f} to {entry.interval[1]:,.1f}"] if entry.interval else []),
        )
        for entry in places
    )
    columns = ["skill, 80 %"] if any(entry.interval for entry in places) else []
    who = "1 player" if board.hidden == 1 else f"{board.hidden:,} players"
    are = "is" if board.hidden == 1 else "are"
    note = f"{who} in their first {board.shadow_rounds:,} rounds {are} not shown: --all" if board.hidden else ""
    head = ("player", "place", "rating", "rounds", "uncertainty", *columns)
    return Table("Leaderboard", head, rows, note, goes=("uncertainty",))


def plain(title: str, keys: Sequence[str], rows: Sequence[Mapping[str, object]]) -> Table:
    """Rows of values by name."""
    return Table(title, tuple(keys), tuple(tuple(_cell(key, row[key]) for key in keys) for row in rows), texts=2)


def _cell(key: str, value: object) -> str:
    if isinstance(value, float):
        return f"{100 * value:.1f} %" if key in CHANCES else f"{value:,.1f}"
    return "" if value is None else printable(f"{value}", NAME)


def scenario(played: Scenario) -> Table:
    """The scenario that was simulated."""
    settings = asdict(played) | {"mode": played.mode.value}
    rows = tuple((name.replace("_", " "), f"{value}") for name, value in settings.items())
    return Table(
        "Scenario", ("what", "value"), rows, "Skill is in log-odds; equipoise lab simulate --help says what each is."
    )


def simulated(summaries: Sequence[tuple[str, Summary]], balance: Model | None = None) -> Table:
    """The summaries of several pools, side by side; `balance` made the teams of all of them."""
    measures = (*_ORDER, *_periods(summaries[0][1]), *_MEASURES)
    rows = [(name, over, *(read(summary) for _, summary in summaries)) for name, over, read in measures]
    head = ("what", "over", *(label for label, _ in summaries))
    note = "Overconfidence: expected minus actual score of the system's favourites. ± is one standard error."
    if balance is not None:
        note += f" {balance} made the teams and the predictions; order and ranks are of the system shown."
    return Table("The pool in closed loop", head, tuple(rows), note, texts=2, goes=("over",))


def fairness(summaries: Sequence[tuple[str, Summary]]) -> Table:
    """Return the fairness of several pools side by side."""
    rows = [(name, *(read(summary.fairness) for _, summary in summaries)) for name, read in _FAIRNESS]
    note = (
        "Of the whole run. Runs: three rounds or more on one map with the same side beyond the limit. Evenings: of "
        "players with at least ten rounds on one; lost: they won at most a third; a coin: the same if every round were "
        "even. The players alone: at equal numbers, without map and sides. Moves: changes of side that players did not "
        "ask for, per player and hour."
    )
    return Table("What players notice", ("what", *(label for label, _ in summaries)), tuple(rows), note)


def groups(summaries: Sequence[tuple[str, Summary]]) -> Table:
    """The results of each kind of people."""
    rows = tuple(
        (
            f"{label}: {group.kind.value}",
            f"{group.people}",
            _percent(group.won),
            _percent(group.won_honestly),
            _percent(group.won_thrown),
            f"{group.rated:.2f}",
            f"{group.true:.2f}",
        )
        for label, summary in summaries
        for group in summary.groups
    )
    head = ("people", "number", "won", "won honestly", "won thrown", "rank by rating", "true rank")
    note = (
        "Everybody who played, over the whole run. Won: of all rounds, of the rounds not thrown, of those thrown. "
        "Ranks among all of them: 0 the lowest, 1 the highest."
    )
    return Table("Kinds of people", head, rows, note, goes=("won thrown", "won honestly"))


Row = tuple[str, str, Callable[[Summary], str]]
"""A measure: its name, its rounds, and its form in a summary."""


def _between(name: str, rounds: Callable[[Summary], Between | None]) -> list[Row]:
    def row(what: str, read: Callable[[Between], str]) -> Row:
        return what, "second half", lambda s: "-" if (result := rounds(s)) is None else read(result)

    return [
        row(name, lambda b: f"{b.rounds:,}"),
        row("… predicted within 45–55 %", lambda b: estimate(b.even, percent=True)),
        row("… predicted for a side at worst", lambda b: _percent(b.worst)),
        row("… favourite's true chance", lambda b: _percent(b.favourite)),
        row("… moved by splits per player and round", lambda b: f"{b.reassigned:.3f}"),
    ]


def _periods(one: Summary) -> list[Row]:
    """The favourite's chance from the pool's first round on; all summaries have the same periods."""

    def row(place: int, over: str) -> Row:
        return "favourite's true chance", over, lambda s: _percent(s.periods[place].favourite)

    return [row(place, f"rounds {entry.after + 1:,}–{entry.to:,}") for place, entry in enumerate(one.periods)]


def _beyond(place: int, key: str) -> Callable[[Fairness], str]:
    return lambda f: _percent(getattr(f.beyond[place], key)) if f.beyond else "-"


def _moves(one: Fairness, cause: str | None = None) -> str:
    if one.moves is None:
        return "-"
    return f"{one.moves.all if cause is None else one.moves.by_cause.get(cause, 0.0):.2f}"


_ORDER: tuple[Row, ...] = (
    ("rounds rated", "whole run", lambda s: f"{s.rated:,} of {s.rounds:,}"),
    ("order found, Spearman's ρ", "last quarter", lambda s: "-" if s.found is None else f"{s.found:.2f}"),
    ("rounds until 90 % of that", "whole run", lambda s: "-" if s.found_after is None else f"{s.found_after:,}"),
)
_MEASURES: tuple[Row, ...] = (
    ("favourite's true chance", "second half", lambda s: _percent(s.favourite)),
    ("… as the system expected it", "second half", lambda s: _percent(s.expected_favourite)),
    ("the same in random teams", "second half", lambda s: _percent(s.random)),
    *_between("rounds between scrambles", lambda s: s.between),
    *_between("rounds with sides made equal", lambda s: s.equalised),
    ("Brier score", "second half", lambda s: "-" if s.quality is None else estimate(s.quality.brier)),
    ("Brier score by true skill", "second half", lambda s: "-" if s.reachable is None else f"{s.reachable:.4f}"),
    ("log loss", "second half", lambda s: "-" if s.quality is None else estimate(s.quality.log_loss)),
    ("calibration error", "second half", lambda s: "-" if s.quality is None else f"{s.quality.calibration_error:.3f}"),
    ("overconfidence", "second half", lambda s: _signed(s.overconfidence)),
    ("moved by splits per player and round", "whole run", lambda s: f"{s.assigned:.3f}"),
    ("moved in rounds per player and round", "whole run", lambda s: f"{s.moved:.4f}"),
    (
        "two on one side once, on one side again",
        "whole run",
        lambda s: "-" if s.again is None else _percent(s.again.share),
    ),
    ("… by chance", "whole run", lambda s: "-" if s.again is None else _percent(s.again.chance)),
    ("rounds sat out", "whole run", lambda s: "-" if s.bench is None else _percent(s.bench.share)),
    ("times sat out, most minus fewest", "whole run", lambda s: "-" if s.bench is None else f"{s.bench.apart:.2f}"),
)


_FAIRNESS: tuple[tuple[str, Callable[[Fairness], str]], ...] = (
    ("scrambles that were due", lambda f: "-" if f.scrambles is None else f"{f.scrambles.count:,}"),
    ("… that moved nobody", lambda f: _percent(f.scrambles.nobody if f.scrambles else None)),
    ("… announced beyond 45–55 %", lambda f: _percent(f.scrambles.uneven if f.scrambles else None)),
    ("… pairs of one side, on one side again", lambda f: _percent(f.scrambles.together if f.scrambles else None)),
    *(
        (f"rounds {what} beyond {100 * limit:.0f} %{'' if not runs else ', in runs'}", _beyond(place, key + runs))
        for what, key in (("stated", "stated"), ("truly", "true"))
        for place, limit in enumerate(LIMITS)
        for runs in ("", "_runs")
    ),
    *(
        (f"rounds stated beyond {100 * limit:.0f} % by the players alone", _beyond(place, "teams"))
        for place, limit in enumerate(LIMITS)
    ),
    ("rounds stated within 45–55 %, from round 10", lambda f: _percent(f.even)),
    ("… by the players alone", lambda f: _percent(f.even_teams)),
    ("true chance within the stated 80 % interval", lambda f: _percent(f.covered)),
    ("… in the second half", lambda f: _percent(f.covered_late)),
    ("players' evenings", lambda f: "-" if f.evenings is None else f"{f.evenings.count:,}"),
    ("… lost", lambda f: _percent(f.evenings.lost if f.evenings else None)),
    ("… lost by a coin's throw", lambda f: _percent(f.evenings.coin if f.evenings else None)),
    ("… spread of the mean true chance", lambda f: "-" if f.evenings is None else f"{f.evenings.spread:.3f}"),
    ("moves per player and hour", lambda f: _moves(f)),
    ("… by autobalance", lambda f: _moves(f, "autobalance")),
    ("… of uneven sides", lambda f: _moves(f, "too_uneven")),
    ("… by scrambles", lambda f: _moves(f, "scramble")),
    ("… by arena's equal sides", lambda f: _moves(f, "equal_sides")),
    ("most moves of a player within half an hour", lambda f: "-" if f.moves is None else f"{f.moves.most}"),
)


def estimate(value: Estimate, *, percent: bool = False, signed: bool = False) -> str:
    """A mean and its standard error.

    >>> estimate(Estimate(0.0123, 0.0041), signed=True)
    '+0.0123 ± 0.0041'
    >>> estimate(Estimate(0.634, 0.012), percent=True)
    '63.4 % ± 1.2 %'
    """
    scale, kind, unit = (100.0, ".1f", " %") if percent else (1.0, ".4f", "")
    error = "" if value.error is None else f" ± {scale * value.error:{kind}}{unit}"
    return f"{scale * value.value:{'+' if signed else ''}{kind}}{unit}{error}"


def _signed(value: Estimate | None) -> str:
    return "-" if value is None else estimate(value, percent=True, signed=True)


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"
