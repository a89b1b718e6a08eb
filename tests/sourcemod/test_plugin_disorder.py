"""Players, admins, other plugins and a daemon that comes and goes, all at once and in any order."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.sourcemod.answerer import Daemon, Json, ids, install, seconds_of_play, settle
from tests.sourcemod.rig import Game, Player, Plugin, play
from tests.sourcemod.rig.game.facts import BLU, RED, SIDES, SPECTATOR, Reason

MAPS = ("arena_well", "koth_harvest_final", "cp_gorge", "cp_dustbowl", "ctf_2fort")
CLASSES = ("scout", "soldier", "medic", "engineer", "spy", "random")
WISHES = ("jointeam red", "jointeam blue", "jointeam auto", "autoteam", "spectate", "jointeam spectatearena")
RESTARTS = ("mp_restartgame 1", "mp_restartround 1", "mp_waitingforplayers_cancel 1", "mp_switchteams")
EVENTS = ("teamplay_round_start", "teamplay_round_win", "teamplay_restart_round", "arena_round_start")
WHY = {"phrase": "Equipoise_ReasonStreak", "args": ["3"]}


@dataclass
class Disorder:
    """A server on which anything may happen next."""

    game: Game
    daemon: Daemon
    plugin: Plugin
    smx: Path
    random: random.Random
    steps: list[str] = field(default_factory=list)

    def step(self, actions: list[str]) -> None:
        """One thing happens, and a few frames pass."""
        name = self.random.choice(actions)
        people = self.game.humans()
        if name in ("wait", "come") or people:
            self.steps.append(name)
            getattr(self, name)(self.random.choice(people) if people else None)
        self.game.frame()
        if self.random.random() < 0.5:
            settle(self.game)
        self.game.advance(0.03)

    def come(self, _: Player | None) -> None:
        if len(self.game.humans()) < 12:
            player = self.game.connect(f"P{len(self.steps)}", authorize=self.random.random() > 0.05)
            self.game.command(player, self.random.choice(WISHES))

    def leave(self, player: Player) -> None:
        if self.random.random() < 0.5:
            self.game.leave(player)

    def wish(self, player: Player) -> None:
        self.game.command(player, self.random.choice(WISHES))

    def choose(self, player: Player) -> None:
        self.game.command(player, f"joinclass {self.random.choice(CLASSES)}")

    def die(self, player: Player) -> None:
        if player.alive and player.team in SIDES:
            play.kill(self.game, None, player)

    def force(self, player: Player) -> None:
        self.game.teams.change(player, self.random.choice([SPECTATOR, RED, BLU]))

    def win(self, _: Player) -> None:
        rounds = self.game.rounds
        if rounds.live and not rounds.waiting and not self.game.mode.arena:
            rounds.win(self.random.choice([RED, BLU, 0]), Reason.POINTS_CAPTURED, full_round=self.random.random() < 0.7)

    def restart(self, _: Player) -> None:
        self.game.rcon(self.random.choice(RESTARTS))

    def change_map(self, _: Player) -> None:
        if self.random.random() < 0.2:
            self.game.start_map(self.random.choice(MAPS))

    def wait(self, _: Player | None) -> None:
        self.game.advance(self.random.choice([0.1, 1, 4, 9]))

    def order(self, player: Player) -> None:
        number = len(self.steps)
        side = self.random.choice(["red", "blu"])
        deadline = self.random.choice([0.1, 1.0, 5.0])
        self.daemon.order("move", order=f"m{number}", reason=WHY, id=ids([player])[0], side=side, deadline=deadline)
        self.daemon.order("lock", id=ids([player])[0], side=side, seconds=self.random.choice([0.0, 5.0]))
        self.daemon.order("cancel", order=f"m{self.random.randrange(number)}")
        self.game.rcon("equipoise_poll")

    def split(self, _: Player) -> None:
        people = ids([p for p in self.game.humans() if p.authorized])
        self.random.shuffle(people)
        half = len(people) // 2
        teams = {"red": people[:half], "blu": people[half : 2 * half], "bench": people[2 * half :]}
        moment = self.random.choice(["now", "freeze"])
        self.daemon.order("assign", order=f"a{len(self.steps)}", reason=WHY, moment=moment, **teams)
        self.daemon.once["cache"] = {"ids": people, "splits": ["A" * half + "B" * half + "-" * (len(people) % 2)]}
        self.daemon.once["pending"] = self.random.random() < 0.5
        self.game.rcon("equipoise_poll")

    def vote(self, _: Player) -> None:
        self.daemon.order("vote", order=f"v{len(self.steps)}", seconds=3.0)
        self.game.rcon("equipoise_poll")

    def silence(self, _: Player) -> None:
        self.game.sm.http.offline = self.random.random() < 0.4

    def switch(self, _: Player) -> None:
        self.daemon.sticky["enabled"] = self.random.random() < 0.7
        self.daemon.sticky["level"] = self.random.choice(["balance", "balance", "rate", "off"])

    def reload(self, _: Player) -> None:
        if self.random.random() < 0.3:
            self.game.unload(self.plugin)
            self.plugin = install(self.game, self.daemon, self.smx)

    def make_up(self, _: Player) -> None:
        self.game.fire(self.random.choice(EVENTS))


ALWAYS = [
    "come", "come", "come", "leave", "wish", "wish", "choose", "choose", "die", "force", "win", "restart", "change_map",
    "wait", "wait", "wait", "order", "order", "split", "split", "vote", "silence",
]  # fmt: skip
SOMETIMES = ["switch", "reload", "make_up"]


def known(daemon: Daemon) -> dict[str, tuple[str, bool]]:
    """Each player's side, and whether they wait, as the daemon was told."""
    people: dict[str, tuple[str, bool]] = {}
    other = {"red": "blu", "blu": "red", "none": "none"}
    for event in (event for batch in daemon.batches for event in batch["events"]):
        match event["kind"]:
            case "roster" | "round_started" | "round_live":
                people = {line["id"]: _place(line) for line in event["players"]}
                assert len(people) == len(event["players"])
            case "side_changed":
                people[event["id"]] = _place(event)
            case "player_joined":
                people.setdefault(event["id"], ("none", False))
            case "player_left":
                people.pop(event["id"], None)
            case "sides_switched":
                people = {player: (other[side], waits) for player, (side, waits) in people.items()}
    return people


