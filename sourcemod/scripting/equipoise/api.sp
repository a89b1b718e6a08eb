// SPDX-License-Identifier: GPL-3.0-or-later
//
// What other plugins may ask, hear and forbid: include/equipoise.inc.

static GlobalForward g_OnAssign;
static GlobalForward g_OnMove;
static GlobalForward g_OnPlace;
static GlobalForward g_OnLock;
static GlobalForward g_OnRated;

void Api_Offer()
{
	RegPluginLibrary("equipoise");
	CreateNative("Equipoise_IsEnabled", Native_IsEnabled);
	CreateNative("Equipoise_IsAnswering", Native_IsAnswering);
	CreateNative("Equipoise_IsPending", Native_IsPending);
	CreateNative("Equipoise_GetRating", Native_GetRating);
	CreateNative("Equipoise_GetLock", Native_GetLock);
	CreateNative("Equipoise_IsWaiting", Native_IsWaiting);
	CreateNative("Equipoise_RequestScramble", Native_RequestScramble);

	g_OnAssign = new GlobalForward("Equipoise_OnAssign", ET_Hook, Param_Array, Param_Array, Param_Cell);
	g_OnMove = new GlobalForward("Equipoise_OnMove", ET_Hook, Param_Cell, Param_Cell);
	g_OnPlace = new GlobalForward("Equipoise_OnPlace", ET_Hook, Param_Cell, Param_Cell);
	g_OnLock = new GlobalForward("Equipoise_OnLock", ET_Hook, Param_Cell, Param_Cell, Param_Float);
	g_OnRated = new GlobalForward("Equipoise_OnRated", ET_Ignore, Param_Cell, Param_Float, Param_Cell, Param_Cell);
}

bool Api_MayAssign(Plan plan)
{
	Action verdict = Plugin_Continue;
	Call_StartForward(g_OnAssign);
	Call_PushArray(plan.clients, plan.count);
	Call_PushArray(plan.teams, plan.count);
	Call_PushCell(plan.count);
	Call_Finish(verdict);
	return verdict < Plugin_Handled;
}

bool Api_MayMove(int client, TFTeam side)
{
	return May(g_OnMove, client, side);
}

bool Api_MayPlace(int client, TFTeam side)
{
	return May(g_OnPlace, client, side);
}

static bool May(GlobalForward decision, int client, TFTeam side)
{
	Action verdict = Plugin_Continue;
	Call_StartForward(decision);
	Call_PushCell(client);
	Call_PushCell(side);
	Call_Finish(verdict);
	return verdict < Plugin_Handled;
}

bool Api_MayLock(int client, TFTeam side, float seconds)
{
	Action verdict = Plugin_Continue;
	Call_StartForward(g_OnLock);
	Call_PushCell(client);
	Call_PushCell(side);
	Call_PushFloat(seconds);
	Call_Finish(verdict);
	return verdict < Plugin_Handled;
}

void Api_Rated(int client)
{
	Call_StartForward(g_OnRated);
	Call_PushCell(client);
	Call_PushFloat(g_Players[client].rating);
	Call_PushCell(g_Players[client].rounds);
	Call_PushCell(g_Players[client].visible);
	Call_Finish();
}

static any Native_IsEnabled(Handle plugin, int params)
{
	return Session_Enforcing();
}

static any Native_IsAnswering(Handle plugin, int params)
{
	return !Post_Silent();
}

static any Native_IsPending(Handle plugin, int params)
{
	return Fallback_Pending();
}

static any Native_GetRating(Handle plugin, int params)
{
	int client = Client(GetNativeCell(1));
	SetNativeCellRef(2, g_Players[client].rating);
	SetNativeCellRef(3, g_Players[client].rounds);
	SetNativeCellRef(4, g_Players[client].visible);
	return g_Players[client].known;
}

static any Native_GetLock(Handle plugin, int params)
{
	return Locks_Side(Client(GetNativeCell(1)));
}

static any Native_IsWaiting(Handle plugin, int params)
{
	return g_Players[Client(GetNativeCell(1))].waiting;
}

static any Native_RequestScramble(Handle plugin, int params)
{
	return Commands_RequestScramble(plugin, GetNativeCell(1));
}

static int Client(int client)
{
	if (client < 1 || client > MaxClients || !IsClientInGame(client))
	{
		ThrowNativeError(SP_ERROR_NATIVE, "Client %d is not in game", client);
		return 0;
	}
	return client;
}
