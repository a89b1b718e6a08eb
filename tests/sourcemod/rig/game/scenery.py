"""A map's entities and the game rules' properties, by mode."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from .entities import Entity, Prop
from .facts import BLU, RED, UNASSIGNED, State

if TYPE_CHECKING:
    from .game import Game

HALLOWEEN_MAPS = (
    "", "cp_manor_event", "koth_viaduct_event", "koth_lakeside_event", "plr_hightower_event", "sd_doomsday_event",
)  # fmt: skip
"""The scenarios that are known by the map's exact name, by their number (tf_gamerules.h)."""
DEFENDER, ATTACKER = 1, 2
POINTS = 8

Maker = Callable[[int], Entity]


class Scenery:
    """The entities that a map brings along, and how each is made anew."""

    def __init__(self, game: "Game") -> None:
        self.game = game
        self._made: list[tuple[int, Maker, Entity]] = []

    def furnish(self) -> None:
        """Build the world of a new map. Teams, rules, player manager and objective resource outlive its rounds."""
        game = self.game
        game.rules = _rules(game)
        game.entities.add("tf_gamerules", "CTFGameRulesProxy")
        game.entities.add("tf_player_manager", "CTFPlayerResource")
        game.objective = _objective(game)
        game.teams.start_map()
        if game.mode.attack_defend:
            game.teams.entity(RED).props["m_iRole"] = DEFENDER
            game.teams.entity(BLU).props["m_iRole"] = ATTACKER
        for make in self._makers():
            index = game.entities.free()
            self._made.append((index, make, game.entities.put(make(index))))
        game.sm.convars["tf_gamemode_arena"].set(str(int(game.mode.arena)))
        self._set_powerup_mode()

    def _set_powerup_mode(self) -> None:
        """`CTFGameRules::Activate` sets the variable on every map, and its change begins a round (cc_powerup_mode).

        So entering and leaving such a map passes through PREROUND before anybody is there. (An inference.)
        """
        powerup = self.game.mode.powerup
        if bool(self.game.number("tf_powerup_mode")) != powerup:
            self.game.sm.convars["tf_powerup_mode"].set(str(int(powerup)))
            self.game.rounds.enter(State.PREROUND)
            self.game.sm.convars["tf_flag_caps_per_round"].set("7" if powerup else "3")

    def rebuild(self) -> None:
        """`CleanUpMap`: each entity again, in its old slot where that is free; references to the old ones are dead."""
        # engine->PEntityOfEntIndex in CTeamplayMapEntityFilter::CreateNextEntity (teamplayroundbased_gamerules.cpp).
        entities = self.game.entities
        for _, _, entity in self._made:
            entities.remove(entity)
        made, self._made = self._made, []
        for wanted, make, _ in made:
            index = entities.free() if entities.holds(wanted) else wanted
            self._made.append((index, make, entities.put(make(index))))

    def _makers(self) -> list[Maker]:
        game, mode = self.game, self.game.mode
        makers: list[Maker] = []
        if mode.owners:
            switch = int(mode.switch_sides and mode.game_type == 2)  # payload maps switch by their game_round_win
            makers.append(partial(_entity, "team_control_point_master", "", m_bSwitchTeamsOnWin=switch, m_bDisabled=0))
        if mode.length and not mode.koth:
            makers.append(game.clocks.place)
        if mode.game_type == 3:
            count = 2 if mode.trains else 1
            makers += [partial(_entity, "team_train_watcher", "CTeamTrainWatcher", m_flTotalProgress=0.0)] * count
        if mode.flags:
            makers += [partial(game.flags.place, side=side) for side in (RED, BLU)]
        logic = {
            "tf_logic_arena": mode.arena, "tf_logic_koth": mode.koth, "tf_logic_mann_vs_machine": mode.mvm,
            "tf_logic_multiple_escort": mode.trains, "tf_logic_training_mode": mode.training,
            "tf_logic_medieval": mode.medieval, "tf_logic_hybrid_ctf_cp": mode.hybrid,
            "tf_logic_mannpower": mode.powerup, "tf_logic_holiday": mode.holiday, "passtime_logic": mode.passtime,
            "tf_logic_player_destruction": mode.game_type == 8, "tf_logic_robot_destruction": mode.game_type == 6,
        }  # fmt: skip
        return makers + [partial(_entity, classname, "") for classname, present in logic.items() if present]


def _entity(classname: str, netclass: str, index: int, **props: Prop) -> Entity:
    return Entity(index, classname, netclass, **props)


def _rules(game: "Game") -> Entity:
    """What `CTFGameRules::Activate` (tf_gamerules.cpp) settles before OnMapStart, and the rounds' own properties."""
    mode = game.mode
    halloween = HALLOWEEN_MAPS.index(game.map) if game.map in HALLOWEEN_MAPS else 0
    return Entity(
        0, "tf_gamerules", "CTFGameRulesProxy", m_iRoundState=int(game.rounds.state), m_nGameType=mode.game_type,
        m_bInWaitingForPlayers=0, m_bAwaitingReadyRestart=int(game.number("mp_tournament") > 0),
        m_bInSetup=0, m_bSwitchedTeamsThisRound=0,
        m_bPlayingKoth=int(mode.koth), m_bMultipleTrains=int(mode.trains), m_bPlayingMannVsMachine=int(mode.mvm),
        m_bPlayingHybrid_CTF_CP=int(mode.hybrid), m_bPlayingMedieval=int(mode.medieval), m_bInOvertime=0,
        m_bPlayingSpecialDeliveryMode=int(mode.special_delivery), m_bIsInTraining=int(mode.training), m_bStopWatch=0,
        m_bPowerupMode=int(mode.powerup), m_nMapHolidayType=mode.holiday, m_halloweenScenario=halloween,
        m_bHelltowerPlayersInHell=0, m_iWinningTeam=UNASSIGNED, m_nRoundsPlayed=0, m_bTeamsSwitched=0,
        m_hRedKothTimer=-1, m_hBlueKothTimer=-1, m_bTeamReady=[0] * 4, m_flRestartRoundTime=-1.0,
        m_flMapResetTime=0.0, m_flStateTransitionTime=0.0, m_flCapturePointEnableTime=0.0, m_bCompetitiveMode=0,
        m_nMatchGroupType=-1,
    )  # fmt: skip


def _objective(game: "Game") -> Entity:
    owners = list(game.mode.owners)
    return game.entities.add(
        "tf_objective_resource", "CTFObjectiveResource", m_iNumControlPoints=len(owners),
        m_iOwner=owners + [0] * (POINTS - len(owners)), m_bPlayingMiniRounds=int(game.mode.mini_rounds),
        m_bInMiniRound=[int(not game.mode.stages or i in game.mode.stages[0]) for i in range(POINTS)],
        m_iCappingTeam=[0] * POINTS, m_bCPLocked=[0] * POINTS,
        m_flUnlockTimes=[0.0] * POINTS, m_iTimerToShowInHUD=0,
    )  # fmt: skip
