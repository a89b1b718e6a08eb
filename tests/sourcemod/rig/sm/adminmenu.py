"""The base plugin `adminmenu` as other plugins meet it: its library, natives, forwards, categories and command.

Source: SourceMod's plugins/adminmenu.sp. A server runs it unless its operator took it away, so a test loads it by
`game.sm.admin_menu.load()`.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..binding import Call, native
from ..memory import Shared
from .admins import ALIVE, CONNECTED, DEAD, NO_BOTS, NO_IMMUNITY, can_target
from .commands import HANDLED, Registration
from .menus import Menu
from .topmenus import DISPLAY_OPTION, DISPLAY_TITLE, START, Entry, TopMenu

if TYPE_CHECKING:
    from ..sourcemod import SourceMod

LIBRARY = "adminmenu"
NATIVES = ("GetAdminTopMenu", "AddTargetsToMenu", "AddTargetsToMenu2")
GENERIC = 1 << 1
NAMES = {"PlayerCommands": "Player Commands", "ServerCommands": "Server Commands", "VotingCommands": "Voting Commands"}


@dataclass(frozen=True, slots=True)
class Command:
    """`sm_admin`."""

    menu: TopMenu
    plugin: None = None

    def __call__(self, *arguments: int) -> int:
        client = arguments[0]
        if client:
            self.menu.show(client, START)
        else:
            self.menu.sm.chat.reply(client, "[SM] In the game only")
        return HANDLED


@dataclass(slots=True)
class AdminMenu:
    """The plugin of one server; `menu` is None while it is not loaded."""

    sm: "SourceMod"
    menu: TopMenu | None = None

    def load(self) -> TopMenu:
        """Load it, late if other plugins run: they hear of the library, then that the menu is ready."""
        self.menu = menu = TopMenu(self.sm, self._render)
        menu.handle = self.sm.handles.open(menu, closable=False)
        for name in NAMES:
            menu.add(Entry(menu.free(), name, self._render, self, "", 0, ""))
        self.sm.commands.registered["sm_admin"].append(Registration(Command(menu), GENERIC, admin=True))
        self.sm.forward("OnLibraryAdded", LIBRARY)
        self.sm.forward("OnAdminMenuCreated", menu.handle)
        self.sm.forward("OnAdminMenuReady", menu.handle)
        return menu

    def unload(self) -> None:
        """Unload it: the library goes first, then the menu; owners of items hear that these are gone."""
        assert self.menu is not None
        menu, self.menu = self.menu, None
        self.sm.forward("OnLibraryRemoved", LIBRARY)
        for category in [entry for entry in menu.entries.values() if entry.parent is None]:
            menu.remove(category)
        self.sm.handles.drop(menu.handle)
        del self.sm.commands.registered["sm_admin"]

    def forget(self, plugin: object) -> None:
        """An unloaded plugin's items go."""
        if self.menu is not None:
            self.menu.forget(plugin)

    def _render(self, handle: int, action: int, number: int, client: int, buffer: Shared, size: int) -> None:
        if action not in (DISPLAY_OPTION, DISPLAY_TITLE):
            return
        name = NAMES[self.menu.entries[number].name] if number and self.menu else "Admin Menu"
        buffer.text = f"{name}:" if action == DISPLAY_TITLE else name


@native()
def GetAdminTopMenu(call: Call) -> int:
    return call.sm.admin_menu.menu.handle if call.sm.admin_menu.menu else 0


def _add_targets(call: Call, menu: Menu, admin: int, filters: int) -> int:
    added = 0
    for index in sorted(call.sm.world.players):
        player = call.sm.world.players[index]
        refused = (
            player.kicked is not None
            or (filters & NO_BOTS and player.bot)
            or (not filters & CONNECTED and not player.in_game)
            or (filters & ALIVE and not player.alive)
            or (filters & DEAD and player.alive)
            or (admin and not filters & NO_IMMUNITY and not can_target(call.sm, admin, index))
        )
        if not refused:
            menu.add(str(player.userid), f"{player.name} ({player.userid})", 0)
            added += 1
    return added


@native()
def AddTargetsToMenu(call: Call, menu: Menu, admin: int, in_game_only: bool, alive_only: bool) -> int:
    return _add_targets(call, menu, admin, CONNECTED * (not in_game_only) | ALIVE * alive_only)


@native()
def AddTargetsToMenu2(call: Call, menu: Menu, admin: int, filters: int) -> int:
    return _add_targets(call, menu, admin, filters)
