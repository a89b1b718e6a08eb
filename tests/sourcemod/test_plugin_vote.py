"""A vote on new teams: the daemon's order becomes a menu, or the game's own panel where the server has NativeVotes; and
what was chosen goes back."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.sourcemod.answerer import Daemon, Json, Sides, begin, crowd, install, obliging, poll, seconds_of_play, settle
from tests.sourcemod.rig import Game, Player, Plugin
from tests.sourcemod.rig.game.facts import SPECTATOR
from tests.sourcemod.rig.sm.nativevotes import NativeVotes

QUESTION = "Balance the teams at the next round start?"
NOW = {"phrase": "Equipoise_VoteQuestionNow", "args": []}


@pytest.fixture
def live(live: Sides, daemon: Daemon) -> Sides:
    """The running round, in which joiners go where they want to."""
    daemon.answers["side_wanted"] = obliging
    return live


class Ballot:
    """What players see of a vote, and what they press, wherever it is shown."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.panel = game.sm.native_votes

    def choose(self, player: Player, text: str) -> None:
        if self.panel.loaded:
            self.panel.choose(player.index, text)
        else:
            choose(self.game, player, text)

    def sees(self, player: Player) -> str:
        return self.panel.shown.get(player.index, "") if self.panel.loaded else sees(self.game, player)


@pytest.fixture(params=["a menu", "the game's own panel"])
def ballot(request: pytest.FixtureRequest, game: Game, live: Sides) -> Ballot:
    """How this server shows votes: NativeVotes' panel where it has that, loaded after us."""
    if request.param != "a menu":
        game.sm.native_votes.load()
    return Ballot(game)


def order(game: Game, daemon: Daemon, name: str = "v-1", seconds: float = 20.0, **fields: object) -> None:
    """Order a vote and let the plugin hear of it."""
    daemon.order("vote", order=name, seconds=seconds, **fields)
    poll(game)


def choose(game: Game, player: Player, text: str) -> None:
    """A player presses the key beside this text."""
    game.sm.menus.choose(player, text)


def sees(game: Game, player: Player) -> str:
    """The title of the menu that a player sees; empty when there is none."""
    panel = game.sm.menus.of(player.index)
    return "" if panel is None else panel.title


def ended(game: Game, daemon: Daemon) -> list[Json]:
    """The results that were reported, without their times."""
    settle(game)
    found = daemon.events("vote_ended")
    return [{key: value for key, value in event.items() if key not in ("at", "kind")} for event in found]


@pytest.mark.parametrize(("texts", "yes", "no"), [(("Yes", "No"), 1, 1), (("No",), 0, 1), (("Yes",), 1, 0), ((), 0, 0)])
def test_a_vote_ends_with_its_time_and_counts_who_voted(
    game: Game, daemon: Daemon, live: Sides, texts: tuple[str, ...], yes: int, no: int
) -> None:
    red, _ = live
    order(game, daemon, seconds=10.0)
    for player, text in zip(red, texts, strict=False):
        choose(game, player, text)
    seconds_of_play(game, 9)
    assert ended(game, daemon) == []
    seconds_of_play(game, 3)
    assert ended(game, daemon) == [{"order": "v-1", "yes": yes, "no": no}]


def test_everyone_who_plays_votes_in_their_language_and_the_counts_are_reported(
    game: Game, daemon: Daemon, live: Sides
) -> None:
    red, blu = live
    red[1].language = "de"
    order(game, daemon)
    assert sees(game, red[1]) == "Teams zum nächsten Rundenbeginn ausgleichen?"
    for player, text in zip(red + blu, ("Yes", "Yes", "No", "Yes"), strict=True):
        if player is not red[1]:
            assert sees(game, player) == QUESTION
        assert ended(game, daemon) == []
        choose(game, player, text)
    assert ended(game, daemon) == [{"order": "v-1", "yes": 3, "no": 1}]
    assert daemon.results() == {}
    order(game, daemon, "v-2", text=NOW)
    assert [sees(game, player) for player in red] == ["Balance the teams now?", "Teams jetzt ausgleichen?"]


