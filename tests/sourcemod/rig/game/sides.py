"""Side switches and the game's own scrambles (tf_gamerules.cpp, teamplayroundbased_gamerules.cpp)."""

from itertools import product
from typing import TYPE_CHECKING

from .facts import SIDES, SPECTATOR, opponent
from .players import Player
from .scores import points

if TYPE_CHECKING:
    from .game import Game

PASSES = 8
SCRAMBLE_ALERT = 0


class Sides:
    """What the game does with whole teams. `switch_pending` and `scramble_pending` act in the next PREROUND."""

    def __init__(self, game: "Game") -> None:
        self.game = game
        self.switch_pending = self.scramble_pending = False
        self._wins = dict.fromkeys(SIDES, 0)

    # Between rounds.

    def start_round(self) -> None:
        """RoundRespawn: what is pending happens before anybody spawns."""
        if self.switch_pending and not self.game.mode.mvm:
            self.game.rules.props["m_bSwitchedTeamsThisRound"] = 1
            self._switch()
        self.switch_pending = False
        if self.scramble_pending and not self.game.mode.mvm:
            self._scramble()
        self.scramble_pending = False

    def _switch(self) -> None:
        """`HandleSwitchTeams`: players in the order of their slots, then the scores; who duels or coaches stays."""
        teams = self.game.teams
        for player in list(self.game.in_game()):
            if player.team in SIDES:
                teams.force_change(player, opponent(player.team), full=True)
        red, blu = SIDES
        teams.scores[red], teams.scores[blu] = teams.scores[blu], teams.scores[red]
        self._wins[red], self._wins[blu] = self._wins[blu], self._wins[red]
        self.game.rules.props["m_bTeamsSwitched"] = int(not self.game.rules.props["m_bTeamsSwitched"])
        convar = self.game.sm.convars["mp_humans_must_join_team"]
        convar.set({"red": "blue", "blue": "red"}.get(convar.value, convar.value))

    def _scramble(self) -> None:
        """`HandleScrambleTeams`: all watch for a moment, then the best first, each to the smaller side."""
        game = self.game
        players = [p for side in SIDES for p in game.teams.members(side) if not p.duel]
        players.sort(key=_score, reverse=True)
        for player in reversed(players):
            game.teams.force_change(player, SPECTATOR)
        for player in players:
            game.teams.force_change(player, game.teams.auto_team(player))
        if len(players) > 2 and abs(_ahead(players)) > 1:
            for _ in range(PASSES):
                if not self._swap(players):
                    break
        self._wins = dict.fromkeys(SIDES, 0)

    def _swap(self, players: list[Player]) -> bool:
        """`FindAndSwapPlayersToBalanceTeams`: the first pair whose exchange brings the scores closer."""
        ahead = _ahead(players)
        for one, other in product(*([p for p in players if p.team == side] for side in SIDES)):
            if abs(ahead - 2 * (_score(one) - _score(other))) < abs(ahead):
                for player in (one, other):
                    self.game.teams.force_change(player, opponent(player.team))
                return True
        return False

    # mp_scrambleteams_auto.

    def count_win(self, winner: int) -> None:
        """SetWinningTeam's last lines, after a full win: a side that leads by enough wins makes a scramble pending."""
        game = self.game
        if not game.number("mp_scrambleteams_auto") or not self._may_scramble() or winner not in SIDES:
            return
        self._wins[winner] += 1
        if abs(self._wins[SIDES[0]] - self._wins[SIDES[1]]) >= game.number("mp_scrambleteams_auto_windifference"):
            self.alert()
            self.scramble_pending = True

    def alert(self) -> None:
        """The players are told that teams will be scrambled."""
        self.game.fire("teamplay_alert", alert_type=SCRAMBLE_ALERT)

    def _may_scramble(self) -> bool:
        game, number = self.game, self.game.number
        if game.mode.arena or game.mode.mvm or number("mp_tournament") or game.text("nextlevel"):
            return False
        if number("mp_timelimit") > 0 and game.limits.time_left <= 300:
            return False
        last_round = number("mp_maxrounds") - game.rounds.played == 1
        last_win = any(number("mp_winlimit") - game.teams.scores[side] == 1 for side in SIDES)
        return not (last_round or last_win)


def _score(player: Player) -> int:
    """Points on the scoreboard."""
    return points(player.map_stats)


def _ahead(players: list[Player]) -> int:
    """By how many points the first side leads."""
    return sum(_score(player) if player.team == SIDES[0] else -_score(player) for player in players)
