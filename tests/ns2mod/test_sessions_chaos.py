"""A whole evening with a real daemon on which anything happens in any order."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.ns2mod.chaos import Chaos
from tests.ns2mod.sessions import ALIENS, MARINES, Evening

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