def test_keys_that_change_weapons_do_not_vote(game: Game, daemon: Daemon, live: Sides) -> None:
    red, _ = live
    order(game, daemon)
    panel = game.sm.menus.of(red[0].index)
    assert panel is not None
    assert panel.texts == {3: "Yes", 4: "No"}
    assert panel.keys == 0b1100, "the client sends no other key"
    assert panel.lines[:2] == [" ", " "]
    # One that is sent all the same is no vote.
    game.command(red[0], "menuselect 1")
    choose(game, red[1], "No")
    seconds_of_play(game, 22)
    assert ended(game, daemon) == [{"order": "v-1", "yes": 0, "no": 1}]


def asked(game: Game, daemon: Daemon) -> list[tuple[list[str], str]]:
    """The words that the daemon was asked, and by whom."""
    settle(game)
    return [(event["words"], event["by"]) for event in daemon.events("command")]


def test_a_vote_that_is_asked_for_too_soon_after_another_is_answered_with_how_long(
    game: Game, daemon: Daemon, live: Sides, script: Callable[..., Plugin]
) -> None:
    (ann, bob), _ = live
    script(RIVAL, "rival")
    game.sm.convars["sm_vote_delay"].set("90")
    game.rcon("rival_vote")
    game.rcon("sm_cancelvote")
    game.say(ann, "!scramble")
    assert ann.chat[-1] == "[SM] The next vote may start in 1 minutes"
    game.advance(40)
    game.say(ann, "!scramble")
    assert ann.chat[-1] == "[SM] The next vote may start in 49 seconds"
    game.say(ann, "!rank")
    bob.flags = 1 << 7  # ADMFLAG_CONVARS, as basevotes has it
    game.say(bob, "!scramble")
    assert asked(game, daemon) == [(["vote"], str(bob.steamid))], "the second word of a second is not heard"
    game.advance(51)
    game.say(ann, "!scramble")
    assert asked(game, daemon)[1:] == [(["vote"], str(ann.steamid))]


def test_a_vote_goes_on_whatever_else_is_ordered_and_the_daemon_answers_who_asks_for_another(
    game: Game, daemon: Daemon, live: Sides
) -> None:
    red, blu = live
    order(game, daemon, "v-1")
    daemon.order("cancel", order="m-7")
    order(game, daemon, "v-2")
    assert daemon.results() == {"v-2": "vote_running"}
    game.say(red[0], "!scramble")
    assert asked(game, daemon) == [(["vote"], str(red[0].steamid))]
    for player in red + blu:
        choose(game, player, "Yes")
    assert [(event["order"], event["yes"]) for event in ended(game, daemon)] == [("v-1", 4)]


@pytest.mark.parametrize("line", ["callvote ScrambleTeams", "CallVote scrambleteams"])
def test_the_games_own_vote_for_a_scramble_counts_as_the_word_in_chat(
    game: Game, daemon: Daemon, live: Sides, line: str
) -> None:
    (ann, _), _ = live
    game.command(ann, "callvote")
    assert game.ballots.listed["red0"] == ["ScrambleTeams"], "it stands in the game's menu of votes"
    game.command(ann, line)
    assert asked(game, daemon) == [(["vote"], str(ann.steamid))]
    assert game.ballots.called == []


def test_the_games_vote_is_left_alone_where_it_is_not_ours_to_balance_and_answered_in_silence(
    game: Game, daemon: Daemon, live: Sides
) -> None:
    (ann, _), _ = live
    game.rcon("equipoise_enabled 0")
    game.command(ann, "callvote ScrambleTeams")
    game.rcon("equipoise_enabled 1")
    assert asked(game, daemon) == []
    game.sm.http.offline = True
    game.advance(10)
    game.command(ann, "callvote ScrambleTeams")
    assert "does not answer" in ann.chat[-1]
    assert game.ballots.called == [("red0", "ScrambleTeams")], "the first one"


