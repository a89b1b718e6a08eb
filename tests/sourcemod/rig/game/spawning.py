"""Respawns: `ForceRespawn` (tf_player.cpp), `RespawnPlayers` and the waves (teamplayroundbased_gamerules.cpp)."""

from typing import TYPE_CHECKING

from . import buildings
from .carrying import drop_flag, eject_ball
from .facts import BLU, MEDIC, RED, SIDES, SPECTATOR, State
from .joining import join_class
from .players import Phase, Player

if TYPE_CHECKING:
    from .game import Game

STOCK_MEDIGUN = 29
WAVE_STATES = (State.PREGAME, State.PREROUND, State.RUNNING, State.BETWEEN_ROUNDS)
"""Where the states' thinks call `CheckRespawnWaves`: neither after a win nor in a stalemate."""
FULL_SIDE = 8


class Spawning:
    """Who comes to life when."""

    def __init__(self, game: "Game") -> None:
        self.game = game
        self._next_wave = {RED: 0.0, BLU: 0.0}

    def force_respawn(self, player: Player) -> None:
        """`CTFPlayer::ForceRespawn`: asks neither for the team nor whether they live.

        So a spectator with a class becomes a living spectator. Nothing happens without a class, and in arena before a
        round (PREGAME) or while waiting without the queue.
        """
        game = self.game
        if game.mode.arena:
            self._force_class(player)
            waiting = game.rounds.waiting and not self.game.number("tf_arena_use_queue")
            if waiting or game.rounds.state == State.PREGAME:
                return
        if not player.desired_class:
            return
        drop_flag(game, player)
        if player.current_class != player.desired_class:
            buildings.remove_owned(game, player)
        player.remove_conditions()
        eject_ball(player)
        player.phase, player.last_action = Phase.ACTIVE, game.now
        self._spawn(player)

    def respawn_players(self, force: bool, side: int | None = None) -> None:
        """`RespawnPlayers`: all who are ready, by slot; unless forced only the dead whose time has come."""
        for player in list(self.game.in_game()):
            if side is not None and player.team != side:
                continue
            if not player.ready:
                self._allow_instant_spawn(player)
            elif force or self._may_return(player, in_wave=side is not None):
                self.force_respawn(player)

    def check_waves(self) -> None:
        """`CheckRespawnWaves`, every frame of the states that have waves."""
        if self.game.rounds.state not in WAVE_STATES:
            return
        due = [side for side in SIDES if self._next_wave[side] <= self.game.now]
        # Nearly always all are alive and ready: then no wave changes anything, and this is every frame's work.
        waiting = due and any(not (player.alive and player.ready) for player in self.game.players.values())
        for side in due:
            if waiting:
                self.respawn_players(False, side)
            length = self.wave_length(side)
            self._next_wave[side] = self.game.now + length if length else 0.0

    def wave_length(self, side: int, *, scaled: bool = True) -> float:
        """`GetRespawnWaveMaxLength`: more than 5 s shrink with the side, from 8 players (all) to 1 (a quarter)."""
        off = self.game.number("mp_disable_respawn_times") or self.game.tournament.before_match
        if off or self.game.rounds.state != State.RUNNING:
            return 0.0
        length = self.game.rounds.wave_length(side)
        if scaled and length > 5 and not self.game.mode.mvm:
            players = min(max(len(self.game.teams.members(side)), 1), FULL_SIDE)
            length = max(5.0, length * (0.25 + 0.75 * (players - 1) / (FULL_SIDE - 1)))
        return length

    def earliest(self, player: Player) -> float:
        """`GetMinTimeWhenPlayerMaySpawn`: the death's freeze panel and one whole wave, however small the side."""
        died_at = player.died_at or 0.0
        return died_at + self.game.teams.lives.freeze_panel + self.wave_length(player.team, scaled=False)

    def next_wave(self, player: Player) -> float:
        """`GetNextRespawnWave`: the time of the first wave that may bring this player back; 0 in a stalemate."""
        if self.game.rounds.state == State.STALEMATE:
            return 0.0
        wave, length = self._next_wave.get(player.team, 0.0), self.wave_length(player.team)
        while length > 0 and wave < self.earliest(player):
            wave += length
        return wave

    def in_own_spawn_room(self, player: Player) -> bool:
        """Whether they stand in a spawn room of their side, where the freeze holds everybody."""
        return player.alive and (player.in_spawn_room or self.game.rounds.state == State.PREROUND)

    def _force_class(self, player: Player) -> None:
        """`tf_arena_force_class`: another class at random at each spawn, but not for the living in the round."""
        in_round = self.game.rounds.state == State.STALEMATE
        if self.game.number("tf_arena_force_class") and player.team in SIDES and not (player.alive and in_round):
            join_class(self.game, player, "random", may_spawn=False)

    def _spawn(self, player: Player) -> None:
        # CTFPlayer::Spawn: InitClass gives the weapons (post_inventory_application), then the event.
        medigun_kept = player.current_class == player.desired_class == MEDIC
        player.come_alive()
        self._arm(player, keep=medigun_kept)
        player.instant_spawn = False
        self.announce(player)

    def announce(self, player: Player) -> None:
        """The event of `CTFPlayer::Spawn`; players on no team spawn too, before the welcome screen."""
        fields = {"class": player.current_class}
        self.game.fire("player_spawn", userid=player.userid, team=player.team, **fields)

    def _arm(self, player: Player, *, keep: bool) -> None:
        # GiveDefaultItems: spectators get nothing. A medigun that is kept goes through WeaponReset
        # (tf_weapon_medigun.cpp): its charge is 0 outside a running round, in it at most what an attribute preserves.
        if not keep or player.team == SPECTATOR:
            self.disarm(player)
        if player.team == SPECTATOR:
            return
        if medigun := player.weapons.get(1):
            kept = player.charge_preserved if self.game.rounds.state == State.RUNNING else 0.0
            medigun.props["m_flChargeLevel"] = min(player.charge, kept)
        elif player.desired_class == MEDIC:
            player.weapons[1] = self.game.entities.add(
                "tf_weapon_medigun", "CWeaponMedigun", m_flChargeLevel=0.0, m_bChargeRelease=0, m_hOwner=player.index,
                m_iItemDefinitionIndex=STOCK_MEDIGUN,
            )  # fmt: skip
        self.game.fire("post_inventory_application", userid=player.userid)

    def disarm(self, player: Player) -> None:
        """`RemoveAllWeapons`."""
        for weapon in player.weapons.values():
            self.game.entities.remove(weapon)
        player.weapons.clear()

    def _may_return(self, player: Player, *, in_wave: bool) -> bool:
        if player.alive:
            return False
        if self.game.rounds.state == State.PREROUND:
            return True
        # CTFGameRules::HasPassedMinRespawnTime lets those without a class pass: they have never been alive.
        if in_wave and player.current_class and self.game.now <= self.earliest(player):
            return False
        if player.menu_open or player.phase == Phase.DYING:
            self._allow_instant_spawn(player)
            return False
        return True

    def _allow_instant_spawn(self, player: Player) -> None:
        # ShouldGainInstantSpawn: those without a class, or in the class menu, spawn as soon as they have chosen.
        if (not player.current_class or player.menu_open) and not self.game.mode.arena:
            player.instant_spawn = True
