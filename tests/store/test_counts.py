"""What players did in a round, and who played together, is what comes back, whatever happens to the round."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise import ratings
from equipoise.balancing import match_of
from equipoise.core.effects import RecordRound
from equipoise.core.model import RoundId
from equipoise.service.replayed import Replayed
from equipoise.store import past
from equipoise.store.notes import Audit
from equipoise.store.past import VoidStrike
from tests.opened_pool import opened
from tests.store.samples import SERVER, a_round, with_counts, with_spans

RECORDS = [with_counts(a_round(1)), a_round(2), with_counts(with_spans(a_round(3)))]


def kept(directory: Path) -> list[RecordRound]:
    """The pool's rated rounds as a replay reads them."""
    with past.opened(directory / "s.db", "main") as found:
        return [each.record for each in found.rounds()]


@pytest.mark.slow
async def test_a_round_is_rated_again_by_what_its_players_did(tmp_path: Path) -> None:
    async with opened(tmp_path, "trueskill2") as pool:
        for record in RECORDS:
            await pool.record(record, None)
        assert kept(tmp_path) == RECORDS
        assert [match_of(record) for record in kept(tmp_path)] == [match_of(record) for record in RECORDS]
        await pool.void(VoidStrike(SERVER, RoundId("1763622000123-1")), "owner", "")
        assert kept(tmp_path) == RECORDS[1:]
        await pool.void(VoidStrike(SERVER, RoundId("1763622000123-1"), back=True), "owner", "")
        assert kept(tmp_path) == RECORDS
        fingerprint = await pool.store.fingerprint("main")
        assert fingerprint is not None
        other = Replayed(ratings.create("elo"), fingerprint)
        await pool.store.recompute("main", other, Audit(9.0, "owner", "recompute", "pool main", "", ""))
        assert kept(tmp_path) == RECORDS


async def test_who_asks_for_a_round_reads_what_its_players_did(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        for record in RECORDS:
            await pool.record(record, None)
        found = await pool.store.round(SERVER, RoundId("1763622000123-1"))
    assert found is not None
    told = {each.id: each.counts for each in RECORDS[0].participants}
    assert {each.id: each.counts for each in found[1]} == told
    assert None in told.values()
