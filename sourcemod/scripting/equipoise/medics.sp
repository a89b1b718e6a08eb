// SPDX-License-Identifier: GPL-3.0-or-later
//
// The übercharge of a medic, and how it survives being moved.

// The charge of a medic who is moved, and the medigun it belongs to.
enum struct Charge
{
	int kind;
	float level;
}

// 0 to 1; 1 also while it is in use.
float Medics_Charge(int client)
{
	int medigun = Medigun(client);
	if (medigun == -1)
	{
		return 0.0;
	}
	if (GetEntProp(medigun, Prop_Send, "m_bChargeRelease") != 0)
	{
		return 1.0;
	}
	return GetEntPropFloat(medigun, Prop_Send, "m_flChargeLevel");
}

// CWeaponMedigun::WeaponReset (tf_weapon_medigun.cpp) empties the medigun at every respawn. Outside a running round the
// game means it: everybody starts without a charge.
void Medics_Note(int client, Charge charge)
{
	int medigun = Medigun(client);
	charge.level = 0.0;
	if (medigun != -1 && GameRules_GetRoundState() == RoundState_RoundRunning)
	{
		charge.kind = GetEntProp(medigun, Prop_Send, "m_iItemDefinitionIndex");
		charge.level = GetEntPropFloat(medigun, Prop_Send, "m_flChargeLevel");
	}
}

// A charge does not go over to another medigun: in the game changing it costs the charge too.
void Medics_Restore(int client, const Charge charge)
{
	int medigun = charge.level > 0.0 ? Medigun(client) : -1;
	if (medigun != -1 && GetEntProp(medigun, Prop_Send, "m_iItemDefinitionIndex") == charge.kind)
	{
		SetEntPropFloat(medigun, Prop_Send, "m_flChargeLevel", charge.level);
	}
}

static int Medigun(int client)
{
	if (!IsPlayerAlive(client) || TF2_GetPlayerClass(client) != TFClass_Medic)
	{
		return -1;
	}
	int medigun = GetPlayerWeaponSlot(client, 1);
	return medigun != -1 && HasEntProp(medigun, Prop_Send, "m_flChargeLevel") ? medigun : -1;
}
