"""The scoreboard: what players have done on this map and in this round (tf_gamestats.cpp, tf_player_resource.cpp).

The statistics themselves change at once. Plugins read copies: of each player `m_ScoreData` (the map) and
`m_RoundScoreData` (the round), and the arrays of tf_player_manager; all are refreshed every 0.1 s
(`CPlayerResource::ResourceThink`), damage and healing in the arrays once a second and only of the round.
"""

from operator import itemgetter
from typing import TYPE_CHECKING

from .entities import Entity
from .players import SCORE_FIELDS, Player

if TYPE_CHECKING:
    from .game import Game

REFRESH, REFRESH_SLOWLY = 0.1, 1.0
MAP_TABLE, ROUND_TABLE = "m_ScoreData", "m_RoundScoreData"
FIRST_OFFSET = 6000
SCORE_RANGE = (FIRST_OFFSET, FIRST_OFFSET + 8 * len(SCORE_FIELDS))
SCORE_OFFSETS = {MAP_TABLE: FIRST_OFFSET, ROUND_TABLE: FIRST_OFFSET + 4 * len(SCORE_FIELDS)} | {
    field: FIRST_OFFSET + 4 * number for number, field in enumerate(SCORE_FIELDS)
}
"""Where a property lies in a player. Both tables hold the same names, and a lookup by name alone finds the map's."""

_DIVISORS = {
    "m_iHeadshots": 2, "m_iKillAssists": 2, "m_iTeleports": 2, "m_iHealPoints": 600, "m_iDamageDone": 600,
    "m_iDamageAssist": 600, "m_iHealingAssist": 600, "m_iDamageBlocked": 600, "m_iBonusPoints": 10,
}  # fmt: skip
_WORTH = {
    "m_iKills": 1, "m_iDefenses": 1, "m_iBuildingsDestroyed": 1, "m_iBackstabs": 1, "m_iInvulns": 1, "m_iRevenge": 1,
}  # fmt: skip


