"""The stand-in of NativeVotes: a plugin of the test holds votes of two answers, as the library's source has it."""

from collections.abc import Callable

import pytest

from tests.sourcemod.rig import Game, Player, Plugin

NATIVES = """
typedef Handler = function int (Handle vote, MenuAction action, int param1, int param2);
native Handle NativeVotes_Create(Handler handler, int type, MenuAction actions);
native void NativeVotes_Close(Handle vote);
native bool NativeVotes_Display(Handle vote, int[] clients, int count, int seconds, int flags = 0);
native bool NativeVotes_IsVoteInProgress();
native int NativeVotes_CheckVoteDelay();
native void NativeVotes_Cancel();
native Action NativeVotes_RedrawVoteTitle(const char[] text);
native void NativeVotes_DisplayPassCustomToOne(Handle vote, int client, const char[] format, any ...);
native void NativeVotes_DisplayFail(Handle vote, int reason = 0);

public APLRes AskPluginLoad2(Handle myself, bool late, char[] error, int size)
{
	MarkNativeAsOptional("NativeVotes_Create");
	MarkNativeAsOptional("NativeVotes_Close");
	MarkNativeAsOptional("NativeVotes_Display");
	MarkNativeAsOptional("NativeVotes_IsVoteInProgress");
	MarkNativeAsOptional("NativeVotes_CheckVoteDelay");
	MarkNativeAsOptional("NativeVotes_Cancel");
	MarkNativeAsOptional("NativeVotes_RedrawVoteTitle");
	MarkNativeAsOptional("NativeVotes_DisplayPassCustomToOne");
	MarkNativeAsOptional("NativeVotes_DisplayFail");
	return APLRes_Success;
}

public void OnPluginStart()
{
	RegServerCmd("vote_open", Command_Open);
	RegServerCmd("vote_cancel", Command_Cancel);
	RegServerCmd("vote_state", Command_State);
}

public void OnLibraryRemoved(const char[] name)
{
	PrintToServer("removed %s, running %d", name, NativeVotes_IsVoteInProgress());
}

Action Command_Open(int args)
{
	int clients[MAXPLAYERS], count;
	for (int client = 1; client <= MaxClients; client++)
	{
		if (IsClientInGame(client))
		{
			clients[count++] = client;
		}
	}
	Handle vote = NativeVotes_Create(Handle_Vote, 1, MENU_ACTIONS_DEFAULT | MenuAction_Display);
	NativeVotes_Display(vote, clients, count, GetCmdArgInt(1));
	return Plugin_Handled;
}

int Handle_Vote(Handle vote, MenuAction action, int param1, int param2)
{
	if (action == MenuAction_Display)
	{
		char title[32];
		FormatEx(title, sizeof(title), "Ice cream, %N?", param1);
		return view_as<int>(NativeVotes_RedrawVoteTitle(title));
	}
	if (action == MenuAction_VoteEnd)
	{
		PrintToServer("VoteEnd %d, %d of %d", param1, param2 & 0xFFFF, param2 >> 16);
		for (int client = 1; client <= MaxClients; client++)
		{
			if (IsClientInGame(client))
			{
				NativeVotes_DisplayPassCustomToOne(vote, client, "%N gets some", client);
			}
		}
	}
	else if (action == MenuAction_VoteCancel)
	{
		PrintToServer("VoteCancel %d", param1);
		NativeVotes_DisplayFail(vote, 4);
	}
	else if (action == MenuAction_End)
	{
		NativeVotes_Close(vote);
	}
	return 0;
}

Action Command_Cancel(int args)
{
	NativeVotes_Cancel();
	return Plugin_Handled;
}

Action Command_State(int args)
{
	PrintToServer("%d, wait %d", NativeVotes_IsVoteInProgress(), NativeVotes_CheckVoteDelay());
	return Plugin_Handled;
}
"""


@pytest.fixture
def voter(game: Game, script: Callable[..., Plugin]) -> Plugin:
    """A plugin with votes, on a server that has NativeVotes and two players."""
    game.sm.native_votes.load()
    plugin = script(NATIVES, "voter")
    game.start_map("koth_harvest_final")
    for name in ("Ann", "Bob"):
        game.add(name, "red")
    game.advance(1)
    return plugin


