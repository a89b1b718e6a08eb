"""An NS2 server whose daemon is dead, slow or talks nonsense; and other mods around JoinTeam."""

from __future__ import annotations

import shutil
from pathlib import Path

import equipoise
from tests.ns2mod.sessions import MOD, QUIET, NewEvening


def test_admins_read_once_a_map_that_their_mod_is_older_than_the_daemon(
    new_evening: NewEvening, tmp_path: Path
) -> None:
    mod = tmp_path / "mod"
    shutil.copytree(MOD, mod)
    server = mod / "lua/equipoise/server.lua"
    server.write_text(server.read_text().replace("@VERSION@", "0.1.9", 1))
    evening = new_evening(QUIET, mod=mod)
    evening.game.admins.add(1000)
    people = evening.seat(*"ab")
    line = f"Equipoise 0.1.9 is older than its daemon {equipoise.__version__}."

    def said() -> list[int]:
        return ["".join([*client.chat, *client.prints]).count(line) for client in people.values()]

    evening.settle(20)
    assert said() == [1, 0]
    evening.game.change_map("ns2_summit")
    evening.settle(30)
    assert said() == [2, 0]


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
