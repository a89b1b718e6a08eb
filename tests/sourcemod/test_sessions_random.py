"""Evenings at random, end to end: whatever players and admins do, and at whatever second the plugin is loaded again,
each round is stored once, as the game played it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.sourcemod.answerer import settle
from tests.sourcemod.audit import Session
from tests.sourcemod.rig import Game, play
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
from tests.sourcemod.sessions import Evening, NewEvening

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
        wanted = self._wanted(side)
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

    def _wanted(self, side: int) -> list[int]:
        """The points of this stage that a side does not own."""
        points = self.game.points
        stage = self.game.mode.stages[points.stage] if self.game.mode.stages else range(len(self.game.mode.owners))
        return [point for point in stage if points.owners[point] != side]

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


EVENINGS: dict[str, Mode] = {
    "koth_harvest_final": replace(KOTH, unlock=6),
    "arena_well": ARENA,
    "cp_gorge": replace(ATTACK_DEFEND, setup=6),
    "cp_dustbowl": replace(STAGED_ATTACK_DEFEND, setup=6),
}


class Regulars(Crowd):
    """What players do in an evening, by a seed: the same whatever the plugin does meanwhile."""

    def __init__(self, session: Session, seed: int) -> None:
        super().__init__(session, seed)
        self.lineups: list[dict[str, int]] = []
        """Sides when each round went live, as the game had them."""
        self.fought: list[set[str]] = []

    def round(self, *, offline: bool = False) -> None:
        """A round in which people come and go, fight, and capture; then a side wins.

        `offline`: from the round's first moment on the daemon does not answer, else it does.
        """
        self.evening.freeze()
        self.evening.live()
        self.evening.wait(0.5)
        if self.game.sm.http.offline != offline:
            self.game.sm.http.offline = offline
            self.evening.wait(6.0)  # polls are five seconds apart
        self.lineups.append(self.session.sides)
        self.fought.append(set())
        self.fight()
        for _ in range(4):
            self.random.choice((self.come, self.leave, self.watch, self.kill, self.kill, self.capture))()
            self.evening.wait(1.0)
        winner = self.random.choice(SIDES)
        if not self.game.rounds.live:
            pass  # a capture, or a death in arena, has won it
        elif self.game.mode.arena:
            play.wipe_out(self.game, RED + BLU - winner)
        else:
            self.game.rounds.win(winner, Reason.DEFENDED)
        self.evening.wait(1.0)

    def fight(self) -> None:
        """Everybody alive."""
        self.session.meet()
        self.fought[-1] |= {player.name for side in SIDES for player in self.game.teams.members(side) if player.alive}
        play.fight(self.game)

    def come(self) -> None:
        """Who was here before, or somebody new, in the middle of the round."""
        if self._gone:
            player = self._gone.pop()
            self.evening.seat(player.name, steamid=player.steamid)
        else:
            self._come += 1
            self.evening.seat(f"Late{self._come}", cls="medic")

    def leave(self) -> None:
        """One of the larger side: the other may not have many."""
        if len(self.game.humans()) > 5:
            self._gone.append(self._anybody())
            self.game.leave(self._gone[-1])

    def watch(self) -> None:
        """Who has died watches for a moment, and comes back."""
        player = self.kill()
        if player:
            self.game.join(player, "spectate")
            self.evening.wait(1.5)
            self.game.join(player, "auto")

    def kill(self) -> Player | None:
        """A player of BLU dies, unless it would end the round: who did."""
        killers, victims = ([p for p in self.game.teams.members(side) if p.alive] for side in SIDES)
        if len(killers) < 2 or len(victims) < 2:
            return None
        play.kill(self.game, killers[0], victims[-1])
        self.fight()
        return victims[-1]

    def capture(self) -> None:
        """The first point that is not BLU's."""
        wanted = self._wanted(BLU)
        if wanted and self.game.rounds.live and not self.game.mode.arena:
            play.capture(self.game, BLU, wanted[0])

    def _anybody(self) -> Player:
        larger = max(SIDES, key=lambda side: len(self.game.teams.members(side)))
        return self.game.teams.members(larger)[-1]


@pytest.mark.world
@pytest.mark.parametrize(
    ("map_name", "offset"),
    [
        ("koth_harvest_final", 0),
        ("koth_harvest_final", 2),
        ("arena_well", 1),
        ("arena_well", 3),
        ("cp_gorge", 2),
        ("cp_dustbowl", 3),
    ],
)
def test_rounds_are_the_same_whenever_the_plugin_is_loaded_again(
    new_evening: NewEvening, map_name: str, offset: int
) -> None:
    """In every fourth second of the evening. The daemon is away for two rounds; then the map changes."""
    session = Session(new_evening, map_name, mode=EVENINGS[map_name])
    game, regulars = session.game, Regulars(session, seed=1)
    frame, began, reloads = game.frame, game.now, 0

    def framed() -> None:
        nonlocal reloads
        frame()
        if game.now - began > 4 * reloads + offset:
            reloads += 1
            session.evening.plugin = game.reload(session.evening.plugin)

    game.frame = framed  # type: ignore[method-assign]
    for offline in (False, True, True, False, False):
        regulars.round(offline=offline)
    game.start_map(f"{map_name}_event", EVENINGS[map_name])
    for player in game.humans():
        game.join(player, "auto", "soldier")
    regulars.round()
    session.evening.wait(8.0)

    stored = session.check()  # winners, captures and seconds are those of the game
    assert reloads >= 25
    assert [one.map for one in stored] == [map_name] * 5 + [f"{map_name}_event"]
    assert not any(one.partial for one in stored)
    assert [one.lineup for one in stored] == regulars.lineups
    assert [set(one.played) for one in stored] == regulars.fought
    assert session.evening.status()["dropped_rounds"] == 0


@pytest.mark.parametrize("answer", ["lost", "never asked"])
def test_a_killed_server_sends_its_rounds_when_it_is_back_and_each_is_stored_once(
    new_evening: NewEvening, new_game: Callable[..., Game], equipoise_smx: Path, answer: str
) -> None:
    """Under the ids that its last start gave them, whether or not the daemon has stored them by then."""
    session = Session(new_evening, "koth_harvest_final", mode=EVENINGS["koth_harvest_final"])
    game, regulars = session.game, Regulars(session, seed=1)
    regulars.round()
    regulars.round()
    session.live()
    game.sm.http.held = answer == "lost"
    game.sm.http.offline = answer == "never asked"
    game.rounds.win(RED, Reason.POINTS_CAPTURED)
    game.advance(1.0)
    for flight in game.sm.http.flying:
        assert flight.answer is not None
        flight.answer.result()
    assert len(session.stored()) == (3 if answer == "lost" else 2)
    session.evening.plugin.failed = True  # a killed process calls nobody
    again = new_game(folder=game.sm.root.parent.parent)
    again.now = game.now + 60
    evening = Evening(again, session.evening.daemon, equipoise_smx)
    again.start_map("koth_harvest_final")
    settle(again)
    evening.wait(6.0)

    assert [one.winner for one in session.check()][-1] == RED
    assert len(session.stored()) == 3
    assert not any(one.partial for one in session.stored())
