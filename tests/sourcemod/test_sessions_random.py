"""Evenings at random, end to end: whatever players and admins do, each round is stored once, as the game played it."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from tests.sourcemod.audit import Session
from tests.sourcemod.rig import play
from tests.sourcemod.rig.game.facts import (
    ARENA,
    ATTACK_DEFEND,
    BLU,
    FIVE_POINTS,
    KOTH,
    RED,
    SIDES,
    SPECTATOR,
    STAGED_ATTACK_DEFEND,
    Mode,
    Reason,
    State,
)
from tests.sourcemod.rig.game.players import Player
from tests.sourcemod.sessions import NewEvening

STEPS = 50
FEWEST, MOST = 4, 12
COMMANDS = (
    "mp_restartgame 1",
    "mp_restartround 1",
    "mp_switchteams",
    "mp_scrambleteams",
    "mp_waitingforplayers_restart 1",
    "sm_eq_scramble now",
    "sm_eq_scramble next",
)


class Crowd:
    """Players and an admin who do one thing after the other. Nobody kills themselves: only the dead change sides."""

    def __init__(self, session: Session, seed: int) -> None:
        self.session, self.game, self.evening = session, session.game, session.evening
        self.random = random.Random(seed)
        self._come = 0
        self._gone: list[Player] = []

    def act(self) -> None:
        """One thing, and a pause."""
        common = (self.come, self.kill, self.kill, self.fight, self.wait, self.wait)
        self.random.choice((*common, self.leave, self.watch, self.ask, self.capture, self.win, self.admin))()
        self.evening.wait(self.random.choice((0.1, 0.5, 3.0)))

    def come(self) -> None:
        """Somebody new, or who was here before."""
        if len(self.game.humans()) == MOST:
            return
        if self._gone and self.random.random() < 0.5:
            player = self._gone.pop()
            self.evening.seat(player.name, steamid=player.steamid)
        else:
            self._come += 1
            self.evening.seat(f"Q{self._come}")
        self.session.meet()

    def leave(self) -> None:
        """Anybody, wherever they are."""
        people = self.game.humans()
        if len(people) > FEWEST:
            self._gone.append(self.random.choice(people))
            self.game.leave(self._gone[-1])

    def watch(self) -> None:
        """Somebody dead gives up their side."""
        if player := self._somebody(*SIDES, alive=False):
            self.game.join(player, "spectate")

    def ask(self) -> None:
        """Somebody dead, or who watches, asks for a side."""
        if player := self._somebody(*SIDES, SPECTATOR, alive=False):
            self.game.join(player, self.random.choice(("red", "blue", "auto")))

    def kill(self) -> None:
        """In arena this ends rounds."""
        killer = self._somebody(*SIDES)
        victim = killer and self._somebody(RED + BLU - killer.team)
        if killer and victim and self.game.rounds.live:
            play.kill(self.game, killer, victim)

    def fight(self) -> None:
        """All take part."""
        if self.game.rounds.live:
            play.fight(self.game)

    def capture(self) -> None:
        """The next point, which may win a stage or the round."""
        side = BLU if self.game.mode.attack_defend else self.random.choice(SIDES)
        points = (
            self.game.mode.stages[self.game.points.stage]
            if self.game.mode.stages
            else range(len(self.game.mode.owners))
        )
        wanted = [point for point in points if self.game.points.owners[point] != side]
        if self._plays() and wanted and self._somebody(side):
            play.capture(self.game, side, wanted[0])

    def win(self) -> None:
        """The map ends the round, perhaps without a winner."""
        if self._plays():
            self.game.rounds.win(self.random.choice((RED, BLU, 0)), Reason.DEFENDED)

    def wait(self) -> None:
        """Freeze, setup and bonus time pass."""
        self.evening.wait(self.random.choice((5.0, 12.0)))

    def admin(self) -> None:
        """A command in the server's console."""
        self.game.rcon(self.random.choice(COMMANDS))

    def _plays(self) -> bool:
        rounds = self.game.rounds
        return rounds.state is State.RUNNING and not rounds.waiting and not self.game.clocks.in_setup

    def _somebody(self, *teams: int, alive: bool = True) -> Player | None:
        found = [player for player in self.game.humans() if player.team in teams and player.alive == alive]
        return self.random.choice(found) if found else None


@pytest.mark.world
@pytest.mark.parametrize(
    ("map_name", "mode", "seed"),
    [
        ("arena_well", ARENA, 1),
        ("arena_well", ARENA, 2),
        ("koth_harvest_final", replace(KOTH, length=30), 3),
        ("cp_badlands", replace(FIVE_POINTS, length=90), 4),
        ("cp_gorge", replace(ATTACK_DEFEND, setup=8, length=60), 5),
        ("cp_dustbowl", replace(STAGED_ATTACK_DEFEND, setup=8, length=60), 6),
    ],
)
def test_an_evening_at_random(new_evening: NewEvening, map_name: str, mode: Mode, seed: int) -> None:
    session = Session(new_evening, map_name, mode=mode)
    game, evening = session.game, session.evening
    session.meet()
    crowd = Crowd(session, seed)
    for _ in range(STEPS):
        crowd.act()
        assert not [player for player in game.humans() if player.team == SPECTATOR and player.alive]
    evening.wait(1.0)

    stored = session.check()
    assert stored
    assert not any(one.partial for one in stored)
    for player in game.humans():
        assert evening.rounds(player) == sum(player.name in one.played for one in stored)
    status = evening.status()
    assert [status["players_a"], status["players_b"]] == evening.sizes()
