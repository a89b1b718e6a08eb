"""A fake NS2 server with the mod's real files, and the daemon's side of its protocol as a script."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ns2mod.evening import Evening
from tests.ns2mod.rig import Game
from tests.ns2mod.scripted import Peer

MOD = Path(__file__).parents[2] / "ns2mod"


@pytest.fixture
def peer() -> Iterator[Peer]:
    peer = Peer()
    yield peer
    peer.close()


@pytest.fixture
def evening(peer: Peer) -> Iterator[Callable[..., Evening]]:
    """Starts a server with the mod, settings written; a script error, or a batch that is none, fails the test."""
    started: list[Evening] = []

    def start(mods: Iterable[Path] = (), **options: Any) -> Evening:
        game = Game([MOD, *mods], **options)
        game.files.put("Equipoise.json", json.dumps({"url": peer.url, "server": "eu-1", "secret": "s3cret"}))
        game.boot()
        started.append(Evening(game, peer))
        return started[-1]

    yield start
    for one in started:
        assert one.game.errors == []
        assert one.peer.faults == []
