"""How far we go on a map, by the daemon's own table of maps: end to end."""

from __future__ import annotations

from collections.abc import Callable

from tests.sourcemod.audit import Session
from tests.sourcemod.rig.game.facts import ARENA, RED, Reason
from tests.sourcemod.sessions import Evening

NewEvening = Callable[..., Evening]

ENGINES_OWN = ("mp_autoteambalance", "sv_vote_issue_scramble_teams_allowed")


def engine_balances(evening: Evening) -> bool:
    """The game's own balancing is as the operator has it."""
    return all(evening.game.text(name) == "1" for name in ENGINES_OWN)


def test_a_map_with_rules_of_its_own_is_left_alone(new_evening: NewEvening) -> None:
    """To the engine Versus Saxton Hale is arena, with its queue; one against all others is no fair round."""
    session = Session(new_evening, "vsh_dustshowdown", mode=ARENA)
    evening = session.evening
    evening.live()
    assert session.read("Equipoise leaves this map alone (vsh_).")
    assert engine_balances(evening)
    posted = len(session.game.sm.http.sent)
    evening.win(RED)
    evening.wait(12.0)

    assert session.stored() == []
    assert evening.decisions() == []
    assert len(session.game.sm.http.sent) - posted <= 4
    assert evening.status()["level"] == "off"


def test_a_map_that_is_only_rated_keeps_its_teams(new_evening: NewEvening) -> None:
    session = Session(new_evening, "koth_harvest_final", settings='[maps]\nkoth_ = "rate"\n')
    session.stack()
    before = session.sides
    session.live()
    assert session.read("Equipoise only rates rounds on this map (koth_).")
    assert engine_balances(session.evening)
    session.win(RED, Reason.POINTS_CAPTURED)
    assert session.pending is None
    session.live()

    assert session.sides == before
    assert session.evening.decisions() == []
    (stored,) = session.check()
    assert (stored.winner, stored.partial, stored.unrated, stored.played) == (RED, False, None, before)
