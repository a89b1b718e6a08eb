"""The evening's plan holds for every length."""

from __future__ import annotations

from equipoise.demo.arena_evening import Incident, koth_rounds, plan
from equipoise.demo.evening import LEAST_ROUNDS

LENGTHS = [*range(LEAST_ROUNDS, 60), 100, 1000]


def test_every_incident_is_planned_in_order_before_the_map_changes() -> None:
    for rounds in LENGTHS:
        arena = rounds - koth_rounds(rounds)
        planned = plan(arena)

        happened = [incident for number in sorted(planned) for incident in planned[number]]

        assert happened == list(Incident), rounds
        assert min(planned) >= 2, rounds
        assert max(planned) <= arena - 1, rounds


def test_a_player_who_leaves_in_a_round_returns_in_a_later_one() -> None:
    for rounds in LENGTHS:
        planned = plan(rounds - koth_rounds(rounds))
        when = {incident: number for number, incidents in planned.items() for incident in incidents}

        assert when[Incident.RETURN] > when[Incident.WALK_OUT], rounds
