"""What a game server's console says of the plugin, and of what else moves players there.

The output is that of source-sdk-2013 (`ConVar_PrintDescription` in tier1/convar.cpp: `"name" = "value" …`) and of
SourceMod (`CPluginManager::OnRootConsoleCommand` in core/logic/PluginSys.cpp: `  01 "Name" (version) by Author`, with
`<Failed>` and the like before the name of a plugin that does not run).
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

from equipoise.game.port import Inspection, one_line

OURS = "Equipoise"
BALANCING = (
    "mp_autoteambalance",
    "mp_scrambleteams_auto",
    "sv_vote_issue_scramble_teams_allowed",
    "sv_vote_issue_autobalance_allowed",
    "tf_arena_use_queue",
)
"""Variables of the game that the plugin holds at 0 while it acts, as `engine.sp` names them."""
RIVALS = re.compile(r"scrambl|scrimblo|balanc", re.IGNORECASE)
"""In the names of other plugins that balance teams: [TF2] gScramble, Simple Scramble, Scrimblo, Auto Team Balance …"""
PLUGIN = re.compile(
    r'^ *\d+ (?:<(?P<state>[^>\n]*)> )?(?:Disabled: )?"(?P<name>.*?)"(?: \((?P<version>[^)\n]*)\))?', re.MULTILINE
)
"""One line of the list. No part of it takes in a line's end, or a search would take the square of the list's length."""
LONGEST_LIST = 1 << 16
"""Characters of the list that are read: 500 plugins."""

Execute = Callable[[str], Awaitable[str]]
"""Sends a command; PeerError."""


async def inspect(execute: Execute) -> Inspection:
    """Ask a game server's console. PeerError: it does not answer."""
    listed = await execute("sm plugins list")
    plugins = {found["name"]: found for found in PLUGIN.finditer(listed, 0, LONGEST_LIST)}
    ours = plugins.pop(OURS, None)
    values = {name: value(name, await execute(name)) for name in BALANCING}
    return Inspection(
        sourcemod="[SM]" in listed,
        plugin=one_line(ours["version"]) if ours and ours["version"] is not None else None,
        plugin_state=one_line(ours["state"] or "Running") if ours else None,
        switched_on=tuple(name for name, set_to in values.items() if set_to not in (None, "0")),
        rivals=tuple(one_line(name) for name, found in plugins.items() if RIVALS.search(name) and not found["state"]),
    )


def value(name: str, output: str) -> str | None:
    """The value of a console variable by its description; None: there is no such variable.

    >>> value("mp_autoteambalance", '"mp_autoteambalance" = "1" ( def. "0" )\\n notify\\n - Balance teams')
    '1'
    >>> value("equipoise_version", 'Unknown command "equipoise_version"')
    """
    found = re.search(rf'^"{re.escape(name)}" = "(.*?)"', output, re.MULTILINE)
    return found[1] if found else None
