"""`mp_autoteambalance 2`: candidates by score, the dead go first, the rest is warned (tf_autobalance.cpp)."""

from enum import Enum, auto
from typing import TYPE_CHECKING

from .facts import SIDES, State, opponent
from .players import Player
from .scores import points

if TYPE_CHECKING:
    from .game import Game

SHARE = 0.4


class Step(Enum):
    """`autobalance_state_t`."""

    MONITOR = auto()
    DEAD = auto()
    WARNED = auto()


class Autobalance:
    """CTFAutobalance: thinks every frame after the rules."""

    def __init__(self, game: "Game") -> None:
        self.game = game
        self._reset()

    def think(self) -> None:
        """`FrameUpdatePostEntityThink`."""
        if self.game.number("mp_autoteambalance") != 2 or self._off():
            if self._step is not Step.MONITOR:
                self._reset()
            return
        match self._step:
            case Step.MONITOR:
                self._monitor()
            case Step.DEAD:
                self._move_dead()
            case Step.WARNED:
                self._move_warned()

    def _off(self) -> bool:
        game = self.game
        return bool(
            game.mode.training or (game.mode.arena and game.number("tf_arena_use_queue"))
            or game.number("mp_tournament") or game.number("mp_teams_unbalance_limit") <= 0
        )  # fmt: skip

    def _reset(self) -> None:
        self._step = Step.MONITOR
        self._until: float | None = None
        self._candidates: list[Player] = []

    def _heavy(self) -> tuple[int, int] | None:
        """The side with too many players, and how many of them have to go."""
        rounds, rules = self.game.rounds, self.game.rules.props
        if rounds.state != State.RUNNING or rules["m_bHelltowerPlayersInHell"]:
            return None
        red, blu = (len(self.game.teams.members(side)) for side in SIDES)
        if abs(red - blu) <= self.game.number("mp_teams_unbalance_limit"):
            return None
        return SIDES[0] if red > blu else SIDES[1], abs(red - blu) // 2

    def _monitor(self) -> None:
        uneven = self._heavy()
        if uneven is None:
            self._until = None
        elif self._until is None:
            self._until = self.game.now
        else:
            self._candidates = self._choose(*uneven)
            if self._candidates:
                self._step = Step.DEAD
                self._until = self.game.now + self.game.number("tf_autobalance_dead_candidates_maxtime")

    def _choose(self, heavy: int, needed: int) -> list[Player]:
        """`FindCandidates`: two for each place or 40 % of the side, those whose score would even the sides first."""
        members = self.game.teams.members(heavy)
        able = [player for player in members if self.game.teams.balancing.may_be_moved(player)]
        scores = {p: points(p.map_stats) for p in self.game.players.values()}
        total = sum(scores.values())
        if not total and len(able) > 1:
            return []  # 0 / 0 is no number, so nobody is closest to it
        # GetTeamAutoBalanceScore assigns where it means to add: the share of a side is that of its last player.
        last = [self.game.teams.members(side)[-1:] for side in SIDES]
        shares = [sum(scores[player] for player in players) / max(total, 1) for players in last]
        wanted = abs(shares[0] - shares[1]) / 2 / needed
        able.sort(key=lambda player: abs(wanted - scores[player] / max(total, 1)))
        return able[: max(needed * 2, int(len(members) * SHARE))]

    def _move_dead(self) -> None:
        uneven = self._heavy()
        if uneven is None:
            self._reset()
        elif self._until is not None and self.game.now > self._until:
            self._candidates = self._candidates[: uneven[1]]
            self._step = Step.WARNED
            self._until = self.game.now + self.game.number("tf_autobalance_force_candidates_maxtime")
        else:
            self._move([p for p in self._candidates if p.in_game and p.dead and not p.alive], uneven)

    def _move_warned(self) -> None:
        if self._until is not None and self.game.now > self._until:
            if (uneven := self._heavy()) is not None:
                self._move(self._candidates, uneven)
            self._reset()

    def _move(self, players: list[Player], uneven: tuple[int, int]) -> None:
        """`PlayerChangeTeam`: unlike the other balancing this one respawns."""
        heavy, needed = uneven
        for player in players[:needed]:
            if player.in_game and player.team == heavy:
                self._candidates = [p for p in self._candidates if p is not player]
                self.game.teams.change(player, opponent(heavy))
                self.game.teams.force_respawn(player)
                self.game.fire("teamplay_teambalanced_player", player=player.index, team=opponent(heavy))
