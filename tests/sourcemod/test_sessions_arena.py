"""An arena evening from its first two players on, end to end: what players saw, and what was stored."""

from __future__ import annotations

from tests.sourcemod.audit import Session
from tests.sourcemod.rig.game.facts import RED, SIDES
from tests.sourcemod.sessions import NewEvening


def test_two_players_begin_and_five_play_on(new_evening: NewEvening) -> None:
    """A duel while others arrive, new teams in round 2 and after three wins, and a bench that goes round."""
    session = Session(new_evening, "arena_well", players=2)
    game, evening = session.game, session.evening
    session.live()
    lineups = [session.sides]
    assert sorted(lineups[0]) == ["P0", "P1"]
    for number in range(2, 5):
        player = evening.seat(f"P{number}")
        evening.wait(1.0)
        assert "you play in the next one" in player.chat[-1]
        assert not player.alive
    assert evening.sitting_out() == ["P2", "P3", "P4"]
    assert evening.status()["waiting"] == 3
    evening.win(RED)

    benches = []
    for _ in range(5):
        session.live()
        assert evening.sizes() == [2, 2]
        assert all(player.alive == (player.team in SIDES) for player in game.humans())
        lineups.append(session.sides)
        benches += evening.sitting_out()
        evening.win(RED)

    assert session.scrambles == ["round 2 is always balanced", "3 wins in a row"]
    assert sorted(benches) == ["P0", "P1", "P2", "P3", "P4"]
    assert all(any("Your turn to sit out" in line for line in player.chat) for player in game.humans())
    stored = session.check()
    assert [(one.mode, one.winner, one.partial, one.unrated) for one in stored] == [("arena", RED, False, None)] * 6
    assert [one.lineup for one in stored] == lineups
    assert [one.played for one in stored] == lineups
