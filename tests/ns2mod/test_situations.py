"""Situations of real servers, by their numbers in the collection of facts that the rig was written from (12.2).

Each has a test here, whose name has its number, or elsewhere (`ELSEWHERE`).
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.ns2mod.rig.clients import Client
from tests.ns2mod.sessions import ALIENS, MARINES, QUIET, Evening, NewEvening, steam_id

SITUATIONS = 25
ELSEWHERE = {
    1: (  # cheats at any time of a round; what they start
        "ns2mod/test_sessions_rounds.py: a_round_with_cheats_on_for_a_moment_is_stored_and_not_rated",
        "ns2mod/test_mod_server_rounds.py: cheats_start_a_round_without_commanders_and_it_says_so",
        "ns2mod/test_rig_rounds.py: situation_1_cheats_start_a_round_without_commanders_in_a_second",
    ),
    # a chair that is empty for a minute after an eject, which is the game's Logout too
    2: ("ns2mod/test_mod_server_rounds.py: every_way_in_and_out_of_a_side_and_a_chair_is_in_the_spans",),
    3: ("ns2mod/test_sessions_rounds.py: a_round_that_a_side_left_before_its_end_is_stored_and_not_rated",),
    5: (  # `sv_changemap`, a reset in a round
        "ns2mod/test_mod_server_rounds.py: a_round_that_a_map_change_cuts_off_is_reported_by_the_next_map",
        "core/test_shuffles.py: a_whole_round_counts_and_one_that_a_reset_breaks_off_leaves_the_server_idle",
    ),
    # somebody is sent to watch, or kicked
    6: ("ns2mod/test_mod_server_rounds.py: every_way_in_and_out_of_a_side_and_a_chair_is_in_the_spans",),
    12: (  # among filler bots people count, from `min_rated_humans` on
        "ns2mod/test_sessions_rounds.py: a_round_with_filler_bots_is_stored_with_their_time_and_pays_less",
        "core/test_participation.py: a_round_of_fewer_humans_than_a_match_has_is_not_rated",
    ),
    13: ("ns2mod/test_mod_server_rounds.py: who_has_a_spectators_slot_waits_for_no_side_until_they_give_it_back",),
    # a commander leaves the chair in the countdown
    16: ("ns2mod/test_mod_policy.py: a_start_is_told_once_and_given_up_where_the_game_gives_it_up",),
    19: ("ns2mod/test_mod_server_network.py: names_that_mean_something_in_a_form_arrive_as_they_are",),
    22: ("ns2mod/test_mod_server_commands.py: an_answer_to_the_console_is_in_the_servers_log",),  # beside Shine, too
    23: (  # a file is cut at 60 %
        "ns2mod/test_mod_damage.py: the_evening_goes_on_with_a_file_cut_at_60_per_cent",
        "ns2mod/test_mod_damage.py: a_file_that_is_cut_anywhere_is_named_and_no_other",
    ),
    24: ("web/test_guards.py: the_daemon_goes_by_its_address_and_by_localhost_at_any_port_of_a_tunnel",),
}
"""What shows the others: a file of tests, and how the test's name begins."""


def waiting(evening: Evening) -> int:
    """How many in the ready room the daemon takes for players who wait for a side."""
    evening.settle(6)  # what the game lets them do is asked again every five seconds
    return int(evening.status()["waiting"])


def test_each_situation_has_a_test_that_shows_it() -> None:
    here = {int(number) for number in re.findall(r"^def test_(\d+)_", Path(__file__).read_text(), re.MULTILINE)}
    assert sorted(here | ELSEWHERE.keys()) == list(range(1, SITUATIONS + 1))
    assert here.isdisjoint(ELSEWHERE)
    for place in (place for places in ELSEWHERE.values() for place in places):
        file, name = place.split(": ")
        assert f"def test_{name}" in (Path(__file__).parents[1] / file).read_text(), place


