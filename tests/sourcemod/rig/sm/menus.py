"""Menus: which one each client sees, what a pressed key does, and the callbacks that follow.

A menu that is shown, interrupted, answered or timed out runs through the calls of SourceMod's
core/MenuStyle_Base.cpp (DoClientMenu, ClientPressedKey, ProcessWatchList); what a plugin hears is in
core/logic/smn_menus.cpp (CMenuHandler, CPanelHandler).
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..binding import Callback
from .panels import CONTROLS, EXIT, KEYS, Handler, Page, Panel, Slot

if TYPE_CHECKING:
    from ..game.players import Player
    from ..sourcemod import SourceMod

START, DISPLAY, SELECT, CANCEL, END, VOTE_END, VOTE_START, VOTE_CANCEL, DRAW_ITEM, DISPLAY_ITEM = (
    1 << bit for bit in range(10)
)
DISCONNECTED, INTERRUPTED, EXITED, NO_DISPLAY, TIMEOUT, WENT_BACK = range(-1, -7, -1)
"""Why a client's menu was cancelled (MenuCancel_…)."""
SELECTED, VOTING_DONE, VOTING_CANCELLED, CANCELLED, END_EXIT, END_EXIT_BACK = range(0, -6, -1)
"""Why a menu ended (MenuEnd_…)."""
CHAT = 1
LOOK = 1.0


@dataclass(slots=True)
class Item:
    """An entry of a menu. `info` is for the plugin, `display` for the player; `number` is its place when added."""

    info: str
    display: str
    style: int
    number: int


@dataclass(eq=False, slots=True)
class Menu:
    """A menu of a plugin (or of a top menu). `pagination` is items a page, 0 for a single page."""

    handler: "Handler"
    title: str = ""
    items: list[Item] = field(default_factory=list)
    pagination: int = KEYS - CONTROLS
    flags: int = EXIT
    orders: dict[int, list[int]] = field(default_factory=dict)
    """By client: which item stands at which place, where that was shuffled."""
    handle: int = 0
    cancelling: bool = False

    def add(self, info: str, display: str, style: int) -> bool:
        """Append an item; False if the menu has one page and it is full."""
        if not self.pagination and len(self.items) >= KEYS:
            return False
        self.items.append(Item(info, display, style, len(self.items)))
        return True

    def place(self, client: int, position: int) -> int:
        """The item that `client` sees at a place."""
        order = self.orders.get(client, ())
        return order[position] if position < len(order) else position

    def item(self, client: int, position: int) -> Item:
        """What `client` sees at a place."""
        return self.items[self.place(client, position)]


@dataclass(slots=True)
class Seen:
    """A menu on a client's screen. `until` is map time, None for as long as they like."""

    handler: "Handler"
    panel: Panel
    page: Page | None
    until: float | None


