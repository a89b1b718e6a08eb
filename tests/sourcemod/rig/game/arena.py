"""Arena's teams: who plays the next round, with the queue and without (tf_gamerules.cpp, CTFGameRules::Arena_*)."""

from typing import TYPE_CHECKING

from .facts import SIDES, SPECTATOR, State, opponent
from .players import Player
from .scores import points

if TYPE_CHECKING:
    from .game import Game

SIDE_SHARE = 3


class Arena:
    """`queue` holds those who wait for a round, the next to play first. Without `tf_arena_use_queue` it is not used."""

    def __init__(self, game: "Game") -> None:
        self.game = game
        self.queue: list[Player] = []
        self._joined: dict[Player, float] = {}
        self._just_played: set[Player] = set()

    @property
    def uses_queue(self) -> bool:
        """Whether the game itself moves players between rounds."""
        return self.game.mode.arena and bool(self.game.number("tf_arena_use_queue"))

    def add(self, player: Player, *, front: bool = False) -> None:
        """`AddPlayerToQueue` and `AddPlayerToQueueHead`: not who asked to only watch."""
        if self.uses_queue and player not in self.queue and not player.arena_spectator:
            self.queue.insert(0 if front else len(self.queue), player)

    def remove(self, player: Player) -> None:
        """`RemovePlayerFromQueue`."""
        if player in self.queue:
            self.queue.remove(player)

    def may_play(self) -> bool:
        """`CTFGameRules::BHavePlayers` for arena: two in the queue, or somebody on either side."""
        if len(self.queue) >= 2:
            return True
        return all(self.game.teams.members(side) for side in SIDES) and self.game.rounds.anybody_ready

    def run(self) -> None:
        """`Arena_RunTeamLogic`, inside each PREROUND: it may leave that state for PREGAME, and the caller goes on."""
        game = self.game
        if not game.mode.arena or game.rounds.waiting or game.number("mp_tournament"):
            return
        playable = self.may_play()
        if not self.uses_queue:
            if not playable or not all(game.teams.members(side) for side in SIDES):
                game.rounds.enter(State.PREGAME)
            return
        reset = not playable or self._end_streak()
        self._reset_scores(everything=reset)
        self._bench_losers(everything=reset)
        if playable:
            self._fill(self._needed())
        else:
            game.rounds.enter(State.PREGAME)

    def replace(self) -> None:
        """`Arena_ClientDisconnect`: somebody left in the freeze, and the head of the queue takes the place."""
        if not self.uses_queue or self.game.rounds.state != State.PREROUND or self.game.number("mp_tournament"):
            return
        red, blu = (len(self.game.teams.members(side)) for side in SIDES)
        for player in self.queue[: abs(red - blu)]:
            self._seat(player, self.game.teams.auto_team(player))
            self.remove(player)

    def _end_streak(self) -> bool:
        limit = int(self.game.number("tf_arena_max_streak"))
        rounds = self.game.rounds
        if limit <= 0 or rounds.winner not in SIDES or self.game.teams.scores[rounds.winner] < limit:
            return False
        self.game.fire("arena_match_maxstreak", team=rounds.winner, streak=limit)
        rounds.set_winner(0)
        return True

    def _reset_scores(self, *, everything: bool) -> None:
        """`Arena_ResetLosersScore`."""
        winner, scores = self.game.rounds.winner, self.game.teams.scores
        for team in range(len(scores)):
            if everything or (winner in SIDES and team != winner):
                scores[team] = 0

    def _bench_losers(self, *, everything: bool) -> None:
        """`Arena_PrepareNewPlayerQueue`: the losers watch, and queue up behind those who waited."""
        winner = self.game.rounds.winner
        losers = [p for p in self.game.in_game() if p.ready and (everything or (winner in SIDES and p.team != winner))]
        if everything:
            losers.sort(key=lambda p: points(p.map_stats), reverse=True)
        else:
            losers.sort(key=lambda p: (-self._joined.get(p, 0.0), p.connected_at))
        for player in losers:
            self.game.teams.change(player, SPECTATOR)
            self._just_played.add(player)

    def _needed(self) -> int:
        """`Arena_PlayersNeededForMatch`: winners above the size of a side are benched, too."""
        game, winner = self.game, self.game.rounds.winner
        size = int(game.number("tf_arena_override_team_size")) or int(game.slots / SIDE_SHARE + 0.5)
        ready = sum(player.ready for player in game.in_game())
        balanced = (len(self.queue) + ready) // 2
        needed = max(min(2 * balanced, 2 * size) - ready, 0)
        if winner in SIDES:
            room = size if len(game.teams.members(winner)) > size else balanced
            while len(winners := game.teams.members(winner)) > room:
                self._bench_winner(max(winners, key=lambda p: self._joined.get(p, 0.0)), winner)
                needed += needed < room
        return needed

    def _bench_winner(self, player: Player, side: int) -> None:
        self.game.teams.force_change(player, SPECTATOR)
        self._joined[player] = self.game.now
        self.game.fire("teamplay_teambalanced_player", player=player.index, team=opponent(side))

    def _fill(self, needed: int) -> None:
        """The winner's side gets players until it has half of all, the rest go to the smaller side."""
        game, winner = self.game, self.game.rounds.winner
        red, blu = (len(game.teams.members(side)) for side in SIDES)
        if needed > 0 and (red != blu or not red):
            winners = len(game.teams.members(winner)) if winner in SIDES else 0
            first = (winners + needed) // 2 - winners if winner in SIDES else 0
            for i, player in enumerate(self.queue[:needed]):
                self._seat(player, winner if i < first else game.teams.auto_team(player))
        self.queue[:] = [player for player in self.queue if player.team == SPECTATOR]
        self._just_played.clear()

    def _seat(self, player: Player, side: int) -> None:
        self.game.teams.force_change(player, side)
        if player not in self._just_played:
            self._joined[player] = self.game.now
