"""A fake server where anything happens in any order: people, rounds, the network, the map."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.ns2mod.rig import Client, Game

PEOPLE = [*range(101, 108), *range(201, 208)]
WORDS = ("vote", "choose marines", "lang de", "friend Player 101", "dance", "")


class Chaos:
    """Steps with their chances; the same seed does the same."""

    def __init__(self, game: Game, seed: int) -> None:
        self.game = game
        self.random = random.Random(seed)
        self.gone: list[Client] = []
        self.steps: list[tuple[int, Callable[[], object]]] = [
            (30, lambda: self.game.run(self.random.choice([0.03, 0.3, 1, 4, 12]))),
            (3, lambda: self.game.frame(0.5)),
            (8, self.connects),
            (12, lambda: self.somebody(lambda client: client.joins(self.random.randint(0, 3)))),
            (8, lambda: self.somebody(lambda client: self.game.join(client, self.random.randint(0, 3), force=True))),
            (4, lambda: self.somebody(self.leaves)),
            (12, lambda: self.somebody(self.sits_down)),
            (2, lambda: self.somebody(self.stands_up)),
            (5, lambda: self.somebody(self.dies)),
            (5, lambda: self.somebody(lambda client: client.moves())),
            (4, lambda: self.somebody(lambda client: client.says(f"!eq {self.random.choice(WORDS)}"))),
            (2, lambda: self.somebody(lambda client: client.console(f"eq {self.random.choice(WORDS)}"))),
            (2, self.game.reset),
            (3, lambda: self.game.end_game(self.random.choice([None, 1, 2]))),
            (3, self.game.start_without_pregame),
            (1, lambda: self.game.set_state(self.random.choice(["NotStarted", "WarmUp", "PreGame", "Draw"]))),
            (1, lambda: self.game.change_map(self.random.choice(["ns2_tram", "ns2_veil"]))),
            (2, lambda: self.game.setting("filler_bots", self.random.choice([0, 4, 8]))),
            (14, self.orders),
            (4, self.network),
        ]

    def step(self) -> None:
        chances = [chance for chance, _ in self.steps]
        self.random.choices([step for _, step in self.steps], chances)[0]()

    def somebody(self, act: Callable[[Client], object]) -> None:
        if self.game.clients:
            act(self.random.choice(self.game.clients))

    def connects(self) -> None:
        if self.gone and self.random.random() < 0.5:
            self.gone.pop().reconnects()
            return
        here = {client.account_id for client in [*self.game.clients, *self.gone]}
        if free := [account for account in PEOPLE if account not in here]:
            self.game.connect(self.random.choice(free), unknown_for=self.random.choice([0.0, 0.0, 3.0]))

    def leaves(self, client: Client) -> None:
        client.disconnects()
        self.gone.append(client)

    def sits_down(self, client: Client) -> None:
        if client.team in {1, 2} and client.alive and not client.commands_now:
            client.commands()

    def stands_up(self, client: Client) -> None:
        if client.commands_now:
            client.leaves_chair()

    def dies(self, client: Client) -> None:
        if client.alive and client.team in {1, 2}:
            client.dies()

    def orders(self) -> None:
        """What comes from outside the game; a subclass knows."""

    def network(self) -> None:
        http = self.game.http
        http.failure = self.random.choice([None, None, ("Couldn't connect to server", 7)])
        http.delay = self.random.choice([0, 0, 0, 0.4, 7])
        http.drop = self.random.random() < 0.15
        http.body = self.random.choice([None, None, None, "<html>", ""])

    def calm(self, seconds: float) -> None:
        """The network is well again, and time passes."""
        http = self.game.http
        http.failure = http.body = None
        http.delay, http.drop = 0.0, False
        self.game.run(seconds)