def _place(line: Json) -> tuple[str, bool]:
    return line["side"], line.get("waiting", False)


@pytest.fixture
def disorder(game: Game, daemon: Daemon, plugin: Plugin, equipoise_smx: Path) -> Callable[[int], Disorder]:
    """Makes the disorder of a seed, on a map that has just begun."""

    def make(seed: int) -> Disorder:
        game.start_map(MAPS[seed % len(MAPS)])
        settle(game)
        return Disorder(game, daemon, plugin, equipoise_smx, random.Random(seed))

    return make


@pytest.mark.parametrize(("seed", "highlander"), [(0, "0"), (1, "0"), (2, "0"), (3, "1"), (4, "1")])
def test_whatever_happens_nobody_lives_where_they_do_not_belong(
    disorder: Callable[[int], Disorder], game: Game, daemon: Daemon, seed: int, highlander: str
) -> None:
    game.sm.convars["mp_highlander"].set(highlander)
    server = disorder(seed)
    for _ in range(120):
        server.step(ALWAYS)
        lost = [p for p in game.humans() if p.alive and (p.team not in SIDES or p.misplaced or not p.current_class)]
        assert not lost, server.steps[-10:]


@pytest.mark.parametrize("seed", range(3))
def test_whatever_happens_the_daemon_knows_in_the_end_who_is_where(
    disorder: Callable[[int], Disorder], game: Game, daemon: Daemon, seed: int
) -> None:
    server = disorder(seed)
    for _ in range(150):
        server.step(ALWAYS + SOMETIMES)
    daemon.sticky.clear()
    game.sm.http.offline = False
    seconds_of_play(game, 15)
    sides: dict[int, Any] = {RED: "red", BLU: "blu"}
    here = {str(p.steamid): sides.get(p.team, "none") for p in game.humans() if p.authorized}
    assert {player: side for player, (side, _) in known(daemon).items()} == here
