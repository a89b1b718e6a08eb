"""Teams, lives and deaths: what ChangeTeam, ForceRespawn and the engine's own balancing do."""

from typing import TYPE_CHECKING

from .entities import Entity
from .facts import BLU, DEAD, MEDIC, RED, SIDES, State, opponent
from .players import Player

if TYPE_CHECKING:
    from .game import Game

RESPAWN_WAVE = 8.0
BALANCE_AFTER = 10.0


class EngineOwnsTeams(AssertionError):
    """Arena with `tf_arena_use_queue 1`: the engine moves players as it likes, so no plugin may rely on teams."""


class Teams:
    """The four teams. `scores` are by team number."""

    def __init__(self, game: "Game") -> None:
        self.game = game
        self.scores = [0, 0, 0, 0]
        self._entities: list[Entity] = []
        self._unbalanced_since: float | None = None

    def start_map(self) -> None:
        """Fresh scores and team entities."""
        self.scores = [0, 0, 0, 0]
        add = self.game.entities.add
        self._entities = [add("tf_team", "CTFTeam", m_iTeamNum=t, m_iScore=0, m_iFlagCaptures=0) for t in range(4)]

    def members(self, team: int) -> list[Player]:
        """Players on a team, by slot."""
        return [player for player in self.game.in_game() if player.team == team]

    def entity(self, team: int) -> Entity:
        """The `tf_team` entity."""
        return self._entities[team]

    def check_queue(self) -> None:
        """In arena, refuse to go on while the engine owns the teams."""
        if self.game.mode.arena and self.game.sm.convars["tf_arena_use_queue"].number:
            raise EngineOwnsTeams("tf_arena_use_queue is 1")

    def change(self, player: Player, team: int, *, by_plugin: bool = False, auto: bool = False) -> None:
        """`CTFPlayer::ChangeTeam`: kills the living who change between RED and BLU unless `m_lifeState` says dead.

        The event comes before the change, so its hooks still see the old team. Going to the spectators does not
        count as a death.
        """
        if by_plugin:
            self.check_queue()
        old = player.team
        if team == old or player.stuck:
            return
        self._destroy_buildings(player)
        self._announce(player, team, auto=auto)
        underdog = team in SIDES and len(self.members(team)) < len(self.members(opponent(team)))
        player.team = team
        player.props |= {"m_hItem": -1, "m_nPlayerCond": 0}
        if team not in SIDES:
            player.set("m_lifeState", DEAD)
            player.respawn_at = None
        elif not player.dead and old in SIDES:
            self.suicide(player)
        if underdog and player.dead and player.desired_class and self._may_respawn():
            player.respawn_at = self.game.now

    def force_respawn(self, player: Player) -> None:
        """`CTFPlayer::ForceRespawn`: nothing without a class or a side, nor in arena outside rounds."""
        pregame = self.game.rounds.state == State.PREGAME
        if player.team not in SIDES or not player.desired_class or (self.game.mode.arena and pregame):
            return
        self.spawn(player)

    def spawn(self, player: Player) -> None:
        """Put a player into the world, alive."""
        if player.props["m_iClass"] != player.desired_class:
            self._arm(player)
        player.become_alive()
        self.game.fire("player_spawn", userid=player.userid, team=player.team, **{"class": player.desired_class})

    def kill(self, victim: Player, attacker: Player | None) -> None:
        """A death; without attacker by the world. Only kills of others score."""
        if not victim.alive:
            return
        victim.props |= {"m_lifeState": DEAD, "m_iHealth": 0, "m_iDeaths": victim.deaths + 1, "m_hItem": -1}
        if attacker is not None and attacker is not victim:
            attacker.set("m_iFrags", attacker.frags + 1)
        if self._may_respawn():
            victim.respawn_at = self.game.now + RESPAWN_WAVE
        by = attacker.userid if attacker else 0
        self.game.fire("player_death", userid=victim.userid, attacker=by, victim_entindex=victim.index, weapon="world")

    def suicide(self, player: Player) -> None:
        """A death by his own hand."""
        if player.alive:
            player.suicides += 1
            self.kill(player, player)

    def respawn_all(self) -> None:
        """`RespawnPlayers(true)`: everybody on a side who has chosen a class."""
        for player in self.game.in_game():
            if player.team in SIDES and player.desired_class:
                self.spawn(player)

    def switch_sides(self) -> None:
        """`HandleSwitchTeams`: players and scores change sides; one silent event each, nobody dies."""
        for player in self.members(RED) + self.members(BLU):
            self._announce(player, opponent(player.team), silent=True)
            player.team = opponent(player.team)
        self.scores[RED], self.scores[BLU] = self.scores[BLU], self.scores[RED]

    def would_unbalance(self, player: Player, team: int) -> bool:
        """Whether the jointeam command refuses: more than `mp_teams_unbalance_limit` ahead of the other side."""
        limit = int(self.game.sm.convars["mp_teams_unbalance_limit"].number)
        others = [p for p in self.game.in_game() if p is not player]
        lead = sum(p.team == team for p in others) + 1 - sum(p.team == opponent(team) for p in others)
        return limit > 0 and lead > limit

    def smaller(self, player: Player) -> int:
        """The side the auto-assign takes."""
        sizes = {side: sum(p.team == side for p in self.game.in_game() if p is not player) for side in SIDES}
        return min(SIDES, key=lambda side: (sizes[side], self.scores[side], side))

    def think(self) -> None:
        """One frame: respawn waves, and the engine's own balancing while it is switched on."""
        for player in self.game.in_game():
            if player.respawn_at is not None and self.game.now >= player.respawn_at:
                player.respawn_at = None
                if not player.alive and player.team in SIDES and self._may_respawn():
                    self.spawn(player)
        if self.game.rounds.state == State.RUNNING and not self.game.rounds.waiting:
            self._autobalance()

    def balance(self) -> None:
        """`BalanceTeams(false)` before a round: move the newest of the larger side at once."""
        while not self.game.mode.arena and (larger := self._larger()) is not None:
            self._balance_by(max(self.members(larger), key=lambda p: p.connected_at))

    def _larger(self) -> int | None:
        convars = self.game.sm.convars
        limit = int(convars["mp_teams_unbalance_limit"].number)
        gap = len(self.members(RED)) - len(self.members(BLU))
        if not convars["mp_autoteambalance"].number or not limit or abs(gap) <= limit:
            return None
        return RED if gap > 0 else BLU

    def _autobalance(self) -> None:
        larger = None if self.game.mode.arena else self._larger()
        if larger is None:
            self._unbalanced_since = None
        elif self._unbalanced_since is None:
            self._unbalanced_since = self.game.now
        elif self.game.now - self._unbalanced_since >= BALANCE_AFTER:
            dead = [p for p in self.members(larger) if not p.alive]
            self._balance_by(max(dead or self.members(larger), key=lambda p: p.connected_at))
            self._unbalanced_since = None

    def _balance_by(self, player: Player) -> None:
        side = opponent(player.team)
        self.change(player, side, auto=True)
        self.game.fire("teamplay_teambalanced_player", player=player.index, team=side)

    def _announce(self, player: Player, team: int, *, auto: bool = False, silent: bool = False) -> None:
        self.game.fire(
            "player_team", userid=player.userid, team=team, oldteam=player.team, disconnect=False, autoteam=auto,
            silent=silent, name=player.name,
        )  # fmt: skip

    def _may_respawn(self) -> bool:
        """Whether the dead come back by themselves: not in arena, not after a round was won."""
        return not self.game.mode.arena and self.game.rounds.state in (State.PREROUND, State.RUNNING)

    def _arm(self, player: Player) -> None:
        for weapon in player.weapons.values():
            self.game.entities.remove(weapon)
        player.weapons.clear()
        if player.desired_class == MEDIC:
            medigun = self.game.entities.add(
                "tf_weapon_medigun", "CWeaponMedigun", m_flChargeLevel=0.0, m_bChargeRelease=0, m_hOwner=player.index
            )
            player.weapons[1] = medigun

    def _destroy_buildings(self, player: Player) -> None:
        for building in player.buildings:
            self.game.entities.remove(building)
        player.buildings.clear()
