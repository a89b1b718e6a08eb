"""Orders to a game server, and its plugin: first what one would do, then a button that orders just that."""

from __future__ import annotations

from typing import Any, NamedTuple

from equipoise.errors import ScriptError
from equipoise.page.visits import Elsewhere, Pages, Shown, Visit
from equipoise.web.routes import ADMINS, Ask
from equipoise.web.servers import Command, PluginUpdate, When, command, show_server, update_plugin

PATH = "/servers/{server}/{action:scramble|balance|cancel|on|off}"
PLUGIN = "/servers/{server}/plugin"

pages = Pages()


class Words(NamedTuple):
    """How an order is put to an admin."""

    question: str
    """With the server's name in it."""
    effect: str
    """What it means for the people who play."""
    button: str


WORDS = {
    ("scramble", "now"): Words(
        "Scramble {} at once?",
        "Where the mode cannot move people in a running round, it waits for the next round start.",
        "Scramble now",
    ),
    ("scramble", "next"): Words(
        "Scramble {} at the next round?",
        "Nobody loses a life. Players read in chat that it is due.",
        "Scramble next round",
    ),
    ("scramble", "skip"): Words(
        "Leave the teams of {} as they are?",
        "No shuffle comes before the next round. Players read so in chat; the round after it is as always.",
        "Leave them",
    ),
    ("balance", "now"): Words(
        "Balance {}?",
        "The players below go to the smaller side, at their next death where the rules say so.",
        "Balance",
    ),
    ("cancel", "now"): Words(
        "Cancel what is due on {}?", "A scramble that is due, or a vote that runs, is dropped.", "Cancel it"
    ),
    ("off", "now"): Words(
        "Switch Equipoise off on {}?",
        "The game's own rules hold until it is switched on again; rounds are still rated.",
        "Switch off",
    ),
    ("on", "now"): Words(
        "Switch Equipoise on on {}?", "From the next moment on teams are balanced again.", "Switch on"
    ),
}


class Order(Ask, frozen=True):
    """When an order takes effect."""

    when: When = "now"
    """For a scramble alone: at once where the mode allows it, or at the next round start; NS2: not before it."""


@pages.add("GET", PATH, ADMINS, query=Order)
async def show_effect(visit: Visit) -> Shown:
    """The page that shows the effect of an order, before it is given."""
    return await _shown(visit, visit.query.when)


@pages.add("POST", PATH, ADMINS)
async def give_order(visit: Visit) -> Shown | Elsewhere:
    """Give just the order that was shown; where it would be another one now, show that and do nothing."""
    words: dict[str, When] = {"next": "next", "skip": "skip"}
    when = words.get(visit.form.get("when", ""), "now")
    try:
        await command(visit.request(body=Command(when=when, seen=visit.form.get("seen", ""))))
    except ScriptError as error:
        if error.code not in ("changed", "refused"):
            raise
        return await _shown(visit, when, error.message)
    return Elsewhere(visit.link("servers", visit.path["server"]))


async def _shown(visit: Visit, when: When, notice: str = "") -> Shown:
    action, server = visit.path["action"], visit.path["server"]
    status = (await show_server(visit.request())).server
    words = WORDS[action, when if action == "scramble" else "now"]
    try:
        effect = await command(visit.request(body=Command(dry_run=True, when=when)))
        refusal = ""
    except ScriptError as error:
        if error.code != "refused":
            raise
        effect, refusal = None, error.message
    values = {
        "status": status,
        "action": action,
        "when": when,
        "words": words,
        "effect": effect,
        "refusal": refusal,
        "notice": notice,
    }
    return Shown("action.html", words.question.format(server), values, 409 if notice else 200)


@pages.add("GET", PLUGIN, ADMINS)
async def show_update(visit: Visit) -> Shown:
    """The page that shows an update of a game server's plugin, before it is done."""
    return await _plugin_shown(visit)


@pages.add("POST", PLUGIN, ADMINS)
async def give_update(visit: Visit) -> Shown:
    """Update a plugin to the version that was shown, and show how the game server took it."""
    try:
        update = await update_plugin(visit.request(body=PluginUpdate(seen=visit.form.get("seen", ""))))
    except ScriptError as error:
        if error.code not in ("changed", "refused"):
            raise
        return await _plugin_shown(visit, error.message)
    server = visit.path["server"]
    return Shown("plugin.html", f"The plugin of {server}", {"server": server, "update": update, "done": True})


async def _plugin_shown(visit: Visit, notice: str = "") -> Shown:
    server = visit.path["server"]
    values: dict[str, Any] = {"server": server, "update": None, "refusal": "", "notice": notice, "done": False}
    try:
        values["update"] = await update_plugin(visit.request(body=PluginUpdate(dry_run=True)))
    except ScriptError as error:
        if error.code != "refused":
            raise
        values["refusal"] = error.message
    return Shown("plugin.html", f"The plugin of {server}", values, 409 if notice else 200)
