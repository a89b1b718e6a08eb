"""What admins do and whom they may do it to: access, targets, and who reads of it."""

from collections.abc import Callable

import pytest

from tests.sourcemod.rig import Game, Player, Plugin
from tests.sourcemod.rig.game.facts import BLU

Script = Callable[..., Plugin]

GENERIC, ROOT = 1 << 1, 1 << 14
TARGETS = """
    public void OnPluginStart() { LoadTranslations("common.phrases"); RegConsoleCmd("aim", Command_Aim); }
    Action Command_Aim(int client, int args)
    {
        char pattern[64], number[8], name[64];
        GetCmdArg(1, pattern, sizeof(pattern));
        GetCmdArg(2, number, sizeof(number));
        int targets[MAXPLAYERS];
        bool phrase;
        int count = ProcessTargetString(pattern, client, targets, sizeof(targets), StringToInt(number), name,
            sizeof(name), phrase);
        char list[64];
        for (int i = 0; i < count; i++)
        {
            Format(list, sizeof(list), "%s %N", list, targets[i]);
        }
        PrintToServer("%d%s (%s%s)", count, list, name, phrase ? " phrase" : "");
        if (count <= 0)
        {
            ReplyToTargetError(client, count);
        }
        return Plugin_Handled;
    }"""
ALIVE, DEAD, NO_IMMUNITY, NO_MULTI, NO_BOTS = 1, 2, 8, 16, 32


@pytest.fixture
def people(game: Game, script: Script) -> dict[str, Player]:
    """Ann, an admin; Annabel; Bob on RED, an admin with more immunity; a bot on BLU."""
    script(TARGETS)
    game.start_map("cp_badlands")
    people = {name: game.connect(name) for name in ("Ann", "Annabel")} | {"Bob": game.add("Bob", "red")}
    people["Bot"] = game.add_bot("Bot", BLU)
    people["Ann"].flags = people["Bob"].flags = GENERIC
    people["Bob"].immunity = 50
    return people


@pytest.mark.parametrize(
    ("pattern", "filters", "found"),
    [
        ("@all", 0, "3 Ann Annabel Bot (all players phrase)"),
        ("@all", NO_IMMUNITY | NO_BOTS, "3 Ann Annabel Bob (all players phrase)"),
        ("@!me", NO_IMMUNITY, "3 Annabel Bob Bot (all players phrase)"),
        ("@me", 0, "1 Ann (Ann)"),
        ("@me", ALIVE, "-1 ()"),
        ("@bots", 0, "1 Bot (all bots phrase)"),
        ("@bots", NO_BOTS, "-6 ()"),
        ("@humans", NO_IMMUNITY, "3 Ann Annabel Bob (all humans phrase)"),
        ("@red", 0, "-5 (Red Team)"),
        ("@red", NO_IMMUNITY, "1 Bob (Red Team)"),
        ("@blue", 0, "1 Bot (Blue Team)"),
        ("@all", NO_MULTI, "0 ()"),
        ("@alive", DEAD, "-2 ()"),
        ("ann", 0, "-7 ()"),
        ("abel", 0, "1 Annabel (Annabel)"),
        ("#Ann", 0, "1 Ann (Ann)"),
        ("bob", 0, "-4 ()"),
        ("nobody", 0, "0 ()"),
    ],
)
def test_a_pattern_means_whom_it_means_to_sourcemod(
    game: Game, people: dict[str, Player], pattern: str, filters: int, found: str
) -> None:
    game.command(people["Ann"], f'aim "{pattern}" {filters}')
    assert game.sm.console == [found]


def test_an_identity_aims_at_one(game: Game, people: dict[str, Player]) -> None:
    bel = people["Annabel"]
    account = bel.steamid - 76561197960265728
    for key in (bel.userid, bel.steam2, bel.steam2.replace("STEAM_0", "STEAM_1").replace(":", "_"), f"[U:1:{account}]"):
        game.command(people["Ann"], f'aim "#{key}" 0')
    game.command(people["Ann"], f'aim "#{bel.steamid}" 0')
    assert game.sm.console == ["1 Annabel (Annabel)"] * 4 + ["0 ()"]


def test_who_is_no_admin_may_aim_at_nobody_unless_immunity_does_not_matter(
    game: Game, people: dict[str, Player]
) -> None:
    for line in ("@me 0", "abel 0", "bob 8"):
        game.command(people["Annabel"], f"aim {line}")
    assert game.sm.console == ["-4 ()", "-4 ()", "1 Bob (Bob)"]
    assert people["Annabel"].console == ["[SM] You may not target this player"] * 2


ACTIVITY = """
    public void OnPluginStart() { RegConsoleCmd("sm_act", Command_Act); }
    Action Command_Act(int client, int args)
    {
        ShowActivity2(client, "[Rig] ", "did it");
        ShowActivity(client, "did it too");
        LogAction(client, -1, "\\"%L\\" did it", client);
        return Plugin_Handled;
    }
    public Action OnLogAction(Handle source, Identity identity, int client, int target, const char[] message)
    {
        PrintToServer("%d %d %d", identity == Identity_Plugin, client, target);
        return target == -1 && client == 2 ? Plugin_Handled : Plugin_Continue;
    }"""


def test_everybody_reads_what_an_admin_did_and_admins_read_the_name(game: Game, script: Script) -> None:
    script(ACTIVITY)
    game.start_map("cp_badlands")
    ann, bob, cid = (game.connect(name) for name in ("Ann", "Bob", "Cid"))
    ann.flags, bob.flags = GENERIC, ROOT
    game.command(ann, "sm_act")
    assert ann.chat == ["[Rig] did it"]
    assert ann.console == ["[SM] did it too"]
    assert bob.chat == ["[Rig] Ann: did it", "[SM] Ann: did it too"]
    assert cid.chat == ["[Rig] ADMIN: did it", "[SM] ADMIN: did it too"]
    game.say(ann, "!act")
    assert ann.chat[1:] == ["[Rig] did it", "[SM] Ann: did it too"]


def test_activity_is_shown_as_the_servers_variable_says(game: Game, script: Script) -> None:
    script(ACTIVITY)
    game.start_map("cp_badlands")
    ann, bob, cid = (game.connect(name) for name in ("Ann", "Bob", "Cid"))
    bob.flags = GENERIC
    game.sm.convars["sm_show_activity"].set("0")
    game.command(ann, "sm_act")
    assert (bob.chat, cid.chat) == ([], [])
    game.sm.convars["sm_show_activity"].set("2")
    game.command(ann, "sm_act")
    assert (bob.chat, cid.chat) == ([], ["[Rig] Ann: did it", "[SM] Ann: did it too"])
    game.sm.convars["sm_show_activity"].set("4")
    cid.chat.clear()
    assert game.rcon("sm_act")[:2] == ["[Rig] did it", "[SM] did it too"]
    assert (bob.chat, cid.chat) == (["[Rig] ADMIN: did it", "[SM] ADMIN: did it too"], [])


def test_an_action_is_logged_unless_a_plugin_takes_it(game: Game, script: Script) -> None:
    script(ACTIVITY)
    game.start_map("cp_badlands")
    ann, bob = game.connect("Ann"), game.connect("Bob")
    game.command(ann, "sm_act")
    game.command(bob, "sm_act")
    assert game.sm.console == ["1 1 -1", "1 2 -1"]
    assert game.sm.log.actions == [(1, -1, f'"Ann<{ann.userid}><{ann.steam2}><>" did it')]
