// SPDX-License-Identifier: GPL-3.0-or-later
//
// The map's round timers: whether setup time runs, and when the round ends.

#define TIMER_SETUP 0  // RT_STATE_SETUP, teamplay_round_timer.h

// Every timer that changes its state writes m_bInSetup, even one that players do not see
// (CTeamRoundTimer::SetState, teamplay_round_timer.cpp): the timer in the HUD knows better, where there is one.
bool Timers_InSetup()
{
	int timer = InHud();
	if (timer != -1)
	{
		return GetEntProp(timer, Prop_Send, "m_nState") == TIMER_SETUP;
	}
	return GameRules_GetProp("m_bInSetup") != 0;
}

static int InHud()
{
	int resource = FindEntityByClassname(-1, "tf_objective_resource");
	int timer = resource == -1 ? 0 : GetEntProp(resource, Prop_Send, "m_iTimerToShowInHUD");
	if (timer <= MaxClients || !IsValidEntity(timer) || !HasEntProp(timer, Prop_Send, "m_nState"))
	{
		return -1;
	}
	return timer;
}

// Seconds until the timer in the HUD ends the round, negative when no such end is known. KOTH has two clocks that stop
// and go.
float Timers_EndsIn()
{
	int timer = Facts_Koth() || Facts_Arena() ? -1 : InHud();
	if (timer == -1 || GetEntProp(timer, Prop_Send, "m_bIsDisabled") != 0
		|| GetEntProp(timer, Prop_Send, "m_bTimerPaused") != 0)
	{
		return -1.0;
	}
	return GetEntPropFloat(timer, Prop_Send, "m_flTimerEndTime") - GetGameTime();
}