def test_4_a_round_goes_on_through_twenty_seconds_of_tournament_mode_and_none_begins_in_it(
    new_evening: NewEvening,
) -> None:
    evening = new_evening(QUIET)
    people = evening.seat(*"abcdefgh")
    evening.start(people["a"], people["b"])
    evening.settle(40)
    evening.game.setting("tournament_mode", True)
    evening.settle(5)
    evening.game.join(people["c"], ALIENS, force=True)
    evening.settle(15)
    evening.game.setting("tournament_mode", False)
    evening.settle(60)
    evening.end(MARINES)
    (stored,) = evening.stored()
    assert (stored.winner, stored.partial, stored.unrated) == ("marines", False, None)
    assert [side for side, _, _, _ in stored.spans["c"]] == ["marines", "aliens"]

    for number, client in enumerate(people.values()):
        evening.game.seat(client, 1 + number % 2)
    assert people["a"].commands()
    assert people["b"].commands()
    evening.game.until(lambda: evening.game.state == "Countdown")
    evening.game.setting("tournament_mode", True)
    evening.game.start_round()
    evening.settle(20)
    evening.game.setting("tournament_mode", False)
    evening.settle(90)
    evening.end(ALIENS)
    assert len(evening.stored()) == 1


PICKS = {
    "none": "GetGamerules():JoinTeam(Server.GetClientById({index}):GetControllingPlayer(), {team}, true)",
    # As the extension "captains" picks (AddPlayer), and as sh_setteam moves (basecommands/server.lua ChangeTeam): only
    # Shine's own hooks see the fourth argument.
    "outside": "GetGamerules():JoinTeam(Server.GetClientById({index}):GetControllingPlayer(), {team}, nil, true)",
}


def draft(evening: Evening, shine: str, names: str = "abcdefgh") -> dict[str, Client]:
    """Players of the ready room are put on sides by others, the first four of eight on the marines."""
    people = {name: evening.connect(1000 + number, name) for number, name in enumerate(names)}
    evening.rate(people, **dict.fromkeys("abcd", 3000.0))
    evening.settle()
    for number, client in enumerate(people.values()):
        team = MARINES if number < len(people) / 2 else ALIENS
        evening.game.execute(PICKS[shine].format(index=client.index, team=team))
        assert client.team == team
        evening.settle(2)
    return people


@pytest.mark.parametrize("shine", PICKS)
@pytest.mark.parametrize("alive", [True, False])
def test_7_a_draft_is_left_alone_and_says_so_also_without_the_daemon(
    new_evening: NewEvening, shine: str, alive: bool
) -> None:
    evening = new_evening(shine=shine)
    people = draft(evening, shine)
    sides = evening.sides()
    if not alive:
        evening.daemon.kill()
        evening.settle(12)
    assert people["a"].commands()
    assert people["e"].commands()
    evening.game.start_without_pregame()
    evening.game.start_round()
    assert evening.sides() == sides
    evening.settle()
    if alive:
        line = "Teams stay as they are: people put 8 of 8 players on their side."
        assert [client.chat.count(line) for client in people.values()] == [1] * 8
        assert [one["reason"] for one in evening.decisions("kept")] == [line]


def test_7_the_round_after_a_draft_and_one_that_was_voted_for_are_shuffled(new_evening: NewEvening) -> None:
    evening = new_evening()
    people = draft(evening, "none")
    sides = evening.sides()
    evening.start(people["a"], people["e"])
    for name in "bcdfgh":
        people[name].console("eq vote")
        evening.settle(0.5)
    evening.settle(4)
    assert evening.sides() != sides, "the players want other teams"

    evening.game.start_round()
    evening.settle(70)
    evening.end(MARINES)
    for client in people.values():
        client.moves()
        evening.game.seat(client, MARINES if client.name in "abcd" else ALIENS)
    evening.settle()
    evening.start(people["a"], people["e"])
    assert [sorted(side) for side in evening.sides()] != [list("abcd"), list("efgh")]


@pytest.mark.parametrize("inside", [True, False])
def test_8_who_may_not_play_on_a_server_for_rookies_is_never_placed_and_reads_why(
    new_evening: NewEvening, inside: bool
) -> None:
    evening = new_evening(switches={"refusals_sent_inside": inside})
    evening.game.settings["rookie_only"] = True
    evening.game.change_map("ns2_tram")
    people = evening.seat(*"abcdef")
    veteran = evening.game.connect(2000, "veteran", tier=5)
    evening.names[steam_id(veteran)] = "veteran"
    veteran.moves()
    assert waiting(evening) == 0
    assert veteran.messages == [], "the game is asked, and its refusal is not for who asked for nothing"
    evening.start(people["a"], people["b"])
    assert veteran.team == 0

    assert not evening.game.join(veteran, MARINES)  # another mod's, without force
    evening.settle(2)
    assert veteran.team == 0
    assert veteran.chat[-1] == "Only rookies play on this server: you may watch."
    assert not veteran.joins(ALIENS)  # the game's own way, with its own text
    assert ("JoinError", {"reason": 2}) in veteran.messages
    assert evening.game.join(veteran, ALIENS, force=True)
    evening.settle()
    assert evening.status()["players_b"] == 4


