"""Rounds of NS2 end to end: what the game played is what the daemon stored and rated."""

from __future__ import annotations

import math
import os

import pytest

from tests.daemons import ran
from tests.ns2mod.sessions import ALIENS, MARINES, QUIET, NewEvening


def players_of(export: str) -> list[str]:
    """The lines of a pool's file that have its players' skills."""
    return [line for line in export.splitlines() if '"kind":"player"' in line]


@pytest.mark.slow
def test_a_round_with_filler_bots_is_stored_with_their_time_and_pays_less(new_evening: NewEvening) -> None:
    """Six people, and bots up to twelve; a seventh comes, and a bot makes room."""
    evening = new_evening(QUIET)
    evening.game.setting("filler_bots", 12)
    people = evening.seat(*"abcdef")
    evening.start(people["a"], people["b"])
    live = evening.game.clock - 1.0
    evening.settle(99)
    late = evening.connect(2000, "late")
    evening.settle(0.5)
    assert evening.game.join(late, ALIENS, force=True)
    evening.settle(live + 300 - evening.game.clock)
    evening.end(MARINES)

    (stored,) = evening.stored()
    assert stored.unrated is None
    assert len([player for player in stored.lineup if player.startswith("bot:")]) == 6
    whole, short = [(side, "field", 0, 300) for side in ("aliens", "marines")], ("aliens", "field", 0, 100)
    assert stored.bots == sorted([short, *whole[:1] * 2, *whole[1:] * 3])
    # Five a side are on the field all the time, four of them people: without the bots it would be more than 100 points.
    step = 0.5 / 10
    expected = 400 * (0.2 + 0.6 / math.sqrt(step**2 + 0.1)) * step
    assert evening.player(people["c"])["rating"] == pytest.approx(1000 + expected, abs=0.5)


@pytest.mark.slow
def test_a_round_with_cheats_on_for_a_moment_is_stored_and_not_rated_and_players_read_why(
    new_evening: NewEvening,
) -> None:
    evening = new_evening(QUIET)
    people = evening.seat(*"abcdefgh")
    people["c"].says("!eq lang de")
    evening.start(people["a"], people["b"])
    evening.settle(60)
    evening.game.console("sv_cheats 1")
    evening.game.frame()
    evening.game.console("sv_cheats 0")
    evening.settle(60)
    evening.end(MARINES)

    (stored,) = evening.stored()
    assert (stored.winner, stored.partial, stored.unrated) == ("marines", False, "cheats were on while it was played")
    assert [line["reason"] for line in evening.decisions("unrated")] == [stored.unrated]
    assert people["d"].chat[-2:] == ["This round is not rated:", "cheats were on while it was played"]
    assert people["c"].chat[-2:] == ["Diese Runde wird nicht gewertet:", "Cheats waren an, während sie gespielt wurde"]
    assert evening.player(people["a"])["rounds"] == 0

    for number, client in enumerate(people.values()):
        evening.game.join(client, 1 + number % 2, force=True)
    evening.start(people["a"], people["b"])
    evening.settle(100)
    evening.end(ALIENS)
    assert [stored.unrated for stored in evening.stored()][1:] == [None], "the next round is a new one"


@pytest.mark.slow
@pytest.mark.parametrize("empties", ["both", "one"])
def test_a_round_that_a_side_left_before_its_end_is_stored_and_not_rated(new_evening: NewEvening, empties: str) -> None:
    evening = new_evening(QUIET)
    people = evening.seat(*"abcdefgh")
    evening.start(people["a"], people["b"])
    evening.settle(120)
    if empties == "both":
        assert evening.game.console("sv_rrall")
    else:
        for name in "aceg":
            people[name].joins(0)
    evening.settle(2)
    assert evening.game.ends == [0 if empties == "both" else ALIENS]

    (stored,) = evening.stored()
    assert (stored.partial, stored.unrated) == (False, "a side had no human before the end")
    assert [line["reason"] for line in evening.decisions("unrated")] == [stored.unrated]
    assert people["d"].chat[-2:] == ["This round is not rated:", "a side had no human before the end"]
    assert evening.player(people["b"])["rounds"] == 0


@pytest.mark.slow
def test_newcomers_begin_from_the_games_own_skill_in_splits_in_the_stored_round_and_in_each_replay_of_it(
    new_evening: NewEvening,
) -> None:
    evening = new_evening(QUIET, pool="hive_rounds = 50.0")
    known = {name: evening.connect(1000 + n, name, skill=3000, skill_offset=-200) for n, name in enumerate("abc")}
    others = {name: evening.connect(1100 + n, name) for n, name in enumerate("xyz")}
    evening.settle()
    for team, people in ((MARINES, known), (ALIENS, others)):
        for client in people.values():
            assert evening.game.seat(client, team)
    evening.settle(6)
    # Before any round: the favourite is known, and none of them is in the store.
    assert evening.status()["win_probability"] > 0.7
    evening.start(known["a"], others["x"])
    evening.settle(120)
    evening.end(ALIENS)

    (stored,) = evening.stored()
    assert {name: counts.get("hive") for name, counts in stored.counts.items()} == {
        **{name: {"skill": 3000.0, "offset": -200.0, "commander": 3000.0} for name in "abc"},
        **dict.fromkeys("xyz"),
    }
    rated = [evening.player(client)["rating"] for client in (*known.values(), *others.values())]
    assert all(1700 < rating < 2000 for rating in rated[1:3])
    assert all(1000 < rating < 1300 for rating in rated[4:])
    evening.daemon.stop()

    def run(*words: str) -> str:
        done = ran("pool", *words, "--config", evening.daemon.config, environ=dict(os.environ))
        assert done.returncode == 0, done.stderr
        return done.stdout

    before = run("export", "main")
    assert '"hive":{"skill":3000.0,"offset":-200.0,"commander":3000.0}' in before
    run("recompute", "--pool", "main", "--yes")
    assert players_of(run("export", "main")) == players_of(before) != []
