"""An NS2 server whose daemon is dead, slow or talks nonsense; and other mods around JoinTeam."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import equipoise
from tests.ns2mod.sessions import ALIENS, MARINES, MOD, Evening, fair, stacked

NewEvening = Callable[..., Evening]
QUIET = "[autobalance]\nenabled = false\n[shuffle]\nat_round_start = false\n"


def test_a_round_that_ends_while_the_daemon_is_dead_is_rated_when_it_is_back(new_evening: NewEvening) -> None:
    evening = new_evening(QUIET)
    people = evening.seat(*"abcdefgh")
    evening.start(people["a"], people["b"])
    evening.settle(100)
    evening.daemon.kill()
    evening.end(MARINES)
    evening.settle(30)
    evening.daemon.start()
    evening.settle(15)

    (stored,) = evening.stored()
    assert (stored.winner, stored.unrated) == ("marines", None)
    assert stored.spans["c"] == [("marines", "field", 0, round(stored.seconds))]
    assert any("answers again" in line for line in evening.game.messages)


def test_a_round_whose_answer_is_lost_is_stored_once(new_evening: NewEvening) -> None:
    evening = new_evening(QUIET)
    people = evening.seat(*"abcdefgh")
    evening.start(people["a"], people["b"])
    evening.settle(100)
    evening.game.http.lose_answers = True
    evening.end(ALIENS)
    evening.game.http.lose_answers = False
    evening.settle(30)
    assert [stored.winner for stored in evening.stored()] == ["aliens"]
    assert evening.player(people["c"])["rounds"] == 1


def test_without_the_daemon_a_shuffle_that_is_due_is_made_from_the_cache(new_evening: NewEvening) -> None:
    evening, people = stacked(new_evening)
    evening.settle(6)
    evening.daemon.kill()
    evening.settle(12)
    before = evening.sides()
    people["a"].commands()
    people["b"].commands()
    evening.game.start_round()
    evening.settle()
    after = evening.sides()
    assert after != before
    assert abs(len(after[0]) - len(after[1])) <= 1
    assert (people["a"].commands_now, people["b"].commands_now) == (True, True)

    evening.daemon.start()
    evening.settle(20)
    assert [line["kind"] for line in evening.decisions("alone")] == ["alone"]
    assert evening.status()["pending"] is None


def test_a_map_change_with_a_full_outbox_loses_the_oldest_rounds_only_and_says_so(new_evening: NewEvening) -> None:
    evening = new_evening(QUIET)
    people = evening.seat(*"abcdefgh")
    game = evening.game
    evening.daemon.kill()
    for number in range(10):
        for name, client in people.items():
            if client.team not in (MARINES, ALIENS):
                game.join(client, 1 + "abcdefgh".index(name) % 2, force=True)
        evening.start(people["a"], people["b"])
        evening.settle(61 + number)
        evening.end(MARINES)
    game.change_map("ns2_tram")
    evening.settle(2)
    evening.daemon.start()
    evening.settle(60)

    stored = evening.stored()
    assert [round(each.seconds - 62) for each in stored] == list(range(2, 10))
    assert all(each.unrated is None for each in stored)
    assert evening.status()["dropped_rounds"] == 2
    assert evening.status()["map"] == "ns2_tram"


def test_rounds_are_rated_while_a_cut_file_keeps_the_mod_from_moving_players(new_evening: NewEvening) -> None:
    evening = new_evening(cut={"lua/equipoise/engine/orders.lua": 3000})
    evening.game.errors.clear()
    people = evening.seat(*"abcdefgh")
    evening.start(people["a"], people["b"])
    evening.settle(100)
    evening.end(MARINES)
    (stored,) = evening.stored()
    assert (stored.winner, stored.unrated) == ("marines", None)
    assert evening.status()["inactive_reason"] == "damaged"
    assert evening.decisions() == []


@pytest.mark.parametrize("shine", ["none", "outside", "inside"])
def test_beside_shine_everything_is_the_same(new_evening: NewEvening, shine: str) -> None:
    """Whichever of the two wraps JoinTeam outside: a join is placed, a shuffle carried out, a player held."""
    evening, people = stacked(new_evening, QUIET, shine=shine)
    late = evening.connect(2000, "late")
    evening.settle()
    late.joins(MARINES)
    evening.settle(2)
    assert late.team in (MARINES, ALIENS)
    assert evening.game.console("sv_eq_shuffle now")
    evening.settle(2)
    sizes = sorted(map(len, evening.sides()))
    assert sizes == [5, 6]
    assert fair(evening)
    evening.start(people["a"], people["b"])
    evening.settle(100)
    evening.end(ALIENS)
    (stored,) = evening.stored()
    assert len(stored.lineup) == 11
    assert {spans[0][1] for spans in stored.spans.values()} == {"field", "commander"}


def test_shines_own_shuffle_passes_and_the_mod_stands_aside(new_evening: NewEvening) -> None:
    evening, people = stacked(new_evening, QUIET, shine="outside")
    evening.game.shine_shuffle({people["c"]: ALIENS, people["d"]: MARINES})
    evening.settle(2)
    assert people["c"].team == ALIENS
    assert people["d"].team == MARINES


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