@dataclass(slots=True)
class Menus:
    """All menus on screens. Clients press keys with `menuselect N`; key 0 is 10."""

    sm: "SourceMod"
    seen: dict[int, Seen] = field(default_factory=dict)
    drawing: "tuple[Panel, int] | None" = None
    """The panel and the style of the item whose text a plugin may redraw at this moment."""
    selection: int | None = None
    """During the callback of a choice: the first item of the page on which it was made."""
    _ignoring: set[int] = field(default_factory=set)
    _looked: float = 0.0

    def of(self, client: int) -> Panel | None:
        """What a client sees."""
        return self.seen[client].panel if client in self.seen else None

    def choose(self, player: "Player", text: str) -> None:
        """A player presses the key beside `text`, as clients do: by the command `menuselect`."""
        panel = self.of(player.index)
        assert panel is not None, f"{player.name} sees no menu"
        key = next((key for key, shown in panel.texts.items() if shown == text), None)
        assert key is not None, f"{text!r} is not among {list(panel.texts.values())}"
        self.sm.commands.from_client(player, f"menuselect {key}")

    def press(self, client: int, key: int) -> bool:
        """A client presses a key; whether they were in a menu at all."""
        seen = self.seen.get(client)
        if seen is None:
            return False
        page = seen.page
        if page is None:
            del self.seen[client]
            seen.handler.select(None, client, key, 0)
            return True
        slot = page.slots.get(key, Slot.NONE)
        if slot in (Slot.PREVIOUS, Slot.NEXT) and self._turn(client, seen, forward=slot is Slot.NEXT):
            return True
        del self.seen[client]
        if slot is Slot.ITEM:
            page.handler.select(page.menu, client, page.items[key], page.top)
            page.handler.end(page.menu, SELECTED)
        else:
            reason, end = {
                Slot.BACK: (WENT_BACK, END_EXIT_BACK),
                Slot.PREVIOUS: (NO_DISPLAY, CANCELLED),
                Slot.NEXT: (NO_DISPLAY, CANCELLED),
            }.get(slot, (EXITED, END_EXIT if 1 <= key <= KEYS else SELECTED))
            page.handler.cancel(page.menu, client, reason)
            page.handler.end(page.menu, end)
        return True

    def show(self, menu: Menu, client: int, seconds: int, first: int = 0, handler: "Handler | None" = None) -> bool:
        """Show a menu to a client for `seconds` (0: no end), in place of the one they see."""
        if menu.cancelling:
            return False
        handler = handler or menu.handler
        handler.start(menu)
        player = self.sm.world.players.get(client)
        able = player is not None and player.in_game and not player.bot and client not in self._ignoring
        page = Page(menu, client, handler, last=first)
        panel = self._replace(client, page) if able else None
        if panel is None:
            handler.cancel(menu, client, NO_DISPLAY)
            handler.end(menu, CANCELLED)
            return False
        self.seen[client] = Seen(handler, panel, page, self._until(seconds))
        return True

    def show_panel(self, panel: Panel, client: int, handler: "Handler", seconds: int) -> bool:
        """Show a panel that belongs to no menu. A failure calls no callback."""
        player = self.sm.world.players.get(client)
        if player is None or not player.in_game or client in self._ignoring:
            return False
        self._ignoring.add(client)
        if client in self.seen:
            self.cancel_client(client, INTERRUPTED)
        self._ignoring.discard(client)
        self.seen[client] = Seen(handler, panel, None, self._until(seconds))
        return True

    def cancel_client(self, client: int, reason: int, *, ignore: bool = False) -> bool:
        """Take a client's menu away; with `ignore` the callbacks of that cannot show them another."""
        seen = self.seen.pop(client, None)
        if seen is None:
            return False
        held = client in self._ignoring
        if ignore:
            self._ignoring.add(client)
        menu = seen.page.menu if seen.page else None
        seen.handler.cancel(menu, client, reason)
        if menu is not None:
            seen.handler.end(menu, CANCELLED)
        if ignore and not held:
            self._ignoring.discard(client)
        return True

    def cancel(self, menu: Menu) -> None:
        """Take a menu away from all clients who see it; the callbacks of that cannot show it again."""
        if menu.cancelling:
            return
        menu.cancelling = True
        for client in range(1, self.sm.world.slots + 1):
            if client in self.seen and (page := self.seen[client].page) and page.menu is menu:
                self.cancel_client(client, INTERRUPTED)
        menu.cancelling = False

    def frame(self) -> None:
        """Once a second: end what was shown long enough."""
        if self.sm.world.now - self._looked < LOOK:
            return
        self._looked = self.sm.world.now
        for client, seen in list(self.seen.items()):
            if seen.until is not None and self.sm.world.map_time > seen.until and self.seen.get(client) is seen:
                self.cancel_client(client, TIMEOUT)

    def client_left(self, client: int) -> None:
        """A client disconnected."""
        self.cancel_client(client, DISCONNECTED, ignore=True)

    def forget(self, plugin: object) -> None:
        """Drop an unloaded plugin's panels; its menus end with their handles."""
        for client, seen in list(self.seen.items()):
            if isinstance(seen.handler, PanelHandler) and seen.handler.callback.plugin is plugin:
                del self.seen[client]

    def _until(self, seconds: int) -> float | None:
        return self.sm.world.map_time + seconds if seconds else None

    def _replace(self, client: int, page: Page) -> Panel | None:
        self._ignoring.add(client)
        if client in self.seen:
            self.cancel_client(client, INTERRUPTED)
        panel = page.render(lambda key: self.sm.core_phrase(key, client), forward=True)
        self._ignoring.discard(client)
        return panel

    def _turn(self, client: int, seen: Seen, *, forward: bool) -> bool:
        assert seen.page is not None
        self._ignoring.add(client)
        panel = seen.page.render(lambda key: self.sm.core_phrase(key, client), forward=forward)
        self._ignoring.discard(client)
        if panel is not None:
            seen.panel = panel
        return panel is not None