def two(game: Game) -> list[Player]:
    return list(game.humans())


def test_each_client_reads_the_question_drawn_for_them_until_the_result(game: Game, voter: Plugin) -> None:
    votes, (ann, bob) = game.sm.native_votes, two(game)
    game.rcon("vote_open 20")
    assert votes.shown == {ann.index: "Ice cream, Ann?", bob.index: "Ice cream, Bob?"}
    votes.choose(ann.index, "Yes")
    assert "VoteEnd" not in str(game.sm.console)
    votes.choose(bob.index, "No")
    assert any(line in game.sm.console for line in ("VoteEnd 0, 1 of 2", "VoteEnd 1, 1 of 2")), (
        "one of equals, by chance"
    )
    assert votes.shown == {}
    assert votes.told == {ann.index: ["Ann gets some"], bob.index: ["Bob gets some"]}
    assert votes.open == []


@pytest.mark.parametrize("line", ["vote option1", "vote 0 option9", "vote 0 1", "vote 0 option12", "vote", "vote 0"])
def test_what_is_no_answer_of_the_panel_is_no_vote(game: Game, voter: Plugin, line: str) -> None:
    game.rcon("vote_open 20")
    game.command(two(game)[0], line)
    assert sorted(game.sm.native_votes.choices.values()) == [-1, -1]


def test_a_vote_ends_after_its_seconds_and_without_votes_it_is_cancelled(game: Game, voter: Plugin) -> None:
    game.rcon("vote_open 5")
    game.advance(4.9)
    assert "VoteCancel -2" not in game.sm.console
    game.advance(0.2)
    assert "VoteCancel -2" in game.sm.console
    assert game.sm.native_votes.told[two(game)[0].index] == [4]


def test_only_one_vote_runs_and_its_cancel_needs_one(game: Game, voter: Plugin) -> None:
    game.rcon("vote_cancel")
    game.rcon("vote_open 20")
    game.rcon("vote_open 20")
    faults = game.sm.log.take_faults()
    assert faults == ["No vote is in progress", "A vote is already in progress"]
    game.rcon("vote_cancel")
    assert "VoteCancel -1" in game.sm.console


def test_the_panel_is_taken_for_five_seconds_from_a_votes_start_and_from_its_end(game: Game, voter: Plugin) -> None:
    """Game_ResetVote frees the vote_controller; a vote that was cancelled leaves that to the timer of its start."""
    game.rcon("vote_open 20")
    game.rcon("vote_cancel")
    assert game.rcon("vote_state") == ["1, wait 30"]
    game.advance(5.1)
    assert game.rcon("vote_state") == ["0, wait 25"]


def test_who_chose_and_leaves_ends_the_vote_before_the_last_has_chosen(game: Game, voter: Plugin) -> None:
    """DecrementPlayerCount counts them twice: when they chose, and when they left."""
    game.add("Cid", "blue")
    ann, bob, _ = two(game)
    game.rcon("vote_open 20")
    game.sm.native_votes.choose(ann.index, "Yes")
    game.leave(ann)
    game.sm.native_votes.choose(bob.index, "Yes")
    assert "VoteEnd 0, 1 of 1" in game.sm.console


def test_its_library_goes_while_its_natives_still_answer(game: Game, voter: Plugin) -> None:
    game.rcon("vote_open 20")
    game.sm.native_votes.unload()
    assert "removed nativevotes, running 1" in game.sm.console
    assert game.sm.native_votes.open == []
    game.rcon("vote_state")
    (fault,) = game.sm.log.take_faults()
    assert "not bound" in fault


def test_the_games_menu_of_votes_lists_what_is_enabled_and_who_calls_it_begins_a_vote(game: Game) -> None:
    game.start_map("koth_harvest_final")
    ann = game.add("Ann", "red")
    game.command(ann, "callvote")
    assert game.ballots.listed == {"Ann": ["ScrambleTeams"]}
    game.command(ann, "callvote TeamAutoBalance")
    game.command(ann, "callvote scrambleteams")
    assert game.ballots.called == [("Ann", "ScrambleTeams")]
