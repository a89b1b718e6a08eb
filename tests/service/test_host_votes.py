"""A vote through a host: the pool's own chance decides whether teams are even, and restarts keep the cool-down."""

from __future__ import annotations

from equipoise.core import events as e
from equipoise.core.effects import OpenVote, Say
from equipoise.core.model import Mode, OrderId, RoundId
from equipoise.core.phrases import Phrase, Text
from tests.hosts import Rig, played, player, roster

HERE = roster([1, 2, 3], [4, 5, 6])


def wish(number: int) -> e.Commanded:
    """A player asks for a vote."""
    return e.Commanded(0.0, ("vote",), player(number), admin=False)


async def begin(rig: Rig, leader: float = 1000.0) -> None:
    """A running round on KOTH; player 1 has this rating."""
    await rig.pool.edit(player(1), leader, "test")
    await rig.hello(HERE, Mode.KOTH)
    await rig.post(e.RoundLive(0.0, RoundId("r0"), HERE))


@played
async def test_uneven_teams_are_voted_on_and_scrambled_at_the_next_round_start(rig: Rig) -> None:
    await begin(rig, leader=4000.0)
    opened = await rig.post(wish(2), wish(5))
    assert [type(order) for order in opened.orders] == [Say, Say, OpenVote]
    rig.clock.now += 31.0  # early in a round they would be scrambled at once
    ended = await rig.post(e.VoteEnded(0.0, order=OrderId("o1"), yes=4, no=2))
    assert (ended.pending, ended.reason) == (True, Text(Phrase.REASON_VOTE))
    decisions = (await rig.host.command(("why",), "token:owner")).lines
    assert decisions[0].args == ("pending", "the players voted for it")
    assert decisions[1].args == ("vote", "The vote passed: 4 of 6 for balanced teams.")


@played
async def test_the_status_shows_who_asks_for_a_vote_and_the_vote_that_runs(rig: Rig) -> None:
    await begin(rig, leader=4000.0)
    await rig.post(wish(2))
    assert (rig.host.status().voices, rig.host.status().vote_running) == (1, False)
    await rig.post(wish(5))
    assert (rig.host.status().voices, rig.host.status().vote_running) == (2, True)
    await rig.post(e.VoteEnded(0.0, order=OrderId("o1"), yes=1, no=5))
    assert (rig.host.status().voices, rig.host.status().vote_running) == (0, False)


@played(system="trueskill")
async def test_strangers_of_a_pool_that_knows_its_uncertainty_may_vote(rig: Rig) -> None:
    await rig.hello(HERE, Mode.KOTH)
    assert [type(order) for order in (await rig.post(wish(2))).orders] == [Say]
