"""Whom the dead and the spectators watch: `m_hObserverTarget` (tf_player.cpp, player.cpp).

Two ways lead to another target. When the watched player has been dead for 3 s, `ValidateCurrentObserverTarget` stores
the next one directly. When the watched player has left or may not be watched, `SetObserverTarget` does it, which
restarts the observer's idle clock. Where the game looks for the nearest player, the rig takes the first by slot.
"""

from typing import TYPE_CHECKING

from .facts import SPECTATOR
from .players import ObserverMode, Phase, Player

if TYPE_CHECKING:
    from .game import Game

LOOK = 0.1
DEATH_ANIMATION = 3.0


class Observers:
    """The observers of a map; `player.watched` is the target."""

    def __init__(self, game: "Game") -> None:
        self.game = game
        self._next = 0.0

    def think(self) -> None:
        """`CheckObserverSettings` of everybody, ten times a second instead of every frame."""
        if self.game.now < self._next:
            return
        self._next = self.game.now + LOOK
        for player in self.game.in_game():
            if player.phase == Phase.OBSERVER and not player.alive:
                self._validate(player)

    def start(self, player: Player) -> None:
        """`StateEnterOBSERVER`: in chase mode, watching the player found by `FindInitialObserverTarget`."""
        player.props["m_iObserverMode"] = ObserverMode.CHASE
        self._find_first(player)

    def watch(self, player: Player, target: Player | None) -> None:
        """Store a target, as a death does with the killer."""
        player.watched = target
        player.props["m_hObserverTarget"] = -1 if target is None else target.index

    def _validate(self, player: Player) -> None:
        watched = player.watched
        if watched is not None and watched.in_game and not watched.alive:
            if (watched.died_at or 0.0) + DEATH_ANIMATION < self.game.now:
                self._find_first(player)
            return
        if watched is not None and self._may_watch(player, watched):
            return
        following = self._following(player)
        self.watch(player, following)
        player.props["m_iObserverMode"] = ObserverMode.FIXED if following is None else ObserverMode.CHASE
        if following is not None:
            player.last_action = self.game.now

    def _find_first(self, player: Player) -> None:
        """`FindNearestObservableTarget`: without anybody to watch the old target stays."""
        if (target := next((p for p in self.game.in_game() if self._may_watch(player, p)), None)) is not None:
            self.watch(player, target)

    def _following(self, player: Player) -> Player | None:
        """`FindNextObserverTarget`: by slot from the old target on, or from the observer."""
        start = player.index if player.watched is None or not player.watched.in_game else player.watched.index
        by_slot = sorted(self.game.in_game(), key=lambda p: (p.index <= start, p.index))
        return next((p for p in by_slot if self._may_watch(player, p)), None)

    def _may_watch(self, player: Player, target: Player) -> bool:
        """`IsValidObserverTarget`, with `mp_forcecamera` at its default: players of a side watch their own."""
        if target is player or not target.in_game:
            return False
        if not target.alive and (target.died_at is None or target.died_at + DEATH_ANIMATION < self.game.now):
            return False
        return player.team == SPECTATOR or player.team == target.team
