"""The mod on a fake server where anything happens in any order: people, rounds, orders, the network, other mods."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from tests.ns2mod.chaos import PEOPLE, Chaos
from tests.ns2mod.scene import Scene
from tests.ns2mod.scripted import assign, steam

Start = Callable[..., Scene]


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
def test_whatever_happens_the_mod_stays_quiet_and_what_it_reports_is_whole(scene: Start, shine: str, seed: int) -> None:
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
