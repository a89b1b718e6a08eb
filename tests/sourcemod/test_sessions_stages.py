"""Attack/defend and payload end to end: sides that switch, stages that are one round, restarts in between."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.sourcemod.audit import Session
from tests.sourcemod.rig.game.facts import (
    BLU,
    PAYLOAD,
    RED,
    STAGED_ATTACK_DEFEND,
    opponent,
)  # fmt: skip
from tests.sourcemod.sessions import Evening

NewEvening = Callable[..., Evening]

WAITING = "Waiting For Players is over"
NOTHING = "the losing side captured nothing"


def switched(sides: dict[str, int]) -> dict[str, int]:
    """The same groups on the other sides."""
    return {name: opponent(side) for name, side in sides.items()}


def test_an_attack_in_three_stages_with_a_restart_between(new_evening: NewEvening) -> None:
    """A restart in the second stage begins the round at the first again; then three stages are one round."""
    mode = replace(STAGED_ATTACK_DEFEND, setup=6, length=20)
    session = Session(new_evening, "cp_dustbowl", mode=mode)
    session.live()
    sides = session.sides
    session.capture(BLU, 0, 1)
    session.live()
    session.game.rcon("mp_restartgame 1")
    session.game.until(lambda: session.game.events("teamplay_restart_round")[1:])

    for stage in range(3):
        session.live()
        assert session.evening.status()["round"] == 1
        assert session.sides == sides
        session.capture(BLU, 2 * stage)
        if stage < 2:
            session.capture(BLU, 2 * stage + 1)
    session.until_over()
    assert session.pending is None
    session.live()

    assert session.sides == switched(sides)
    assert session.scrambles == [WAITING]
    (stored,) = session.check()
    assert (stored.winner, stored.captures, stored.partial, stored.unrated) == (RED, (0, 5), False, None)
    assert stored.played == sides


def test_a_cart_that_never_moves_and_one_that_arrives(new_evening: NewEvening) -> None:
    session = Session(new_evening, "pl_upward", mode=replace(PAYLOAD, setup=6, length=15))
    session.live()
    first = session.sides
    session.until_over()
    assert session.pending == NOTHING
    session.stack()
    session.live()
    second = session.sides
    assert second != switched(first)

    session.capture(BLU, 0, 1, 2)
    assert session.pending is None
    session.live()

    assert session.sides == switched(second)
    assert session.scrambles == [WAITING, NOTHING]
    stored = session.check()
    assert [(one.mode, one.winner, one.captures, one.partial, one.unrated) for one in stored] == [
        ("payload", RED, (0, 0), False, None),
        ("payload", BLU, (0, 3), False, None),
    ]
    assert [one.played for one in stored] == [first, second]


def test_territory_that_is_taken_in_turns(new_evening: NewEvening) -> None:
    """Each side wins a stage: neither is without a capture, and no sides are switched."""
    session = Session(new_evening, "tc_hydro")
    session.live()
    sides = session.sides
    session.capture(RED, 1)
    session.live()
    assert session.evening.status()["round"] == 1
    session.capture(BLU, 2)
    assert session.pending is None
    session.live()

    assert session.sides == sides
    (stored,) = session.check()
    assert (stored.mode, stored.winner, stored.captures, stored.unrated) == ("symmetric_cp", BLU, (1, 1), None)
    assert stored.played == sides
