"""A map's entities and the game rules' properties, by mode."""

from typing import TYPE_CHECKING

from .entities import Entity
from .facts import BLU, RED

if TYPE_CHECKING:
    from .game import Game


def furnish(game: "Game") -> None:
    """Build the world of a new map."""
    mode, add = game.mode, game.entities.add
    game.rules = _rules(game)
    game.entities.add("tf_gamerules", "CTFGameRulesProxy")
    add("tf_player_manager", "CTFPlayerResource", m_iTotalScore=[0] * (game.slots + 1))
    game.objective = None
    if mode.owners:
        game.objective = _objective(game)
        add("team_control_point_master", "", m_bSwitchTeamsOnWin=int(mode.switch_sides), m_bDisabled=0)
    if mode.arena:
        add("tf_logic_arena", "")
    if mode.koth:
        add("tf_logic_koth", "")
    if mode.game_type == 3:
        for _ in range(2 if mode.trains else 1):
            add("team_train_watcher", "CTeamTrainWatcher", m_flTotalProgress=0.0)
    if mode.flags:
        for side in (RED, BLU):
            add("item_teamflag", "CCaptureFlag", m_iTeamNum=side, m_nFlagStatus=0, m_hPrevOwner=-1, m_hOwnerEntity=-1)


def _rules(game: "Game") -> Entity:
    mode = game.mode
    return Entity(
        0, "tf_gamerules", "CTFGameRulesProxy", m_iRoundState=0, m_nGameType=mode.game_type,
        m_bInWaitingForPlayers=0, m_bAwaitingReadyRestart=0, m_bInSetup=0, m_bSwitchedTeamsThisRound=0,
        m_bPlayingKoth=int(mode.koth), m_bMultipleTrains=int(mode.trains), m_bPlayingMannVsMachine=int(mode.mvm),
        m_bPlayingHybrid_CTF_CP=0, m_bPlayingMedieval=0, m_bInOvertime=0, m_bStopWatch=0, m_iWinningTeam=0,
        m_hRedKothTimer=-1, m_hBlueKothTimer=-1, m_bTeamReady=[0] * 4, m_flRestartRoundTime=-1.0,
        m_flMapResetTime=0.0,
    )  # fmt: skip


def _objective(game: "Game") -> Entity:
    owners = list(game.mode.owners)
    points = len(owners)
    return game.entities.add(
        "tf_objective_resource", "CTFObjectiveResource", m_iNumControlPoints=points,
        m_iOwner=owners + [0] * (8 - points), m_bPlayingMiniRounds=int(game.mode.mini_rounds),
        m_bInMiniRound=[1 if i < 2 or not game.mode.mini_rounds else 0 for i in range(8)], m_iTimerToShowInHUD=0,
    )  # fmt: skip
