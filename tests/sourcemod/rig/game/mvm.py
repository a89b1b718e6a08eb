"""Mann vs Machine's waves (tf_gamerules.cpp, tf_population_manager.cpp)."""

from typing import TYPE_CHECKING

from .facts import BLU, State

if TYPE_CHECKING:
    from .game import Game

FINAL_COUNTDOWN = 10


class Waves:
    """The waves of a mission. Which robots come and who wins is up to the test. `number` counts from 1."""

    def __init__(self, game: "Game") -> None:
        self.game = game
        self.number = 1
        self._allowed = True

    def between_waves(self) -> bool:
        """Whether a PREROUND leads to BETWEEN_RNDS (m_bAllowBetweenRounds): at the start and after a wave."""
        allowed = self.game.mode.mvm and self._allowed
        self._allowed = False
        return allowed

    def enter_between_waves(self) -> None:
        """`RestartTournament`: the game waits until the players are ready."""
        self.game.sm.convars["mp_tournament"].set("1")
        self.game.waiting.set(True)
        self.game.rules.props["m_bAwaitingReadyRestart"] = 1

    def players_ready(self) -> None:
        """All players are ready: the last countdown runs (`BetweenRounds_Think`)."""
        self.game.restarts.plan(FINAL_COUNTDOWN)

    def start_wave(self) -> None:
        """`CPopulationManager::StartCurrentWave`."""
        self._allowed = True
        self.game.rules.props["m_bAwaitingReadyRestart"] = 0
        self.game.rounds.enter(State.RUNNING)

    def announce(self) -> None:
        """`SetupOnRoundRunning`: before teamplay_round_active."""
        self.game.fire("mvm_begin_wave", wave_index=self.number - 1, max_waves=7, advanced=0)

    def win_wave(self) -> None:
        """The last robot of a wave is destroyed."""
        self.game.fire("mvm_wave_complete", advanced=False)
        self.number += 1
        self.game.rounds.enter(State.BETWEEN_ROUNDS)

    def lose_wave(self) -> None:
        """The bomb went off."""
        self.game.fire("mvm_wave_failed")
        self.game.rounds.win(BLU, 0, switch=False)
