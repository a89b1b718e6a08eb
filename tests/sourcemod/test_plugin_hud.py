"""A vote on the game's own panel, where the server has NativeVotes: it may come, go and be unloaded at any moment."""

import pytest

from tests.sourcemod.answerer import Daemon, Json, Sides, obliging, poll, seconds_of_play, settle
from tests.sourcemod.rig import Game, Player
from tests.sourcemod.rig.sm.nativevotes import NativeVotes

GENERIC, LOSES, FEW = 0, 3, 4
"""What the game's panel says of a vote that failed (NativeVotesFail_…)."""
QUESTION = "Balance the teams now?"


@pytest.fixture
def votes(game: Game, daemon: Daemon, live: Sides) -> NativeVotes:
    """NativeVotes, loaded after us, in the running round."""
    daemon.answers["side_wanted"] = obliging
    game.sm.native_votes.load()
    return game.sm.native_votes


def order(game: Game, daemon: Daemon, name: str = "v-1", seconds: float = 20.0) -> None:
    text = {"phrase": "Equipoise_VoteQuestionNow", "args": []}
    daemon.order("vote", order=name, seconds=seconds, fraction=0.6, text=text)
    poll(game)


def ended(game: Game, daemon: Daemon) -> list[Json]:
    settle(game)
    return [{key: event[key] for key in ("order", "yes", "no")} for event in daemon.events("vote_ended")]


def vote(votes: NativeVotes, players: list[Player], *answers: str) -> None:
    for player, answer in zip(players, answers, strict=False):
        votes.choose(player.index, answer)


def test_the_question_is_on_the_games_panel_in_each_players_language_and_in_no_menu(
    game: Game, daemon: Daemon, live: Sides, votes: NativeVotes
) -> None:
    red, blu = live
    blu[0].language = "de"
    order(game, daemon)
    assert votes.shown == {player.index: QUESTION for player in red + blu} | {blu[0].index: "Teams jetzt ausgleichen?"}
    assert game.sm.menus.of(red[0].index) is None


@pytest.mark.parametrize(
    ("answers", "yes", "said"),
    [
        (("Yes", "Yes", "Yes", "No"), 3, "The vote passed: 3 of 4 for balanced teams."),
        (("Yes", "No", "Yes", "No"), 2, LOSES),
        (("No", "No", "No", "No"), 0, LOSES),
        ((), 0, FEW),
    ],
)
def test_the_panel_shows_the_result_that_the_daemon_will_find(
    game: Game, daemon: Daemon, live: Sides, votes: NativeVotes, answers: tuple[str, ...], yes: int, said: str | int
) -> None:
    red, blu = live
    order(game, daemon, seconds=6.0)
    vote(votes, red + blu, *answers)
    seconds_of_play(game, 7)
    assert ended(game, daemon) == [{"order": "v-1", "yes": yes, "no": len(answers) - yes}]
    assert votes.told == {player.index: [said] for player in red + blu}
    assert (votes.shown, votes.open) == ({}, [])


def test_while_another_vote_has_the_panel_ours_fails(
    game: Game, daemon: Daemon, live: Sides, votes: NativeVotes
) -> None:
    votes.issue = 2  # the game's own vote, to kick somebody
    order(game, daemon)
    assert daemon.results() == {"v-1": "vote_running"}
    assert votes.shown == {}


def test_who_leaves_takes_their_vote_along(game: Game, daemon: Daemon, live: Sides, votes: NativeVotes) -> None:
    red, blu = live
    order(game, daemon)
    game.leave(red[0])
    vote(votes, [red[1], *blu], "Yes", "No", "No")
    assert ended(game, daemon) == [{"order": "v-1", "yes": 1, "no": 2}]
    seconds_of_play(game, 6)
    order(game, daemon, "v-2", seconds=8.0)
    votes.choose(blu[0].index, "Yes")
    game.leave(blu[0])
    game.leave(blu[1])
    seconds_of_play(game, 10)
    assert ended(game, daemon)[1:] == [{"order": "v-2", "yes": 0, "no": 0}]


def test_the_library_that_is_unloaded_during_the_vote_takes_the_panel_along_and_the_next_vote_is_a_menu(
    game: Game, daemon: Daemon, live: Sides, votes: NativeVotes
) -> None:
    red, blu = live
    order(game, daemon)
    votes.choose(red[0].index, "Yes")
    votes.unload()
    settle(game)
    assert daemon.results() == {"v-1": "cancelled"}
    assert votes.told[red[0].index] == [GENERIC]
    order(game, daemon, "v-2")
    for player in red + blu:
        game.sm.menus.choose(player, "Yes")
    assert ended(game, daemon) == [{"order": "v-2", "yes": 4, "no": 0}]


def test_a_library_that_comes_during_a_vote_waits_for_the_next(game: Game, daemon: Daemon, live: Sides) -> None:
    red, blu = live
    votes = game.sm.native_votes
    order(game, daemon)
    votes.load()
    daemon.order("cancel", order="v-1")
    poll(game)
    assert game.sm.menus.of(red[0].index) is None
    order(game, daemon, "v-2")
    assert set(votes.shown.values()) == {QUESTION}
    vote(votes, red + blu, *["Yes"] * 4)
    assert ended(game, daemon) == [{"order": "v-2", "yes": 4, "no": 0}]


def test_what_the_library_says_of_the_delay_between_votes_is_kept_too(
    game: Game, daemon: Daemon, live: Sides, votes: NativeVotes
) -> None:
    red, _ = live
    order(game, daemon, seconds=6.0)
    seconds_of_play(game, 7)
    daemon.forget()
    game.say(red[0], "!scramble")
    assert red[0].chat[-1] == "[SM] The next vote may start in 29 seconds"
    assert daemon.events("command") == []