@pytest.mark.parametrize(
    "fields",
    [{"text": None}, {"text": "Now?"}, {"text": {"phrase": "Equipoise_OfLater", "args": ["1"]}}, {"fraction": "most"}],
)
def test_an_order_of_another_version_is_a_vote_all_the_same(
    game: Game, daemon: Daemon, live: Sides, fields: Json
) -> None:
    red, blu = live
    order(game, daemon, **fields)
    for player in red + blu:
        assert sees(game, player)
        choose(game, player, "No")
    assert [(event["yes"], event["no"]) for event in ended(game, daemon)] == [(0, 4)]


def test_only_humans_on_a_side_or_waiting_for_one_are_asked_and_who_leaves_takes_their_vote_along(
    game: Game, daemon: Daemon, live: Sides
) -> None:
    red, blu = live
    watching, joining = game.connect("Watching"), game.connect("Joining")
    game.command(watching, "spectate")
    game.add_bot("Chell", red[0].team)
    settle(game)
    order(game, daemon)
    assert watching.team == SPECTATOR
    assert [sees(game, player) for player in (watching, joining)] == ["", ""]
    choose(game, red[0], "No")
    game.leave(red[0])
    for player in (red[1], *blu):
        choose(game, player, "Yes")
    assert [(event["yes"], event["no"]) for event in ended(game, daemon)] == [(3, 0)]


