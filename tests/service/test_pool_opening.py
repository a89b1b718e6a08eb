"""What a pool finds when it opens: what its system shares, and what it was rated by."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise import ratings
from equipoise.errors import ConfigError, StoreRefused
from equipoise.service.held import check, fingerprint_of
from equipoise.store.player_rows import Fingerprint
from tests.opened_pool import NOW, opened, rated_alone
from tests.ratings.samples import whole_parameters
from tests.store.samples import a_round, player, sql

pytestmark = pytest.mark.also_shared


async def refused(directory: Path, why: str, system: str = "synelo", **params: object) -> None:
    with pytest.raises(ConfigError, match=why):
        async with opened(directory, system, **params):
            pass


async def test_shared_state_of_a_system_is_there_after_a_restart(tmp_path: Path) -> None:
    records = [a_round(number, b=[3, 4 + number]) for number in range(3)]
    for record in records:
        async with opened(tmp_path, "ns2") as pool:
            await pool.record(record, None)
    async with opened(tmp_path, "ns2") as pool:
        assert pool.system.shared() == rated_alone(*records, system="ns2").shared()


@pytest.mark.slow
@pytest.mark.parametrize("system", [name for name in ratings.SYSTEMS if ratings.create(name).live])
async def test_parameters_that_are_written_as_whole_numbers_survive_a_restart(tmp_path: Path, system: str) -> None:
    params = whole_parameters(system)
    records = [a_round(number, b=[3, 4 + number]) for number in range(3)]
    for record in records:
        async with opened(tmp_path, system, **params) as pool:
            last = await pool.record(record, None)
    alone = rated_alone(*records, system=system, **{name: float(value) for name, value in params.items()})
    assert {change.id: change.after for change in last.rated.changes} == {
        change.id: pytest.approx(alone.summary(change.id).rating) for change in last.rated.changes
    }


async def test_a_round_writes_only_the_parts_of_the_shared_state_that_it_changes(tmp_path: Path) -> None:
    async with opened(tmp_path, "teamskill_k") as pool:
        await pool.record(a_round(1), None)
        await pool.record(a_round(2, a=[5, 6], b=[7, 8]), None)
        before = dict((await pool.store.shared("main")).parts)
        recorded = await pool.record(a_round(3, a=[2, 1], b=[7, 5]), None)
        after = (await pool.store.shared("main")).parts
    pairs = {f"{player(1)}+{player(2)}", f"{player(5)}+{player(7)}"}

    assert set(recorded.rated.shared) == pairs
    assert {key for key, part in after.items() if part != before.get(key)} == pairs
    assert after == before | recorded.rated.shared


async def test_a_pool_that_another_system_rated_does_not_open(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        await pool.record(a_round(), None)
    await refused(tmp_path, r"^\$\.pool\.main: .*made with synelo, not with elo: .*pool recompute --pool main", "elo")
    async with opened(tmp_path) as pool:
        assert (await pool.summaries([player(1)]))[0].rounds == 1


async def test_other_parameters_are_refused_by_name_and_those_no_number_depends_on_are_adopted(tmp_path: Path) -> None:
    async with opened(tmp_path, k_max=12):
        pass
    why = "made with k_max = 12, theta = its default, not with k_max = 9, theta = 800"
    await refused(tmp_path, why, k_max=9, theta=800, stale_days=7)
    async with opened(tmp_path, stale_days=7) as pool:
        recorded = await pool.store.fingerprint("main")

    assert (recorded.system, recorded.params["stale_days"]) == ("synelo", 7)


@pytest.mark.parametrize("name", [name for name in ratings.SYSTEMS if ratings.create(name).live])
def test_no_parameter_but_the_days_to_staleness_may_change_under_stored_ratings(name: str) -> None:
    system = ratings.create(name)
    now = fingerprint_of(system)
    for parameter, value in now.params.items():
        then = Fingerprint(name, {**now.params, parameter: [value]})
        if parameter == "stale_days":
            check("main", then, system)
        else:
            with pytest.raises(ConfigError, match=rf"made with {parameter} = \["):
                check("main", then, system)


async def test_a_parameter_that_is_younger_than_the_record_had_its_default(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        await pool.store.adopt("main", Fingerprint("synelo", {"k_max": 12}), NOW)
    async with opened(tmp_path) as pool:
        assert await pool.store.fingerprint("main") == fingerprint_of(pool.system)
    async with opened(tmp_path) as pool:
        await pool.store.adopt("main", Fingerprint("synelo", {"k_max": 12}), NOW)
    await refused(tmp_path, r"made with window = 500, not with window = 9:", window=9)


@pytest.mark.also_shared(False)  # a log has always said it
@pytest.mark.parametrize("bots", [True, False])
async def test_a_pool_from_before_there_was_time_of_bots_opens_whether_it_is_counted_or_not(
    tmp_path: Path, bots: bool
) -> None:
    async with opened(tmp_path, "ns2") as pool:
        await pool.record(a_round(), None)
        params = {name: value for name, value in fingerprint_of(pool.system).params.items() if name != "bots"}
        await pool.store.adopt("main", Fingerprint("ns2", params), NOW)
    async with opened(tmp_path, "ns2", bots=bots) as pool:
        assert await pool.store.fingerprint("main") == fingerprint_of(pool.system)
    await refused(tmp_path, rf"made with bots = {str(bots).lower()}, not with bots", "ns2", bots=not bots)


def test_a_pool_from_before_commanders_had_a_prior_of_their_own_was_rated_by_that_of_the_field() -> None:
    old = {
        name: value for name, value in fingerprint_of(ratings.create("ns2")).params.items() if name != "commander_shape"
    }
    check("main", Fingerprint("ns2", old), ratings.create("ns2"))
    with pytest.raises(ConfigError, match=r"made with commander_shape = 6.0, not with commander_shape = 12.0"):
        check("main", Fingerprint("ns2", old), ratings.create("ns2", commander_shape=12.0))


async def test_a_store_without_a_fingerprint_adopts_the_configured_one(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        await pool.record(a_round(), None)
    sql(tmp_path / "s.db", "DELETE FROM pools")
    async with opened(tmp_path) as pool:
        assert await pool.store.fingerprint("main") == fingerprint_of(pool.system)


async def test_shared_state_that_cannot_be_read_ends_the_start_with_a_reason(tmp_path: Path) -> None:
    async with opened(tmp_path, "ns2") as pool:
        await pool.record(a_round(), None)
    sql(tmp_path / "s.db", "UPDATE shared SET part = '1' WHERE key = 'lengths'")
    with pytest.raises(StoreRefused, match="pool main: ns2 shares: lengths"):
        async with opened(tmp_path, "ns2"):
            pass
