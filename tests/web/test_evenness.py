"""Is it fair: figures of a pool's last weeks."""

from __future__ import annotations

import time

import pytest

from equipoise.core.model import Mode, ServerId, Side
from equipoise.store.listings import MapResult
from equipoise.web.evenness import figures, lopsided
from tests.web.daemon import Daemon
from tests.wire.samples import HELLO, ROUND, posted


def rounds(*chances: float, session: str = "1", winner: Side | None = Side.A) -> list[MapResult]:
    """Rounds of one map by their chance, of ten minutes and twelve players; the last one given is the newest."""
    rows = [
        MapResult(n, ServerId("arena-1"), "m", Mode.ARENA, 600.0 * n, 600.0, winner, chance, session, 12)
        for n, chance in enumerate(chances)
    ]
    return rows[::-1]


def test_the_third_round_in_a_row_beyond_60_for_one_side_is_one_too_many() -> None:
    assert lopsided(rounds(0.7, 0.7)) == 0
    assert lopsided(rounds(0.7, 0.61, 0.9, 0.8)) == 2
    assert lopsided(rounds(0.3, 0.3, 0.7, 0.3, 0.3)) == 0
    assert lopsided(rounds(0.7, 0.5, 0.7, 0.7)) == 0
    assert lopsided(rounds(0.7, session="2") + rounds(0.7, 0.7)) == 0


def test_figures_say_how_even_rounds_began_who_won_and_how_often_a_player_was_moved_in_an_hour() -> None:
    found = figures(rounds(0.5, 0.62, 0.38, 0.95), moved=6)
    assert found.even == 0.25
    assert (found.favourite_won, found.favourite_expected) == (pytest.approx(0.625), pytest.approx(0.6725))
    assert found.moved_an_hour == 0.75  # eight hours of twelve players in forty minutes
    bars = {bar.low: bar.rounds for bar in found.began if bar.rounds}
    assert bars == {0.35: 1, 0.5: 1, 0.6: 1, 0.95: 1}
    assert sum(bin.rounds for bin in found.calibration) == 4
    drawn = figures(rounds(0.5, winner=None), moved=0)
    assert (drawn.favourite_won, drawn.brier) == (None, 0.0)


def test_only_rounds_of_the_last_days_count(daemon: Daemon) -> None:
    empty = daemon.call("GET", "/v1/admin/pools/main/evenness", who="guest").body
    assert (empty["rounds"], empty["figures"], empty["sides"]) == (0, None, ["red", "blu"])
    now = time.time()
    for number, days in enumerate((40, 20, 1), start=1):
        result = {**ROUND, "round": f"1-{number}", "started_at": now - days * 86400}
        daemon.post(posted(HELLO, result, seq=number))
    for asked, count in (("", 2), ("?days=10", 1), ("?days=365", 3)):
        body = daemon.call("GET", f"/v1/admin/pools/main/evenness{asked}", who="guest").body
        assert (body["rounds"], sum(bar["rounds"] for bar in body["figures"]["began"])) == (count, count)
        assert body["figures"]["moved_an_hour"] == 0.0  # not null: the hours of those who were rated are known
    assert daemon.call("GET", "/v1/admin/pools/main/evenness?days=0").status == 422
