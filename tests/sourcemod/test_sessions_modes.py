"""Each mode end to end: what ends its rounds, stages that are one round, sides that switch, new teams that are due."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.sourcemod.audit import NOTHING, WAITING, Session
from tests.sourcemod.rig import play
from tests.sourcemod.rig.game.facts import (
    BLU,
    FIVE_POINTS,
    PAYLOAD,
    RED,
    SIDES,
    STAGED_ATTACK_DEFEND,
    Reason,
    State,
    opponent,
)  # fmt: skip
from tests.sourcemod.sessions import NewEvening


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


def test_a_flag_that_is_away_when_time_is_up_may_still_win(new_evening: NewEvening) -> None:
    """The only round of a map of one minute. BLU has brought home no flag; teams are due, but the map is over."""
    session = Session(new_evening, "ctf_2fort")
    game = session.game
    game.sm.convars["mp_timelimit"].set("1")
    game.map_cycle = ["ctf_2fort", "koth_harvest_final"]
    session.live()
    sides = session.sides
    carrier = game.teams.members(RED)[0]
    for _ in range(2):
        play.capture_flag(game, carrier)
    play.pick_up_flag(game, carrier)
    session.evening.wait(62.0)
    assert game.rounds.live
    assert game.rules.props["m_bInOvertime"]
    play.capture_flag(game, carrier)
    session.until_over()
    assert game.rounds.reason == Reason.FLAG_CAPTURE_LIMIT
    assert session.pending == NOTHING
    (stored,) = session.check()
    assert (stored.mode, stored.winner, stored.captures, stored.unrated) == ("ctf", RED, (3, 0), None)
    assert stored.played == sides

    game.until(lambda: game.map == "koth_harvest_final")
    game.settle()
    assert session.pending is None
    assert [one["reason"] for one in session.evening.decisions("dropped")] == [NOTHING]


SHORT = replace(FIVE_POINTS, length=15)

MIDDLE = 2


def test_sudden_death_is_the_end_of_the_same_round(new_evening: NewEvening) -> None:
    """Everybody returns once; the dead stay dead, and the side that is wiped out without a capture gets new teams."""
    session = Session(new_evening, "cp_badlands", mode=SHORT)
    game = session.game
    game.sm.convars["mp_stalemate_enable"].set("1")
    session.live()
    sides = session.sides
    session.capture(BLU, MIDDLE)
    red, blu = (game.teams.members(side) for side in SIDES)
    play.kill(game, red[0], blu[0])
    game.until(lambda: game.rounds.state is State.STALEMATE)
    session.evening.wait(1.0)
    assert all(player.alive for player in game.humans())
    assert session.evening.status()["round"] == 1
    for player in red:
        play.kill(game, blu[0], player)
    session.until_over()
    assert session.pending == NOTHING
    session.stack()
    session.live()

    assert session.sides != sides
    (stored,) = session.check()
    assert (stored.winner, stored.captures, stored.unrated, stored.played) == (BLU, (0, 1), None, sides)


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
