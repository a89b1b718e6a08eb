"""A configured folder, and a daemon that serves it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.house import House, post, serving
from tests.wire.samples import HELLO, RED, ROUND, posted


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House.made(tmp_path)


@pytest.fixture
def daemon(house: House) -> Iterator[str]:
    with serving(house) as (_, address):
        players = [{"id": str(int(RED) + n), "side": ("red", "blu")[n % 2]} for n in range(6)]
        roster = {"kind": "roster", "players": players}
        hello = {**HELLO, "map": "koth_nucleus", "phase": "running", "facts": {"game_type": 2, "koth": True}}
        post(address, house.secret, posted(hello, roster, {**ROUND, "map": "koth_nucleus"}, seq=1))
        yield address
