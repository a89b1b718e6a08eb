"""The four teams and who is on them: `ChangeTeam`, `ForceChangeTeam`, `GetAutoTeam` and the balance tests.

Facts are of tf_player.cpp (CTFPlayer), player.cpp (CBasePlayer) and teamplayroundbased_gamerules.cpp.
"""

import math
from typing import TYPE_CHECKING

from . import buildings
from .balance import Balance
from .carrying import drop_flag
from .dominations import Dominations
from .entities import Entity
from .facts import BLU, CLASSES, DEAD, RED, SIDES, SPECTATOR, UNASSIGNED, State, opponent
from .idle import Idle
from .lives import Lives
from .observers import Observers
from .players import Phase, Player
from .scores import Scoreboard
from .spawning import Spawning

if TYPE_CHECKING:
    from .game import Game

TEAMS = range(4)
HELLTOWER = 4
MVM_DEFENDERS = 6


class Teams:
    """The people of a map. `scores` are by team number."""

    def __init__(self, game: "Game") -> None:
        self.game = game
        self.scores, self._shown = [0, 0, 0, 0], [0, 0, 0, 0]
        self.lives, self.spawning = Lives(game), Spawning(game)
        self.balancing, self.idle, self.scoreboard = Balance(game), Idle(game), Scoreboard(game)
        self.observers, self.dominations = Observers(game), Dominations(game)
        self.state_since = game.now
        """When the round entered its state."""
        self._state: State | None = None
        self._entities: list[Entity] = []
        self._leaving: list[tuple[Player, str]] = []

    def start_map(self) -> None:
        """Fresh scores and team entities."""
        self.scores, self._shown = [0, 0, 0, 0], [0, 0, 0, 0]
        add = self.game.entities.add
        self._entities = [
            add("tf_team", "CTFTeam", m_iTeamNum=t, m_iScore=0, m_nFlagCaptures=0, m_iRole=0, m_iRoundsWon=0)
            for t in TEAMS
        ]
        self.scoreboard.start_map()

    def members(self, team: int) -> list[Player]:
        """Players on a team, by slot: bots, the dead and those without a class count."""
        return [player for player in self.game.in_game() if player.team == team]

    def entity(self, team: int) -> Entity:
        """The `tf_team` entity."""
        return self._entities[team]

    def think(self) -> None:
        """One frame, after the round's own think."""
        leaving, self._leaving = self._leaving, []
        for player, reason in leaving:
            if player.in_game:
                self.game.leave(player, reason)
        rounds = self.game.rounds
        if rounds.state is not self._state:
            self._state, self.state_since = rounds.state, self.game.now
        if self.scores != self._shown:
            self._shown = list(self.scores)
            for team, entity in enumerate(self._entities):
                entity.props["m_iScore"] = self.scores[team]
        self.lives.think()
        self.observers.think()
        self.idle.think()
        self.scoreboard.think()

    # Changes.

    def change(self, player: Player, team: int, *, auto: bool = False, silent: bool = False) -> None:
        """`CTFPlayer::ChangeTeam`: players' own choice, plugins and the balancing. Keeps a carried flag.

        The event comes before the change, so its hooks still see the old team. It kills the living who change between
        RED and BLU, unless `m_lifeState` says dead; going to the spectators is no death.
        """
        if team not in TEAMS:
            return
        if (player.team in SIDES and self._in_hell()) or player.transformed or (player.coaching and team in SIDES):
            return
        team, old = self.overruled(player, team), player.team
        if team == old:
            return
        buildings.remove_owned(self.game, player, explode=True)
        uneven = self.unbalanced() if self._default_mode() and old in SIDES else None
        if uneven is not None and team == uneven[1]:
            player.instant_spawn = True
        self._join(player, team, auto=auto, silent=silent)
        self._leave_class_in_highlander(player)
        self.dominations.forget(player)
        if team not in SIDES:
            self._become_observer(player)
            if team == SPECTATOR and old in SIDES:
                self.game.arena.add(player)
        elif not player.dead and old in SIDES:
            self.lives.suicide(player)
        player.remove_conditions()
        player.duel = False

    def force_change(self, player: Player, team: int, *, full: bool = False) -> None:
        """`CTFPlayer::ForceChangeTeam`: side switch, scramble, arena and idling. Leaves the living as they are.

        Duellists and coaches stay. The flag drops. `full`: the sides switch as a whole.
        """
        team = self.overruled(player, team)
        if team not in TEAMS or team == player.team or (player.duel and not player.coaching):
            return
        if player.coaching and player.props["m_hStudent"] != -1 and team != SPECTATOR:
            return
        buildings.remove_owned(self.game, player, explode=True)
        self._join(player, team, auto=False, silent=True)
        if not full:
            self.dominations.forget(player)
            self._leave_class_in_highlander(player)
        if team not in SIDES:
            self._become_observer(player)
            if team == SPECTATOR:
                self.game.arena.add(player, front=True)
        drop_flag(self.game, player)

    def coach(self, coach: Player, student: Player) -> None:
        """`Coaching_Start` (tf_gamerules.cpp): the coach watches from the spectators."""
        coach.coaching = True
        self.force_change(coach, SPECTATOR)
        coach.props["m_hStudent"], student.props["m_hCoach"] = student.index, coach.index

    def stop_coaching(self, player: Player) -> None:
        """`Coaching_Stop`, and of either of the two `TeamFortress_ClientDisconnected` (tf_player.cpp)."""
        for other in self.game.in_game():
            if player.index in (other.props["m_hStudent"], other.props["m_hCoach"]):
                other.coaching = False
                other.props |= {"m_hStudent": -1, "m_hCoach": -1}
        player.coaching = False
        player.props |= {"m_hStudent": -1, "m_hCoach": -1}

    def observe(self, player: Player) -> None:
        """`StateTransition(TF_STATE_OBSERVER)`: `StartObserverMode` sets `m_lifeState` 2, the idle clock restarts."""
        player.phase = Phase.OBSERVER
        player.props |= {"m_lifeState": DEAD, "m_iHealth": 1}
        self.observers.start(player)
        player.last_action = self.game.now

    def kick(self, player: Player, reason: str) -> None:
        """`kickid` through the server's command queue: in the next frame."""
        self._leaving.append((player, reason))

    # Respawns and deaths.

    def force_respawn(self, player: Player) -> None:
        """`CTFPlayer::ForceRespawn`: see spawning.py."""
        self.spawning.force_respawn(player)

    def respawn_players(self, force: bool) -> None:
        """`RespawnPlayers`: with `force` everybody who is ready, dead or alive."""
        self.spawning.respawn_players(force)

    def check_waves(self) -> None:
        """`CheckRespawnWaves`."""
        self.spawning.check_waves()

    # Sizes.

    def unbalanced(self) -> tuple[int, int] | None:
        """`AreTeamsUnbalanced`: the heaviest and the lightest side if they differ by more than the limit."""
        if not self.game.arena.uses_queue and not self.should_balance():
            return None
        sizes = {side: len(self.members(side)) for side in SIDES}
        heavy, light = max(SIDES, key=lambda side: sizes[side]), min(SIDES, key=lambda side: sizes[side])
        gap = sizes[heavy] - sizes[light]
        if self.game.arena.uses_queue:
            return (heavy, light) if gap or not sizes[heavy] else None
        return (heavy, light) if gap > self.game.number("mp_teams_unbalance_limit") else None

    def should_balance(self) -> bool:
        """`ShouldBalanceTeams` of both rules."""
        off = self.game.number("mp_tournament") or self.game.number("mp_teams_unbalance_limit") <= 0
        return not (off or self.game.mode.mvm or self._rule("m_bIsInTraining") or self._rule("m_bCompetitiveMode")
                    or self._rule("m_bHelltowerPlayersInHell"))  # fmt: skip

    def would_unbalance(self, team: int, current: int) -> bool:
        """`WouldChangeUnbalanceTeams`: whether `team` would get more than the limit ahead of the other side."""
        if team == current or team not in SIDES or not self.should_balance():
            return False
        others = len(self.members(opponent(team))) - (current == opponent(team))
        return len(self.members(team)) + 1 - others > self.game.number("mp_teams_unbalance_limit")

    def auto_team(self, player: Player) -> int:
        """`GetAutoTeam`: the smaller side, the asker counted where they are; even sides: the attackers, or either."""
        if self.game.number("mp_highlander") and all(len(self.members(side)) >= len(CLASSES) - 1 for side in SIDES):
            return SPECTATOR
        if self.game.mode.mvm:
            return self.overruled(player, RED)
        quota = self.game.text("tf_bot_quota_mode") == "fill" and self.game.number("tf_bot_quota") > 0
        if quota and not player.quota_bot:
            # The quota's bots make room for people, whose numbers alone count.
            team = self._smaller({side: sum(not p.quota_bot for p in self.members(side)) for side in SIDES})
            if len(self.members(team)) <= len(self.members(opponent(team))) or self._kick_bot(team):
                return team
        return self._smaller({side: len(self.members(side)) for side in SIDES})

    def _smaller(self, sizes: dict[int, int]) -> int:
        if sizes[RED] != sizes[BLU]:
            return RED if sizes[RED] < sizes[BLU] else BLU
        # Payload maps, and maps that made RED the defenders (TEAM_ROLE_DEFENDERS is 1).
        if self.game.mode.game_type == 3 or self.entity(RED).props["m_iRole"] == 1:
            return BLU
        return self.game.sm.random.choice(SIDES)

    def _kick_bot(self, team: int) -> bool:
        """`RemoveBotFromTeamAndKick` (tf_bot_manager.cpp): a dead bot of the quota rather than a living one."""
        bots = sorted((p for p in self.members(team) if p.quota_bot), key=lambda p: p.alive)
        if not bots:
            return False
        self.lives.suicide(bots[0], forced=False)
        self.force_change(bots[0], UNASSIGNED)
        self.kick(bots[0], "")
        return True

    def clock_left(self) -> float:
        """Seconds on the timer in the HUD (`GetActiveRoundTimer`); infinite without one."""
        shown = self.game.objective.props.get("m_iTimerToShowInHUD") if self.game.objective else None
        timer = self.game.entities.get(shown) if isinstance(shown, int) and shown > 0 else None
        if timer is None:
            return math.inf
        if timer.props["m_bTimerPaused"]:
            return float(timer.props["m_flTimeRemaining"])  # type: ignore[arg-type]
        return float(timer.props["m_flTimerEndTime"]) - self.game.map_time  # type: ignore[arg-type]

    def balance(self, *, dead_only: bool) -> None:
        """`BalanceTeams`: once a second of a running round with `dead_only`, and before each round without."""
        self.balancing.apply(dead_only=dead_only)

    def balance_starts_at(self, when: float) -> None:
        """m_flStartBalancingTeamsAt: no balancing before."""
        self.balancing.starts_at = when

    # Parts of a change.

    def _join(self, player: Player, team: int, *, auto: bool, silent: bool) -> None:
        # CBasePlayer::ChangeTeam: the event first.
        self.game.fire(
            "player_team", userid=player.userid, team=team, oldteam=player.team, disconnect=player.disconnecting,
            autoteam=auto, silent=silent, name=player.name,
        )  # fmt: skip
        player.team = team

    def _become_observer(self, player: Player) -> None:
        self.observe(player)
        if player.team == SPECTATOR:
            self.spawning.disarm(player)

    def reset_class(self, player: Player) -> None:
        """`ResetPlayerClass` after a suicide: Highlander's classes belong to a side."""
        self.lives.suicide(player)
        player.props |= {"m_iClass": 0, "m_iDesiredPlayerClass": 0}

    def _leave_class_in_highlander(self, player: Player) -> None:
        if self.game.number("mp_highlander"):
            self.reset_class(player)

    def overruled(self, player: Player, team: int) -> int:
        """`GetTeamAssignmentOverride` (tf_gamerules.cpp): in Mann vs Machine humans defend while there is room."""
        if not self.game.mode.mvm or player.bot or team == SPECTATOR:
            return team
        return RED if len(self.members(RED)) < MVM_DEFENDERS else SPECTATOR

    def _in_hell(self) -> bool:
        # CTFGameRules::CanChangeTeam: in Helltower's underworld the sides stay.
        return self._rule("m_halloweenScenario") == HELLTOWER and bool(self._rule("m_bHelltowerPlayersInHell"))

    def _default_mode(self) -> bool:
        # CTFGameRules::IsDefaultGameMode.
        mode = self.game.mode
        other = mode.mvm or mode.arena or self._rule("m_bPlayingMedieval") or self._rule("m_bIsInTraining")
        return not (other or self.game.number("mp_tournament") or self._rule("m_bCompetitiveMode"))

    def _rule(self, prop: str) -> int:
        value = self.game.rules.props.get(prop, 0)
        assert isinstance(value, int)
        return value
