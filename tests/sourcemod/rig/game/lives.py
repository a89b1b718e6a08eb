"""How players die: `CTFPlayer::Event_Killed`, `CommitSuicide` and the dying that follows (tf_player.cpp, player.cpp).

Within a death the game fires player_death first, while `m_lifeState` still says alive and the flag is in the victim's
hands; then it counts the death and the kill, then the victim is dying (1), then the flag drops. The next frame's
death camera makes `m_lifeState` 2. For 6.4 s from the death the victim stays in the phase DYING, which no respawn wave
ends, except in a freeze.
"""

from typing import TYPE_CHECKING

from . import buildings
from .carrying import carried, drop_flag, eject_ball
from .facts import DEAD, DYING, ENGINEER, State, Value
from .players import ObserverMode, Phase, Player

if TYPE_CHECKING:
    from .game import Game

SUICIDE = 6
"""TF_DMG_CUSTOM_SUICIDE (tf_shareddefs.h)."""
FIRST_BLOOD, FEIGNED = 0x10, 0x20
DEFENDED = 3
SUICIDE_DAMAGE = 1 << 11 | 1 << 12
SUICIDE_PAUSE = 5.0
DEATH_ANIMATION = 2.0


class Lives:
    """Deaths on a map. `first_blood` says whether arena's first kill of the round has happened."""

    def __init__(self, game: "Game") -> None:
        self.game = game
        self.first_blood = False
        self._dying: list[Player] = []

    @property
    def freeze_panel(self) -> float:
        """Seconds from a death to the end of its freeze panel."""
        number = self.game.number
        return DEATH_ANIMATION + number("spec_freeze_traveltime") + number("spec_freeze_time")

    def kill(
        self, victim: Player, attacker: Player | None, *, assister: Player | None = None, customkill: int = 0
    ) -> None:
        """A death; without attacker by the world. Kills of others count for the attacker, and for who assisted."""
        if not victim.alive:
            return
        if attacker is not None and attacker is not victim and (flag := carried(self.game, victim)):
            self.game.fire(
                "teamplay_flag_event", player=attacker.index, eventtype=DEFENDED, carrier=victim.index, priority=8,
                team=int(flag.props["m_iTeamNum"]),  # type: ignore[arg-type]
            )  # fmt: skip
        flags = self._first_blood(victim, attacker)
        if attacker is not None and attacker is not victim:
            flags |= self.game.teams.dominations.kill(attacker, victim)
        if assister is not None:
            # CTFGameRules::PlayerKilled (tf_gamerules.cpp): Event_AssistKill, before the death is announced.
            self.game.teams.scoreboard.count(assister, "m_iKillAssists")
        self.announce(victim, attacker, assister=assister, customkill=customkill, flags=flags)
        self._count(victim, attacker)
        victim.props["m_lifeState"], victim.died_at = DYING, self.game.now
        victim.props["m_iHealth"] = 0
        drop_flag(self.game, victim)
        eject_ball(victim)
        for weapon in victim.weapons.values():
            weapon.props["m_flChargeLevel"] = 0.0
        victim.phase = Phase.DYING
        self.game.teams.observers.watch(victim, attacker)
        self._dying.append(victim)
        victim.remove_conditions()
        sudden_death = self.game.rounds.state == State.STALEMATE and not self.game.mode.arena
        if sudden_death and victim.current_class == ENGINEER:
            for building in reversed(list(victim.buildings)):
                buildings.detonate(self.game, victim, building)

    def suicide(self, player: Player, *, forced: bool = True) -> None:
        """`CommitSuicide`. The player's own wish (`forced` false) fails in a lost round and within 5 s of the last."""
        rounds = self.game.rounds
        if player.current_class == 0 or player.phase != Phase.ACTIVE or player.transformed or not player.alive:
            return
        lost = rounds.state == State.TEAM_WIN and player.team != self.game.rules.props["m_iWinningTeam"]
        if not forced and (lost or player.next_suicide > self.game.now):
            return
        player.next_suicide = self.game.now + SUICIDE_PAUSE
        player.suicides += 1
        self.kill(player, player, customkill=SUICIDE)

    def feign(self, spy: Player, attacker: Player) -> None:
        """A Dead Ringer: the event of a death that did not happen (`CTFPlayer::FeignDeath`)."""
        self.announce(spy, attacker, flags=FEIGNED)

    def announce(
        self,
        victim: Player,
        attacker: Player | None,
        *,
        assister: Player | None = None,
        customkill: int = 0,
        flags: int = 0,
    ) -> None:
        """`CTFGameRules::DeathNotice` (tf_gamerules.cpp): the event player_death."""
        suicide = customkill == SUICIDE
        fields: dict[str, Value] = {
            "userid": victim.userid, "victim_entindex": victim.index, "attacker": attacker.userid if attacker else 0,
            "assister": assister.userid if assister else -1, "customkill": customkill,
            "weapon": "world" if suicide or not attacker else "scattergun",
            "inflictor_entindex": attacker.index if attacker else 0, "death_flags": flags, "weaponid": 0,
            "damagebits": SUICIDE_DAMAGE if suicide else 0, "silent_kill": False, "stun_flags": 0, "crit_type": 0,
            "rocket_jump": False, "priority": 7, "kill_streak_victim": 0,
        }  # fmt: skip
        self.game.fire("player_death", weapon_logclassname=fields["weapon"], **fields)

    def think(self) -> None:
        """`StateThinkDYING`: the death camera in the frame after the death, the observer after the freeze panel."""
        if not self._dying:
            return
        for player in list(self._dying):
            if player.phase != Phase.DYING or not player.in_game:
                self._dying.remove(player)
                continue
            player.props |= {"m_lifeState": DEAD, "m_iObserverMode": ObserverMode.DEATHCAM}
            assert player.died_at is not None
            if self.game.now >= player.died_at + self.freeze_panel:
                self.game.teams.observe(player)

    def _first_blood(self, victim: Player, attacker: Player | None) -> int:
        # `IsFirstBloodAllowed` and DeathNotice: only a kill of an enemy whose side has more than one player.
        if not self.game.mode.arena or not self.game.number("tf_arena_first_blood"):
            self.first_blood = True
        if self.first_blood or attacker in (None, victim) or len(self.game.teams.members(victim.team)) < 2:
            return 0
        self.first_blood = True
        return FIRST_BLOOD

    def _count(self, victim: Player, attacker: Player | None) -> None:
        # CMultiplayRules::PlayerKilled after its DeathNotice; TF2 has no suicide penalty (UseSuicidePenalty).
        victim.props["m_iDeaths"] = victim.deaths + 1
        self.game.teams.scoreboard.count(victim, "m_iDeaths")
        if attacker is not None and attacker is not victim:
            attacker.props["m_iFrags"] = attacker.frags + 1
            self.game.teams.scoreboard.count(attacker, "m_iKills")
        elif attacker is victim:  # CBasePlayer::Event_KilledOther (player.cpp); not a fall, whose attacker is the world
            self.game.teams.scoreboard.count(victim, "m_iSuicides")
