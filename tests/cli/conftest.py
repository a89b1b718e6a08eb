"""A configured folder, and a daemon that serves it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.house import House, post, serving
from tests.wire.samples import KOTH, RED, ROUND, posted, seats


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House.made(tmp_path)


@pytest.fixture
def daemon(house: House) -> Iterator[str]:
    with serving(house) as (_, address):
        roster = {"kind": "roster", "players": seats([str(int(RED) + n) for n in range(6)])}
        hello = {**KOTH, "map": "koth_nucleus"}
        post(address, house.secret, posted(hello, roster, {**ROUND, "map": "koth_nucleus"}, seq=1))
        yield address
