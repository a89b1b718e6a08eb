"""Commands that change ratings show what they change, ask, and can be taken back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.house import House, ask, at_a_terminal, post
from tests.wire.samples import RED, ROUND, posted

pytestmark = pytest.mark.slow

STRANGER = "76561197999999999"


def rating(house: House, daemon: str) -> float:
    found = json.loads(ask(house, daemon, "player", "show", RED, "--json").stdout)
    return float(found["player"]["rating"])


def voided(house: House, daemon: str, *options: str) -> dict[str, Any]:
    done = ask(house, daemon, "round", "void", "arena-1", ROUND["round"], "--json", *options)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_a_change_of_a_rating_is_asked_for_and_not_done_where_nobody_can_answer(house: House, daemon: str) -> None:
    assert ask(house, daemon, "player", "set", RED, "1400", "--yes").returncode == 0
    for command in (("player", "undo", RED), ("player", "reset", RED), ("round", "void", "arena-1", ROUND["round"])):
        silent = ask(house, daemon, *command)
        assert (silent.returncode, silent.stdout) == (2, "")
        assert silent.stderr == "equipoise: this asks first, which needs a terminal: use --yes\n"
    there = ("--config", house.config, "--url", f"http://{daemon}")
    for answer, code, after in (("n", 1, 1400), ("y", 0, 1500)):
        ended, said = at_a_terminal(answer, "player", "set", RED, "1500", *there)
        assert ended == code, said
        assert "rating 1400 after 1 round → rating 1500" in said
        assert rating(house, daemon) == after


def test_an_edit_is_taken_back_and_applied_again(house: House, daemon: str) -> None:
    before = rating(house, daemon)
    nothing = ask(house, daemon, "player", "undo", RED, "--yes")
    assert (nothing.returncode, nothing.stderr) == (1, f"equipoise: {RED}: there is no edit to take back\n")
    assert ask(house, daemon, "player", "set", RED, "1500", "--yes").stdout == (
        f"{RED} -: rating {before:g} after 1 round → rating 1500 after 1 round\n"
    )
    post(daemon, house.secret, posted({**ROUND, "round": "1-5", "map": "koth_nucleus"}, seq=2))
    played = rating(house, daemon)
    dry = ask(house, daemon, "player", "undo", RED, "--dry-run")
    assert dry.returncode == 0, dry.stderr
    assert "set by token:owner" in dry.stdout
    assert rating(house, daemon) == played
    assert ask(house, daemon, "player", "undo", RED, "--yes").returncode == 0
    assert rating(house, daemon) < 1400
    assert "applied again" in ask(house, daemon, "player", "undo", RED, "--yes").stdout
    assert rating(house, daemon) == played


def test_a_player_who_was_never_seen_is_not_changed_by_mistake(house: House, daemon: str) -> None:
    for command in (("set", STRANGER, "1500"), ("reset", STRANGER)):
        refused = ask(house, daemon, "player", *command, "--yes")
        assert (refused.returncode, refused.stderr) == (1, f"equipoise: {STRANGER} was never seen here (pool main)\n")
    assert ask(house, daemon, "player", "set", STRANGER, "1500", "--new", "--yes").returncode == 0
    assert ask(house, daemon, "player", "reset", STRANGER, "--yes").returncode == 0


def test_a_round_is_taken_out_of_the_ratings_and_put_back(house: House, daemon: str) -> None:
    before = rating(house, daemon)
    dry = ask(house, daemon, "round", "void", "arena-1", ROUND["round"], "--dry-run")
    assert dry.returncode == 0, dry.stderr
    assert RED in dry.stdout
    assert rating(house, daemon) == before != 1000
    done = voided(house, daemon, "--yes", "--reason", "a cheater played")
    assert done["void"]
    assert {each["after"] for each in done["replay"]["changes"]} == {1000}
    assert rating(house, daemon) == 1000
    post(daemon, house.secret, posted({**ROUND, "map": "koth_nucleus"}, seq=3))
    assert rating(house, daemon) == 1000
    shown = ask(house, daemon, "round", "show", "arena-1", ROUND["round"]).stdout
    assert "Not rated: taken out of the ratings by an admin: a cheater played." in shown
    again = ask(house, daemon, "round", "void", "arena-1", ROUND["round"], "--yes")
    assert (again.returncode, again.stderr) == (1, f"equipoise: round {ROUND['round']} of arena-1 is void already\n")
    assert not voided(house, daemon, "--yes", "--undo")["void"]
    assert rating(house, daemon) == before


def test_a_round_that_is_not_stored_is_named(house: House, daemon: str) -> None:
    for server in ("arena-1", "none", "../../x"):
        refused = ask(house, daemon, "round", "void", server, "7-7", "--yes")
        assert (refused.returncode, refused.stderr) == (1, f"equipoise: round 7-7 of {server} is not stored\n")
    long = ask(house, daemon, "round", "void", "arena-1", "7-7", "--yes", "--reason", "x" * 201)
    assert (long.returncode, long.stderr.splitlines()[-1]) == (
        2,
        "Error: Invalid value for '--reason': it has 201 characters, 200 fit",
    )
