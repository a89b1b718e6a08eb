"""Chat, consoles and rights (ns2_game.md 6.3, 6.4)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ns2mod.probe import seen
from tests.ns2mod.rig import Game, write_mod

HEARS = """
    local original = ProcessSayCommand
    function ProcessSayCommand(player, text)
        Shared.Message("> heard " .. player:GetName() .. " " .. text)
        return original(player, text)
    end"""
COMMAND = """
    CreateServerAdminCommand("Console_sv_try", function(client, ...)
        Shared.Message("> try " .. table.concat({ ... }, "|"))
    end, "tries")
    Event.Hook("Console_anybody", function(client) Shared.Message("> anybody") end)"""


def test_a_line_of_chat_reaches_everybody_and_the_say_command(tmp_path: Path) -> None:
    game = Game([write_mod(tmp_path, "hears", HEARS)]).boot()
    ann, bob = game.connect(7, "Ann"), game.connect(8, "Bob")
    ann.says("!eq vote")
    assert (ann.chat, bob.chat) == (["!eq vote"], ["!eq vote"])
    assert seen(game) == ["heard Ann !eq vote"]


def test_team_chat_stays_on_the_team() -> None:
    game = Game().boot()
    ann, bob, cid = game.connect(7, "Ann"), game.connect(8, "Bob"), game.connect(9, "Cid")
    ann.joins(1)
    bob.joins(2)
    ann.says("secret", team_only=True)
    assert (ann.chat, bob.chat, cid.chat) == (["secret"], [], [])


def test_shine_swallows_a_line_that_its_listener_answers_with_nothing(tmp_path: Path) -> None:
    source = (
        HEARS
        + """
        Shine.Hook.Add("PlayerSay", "test", function(client, message)
            if message.message:sub(1, 1) == "!" then return "" end
        end)"""
    )
    game = Game([write_mod(tmp_path, "hears", source)], shine="outside").boot()
    ann = game.connect(7, "Ann")
    ann.says("!eq vote")
    ann.says("hello")
    assert ann.chat == ["hello"]
    assert seen(game) == ["heard Ann hello"]


def test_a_client_without_a_player_says_nothing() -> None:
    game = Game().boot()
    ann, bob = game.connect(7, "Ann"), game.connect(8, "Bob")
    game.machine.call("DestroyPlayer", ann.player)
    ann.says("hi")
    assert (game.errors, bob.chat) == ([], [])


def test_more_than_five_lines_at_once_are_dropped() -> None:
    game = Game().boot()
    ann = game.connect(7, "Ann")
    for number in range(9):
        ann.says(str(number))
    assert ann.chat == ["0", "1", "2", "3", "4"]
    game.run(1.1)
    ann.says("later")
    assert ann.chat[-1] == "later"


def test_a_line_beyond_120_bytes_is_cut_in_the_middle_of_a_character() -> None:
    game = Game().boot()
    ann = game.connect(7, "Ann")
    ann.says("x" + "é" * 80)
    assert ann.chat == ["x" + "é" * 59 + "\N{REPLACEMENT CHARACTER}"]


def test_admin_commands_are_for_the_console_and_admins_and_quotes_are_text(tmp_path: Path) -> None:
    game = Game([write_mod(tmp_path, "command", COMMAND)]).boot()
    ann, bob = game.connect(7, "Ann"), game.connect(8, "Bob")
    game.admins.add(7)
    assert game.console('sv_try "a  b" c')
    assert seen(game) == ['try "a|b"|c']
    ann.console("SV_TRY x")
    bob.console("sv_try x")
    bob.console("anybody")
    assert seen(game) == ["try x", "anybody"]
    assert bob.prints == ["You are not allowed to run this command"]
    assert not game.console("unheard of")


def test_a_print_for_an_admin_comes_in_pieces_and_in_the_log() -> None:
    game = Game().boot()
    ann = game.connect(7, "Ann")
    game.execute('ServerAdminPrint(Server.GetClientById(1), string.rep("x", 200))')
    assert [len(piece) for piece in ann.prints] == [128, 72]
    assert game.messages == ["x" * 200]


def test_with_shine_a_print_never_reaches_the_servers_console_from_the_first_think_on(tmp_path: Path) -> None:
    """As Person8880/Shine, core/server/logging.lua, "OverrideServerAdminPrint" has it."""
    mod = write_mod(tmp_path, "early", 'ServerAdminPrint(nil, "before")')
    game = Game([mod], shine="outside").boot()
    assert game.messages == ["before"], "the game's own function, until Shine thinks"
    ann = game.connect(7, "Ann")
    game.execute(
        "client = Server.GetClientById(1) ServerAdminPrint(nil, 'to nobody') ServerAdminPrint(client, 'to Ann')"
    )
    game.execute(f"ServerAdminPrint(client, '{'word ' * 40}')")
    assert game.messages == ["before"]
    assert ann.prints[0] == "to Ann"
    assert all(len(piece) <= 127 and piece.endswith("word") for piece in ann.prints[1:-1])
    assert " ".join(ann.prints[1:]).split() == ["word"] * 40


@pytest.mark.parametrize(("adds", "heard"), [(True, ["hi"]), (False, [])])
def test_a_second_network_hook_adds_or_replaces(adds: bool, heard: list[str]) -> None:
    game = Game(switches={"network_hooks_add": adds}).boot()
    ann = game.connect(7, "Ann")
    game.execute('Server.HookNetworkMessage("ChatClient", function() end)')
    ann.says("hi")
    assert ann.chat == heard


def test_a_message_to_nobody_in_particular_is_an_error() -> None:
    game = Game().boot()
    game.execute('pcall(Server.SendNetworkMessage, nil, "Chat", {}, true)')
    assert "SendNetworkMessage: no overload takes nil, string, table" in game.errors[0]