def test_8_a_refusal_by_sizes_is_the_daemons_to_judge_and_another_has_its_own_text(new_evening: NewEvening) -> None:
    evening = new_evening(QUIET, switches={"refusals_sent_inside": False})
    evening.seat(*"abcde")
    late, untaught = evening.connect(2000, "late"), evening.game.connect(2001, "untaught", untaught=True)
    untaught.moves()
    assert waiting(evening) == 1, "only the larger side is closed to the other"
    evening.game.join(untaught, MARINES)
    evening.game.join(late, MARINES)
    evening.settle(2)
    assert untaught.chat == ["The game does not let you into that team."]
    assert (untaught.team, late.team) == (0, ALIENS)


def test_9_a_start_that_waits_20_seconds_for_rookies_is_one_start_with_one_shuffle(new_evening: NewEvening) -> None:
    evening = new_evening()
    evening.game.settings["rookie_only"] = True
    evening.game.change_map("ns2_tram")
    for team in (MARINES, ALIENS):
        evening.game.add_bot(team)
    people = evening.seat(*"abcdefgh")
    evening.rate(people, **dict.fromkeys("aceg", 3000.0))
    evening.settle(6)
    begun = evening.game.clock
    assert people["a"].commands()
    assert people["b"].commands()
    evening.game.start_round()
    assert evening.game.clock - begun == pytest.approx(26, abs=0.5)
    evening.settle()
    assert len(evening.decisions("shuffle")) == 1
    assert evening.sides()[0] != ["Bot", *"aceg"]


def test_10_who_sits_out_is_not_placed_until_they_ask_for_a_side(new_evening: NewEvening) -> None:
    evening = new_evening()
    people = evening.seat(*"abcdef")
    sitter, other = evening.connect(2000, "sitter"), evening.connect(2001, "other")
    evening.settle()
    sitter.says("!eq sit")
    evening.settle()
    assert sitter.chat[-1].startswith("You sit out")
    assert waiting(evening) == 1
    evening.start(people["a"], people["b"])
    assert sitter.team == 0
    assert other.team in (MARINES, ALIENS)
    sitter.console("j1")
    evening.settle(2)
    assert sitter.team in (MARINES, ALIENS)
    sitter.joins(0)
    assert waiting(evening) == 1
    sitter.console("eq sit")
    sitter.console("eq sit")
    assert waiting(evening) == 1
    assert sitter.chat[-1] == "You are in again: new teams place you."


def test_10_who_sits_out_or_is_away_is_not_placed_by_the_last_splits_either(new_evening: NewEvening) -> None:
    evening = new_evening()
    people = evening.seat(*"abcdef")
    sitter, away = evening.connect(2000, "sitter"), evening.connect(2001, "away")
    evening.settle(6)
    evening.daemon.kill()
    evening.settle(60)
    sitter.console("eq sit")
    for client in (*people.values(), sitter):
        client.moves()
    assert people["a"].commands()
    assert people["b"].commands()
    evening.game.start_round()
    assert (sitter.team, away.team) == (0, 0)


def test_11_who_goes_through_the_ready_room_to_the_other_side_is_sent_back_and_told_why(
    new_evening: NewEvening,
) -> None:
    evening = new_evening(QUIET)
    people = evening.seat(*"abcdef")
    evening.start(people["a"], people["b"])
    late = evening.connect(2000, "late")
    evening.settle()
    late.joins(MARINES)
    evening.settle()
    home = late.team
    assert home in (MARINES, ALIENS)
    late.joins(0)
    evening.settle()
    late.console("j1" if home == ALIENS else "j2")
    evening.settle()
    assert late.team == home
    assert late.chat[-1] == "you were placed on that side"


