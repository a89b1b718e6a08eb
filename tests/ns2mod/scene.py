"""A server with people on it, in the few steps that every test of the mod begins with."""

from __future__ import annotations

from tests.ns2mod.rig import Client, Game
from tests.ns2mod.scripted import ScriptedDaemon


class Scene:
    """Marines have account ids from 101, aliens from 201; the first of each side commands."""

    def __init__(self, game: Game, daemon: ScriptedDaemon) -> None:
        self.game = game
        self.daemon = daemon

    def people(self, marines: int = 3, aliens: int = 3) -> tuple[list[Client], list[Client]]:
        """Everybody on a side, as if they had been there before."""
        sides = []
        for team, count in ((1, marines), (2, aliens)):
            side = [
                self.game.connect(100 * team + number, f"{'MA'[team - 1]}{number}") for number in range(1, count + 1)
            ]
            for client in side:
                client.moves()
                assert self.game.seat(client, team)
            sides.append(side)
        self.game.run(2)
        return sides[0], sides[1]

    def commanded(self, *sides: list[Client]) -> None:
        for side in sides:
            assert side[0].commands()

    def round(self, marines: int = 3, aliens: int = 3) -> tuple[list[Client], list[Client]]:
        """A round that runs, with commanders."""
        sides = self.people(marines, aliens)
        self.commanded(*sides)
        self.game.start_round()
        self.game.run(0.5)
        return sides
