"""What the console of a game server says of the plugin and of its rivals."""

from __future__ import annotations

import pytest

from equipoise.core.model import ServerId
from equipoise.errors import PeerError
from equipoise.game.peers import PeerServers
from equipoise.game.port import Inspection, Peer
from tests.game.rcon_servers import PASSWORD, Answers, free_port, source_server

SERVER = ServerId("arena-1")
PLUGINS = """[SM] Listing 5 plugins:
  01 "Admin File Reader" (1.12.0.7195) by AlliedModders LLC
  02 "Equipoise" (0.1.0) by Equipoise
  03 <Failed> "Auto Team Balance" (1.0) by Somebody
  04 "[TF2] gScramble" (4.0.03) by Goerge
  05 Disabled: "old.smx"
Errors:
basevotes.smx (Basic Votes): Unable to load plugin (scramble)
"""
VARIABLES = {"mp_autoteambalance": "1", "mp_scrambleteams_auto": "0", "tf_arena_use_queue": "0"}


def console(plugins: str, variables: dict[str, str], more: dict[str, str] | None = None) -> Answers:
    def answer(command: str) -> str:
        if command == "sm plugins list":
            return plugins
        if more and command in more:
            return more[command]
        if command in variables:
            return f'"{command}" = "{variables[command]}" ( def. "1" )\n notify\n - "mp_autoteambalance" = "7"\n'
        return f'Unknown command "{command}"\n'

    return answer


async def inspected(answers: Answers) -> Inspection:
    async with source_server(answers) as (_, port):
        servers = PeerServers({SERVER: Peer(("127.0.0.1", port), PASSWORD)})
        try:
            return await servers.inspect(SERVER)
        finally:
            servers.close()


async def test_the_plugin_its_version_and_its_rivals_are_found() -> None:
    assert await inspected(console(PLUGINS, VARIABLES)) == Inspection(
        sourcemod=True,
        version=None,
        plugin="0.1.0",
        plugin_state="Running",
        switched_on=("mp_autoteambalance",),
        rivals=("[TF2] gScramble",),
    )


@pytest.mark.parametrize(
    ("listed", "sourcemod", "state"),
    [
        ('Unknown command "sm"\n', False, None),
        ("[SM] No plugins loaded\n", True, None),
        ('[SM] Listing 1 plugin:\n  1 <Error> "Equipoise" (0.1.0) by Equipoise\n', True, "Error"),
    ],
)
async def test_a_plugin_that_does_not_run_is_found_out(listed: str, sourcemod: bool, state: str | None) -> None:
    found = await inspected(console(listed, {}))
    assert (found.sourcemod, found.plugin_state, found.switched_on, found.rivals) == (sourcemod, state, (), ())


async def test_a_long_list_of_plugins_is_read_whole() -> None:
    many = "".join(f'  {number:03} "Plugin {number}" (1.0) by Somebody\n' for number in range(200))
    found = await inspected(console(f'[SM] Listing 201 plugins:\n{many}  200 "Equipoise" (9.9) by Equipoise\n', {}))
    assert found.plugin == "9.9"


async def test_what_a_plugin_calls_itself_is_one_short_line() -> None:
    listed = f"""[SM] Listing 4 plugins:
  01 "Equipoise" ({"9" * 5_000}) by x
  02 "[TF2] gScramble\x1b[2J\x0bbad   daemon" (1) by x
  03 "{"x" * 100} balance" (1) by x
  04 <Error
> "Auto Team Balance" (1) by x
"""
    found = await inspected(console(listed, {}))
    assert (found.plugin, found.rivals) == ("9" * 64, ("[TF2] gScramble\ufffd[2J\ufffdbad   daemon", "x" * 64))
    found = await inspected(console('  01 <Not\x1b[2J> "Equipoise" (1\x07) by x\n', {}))
    assert (found.plugin_state, found.plugin) == ("Not\ufffd[2J", "1\ufffd")


@pytest.mark.parametrize("line", ["", "1 <", ' 1 "balance" ('])
async def test_a_list_without_an_end_is_read_line_by_line_and_not_whole(line: str) -> None:
    """A search over many lines would take hours."""
    listed = f"{line}\n" * (200_000 // (len(line) + 1))
    found = await inspected(console(f'[SM]\n{listed}  01 "Equipoise" (0.1.0) by Equipoise\n', {}))
    assert (found.sourcemod, found.plugin, len(found.rivals)) == (True, None, 1 if "balance" in line else 0)


async def test_without_an_answer_nothing_is_said() -> None:
    servers = PeerServers({SERVER: Peer(("127.0.0.1", free_port()), PASSWORD)})
    with pytest.raises(PeerError, match="Connection refused"):
        await servers.inspect(SERVER)
    servers.close()
