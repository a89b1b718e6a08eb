// SPDX-License-Identifier: GPL-3.0-or-later
//
// Fields of a reply, which may be missing or null. Objects and arrays are new handles: the caller deletes them.

static bool Has(JSONObject json, const char[] key)
{
	return json.HasKey(key) && !json.IsNull(key);
}

bool Read_Bool(JSONObject json, const char[] key, bool otherwise = false)
{
	return Has(json, key) ? json.GetBool(key) : otherwise;
}

int Read_Int(JSONObject json, const char[] key)
{
	return Has(json, key) ? json.GetInt(key) : 0;
}

float Read_Float(JSONObject json, const char[] key, float otherwise = 0.0)
{
	return Has(json, key) ? json.GetFloat(key) : otherwise;
}

// Empty when it is missing or no text.
void Read_Text(JSONObject json, const char[] key, char[] buffer, int size)
{
	if (!Has(json, key) || !json.GetString(key, buffer, size))
	{
		buffer[0] = '\0';
	}
}

// Null when it is missing.
JSONObject Read_Object(JSONObject json, const char[] key)
{
	return Has(json, key) ? view_as<JSONObject>(json.Get(key)) : null;
}

// Null when it is missing.
JSONArray Read_Array(JSONObject json, const char[] key)
{
	return Has(json, key) ? view_as<JSONArray>(json.Get(key)) : null;
}

// "red" and "blu"; everything else is TFTeam_Unassigned, no side.
TFTeam Read_Side(JSONObject json, const char[] key)
{
	char name[8];
	Read_Text(json, key, name, sizeof(name));
	if (StrEqual(name, "red"))
	{
		return TFTeam_Red;
	}
	return StrEqual(name, "blu") ? TFTeam_Blue : TFTeam_Unassigned;
}
