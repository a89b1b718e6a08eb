"""Orders that the scripted daemon gives, and what must hold for players who were moved."""

from tests.sourcemod.answerer import Daemon, ids, poll
from tests.sourcemod.rig import Game, Player

WHY = {"phrase": "Equipoise_ReasonStreak", "args": ["3"]}
VETO = 3


def assign(
    game: Game,
    daemon: Daemon,
    red: list[Player],
    blu: list[Player],
    bench: list[Player] | None = None,
    moment: str = "freeze",
    purpose: str = "equal_sides",
) -> None:
    """New teams."""
    teams = {"red": ids(red), "blu": ids(blu), "bench": ids(bench or [])}
    daemon.order("assign", order="a-1", reason=WHY, moment=moment, purpose=purpose, **teams)
    poll(game)


def move(game: Game, daemon: Daemon, player: Player, side: str, deadline: float = 5.0, order: str = "m-1") -> None:
    """A move of one player."""
    daemon.order("move", order=order, reason=WHY, id=str(player.steamid), side=side, deadline=deadline)
    poll(game)


def unharmed(*players: Player) -> bool:
    """No player died, and the living wear the colours of their side."""
    return all(p.deaths == 0 and p.suicides == 0 and not p.misplaced for p in players)
