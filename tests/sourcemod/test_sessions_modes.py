"""Each mode end to end: what ends its rounds, stages that are one round, sides that switch, new teams that are due."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.sourcemod.audit import NOTHING, WAITING, Session
from tests.sourcemod.rig.game.facts import (
    BLU,
    PAYLOAD,
    RED,
    Reason,
    opponent,
)  # fmt: skip
from tests.sourcemod.sessions import NewEvening


def switched(sides: dict[str, int]) -> dict[str, int]:
    """The same groups on the other sides."""
    return {name: opponent(side) for name, side in sides.items()}


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


@pytest.mark.parametrize(
    ("map_name", "mode", "reason"),
    [
        ("plr_hightower", "payload_race", Reason.DEFENDED),
        ("pd_watergate", "other", Reason.PLAYER_DESTRUCTION_POINTS),
        ("pass_brickyard", "other", Reason.SCORED),
    ],
)
def test_a_mode_without_a_trigger_of_its_own_has_new_teams_after_waiting_only(
    new_evening: NewEvening, map_name: str, mode: str, reason: Reason
) -> None:
    """RED wins two rounds, in which BLU captures nothing, and BLU one."""
    session = Session(new_evening, map_name)
    session.stack()
    before = session.sides
    session.live()
    assert session.read(WAITING)
    sides = session.sides
    assert sides != before
    for winner in (RED, RED, BLU):
        if reason is Reason.SCORED:
            for _ in range(5):
                session.game.flags.score(winner)
        else:
            session.win(winner, reason)
        session.until_over()
        assert session.pending is None
        session.live()
        assert session.sides == sides

    assert session.scrambles == [WAITING]
    stored = session.check()
    assert [(one.mode, one.winner, one.partial, one.unrated) for one in stored] == [
        (mode, winner, False, None) for winner in (RED, RED, BLU)
    ]
    assert [one.played for one in stored] == [sides] * 3
    assert session.game.rounds.reason == reason