def test_in_arena_who_waits_votes_too(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    daemon.answers["side_wanted"] = obliging
    begin(game, "arena_well", 2, 2)
    waiting = game.connect("Waiting")
    game.join(waiting, "red")
    settle(game)
    assert waiting.team == SPECTATOR
    order(game, daemon)
    assert sees(game, waiting) == QUESTION


def test_the_daemon_withdraws_a_vote_without_an_answer(game: Game, daemon: Daemon, live: Sides, ballot: Ballot) -> None:
    red, blu = live
    order(game, daemon)
    ballot.choose(red[0], "Yes")
    daemon.order("cancel", order="v-1")
    poll(game)
    assert (ballot.sees(red[1]), ballot.panel.open) == ("", [])
    seconds_of_play(game, 25)
    assert ended(game, daemon) == []
    assert daemon.results() == {}
    order(game, daemon, "v-2")
    assert ballot.sees(red[1]) == QUESTION
    for player in red + blu:
        ballot.choose(player, "No")
    assert [(event["order"], event["no"]) for event in ended(game, daemon)] == [("v-2", 4)]


RIVAL = """
public void OnPluginStart()
{
	RegServerCmd("rival_vote", Command_Vote);
	RegServerCmd("sm_cancelvote", Command_Cancel);
}

Action Command_Vote(int args)
{
	Menu menu = new Menu(Handle_Vote);
	menu.SetTitle("Next map?");
	menu.AddItem("a", "a");
	menu.DisplayVoteToAll(20);
	return Plugin_Handled;
}

int Handle_Vote(Menu menu, MenuAction action, int param1, int param2)
{
	if (action == MenuAction_End)
	{
		delete menu;
	}
	return 0;
}

Action Command_Cancel(int args)
{
	CancelVote();
	return Plugin_Handled;
}
"""


def test_a_vote_fails_while_another_plugins_runs_and_when_an_admin_of_sourcemod_cancels_it(
    game: Game, daemon: Daemon, live: Sides, script: Callable[..., Plugin]
) -> None:
    red, _ = live
    script(RIVAL, "rival")
    game.rcon("rival_vote")
    order(game, daemon, "v-1")
    assert sees(game, red[0]) == "Next map?"
    game.rcon("sm_cancelvote")
    order(game, daemon, "v-2")
    game.rcon("sm_cancelvote")
    settle(game)
    assert daemon.results() == {"v-1": "vote_running", "v-2": "cancelled"}
    assert ended(game, daemon) == []


def test_there_is_no_vote_without_players_nor_where_nothing_is_enforced(
    game: Game, daemon: Daemon, koth: Plugin
) -> None:
    order(game, daemon, "v-1")
    game.sm.convars["mp_humans_must_join_team"].set("red")
    order(game, daemon, "v-2")
    assert daemon.results() == {"v-1": "no_voters", "v-2": "off"}


def test_a_result_outlives_a_silent_daemon(game: Game, daemon: Daemon, live: Sides) -> None:
    red, blu = live
    order(game, daemon)
    game.sm.http.offline = True
    for player in red + blu:
        choose(game, player, "Yes")
    game.advance(15)
    game.sm.http.offline = False
    seconds_of_play(game, 6)
    assert [(event["yes"], event["no"]) for event in ended(game, daemon)] == [(4, 0)]


def test_a_map_that_ends_during_a_vote_takes_it_along(game: Game, daemon: Daemon, live: Sides, ballot: Ballot) -> None:
    order(game, daemon)
    game.start_map("cp_gorge")
    settle(game)
    assert (ballot.panel.shown, ballot.panel.open) == ({}, [])
    daemon.forget()
    red, _ = crowd(game, 1, 1)
    order(game, daemon, "v-2")
    assert ballot.sees(red[0]) == QUESTION
    assert ended(game, daemon) == []


def test_a_plugin_that_is_loaded_again_during_its_vote_may_hold_the_next_one(
    game: Game, daemon: Daemon, live: Sides, ballot: Ballot, plugin: Plugin, equipoise_smx: Path
) -> None:
    order(game, daemon)
    game.unload(plugin)
    assert (ballot.sees(live[0][0]), ballot.panel.open) == ("", [])
    install(game, daemon, equipoise_smx)
    seconds_of_play(game, 6)
    order(game, daemon, "v-2", seconds=5.0)
    seconds_of_play(game, 7)
    assert [event["order"] for event in ended(game, daemon)] == ["v-2"]


# On the game's own panel, which may come, go and be unloaded at any moment.

GENERIC, LOSES, FEW = 0, 3, 4
"""What the panel says of a vote that failed (NativeVotesFail_…)."""


@pytest.fixture
def votes(game: Game, daemon: Daemon, live: Sides) -> NativeVotes:
    """NativeVotes, loaded after us, in the running round."""
    game.sm.native_votes.load()
    return game.sm.native_votes


def vote(votes: NativeVotes, players: list[Player], *answers: str) -> None:
    """Players press keys, one after the other."""
    for player, answer in zip(players, answers, strict=False):
        votes.choose(player.index, answer)


def test_the_question_is_on_the_games_panel_in_each_players_language_and_in_no_menu(
    game: Game, daemon: Daemon, live: Sides, votes: NativeVotes
) -> None:
    red, blu = live
    blu[0].language = "de"
    order(game, daemon, text=NOW)
    question, german = "Balance the teams now?", "Teams jetzt ausgleichen?"
    assert votes.shown == {player.index: question for player in red + blu} | {blu[0].index: german}
    assert game.sm.menus.of(red[0].index) is None


@pytest.mark.parametrize(
    ("fraction", "answers", "yes", "said"),
    [
        (0.6, ("Yes", "Yes", "Yes", "No"), 3, "The vote passed: 3 of 4 for balanced teams."),
        (0.8, ("Yes", "Yes", "Yes", "No"), 3, LOSES),
        (0.6, ("Yes", "No", "Yes", "No"), 2, LOSES),
        (0.6, ("No", "No", "No", "No"), 0, LOSES),
        (0.6, (), 0, FEW),
    ],
)
def test_the_panel_shows_the_result_that_the_daemon_will_find(
    game: Game,
    daemon: Daemon,
    live: Sides,
    votes: NativeVotes,
    fraction: float,
    answers: tuple[str, ...],
    yes: int,
    said: str | int,
) -> None:
    red, blu = live
    order(game, daemon, seconds=6.0, fraction=fraction)
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


def test_who_leaves_takes_their_vote_along_from_the_panel_too(
    game: Game, daemon: Daemon, live: Sides, votes: NativeVotes
) -> None:
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
