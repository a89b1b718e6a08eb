"""Requests of a mod: real HTTP, answers in frames only, at most eight at a time (ns2.md 1.1, ns2_game.md 6.1)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

from tests.ns2mod.peer import Peer
from tests.ns2mod.probe import seen, two_commanders
from tests.ns2mod.rig import Game, write_mod

ASKS = """
    function Ask(url, text)
        Shared.SendHTTPRequest(url, "POST", { data = text, number = 7 }, function(body, ...)
            local words = { "> answer", body }
            for i = 1, select("#", ...) do
                words[i + 2] = tostring((select(i, ...)))
            end
            Shared.Message(table.concat(words, " "))
        end)
    end
    function Try(...) return pcall(Shared.SendHTTPRequest, ...) end"""


@pytest.fixture
def peer() -> Iterator[Peer]:
    with Peer() as started:
        yield started


@pytest.fixture
def game(tmp_path: Path) -> Game:
    return Game([write_mod(tmp_path, "asks", ASKS)]).boot()


def ask(game: Game, url: str, text: str = "x") -> None:
    game.execute(f'Ask("{url}", [==[{text}]==])')


def test_a_post_carries_its_parameters_as_a_form_and_the_answer_comes_in_the_next_frame(game: Game, peer: Peer) -> None:
    peer.body = '{"ok": true, "text": "é"}'
    ask(game, peer.url, '{"name": "Zoë & Söhne+%"}')
    assert seen(game) == []
    game.frame()
    assert seen(game) == ['answer {"ok": true, "text": "é"} nil 0 200']
    assert peer.forms == [{"data": '{"name": "Zoë & Söhne+%"}', "number": "7"}]
    assert peer.types == ["application/x-www-form-urlencoded"]


def test_fields_that_are_not_encoded_break_at_an_ampersand(tmp_path: Path, peer: Peer) -> None:
    game = Game([write_mod(tmp_path, "asks", ASKS)], switches={"form_is_encoded": False}).boot()
    ask(game, peer.url, "a&b=c")
    game.frame()
    assert peer.forms == [{"data": "a", "b": "c", "number": "7"}]


def test_a_refused_connection_is_an_empty_body_with_text_and_number(game: Game) -> None:
    ask(game, "http://127.0.0.1:9/")
    game.frame()
    (line,) = seen(game)
    assert re.fullmatch(r"answer  Failed to connect to 127\.0\.0\.1:9: .+ 7 0", line)


def test_builds_before_september_2026_give_a_body_alone_or_a_failure_without_a_status(
    tmp_path: Path, peer: Peer
) -> None:
    game = Game([write_mod(tmp_path, "asks", ASKS)], switches={"callback_has_status": False}).boot()
    peer.status, peer.body = 500, "oops"
    ask(game, peer.url)
    game.frame()
    game.http.failure = ("no route", 7)
    ask(game, peer.url)
    game.frame()
    assert seen(game) == ["answer oops", "answer  no route 7"]


def test_every_answer_comes_to_the_callback_of_its_own_request(game: Game, peer: Peer) -> None:
    peer.echoes = True
    for name in "one", "two":
        game.execute(f"""Shared.SendHTTPRequest("{peer.url}", "POST", {{ data = "{name}" }}, function(body)
            Shared.Message("> {name} got " .. body)
        end)""")
    game.frame()
    assert sorted(seen(game)) == ["one got one", "two got two"]


def test_a_status_of_failure_comes_with_its_body(game: Game, peer: Peer) -> None:
    peer.status, peer.body = 500, "<html>oops</html>"
    ask(game, peer.url)
    game.frame()
    assert seen(game) == ["answer <html>oops</html> nil 0 500"]


@pytest.mark.parametrize("first", [True, False])
def test_answers_come_before_or_after_the_rest_of_a_frame(tmp_path: Path, peer: Peer, first: bool) -> None:
    mod = write_mod(tmp_path, "asks", ASKS + '\nEvent.Hook("UpdateServer", function() Shared.Message("> update") end)')
    game = Game([mod], switches={"replies_before_frame": first}).boot()
    seen(game)
    ask(game, peer.url)
    game.frame()
    assert seen(game) == (["answer yes nil 0 200", "update"] if first else ["update", "answer yes nil 0 200"])


def test_eight_requests_run_and_the_rest_wait_their_turn(game: Game, peer: Peer) -> None:
    gate = Event()
    peer.gate = gate
    game.http.patience = 0.2
    for number in range(20):
        ask(game, peer.url, str(number))
    game.frame()
    assert game.http.most_running == 8
    assert seen(game) == []
    gate.set()
    game.http.patience = 20
    game.until(lambda: len(game.http) == 0)
    assert len(peer.forms) == 20
    assert game.http.most_running == 8


def test_the_overloads_take_no_explicit_nil(game: Game) -> None:
    url = "http://127.0.0.1:9/"
    allowed = [f'Try("{url}", "GET"{more})' for more in ("", ", print", ", {}", ", {}, print")]
    assert [game.execute(f"return (({call}))") for call in allowed] == [True] * 4
    assert game.errors == []
    refused = [f'Try("{url}", "{rest})' for rest in ('GET", nil', 'GET", nil, print', 'GET", {}, nil', 'PUT", {}')]
    assert [game.execute(f"return (({call}))") for call in refused] == [False] * 4
    assert len(game.errors) == 4


def test_scenario_33_a_dead_daemon_answers_late_with_an_error_or_never(game: Game, peer: Peer) -> None:
    game.http.delay = 5
    ask(game, "http://127.0.0.1:9/")
    game.run(4.9)
    assert seen(game) == []
    game.run(0.2)
    assert re.fullmatch(r"answer  Failed to connect .+ 7 0", *seen(game))
    game.http.drop = True
    ask(game, peer.url)
    game.run(60)
    assert seen(game) == []
    assert peer.forms == []


def test_answers_can_be_lost_on_the_way_back(game: Game, peer: Peer) -> None:
    game.http.lose_answers = True
    ask(game, peer.url)
    game.run(1)
    assert seen(game) == []
    assert len(peer.forms) == 1


def test_a_body_can_be_replaced_on_its_way(game: Game, peer: Peer) -> None:
    game.http.body = lambda body: body * 2
    ask(game, peer.url)
    game.frame()
    assert seen(game) == ["answer yesyes nil 0 200"]


def test_a_reply_that_is_too_large_may_fail(game: Game, peer: Peer) -> None:
    peer.body = "x" * 2_000_000
    game.switches.largest_reply = 1_000_000
    ask(game, peer.url)
    game.frame()
    assert seen(game) == ["answer  Maximum file size exceeded 63 0"]


@pytest.mark.parametrize("first", [True, False])
def test_scenario_34_an_answer_in_the_frame_of_the_end_works_in_either_order(
    tmp_path: Path, peer: Peer, first: bool
) -> None:
    state = "kGameState[GetGamerules():GetGameState()]"
    source = ASKS + f'\nEvent.Hook("UpdateServer", function() Shared.Message("> in " .. {state}) end)'
    game = Game([write_mod(tmp_path, "asks", source)], switches={"replies_before_frame": first}).boot()
    two_commanders(game)
    game.start_round()
    ask(game, peer.url)
    game.end_game(1)
    seen(game)
    game.frame()
    assert sorted(seen(game)) == ["answer yes nil 0 200", "in Team1Won"]
    assert game.errors == []


@pytest.mark.parametrize("survive", [True, False])
def test_scenario_34_an_answer_after_a_map_change_never_comes(tmp_path: Path, peer: Peer, survive: bool) -> None:
    game = Game([write_mod(tmp_path, "asks", ASKS)], switches={"requests_survive_map_change": survive}).boot()
    game.http.limit = 0
    ask(game, peer.url)
    game.change_map("ns2_tram")
    game.run(1)
    peer.settle(1 if survive else 0)
    assert len(peer.forms) == (1 if survive else 0)
    assert seen(game) == []
    assert game.errors == []


def test_an_error_in_a_callback_is_a_script_error(game: Game, peer: Peer) -> None:
    game.execute(f'Shared.SendHTTPRequest("{peer.url}", "GET", function() error("inside") end)')
    game.frame()
    assert "HTTP callback: " in game.errors[0]
    assert "inside" in game.errors[0]


def test_real_time_can_drive_the_system_clock(game: Game, peer: Peer) -> None:
    gate = Event()
    peer.gate = gate
    game.http.waits, game.follows_real_time = False, True
    ask(game, peer.url)
    game.frame()
    before = game.system
    assert not gate.wait(0.05)
    game.frame()
    assert game.system - before >= 0.05
    assert seen(game) == []
    gate.set()
    game.http.waits, game.http.patience = True, 20
    game.frame()
    assert seen(game) == ["answer yes nil 0 200"]
