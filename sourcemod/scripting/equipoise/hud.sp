// SPDX-License-Identifier: GPL-3.0-or-later
//
// The game's own panel for votes, by the plugin NativeVotes (https://forums.alliedmods.net/showthread.php?t=208008) on
// servers that have it. Its natives are declared here as far as they are used, so that nobody needs its include file.

#define HUD_LIBRARY "nativevotes"
#define HUD_YES_NO 1      // NativeVotesType_Custom_YesNo: the question is ours, Yes and No are the game's
#define HUD_FAIL_LOSES 3  // NativeVotesFail_Loses
#define HUD_FAIL_FEW 4    // NativeVotesFail_NotEnoughVotes
#define HUD_FAIL 0        // NativeVotesFail_Generic

typedef HudHandler = function int (Handle vote, MenuAction action, int param1, int param2);

native Handle NativeVotes_Create(HudHandler handler, int type, MenuAction actions);
native void NativeVotes_Close(Handle vote);
native bool NativeVotes_Display(Handle vote, int[] clients, int count, int seconds, int flags = 0);
native bool NativeVotes_IsVoteInProgress();
native int NativeVotes_CheckVoteDelay();
native void NativeVotes_Cancel();
native Action NativeVotes_RedrawVoteTitle(const char[] text);
native void NativeVotes_DisplayPassCustomToOne(Handle vote, int client, const char[] format, any ...);
native void NativeVotes_DisplayFail(Handle vote, int reason = HUD_FAIL);

void Hud_Optional()
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
}

public void OnLibraryRemoved(const char[] name)
{
	if (StrEqual(name, HUD_LIBRARY))
	{
		Vote_HudLeaves();
	}
}

bool Hud_Here()
{
	return LibraryExists(HUD_LIBRARY);
}

// A vote of any plugin or of the game itself has the panel.
bool Hud_Taken()
{
	return Hud_Here() && NativeVotes_IsVoteInProgress();
}

// Whole seconds until a vote may start, 0: now.
int Hud_Delay()
{
	return Hud_Here() ? NativeVotes_CheckVoteDelay() : 0;
}

// False: it cannot show such a vote. `Vote_Title`, `Vote_Counted` and `Vote_Stopped` are called.
bool Hud_Open(int[] voters, int count, int seconds)
{
	Handle vote = Hud_Here() ? NativeVotes_Create(Handle_Hud, HUD_YES_NO, MENU_ACTIONS_DEFAULT | MenuAction_Display) : null;
	if (vote == null)
	{
		return false;
	}
	if (!NativeVotes_Display(vote, voters, count, seconds))
	{
		NativeVotes_Close(vote);
		return false;
	}
	return true;
}

// A vote that has ended has to be closed, and its panel to be taken off all screens.
static int Handle_Hud(Handle vote, MenuAction action, int param1, int param2)
{
	char line[LINE_SIZE];
	switch (action)
	{
		case MenuAction_Display:
		{
			Vote_Title(param1, line, sizeof(line));
			return view_as<int>(NativeVotes_RedrawVoteTitle(line));
		}
		case MenuAction_VoteEnd:
		{
			int most, total;
			GetMenuVoteInfo(param2, most, total);
			Result(vote, param1 == 0 ? most : total - most, total);
		}
		case MenuAction_VoteCancel:
		{
			NativeVotes_DisplayFail(vote, param1 == VoteCancel_NoVotes ? HUD_FAIL_FEW : HUD_FAIL);
			Vote_Stopped(param1);
		}
		case MenuAction_End:
		{
			NativeVotes_Close(vote);
		}
	}
	return 0;
}

static void Result(Handle vote, int yes, int total)
{
	if (!Vote_Passes(yes, total))
	{
		NativeVotes_DisplayFail(vote, HUD_FAIL_LOSES);
	}
	else
	{
		char counts[2][12], line[LINE_SIZE];
		IntToString(yes, counts[0], sizeof(counts[]));
		IntToString(total, counts[1], sizeof(counts[]));
		for (int client = 1; client <= MaxClients; client++)
		{
			if (IsClientInGame(client) && !IsFakeClient(client))
			{
				FormatEx(line, sizeof(line), "%T", "Equipoise_VotePassed", client, counts[0], counts[1]);
				NativeVotes_DisplayPassCustomToOne(vote, client, "%s", line);
			}
		}
	}
	Vote_Counted(yes, total);
}
