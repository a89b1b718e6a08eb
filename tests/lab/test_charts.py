"""Charts and reports: whole, safe, readable."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from equipoise.lab import charts, tables
from equipoise.lab.backtest import backtest, difference, misjudged
from equipoise.lab.models import Model
from equipoise.lab.reading import read_history
from equipoise.lab.report import Section, compared, page
from equipoise.lab.simulation.measures import Summary
from equipoise.lab.simulation.population import Scenario
from equipoise.lab.simulation.run import simulate
from equipoise.lab.svg import COLOURS, LETTER, WIDTH, Axis, Chart, picture
from equipoise.lab.tables import Table, estimate
from equipoise.ratings.quality import Estimate
from tests.lab import sets

SVG = "{http://www.w3.org/2000/svg}"


def drawn(chart: Chart) -> ElementTree.Element:
    return ElementTree.fromstring(picture([chart]))


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (0.53, 0.61, [0.54, 0.56, 0.58, 0.6]),
        (-3, 42, [0, 10, 20, 30, 40]),
        (9000, 49000, [10000, 20000, 30000, 40000]),
    ],
)
def test_ticks_are_round_numbers_within_the_axis(low: float, high: float, ticks: list[float]) -> None:
    assert Axis("x", low, high).ticks() == pytest.approx(ticks)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0, 1.06, [0, 1]),
        (0, 6, [0, 2, 4, 6]),
        (0, 11, [0, 5, 10]),
        (3, 4, [3, 4]),
        (30, 60, [30, 40, 50, 60]),
        (0, 110, [0, 25, 50, 75, 100]),
    ],
)
def test_what_is_counted_has_whole_ticks(low: float, high: float, ticks: list[float]) -> None:
    assert Axis("matches", low, high, whole=True).ticks() == ticks


def test_ticks_that_differ_are_written_differently() -> None:
    axis = Axis("rating", 999.2, 1001.1)
    assert [axis.text(tick) for tick in axis.ticks()] == ["999.5", "1,000", "1,000.5", "1,001"]
    axis = Axis("rating", -0.1, 2_600_000)
    assert [axis.text(tick) for tick in axis.ticks()] == ["0", "1,000,000", "2,000,000"]


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0.6041, 0.6079), (0, 2_600_000), (-3e9, 2e9)])
def test_ticks_of_any_length_stand_between_the_title_of_the_axis_and_the_frame(low: float, high: float) -> None:
    """At 13 pixels, DejaVu Sans, a wide font, has digits of 0.636 of its size, points and commas of 0.318."""
    for percent in (False, True):
        chart = Chart("t", Axis("x", 0, 1), Axis("y", low, high, percent=percent))
        chart.line([0, 1], [low, high], 0)
        for text in (text for text in drawn(chart).iter(f"{SVG}text") if text.get("text-anchor") == "end"):
            widths = {"%": 0.950, ".": 0.318, ",": 0.318, " ": 0.318, "-": 0.361}
            wide = 13 * sum(widths.get(sign, 0.636) for sign in text.text or "")
            assert float(text.get("x", "")) - wide > 14 + 4
            assert float(text.get("x", "")) < chart.across(0)


def test_a_frame_without_anything_to_draw_says_why(tmp_path: Path) -> None:
    done = backtest(Model("synelo"), read_history(sets.league(tmp_path, 5), None))
    empty = drawn(charts.calibration([("synelo", done.quality)]))
    assert "too few matches" in "".join(empty.itertext())
    assert list(empty.iter(f"{SVG}polyline")) == []
    done = backtest(Model("synelo"), read_history(sets.league(tmp_path, 60), None))
    assert "too few" not in "".join(drawn(charts.calibration([("synelo", done.quality)])).itertext())


def test_a_line_of_one_point_is_a_dot() -> None:
    chart = Chart("t", Axis("x", 0, 1), Axis("y", 0, 1))
    chart.line([0.5], [0.25], 0)
    (dot,) = drawn(chart).iter(f"{SVG}circle")
    assert (dot.get("cx"), dot.get("cy")) == (f"{chart.across(0.5):.1f}", f"{chart.down(0.25):.1f}")


def test_an_error_bar_that_the_frame_cuts_has_no_cap_there() -> None:
    chart = Chart("t", Axis("x", 0, 1), Axis("y", 0, 1))
    chart.dot(0.5, 0.9, 0, 0.2, "cut at the top")
    bar, cap = (line for line in drawn(chart).iter(f"{SVG}line") if "error" in (line.get("class") or ""))
    heights = [float(bar.get(end, "")) for end in ("y1", "y2")]
    assert heights == pytest.approx([chart.down(0.7), chart.down(1)], abs=0.1)
    assert cap.get("y1") == cap.get("y2") == f"{chart.down(0.7):.1f}"


def pool(rounds: int, *models: Model) -> list[tuple[str, Summary]]:
    scenario = Scenario(rounds=rounds, slots=8, people=12)
    return [(str(model), simulate(scenario, model)) for model in models]


@pytest.mark.slow
def test_a_pool_is_drawn_over_time_from_its_points() -> None:
    (_, first), (_, second) = named = pool(80, Model("synelo"), Model("elo"))
    found, balance, brier, excess, calibration = charts.simulation(named)
    assert [len(list(drawn(chart).iter(f"{SVG}polyline"))) for chart in (found, balance, brier, excess)] == [2, 3, 2, 2]
    for summary, line in zip((first, second), drawn(excess).iter(f"{SVG}polyline"), strict=True):
        curve = [(point.round, point.overconfidence) for point in summary.points]
        ends = [f"{excess.across(x):.1f},{excess.down(y.value):.1f}" for x, y in curve if y is not None]
        assert line.get("points") == " ".join(ends)
    assert "Overconfidence" in excess.title
    assert "Calibration" in calibration.title


def test_a_pool_of_one_even_round_has_no_calibration_to_draw() -> None:
    *_, excess, _ = charts.simulation(pool(1, Model("synelo")))
    assert "too few rounds" in "".join(drawn(excess).itertext())


def test_the_table_of_a_pool_names_the_period_of_every_figure() -> None:
    table = tables.simulated(pool(40, Model("synelo")))
    assert table.head == ("what", "over", "synelo")
    assert {row[1] for row in table.rows} == {"whole run", "second half", "last quarter", "rounds 1–40"}
    named = {row[0]: row[1:] for row in table.rows}
    assert named["overconfidence"][0] == "second half"
    assert re.fullmatch(r"[+-]\d+\.\d % ± \d+\.\d %", named["overconfidence"][1])
    assert re.fullmatch(r"\d+|-", named["rounds until 90 % of that"][1])


def test_points_stand_where_their_values_are() -> None:
    chart = Chart("t", Axis("x", 0, 10), Axis("y", 0, 1))
    chart.dot(5, 0.5, 0, 0.1, "middle")
    root = drawn(chart)
    circle, frame = root.find(f".//{SVG}circle"), [float(line.get("x1", "")) for line in root.iter(f"{SVG}line")]
    assert circle is not None
    assert float(circle.get("cx", "")) == pytest.approx((min(frame) + chart.across(10)) / 2, abs=0.1)
    assert float(circle.get("cy", "")) == pytest.approx((chart.down(0) + chart.down(1)) / 2, abs=0.1)
    assert chart.down(1) < chart.down(0)


def test_names_cannot_break_out_of_a_chart_or_a_page() -> None:
    evil = '<script>alert("&")</script>'
    chart = Chart(evil, Axis(evil, 0, 1), Axis(evil, 0, 1))
    chart.legend(evil, 0)
    chart.label(0.5, 0.5, evil)
    assert drawn(chart).find(f".//{SVG}script") is None
    text = page(evil, evil, [Section(evil, [evil], [chart], [Table(evil, (evil,), ((evil,),), evil)])])
    assert "<script" not in text


def test_control_characters_in_names_leave_the_xml_whole() -> None:
    evil = "\x00\x1b[31mred\ud7ff\uffff\n"
    chart = Chart(evil, Axis(evil, 0, 1), Axis(evil, 0, 1))
    chart.legend(evil, 0)
    chart.label(0.5, 0.5, evil)
    chart.dot(0.5, 0.5, 0, None, evil)
    assert "red" in "".join(drawn(chart).itertext())


def test_a_long_name_is_shown_in_part_so_that_the_legend_stays_inside() -> None:
    chart = Chart("t", Axis("x", 0, 1), Axis("y", 0, 1))
    chart.legend("a" * 300, 0)
    chart.legend("b", 1)
    (name,) = [text for text in drawn(chart).iter(f"{SVG}text") if (text.text or "").startswith("aaa")]
    assert float(name.get("x", "")) + LETTER * len(name.text or "") < WIDTH


def test_names_beside_points_end_inside_the_chart(tmp_path: Path) -> None:
    history = read_history(sets.league(tmp_path, 100), None)
    long = {"k_factor_max": 100.0, "k_max": 1}
    done = [backtest(model, history) for model in (Model("synelo", {"k_max": 4}), Model("synelo", long))]
    chart = charts.losses(done)
    names = [text for text in drawn(chart).iter(f"{SVG}text") if (text.text or "").startswith("synelo")]
    assert len(names) == 2
    for name in names:
        assert float(name.get("x", "")) + LETTER * len(name.text or "") <= WIDTH


def test_no_more_lines_are_drawn_than_can_be_told_apart_and_the_title_says_so(tmp_path: Path) -> None:
    history = read_history(sets.league(tmp_path, 60), None)
    done = [backtest(Model("synelo", {"k_max": k}), history) for k in range(1, 10)]
    named = [(str(one.model), one.quality) for one in done]
    for chart in (charts.calibration(named), charts.progress(done)):
        assert len(list(drawn(chart).iter(f"{SVG}polyline"))) == charts.LINES
        assert chart.title.endswith(f"(the first {charts.LINES} of 9)")
    assert "first" not in charts.calibration(named[: charts.LINES]).title


def test_a_flat_or_empty_axis_has_room() -> None:
    for values in ([], [3.0], [0.0, 0.0], [float("nan"), 1.0]):
        axis = Axis.around("x", values)
        assert axis.low < axis.high
        assert axis.ticks()


def test_more_series_than_colours_are_told_apart() -> None:
    chart = Chart("t", Axis("x", 0, 1), Axis("y", 0, 1))
    for series in (0, COLOURS):
        chart.line([0, 1], [0, 1], series)
    first, second = (line.get("class") for line in drawn(chart).iter(f"{SVG}polyline"))
    assert first != second


def test_every_legend_entry_fits_the_picture() -> None:
    chart = Chart("t", Axis("x", 0, 1), Axis("y", 0, 1))
    for series in range(12):
        chart.legend(f"system number {series}", series)
    root = drawn(chart)
    height = float(root.get("height", ""))
    assert all(float(text.get("y", "")) <= height for text in root.iter(f"{SVG}text"))


def test_a_report_is_one_file_without_scripts_for_light_and_dark(tmp_path: Path) -> None:
    history = read_history(sets.league(tmp_path, 300), None)
    done = [backtest(Model("synelo", {"k_max": k}), history, correct="burn-in") for k in (1, 4)]
    named = [(str(one.model), one.quality) for one in done]
    every = [
        charts.calibration(named),
        charts.predictions(done[0].quality, "synelo"),
        charts.losses(done),
        charts.progress(done),
        charts.ratings(done[0], history, "synelo"),
    ]
    ElementTree.fromstring(picture(every))
    text = compared(done, history, "league.csv", "Corrected.")
    assert text.count("<svg") == len(every) + 1
    assert "<script" not in text
    assert "prefers-color-scheme: dark" in text
    assert re.findall(r"(?:src|href)=|url\(|@import", text) == []
    best, other = sorted(done, key=lambda one: one.quality.log_loss.value)
    gap = estimate(difference(other, best).log_loss)
    for sentence in (
        f"<h2>{best.model} predicts best</h2>",
        "league.csv: 300 matches of 12 players, 1970-01-01 to 1970-10-27.",
        f"It is ahead of the next, {other.model}, by {gap}, compared match by match: ",
        "Of 12 players with 30 measured matches or more",
        "Corrected.",
    ):
        assert sentence in text.replace("\N{NO-BREAK SPACE}", " ")


def test_a_player_who_is_better_than_the_system_knows_is_the_most_underrated(tmp_path: Path) -> None:
    """A system that learns nothing thinks all teams alike: the best are the most underrated."""
    history = read_history(sets.league(tmp_path, 2000, home=0.0), None)
    listed = misjudged(backtest(Model("elo", {"k": 0}), history), history, 30)
    assert all(entry.predicted == 0.5 for entry in listed)
    assert [entry.scored for entry in listed][::11] == [max(e.scored for e in listed), min(e.scored for e in listed)]
    best = listed[0]
    team = history.members == history.players.index(best.player)
    won = (history.ranks == 0)[team][-best.matches :]
    assert best.scored == pytest.approx(float(won.mean()))
    assert best.difference.error == pytest.approx(0.5 / best.matches**0.5)


def test_estimates_are_shown_with_their_error() -> None:
    assert estimate(Estimate(0.5, 0.01)) == "0.5000 ± 0.0100"
    assert estimate(Estimate(-0.25, 0.01), signed=True) == "-0.2500 ± 0.0100"
    assert estimate(Estimate(0.5, None), percent=True) == "50.0 %"