@pytest.mark.parametrize("through", ["directly", "the ready room"])
def test_14_two_who_ask_for_each_others_side_swap_whatever_locks_and_sizes_say(
    new_evening: NewEvening, through: str
) -> None:
    evening = new_evening(QUIET, switches={"switches_sides_directly": True})
    evening.game.setting("force_even_teams_on_join", False)
    people = evening.seat(*"abcdefgh")
    evening.start(people["a"], people["b"])
    one, two = people["c"], people["d"]
    for client, asks in ((one, "j1"), (two, "j2")):  # placed anew by the daemon, and locked there
        client.joins(0)
        evening.settle()
        client.console(asks)
        evening.settle()
    one.console("j2")
    evening.settle(4)
    assert (one.team, two.team) == (MARINES, ALIENS), "alone, a lock holds"

    if through == "the ready room":
        assert one.joins(0)
        assert two.joins(0)
    one.console("j2")
    evening.settle(0.5)
    two.console("j1")
    evening.settle()
    assert (one.team, two.team) == (ALIENS, MARINES)
    evening.settle(4)
    # The locks went along.
    for client, asks in ((one, "j1"), (two, "j2")):
        client.joins(0)
        evening.settle()
        client.console(asks)
        evening.settle(4)
    assert (one.team, two.team) == (ALIENS, MARINES)


def test_15_four_through_one_door_in_a_frame_are_two_on_each_side_and_each_reads_why(new_evening: NewEvening) -> None:
    evening = new_evening(QUIET)
    evening.seat(*"abcd")
    people = [evening.connect(2000 + number, f"late{number}") for number in range(4)]
    evening.settle()
    for client in people:
        client.joins(MARINES)
    evening.settle(2)
    assert sorted(client.team or 0 for client in people) == [1, 1, 2, 2]
    assert all(client.chat for client in people)


def test_17_a_map_change_in_the_countdown_leaves_an_idle_server_and_no_round(new_evening: NewEvening) -> None:
    evening = new_evening(QUIET)
    people = evening.seat(*"abcdef")
    assert people["a"].commands()
    assert people["b"].commands()
    evening.game.until(lambda: evening.game.state == "Countdown")
    evening.game.console("sv_changemap ns2_tram")
    evening.settle(4)
    assert (evening.status()["map"], evening.status()["phase"]) == ("ns2_tram", "idle")
    assert evening.stored() == []


def test_18_somebody_whose_second_client_comes_before_the_first_is_gone_stays_known(new_evening: NewEvening) -> None:
    evening = new_evening(QUIET)
    people = evening.seat(*"abcdef")
    again = evening.game.connect(people["c"].account_id, "c")
    evening.settle()
    people["c"].disconnects()
    again.moves()
    evening.game.seat(again, MARINES)
    evening.settle()
    assert (evening.status()["players_a"], evening.status()["players_b"]) == (3, 3)
    again.says("!eq teams")
    evening.settle()
    assert again.chat


def test_20_a_round_through_a_daemon_that_is_killed_and_comes_back_is_one_with_all_its_spans(
    new_evening: NewEvening,
) -> None:
    evening = new_evening(QUIET)
    people = evening.seat(*"abcdefgh")
    evening.start(people["a"], people["b"])
    evening.settle(39)
    evening.daemon.kill()
    evening.settle(20)
    evening.game.join(people["c"], ALIENS, force=True)
    evening.settle(30)
    evening.daemon.start()
    evening.settle(60)
    evening.end(MARINES)
    (stored,) = evening.stored()
    assert (stored.winner, stored.partial, stored.unrated) == ("marines", False, None)
    assert stored.spans["c"] == [("marines", "field", 0, 60), ("aliens", "field", 60, 150)]


def test_21_a_round_that_was_played_with_a_wrong_secret_is_rated_when_that_is_mended(new_evening: NewEvening) -> None:
    evening = new_evening(QUIET)
    settings = evening.game.files.text("Equipoise.json") or ""
    evening.game.files.put("Equipoise.json", settings.replace(evening.daemon.secret, "wrong"))
    evening.game.change_map("ns2_tram")
    people = evening.seat(*"abcdefgh")
    evening.start(people["a"], people["b"])
    evening.settle(70)
    evening.end(MARINES)
    assert evening.stored() == []
    evening.game.files.put("Equipoise.json", settings)
    evening.game.change_map("ns2_veil")
    evening.settle(4)
    (stored,) = evening.stored()
    assert (stored.winner, stored.partial, stored.unrated) == ("marines", False, None)


def test_25_beside_shines_shuffle_as_shipped_it_stands_aside_and_doctor_says_what_to_switch_off(
    new_evening: NewEvening,
) -> None:
    evening = new_evening(shine="outside")
    evening.game.execute("Shine.Plugins.voterandom = { Enabled = true, Config = { AutoShuffleAtRoundStart = true } }")
    evening.settle(2)
    assert evening.status()["inactive_reason"] == "shuffle"
    findings = evening.daemon.ask("doctor")["findings"]
    assert any("sh_unloadplugin voterandom" in str(finding) for finding in findings)
