// SPDX-License-Identifier: GPL-3.0-or-later
//
// What the daemon orders, one after the other, and what came of it.

void Orders_Obey(JSONArray orders)
{
	for (int i = 0; i < orders.Length; i++)
	{
		JSONObject order = view_as<JSONObject>(orders.Get(i));
		Obey(order);
		delete order;
	}
}

static void Obey(JSONObject order)
{
	char kind[16];
	Read_Text(order, "kind", kind, sizeof(kind));
	if (StrEqual(kind, "say"))
	{
		Chat_Say(order);
	}
	else if (StrEqual(kind, "tell"))
	{
		Joins_Told(order);
		Chat_Tell(order);
	}
	else if (StrEqual(kind, "unlock"))
	{
		Locks_Unlock(order);
	}
	else if (StrEqual(kind, "cancel"))
	{
		Moves_Cancel(order);
		Vote_Cancel(order);
	}
	else
	{
		ObeyDecision(order, kind);
	}
}

// Decisions that another plugin may forbid.
static void ObeyDecision(JSONObject order, const char[] kind)
{
	if (StrEqual(kind, "assign"))
	{
		Assign_Obey(order);
	}
	else if (StrEqual(kind, "move"))
	{
		Moves_Obey(order);
	}
	else if (StrEqual(kind, "place"))
	{
		Joins_Obey(order);
	}
	else if (StrEqual(kind, "lock"))
	{
		Locks_Obey(order);
	}
	else if (StrEqual(kind, "vote"))
	{
		Vote_Obey(order);
	}
	else
	{
		LogMessage("The daemon ordered \"%s\", which this version does not know.", kind);
	}
}

// `why` is a short word, empty when the order was carried out; `stayed`, if not null, is who could not be moved.
void Orders_Answer(const char[] id, const char[] why, JSONArray stayed = null)
{
	Recorder_Note("order %s: %s", id, why[0] == '\0' ? "done" : why);
	JSONObject event = Outbox_Event(why[0] == '\0' ? "order_done" : "order_failed");
	event.SetString("order", id);
	if (why[0] != '\0')
	{
		event.SetString("reason", why);
	}
	if (stayed != null)
	{
		event.Set("stayed", stayed);
	}
	Outbox_Add(event);
}
