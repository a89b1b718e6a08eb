// SPDX-License-Identifier: GPL-3.0-or-later
//
// Equipoise: reports what happens on this server to the daemon and carries out what the daemon decides.
// The rules, the ratings and the splits are the daemon's; see docs/protocol.md for what is said between the two.

#include <sourcemod>
#include <sdktools>
#include <tf2>
#include <tf2_stocks>
#include <ripext>

#pragma semicolon 1
#pragma newdecls required

#undef REQUIRE_PLUGIN
#include <adminmenu>
#include <equipoise>
#define REQUIRE_PLUGIN

// Written by the build. Without it, as the compiler finds the source in a checkout, the plugin is of no release.
#tryinclude <equipoise_version>
#if !defined PLUGIN_VERSION
#define PLUGIN_VERSION "source"
#endif

// TF2 seats 100 players and SourceTV; SourceMod 1.11's own MAXPLAYERS still says 65.
#define MAX_PLAYERS 101
// A SteamID64 in decimal, or "bot:<userid>".
#define ID_SIZE 24
// Ids of orders, rounds and sessions.
#define NAME_SIZE 64
// The name of a map: the protocol takes 128 characters.
#define MAP_SIZE 129

#include "equipoise/settings.sp"
#include "equipoise/reading.sp"
#include "equipoise/players.sp"
#include "equipoise/roster.sp"
#include "equipoise/classes.sp"
#include "equipoise/facts.sp"
#include "equipoise/timers.sp"
#include "equipoise/counts.sp"
#include "equipoise/presence.sp"
#include "equipoise/record.sp"
#include "equipoise/rounds.sp"
#include "equipoise/waiting.sp"
#include "equipoise/observe.sp"
#include "equipoise/level.sp"
#include "equipoise/session.sp"
#include "equipoise/engine.sp"
#include "equipoise/memory.sp"
#include "equipoise/ring.sp"
#include "equipoise/outbox.sp"
#include "equipoise/post.sp"
#include "equipoise/reply.sp"
#include "equipoise/orders.sp"
#include "equipoise/medics.sp"
#include "equipoise/assign.sp"
#include "equipoise/moves.sp"
#include "equipoise/locks.sp"
#include "equipoise/joins.sp"
#include "equipoise/arena.sp"
#include "equipoise/idle.sp"
#include "equipoise/chat.sp"
#include "equipoise/cache.sp"
#include "equipoise/fallback.sp"
#include "equipoise/why.sp"
#include "equipoise/hud.sp"
#include "equipoise/vote.sp"
#include "equipoise/words.sp"
#include "equipoise/commands.sp"
#include "equipoise/menu.sp"
#include "equipoise/playermenu.sp"
#include "equipoise/probe.sp"
#include "equipoise/recorder.sp"
#include "equipoise/pause.sp"
#include "equipoise/api.sp"

public Plugin myinfo =
{
	name = "Equipoise",
	author = "The Equipoise project",
	description = "Fair teams: observes rounds for the Equipoise daemon and carries out its decisions",
	version = PLUGIN_VERSION,
	url = ""
};

public APLRes AskPluginLoad2(Handle myself, bool late, char[] error, int errorSize)
{
	if (GetEngineVersion() != Engine_TF2)
	{
		strcopy(error, errorSize, "Equipoise plays Team Fortress 2 only.");
		return APLRes_Failure;
	}
	Session_Load(late);
	Api_Offer();
	Hud_Optional();
	return APLRes_Success;
}

public void OnPluginStart()
{
	LoadTranslations("common.phrases");
	LoadTranslations("core.phrases");
	LoadTranslations("equipoise.phrases");
	LoadTranslations("equipoise.plugin.phrases");
	Words_Create();
	Settings_Create();
	Session_Create();
	Engine_Find();
	Ring_Create();
	Outbox_Create();
	Presence_Create();
	Counts_Find();
	Moves_Create();
	Locks_Create();
	Cache_Create();
	Level_Create();
	Commands_Register();
	PlayerMenu_Register();
	Probe_Create();
	Vote_Listen();
	Joins_Listen();
	Classes_Listen();
	Observe_Hook();
	CreateTimer(1.0, Timer_Second, _, TIMER_REPEAT);
	Players_Reread();
	Menu_Find();
}

public void OnPluginEnd()
{
	Vote_End();
	Probe_End("the plugin ends");
	Memory_Write(true);
	Engine_Restore();
}

public void OnMapStart()
{
	Recorder_Note("OnMapStart");
	Session_Begin();
}

public void OnConfigsExecuted()
{
	Recorder_Note("OnConfigsExecuted");
	Settings_Configured();
	Session_Configured();
}

public void OnMapEnd()
{
	Recorder_Note("OnMapEnd");
	Session_End();
	Memory_Write();
	Engine_Restore();
	Settings_EndMap();
}

Action Timer_Second(Handle timer)
{
	Post_Tick();  // first: an error in the others does not keep it from posting
	Players_Tick();
	Session_Look();
	Session_Inform();
	Rounds_Look();
	Arena_Tick();
	Roster_Tick();
	Timers_Tick();
	Idle_Tick();
	return Plugin_Continue;
}
