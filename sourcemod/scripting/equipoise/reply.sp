// SPDX-License-Identifier: GPL-3.0-or-later
//
// What the daemon answers, part by part.

// `seq`: the batch that is answered.
void Reply_Obey(JSONObject reply, int seq)
{
	Reply_Rounds(reply);
	Level_Replied(reply);
	Session_SwitchOn(Read_Bool(reply, "enabled", true));
	Rated(reply);
	Fallback_Replied(reply, seq);
	Wanted(reply);
	JSONObject cache = Read_Object(reply, "cache");
	if (cache != null)
	{
		Cache_Read(cache);
		delete cache;
	}
	JSONArray orders = Read_Array(reply, "orders");
	if (orders != null)
	{
		Orders_Obey(orders);
		delete orders;
	}
}

void Reply_Rounds(JSONObject reply)
{
	JSONObject rounds = Read_Object(reply, "rounds");
	if (rounds != null)
	{
		Ring_Answered(rounds);
		delete rounds;
	}
}

static void Wanted(JSONObject reply)
{
	JSONArray wanted = Read_Array(reply, "want");
	if (wanted == null)
	{
		return;
	}
	char what[16];
	for (int i = 0; i < wanted.Length; i++)
	{
		wanted.GetString(i, what, sizeof(what));
		if (StrEqual(what, "hello"))
		{
			Outbox_WantHello();
		}
		else if (StrEqual(what, "roster"))
		{
			Outbox_WantRoster();
		}
	}
	delete wanted;
}

static void Rated(JSONObject reply)
{
	JSONArray summaries = Read_Array(reply, "players");
	if (summaries == null)
	{
		return;
	}
	for (int i = 0; i < summaries.Length; i++)
	{
		JSONObject summary = view_as<JSONObject>(summaries.Get(i));
		char id[ID_SIZE];
		Read_Text(summary, "id", id, sizeof(id));
		int client = Players_Find(id);
		if (client != 0)
		{
			g_Players[client].known = true;
			g_Players[client].rating = Read_Float(summary, "rating");
			g_Players[client].rounds = Read_Int(summary, "rounds");
			g_Players[client].visible = Read_Bool(summary, "visible");
			Api_Rated(client);
		}
		delete summary;
	}
	delete summaries;
}