@dataclass(frozen=True, slots=True)
class PanelHandler:
    """A plugin's function for a panel: it is called for choice and cancellation, with no menu."""

    sm: "SourceMod"
    callback: Callback

    def select(self, menu: Menu | None, client: int, item: int, first: int) -> None:
        with self.sm.commands.replying(CHAT):
            self.callback(0, SELECT, client, item)

    def cancel(self, menu: Menu | None, client: int, reason: int) -> None:
        self.callback(0, CANCEL, client, reason)

    def start(self, menu: Menu) -> None: ...
    def display(self, menu: Menu, client: int, panel: Panel) -> None: ...
    def end(self, menu: Menu, reason: int) -> None: ...
    def style(self, menu: Menu, client: int, item: int, style: int) -> int:
        return style

    def draw(self, menu: Menu, client: int, panel: Panel, item: int, style: int) -> int:
        return 0


@dataclass(slots=True)
class MenuHandler:
    """A plugin's function for a menu. It is always called for choice, cancellation, end and the vote's actions."""

    sm: "SourceMod"
    callback: Callback
    actions: int
    vote_result: Callback | None = None

    def start(self, menu: Menu) -> None:
        if self.actions & START:
            self.tell(menu, START)

    def display(self, menu: Menu, client: int, panel: Panel) -> None:
        if self.actions & DISPLAY:
            handle = self.sm.handles.open(panel, self.callback.plugin, closable=False)
            self.tell(menu, DISPLAY, client, handle)
            self.sm.handles.drop(handle)

    def select(self, menu: Menu | None, client: int, item: int, first: int) -> None:
        menus = self.sm.menus
        before, menus.selection = menus.selection, first
        with self.sm.commands.replying(CHAT):
            self.tell(menu, SELECT, client, item)
        menus.selection = before

    def cancel(self, menu: Menu | None, client: int, reason: int) -> None:
        with self.sm.commands.replying(CHAT):
            self.tell(menu, CANCEL, client, reason)

    def end(self, menu: Menu, reason: int) -> None:
        """The second parameter is 0, although menus.inc promises the reason of the cancellation."""
        self.tell(menu, END, reason)

    def style(self, menu: Menu, client: int, item: int, style: int) -> int:
        return self.tell(menu, DRAW_ITEM, client, item, default=style) if self.actions & DRAW_ITEM else style

    def draw(self, menu: Menu, client: int, panel: Panel, item: int, style: int) -> int:
        """Let the plugin draw the item's text itself, by `RedrawMenuItem`; the key, 0 if it did not."""
        if not self.actions & DISPLAY_ITEM:
            return 0
        menus = self.sm.menus
        before, menus.drawing = menus.drawing, (panel, style)
        result = self.tell(menu, DISPLAY_ITEM, client, item)
        menus.drawing = before
        return result

    def tell(self, menu: Menu | None, action: int, first: int = 0, second: int = 0, *, default: int = 0) -> int:
        """Call the plugin's function; its answer, `default` if it failed."""
        result = self.callback(menu.handle if menu else 0, action, first, second)
        return default if result is None else result