def points(stats: dict[str, int], *, powerup: bool = False) -> int:
    """`CTFGameRules::CalcPlayerScore` (tf_gamerules.cpp): each part is rounded down by itself, deaths cost nothing.

    >>> points({"m_iKills": 3, "m_iCaptures": 2, "m_iKillAssists": 3, "m_iDamageDone": 1199, "m_iDeaths": 9})
    9
    """
    total = sum(stats.get(field, 0) * worth for field, worth in _WORTH.items())
    total += sum(stats.get(field, 0) // divisor for field, divisor in _DIVISORS.items())
    return total + stats.get("m_iCaptures", 0) * (5 if powerup else 2)


class Scoreboard:
    """Counts what players do and shows it with the game's delays."""

    def __init__(self, game: "Game") -> None:
        self.game = game
        self.manager: Entity | None = None
        self._next = self._next_slowly = 0.0

    def start_map(self) -> None:
        """Give tf_player_manager its arrays, one place per slot (index 0 is nobody)."""
        index = self.game.entities.after(-1, "tf_player_manager")
        self.manager = self.game.entities.get(index) if index != -1 else None
        if self.manager is not None:
            places = self.game.slots + 1
            for name in (*_COPIED, "m_bAlive", "m_bConnected", *_SLOW):
                self.manager.props[name] = [0] * places
            self.manager.props["m_flNextRespawnTime"] = [0.0] * places

    def count(self, player: Player, field: str, amount: int = 1) -> None:
        """`IncrementStat`: for the map and for the round."""
        for stats in (player.map_stats, player.round_stats):
            stats[field] = stats.get(field, 0) + amount
        player.scores_changed = True

    def start_round(self) -> None:
        """`ResetRoundStats`, at every PREROUND."""
        for player in self.game.in_game():
            player.round_stats.clear()
            player.scores_changed = True

    def reset_players(self) -> None:
        """`CTFPlayer::ResetScores` of all: kills, deaths and statistics start again."""
        for player in self.game.in_game():
            self.reset(player)

    def reset(self, player: Player) -> None:
        """`CTFPlayer::ResetScores`."""
        self.reset_stats(player)
        self.game.teams.dominations.forget(player)
        player.props |= {"m_iFrags": 0, "m_iDeaths": 0}

    def reset_stats(self, player: Player) -> None:
        """`CTFGameStats::ResetPlayerStats`."""
        player.map_stats.clear()
        player.round_stats.clear()
        player.scores_changed = True

    def forget(self, player: Player) -> None:
        """`UpdateDisconnectedPlayer`: the slot is shown as empty."""
        if self.manager is not None:
            self.manager.props["m_bConnected"][player.index] = 0  # type: ignore[index]

    def total(self, player: Player) -> int:
        """The points of a player on this map, at once."""
        return points(player.map_stats, powerup=self.game.mode.powerup)

    def read(self, player: Player, offset: int) -> int:
        """The integer at an offset of a player's class, as GetEntData reads it."""
        table, place = divmod((offset - FIRST_OFFSET) // 4, len(SCORE_FIELDS))
        shown = player.shown_scores[ROUND_TABLE if table else MAP_TABLE]
        return shown.get(SCORE_FIELDS[place], 0)

    def think(self) -> None:
        """`ResourceThink`."""
        if self.game.now < self._next:
            return
        self._next = self.game.now + REFRESH
        slowly = self.game.now > self._next_slowly
        if slowly:
            self._next_slowly = self.game.now + REFRESH_SLOWLY
        for player in self.game.in_game():
            if player.scores_changed:
                self._show(player)
            if self.manager is not None:
                self._show_in_manager(self.manager, player, slowly)

    def _show(self, player: Player) -> None:
        player.scores_changed = False
        before = player.shown_scores[MAP_TABLE].get("m_iPoints", 0)
        for table, stats in ((MAP_TABLE, player.map_stats), (ROUND_TABLE, player.round_stats)):
            # UpdateStats (tf_player_shared.cpp): healing is sent in tens, bonus points as points.
            player.shown_scores[table] = stats | {
                "m_iHealPoints": stats.get("m_iHealPoints", 0) // 10 * 10,
                "m_iBonusPoints": stats.get("m_iBonusPoints", 0) // 10,
                "m_iPoints": points(stats, powerup=self.game.mode.powerup),
            }
        shown = player.shown_scores[MAP_TABLE]
        player.props |= {field: shown.get(field, 0) for field in SCORE_FIELDS if field != "m_iDeaths"}
        if shown["m_iPoints"] > before:
            self.game.fire("player_score_changed", player=player.index, delta=shown["m_iPoints"] - before)

    def _show_in_manager(self, manager: Entity, player: Player, slowly: bool) -> None:
        # A respawn time is 0 for the living, and on the game's clock.
        wave = 0.0 if player.alive else self.game.teams.spawning.next_wave(player)
        respawn = wave - self.game.now + self.game.map_time if wave else 0.0
        row = (*_copied(player.props), int(player.alive), 1, respawn)
        if row != player.shown_row:
            player.shown_row = row
            for name, value in zip((*_COPIED, "m_bAlive", "m_bConnected", "m_flNextRespawnTime"), row, strict=True):
                manager.props[name][player.index] = value  # type: ignore[index,assignment]
        if slowly:
            for name, field in _SLOW.items():
                manager.props[name][player.index] = player.round_stats.get(field, 0)  # type: ignore[index]


_COPIED = {
    "m_iScore": "m_iFrags", "m_iDeaths": "m_iDeaths", "m_iTotalScore": "m_iPoints", "m_iTeam": "m_iTeamNum",
    "m_iHealth": "m_iHealth", "m_iPlayerClass": "m_iClass", "m_bArenaSpectator": "m_bArenaSpectator",
}  # fmt: skip
_copied = itemgetter(*_COPIED.values())
_SLOW = {
    "m_iDamage": "m_iDamageDone", "m_iHealing": "m_iHealPoints", "m_iDamageAssist": "m_iDamageAssist",
    "m_iHealingAssist": "m_iHealingAssist", "m_iDamageBlocked": "m_iDamageBlocked", "m_iBonusPoints": "m_iBonusPoints",
}  # fmt: skip
