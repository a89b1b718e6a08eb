"""Anything happens in any order: people, rounds, orders, the network, the map, other mods."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from tests.ns2mod.rig import Client, Game
from tests.ns2mod.scripted import Scene, assign, steam
from tests.ns2mod.sessions import ALIENS, MARINES, Evening

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


class Ordered(Chaos):
    """The daemon orders anything."""

    def __init__(self, one: Scene, seed: int) -> None:
        super().__init__(one.game, seed)
        self.one = one
        self.number = 0

    def orders(self) -> None:
        self.number += 1
        name, account, side = f"o{self.number}", self.random.choice(PEOPLE), self.random.choice(["marines", "aliens"])
        here = [client.account_id for client in self.game.clients] or PEOPLE
        mixed = self.random.sample(here, len(here))
        half = len(mixed) // 2 + self.random.choice([0, 0, 0, 1])
        reason = {"phrase": "Equipoise_ReasonVote", "args": []}
        one = {"id": steam(account), "side": side, "reason": reason}
        order: dict[str, Any] = self.random.choice(
            [
                assign(name, mixed[:half], mixed[half:], self.random.choice(["freeze", "now"])),
                {"kind": "move", "order": name, "deadline": 1e9, **one},
                {"kind": "place", **one},
                {"kind": "lock", "seconds": self.random.choice([0, 20]), **one},
                {"kind": "unlock", "ids": [steam(account)]},
                {"kind": "cancel", "order": f"o{self.random.randint(1, self.number)}"},
                {"kind": "tell", "id": steam(account), "lines": [reason]},
                {"kind": "say", "text": reason},
            ]
        )
        self.one.daemon.orders.append(order)
        pending = self.random.random() < 0.3
        ids = [steam(each) for each in here]
        split = "".join("AB"[i % 2] for i in range(len(ids)))
        self.one.daemon.fields = {"pending": pending, "cache": {"ids": ids, "splits": [split]}}


@pytest.mark.parametrize(("shine", "seed"), [("none", 0), ("outside", 1), ("outside", 2), ("inside", 3), ("inside", 4)])
def test_whatever_happens_the_mod_stays_quiet_and_what_it_reports_is_whole(
    scene: Callable[..., Scene], shine: str, seed: int
) -> None:
    one = scene(shine=shine)
    chaos = Ordered(one, seed)
    for _ in range(250):
        chaos.step()
        assert one.game.errors == []
    chaos.calm(40)
    answered = [event["order"] for kind in ("order_done", "order_failed") for event in one.daemon.events(kind)]
    sent = {(batch["boot"], batch["seq"]) for batch in one.daemon.batches}
    assert len(sent) > 20
    assert set(answered) <= {f"o{number}" for number in range(1, chaos.number + 1)}
    assert not any("Error in" in line for line in one.game.messages)
    assert one.daemon.events("round_ended")
    for event in one.daemon.events("round_ended"):
        check_spans(event)


def check_spans(event: dict[str, Any]) -> None:
    for line in event["players"]:
        spans = line["spans"]
        assert all(0 <= span["from"] < span["to"] <= event["seconds"] + 1e-9 for span in spans), event
        assert all(before["to"] <= after["from"] for before, after in pairwise(spans)), event


COMMANDS = ("shuffle now", "shuffle next", "shuffle dry", "shuffle cancel", "choice", "balance", "status", "why")


class Commanded(Chaos):
    """Admins ask for anything."""

    def orders(self) -> None:
        assert self.game.console(f"sv_eq_{self.random.choice(COMMANDS)}")


@pytest.mark.slow
@pytest.mark.world
@pytest.mark.parametrize("seed", range(3))
def test_whatever_happens_the_daemon_refuses_nothing_and_knows_who_plays_where(
    new_evening: Callable[..., Evening], seed: int
) -> None:
    evening = new_evening(
        "[vote]\nmin_players = 4\n[scramble]\nmin_players = 4\n", shine=("none", "outside", "inside")[seed]
    )
    chaos = Commanded(evening.game, seed)
    for _ in range(400):
        chaos.step()
    chaos.calm(70)

    status = evening.status()
    here = {client.account_id: client.team for client in evening.game.clients if client.account_id}
    assert [status["players_a"], status["players_b"]] == [list(here.values()).count(side) for side in (MARINES, ALIENS)]
    assert (status["lost"], status["stale_scripts"], status["dropped_rounds"]) == (False, [], 0)
    assert [line for line in evening.game.messages if "Error in" in line or "refuses" in line] == []
    assert "Traceback" not in (evening.daemon.folder / "daemon.log").read_text()
