"""The game's own balancing beside the daemon's, end to end."""

from __future__ import annotations

from collections.abc import Callable

from tests.ns2mod.sessions import Evening

NewEvening = Callable[..., Evening]
SET = 'Server.SetConfigSetting("auto_team_balance", {enabled = true, enabled_after_seconds = 7})'
READ = (
    'local setting = Server.GetConfigSetting("auto_team_balance") return setting.enabled, setting.enabled_after_seconds'
)


def test_the_games_own_balancing_is_off_while_equipoise_acts_and_as_it_was_otherwise(new_evening: NewEvening) -> None:
    evening = new_evening()
    game = evening.game
    assert game.console("sv_eq_off")
    evening.settle()
    game.execute(SET)
    evening.settle()
    assert game.execute(READ) == (True, 7), "nothing is touched while Equipoise is off"

    assert game.console("sv_eq_on")
    evening.settle()
    assert game.execute(READ) == (False, 7)

    assert game.console("sv_eq_off")
    evening.settle()
    assert game.execute(READ) == (True, 7)
