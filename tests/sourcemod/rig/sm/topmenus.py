"""Top menus: categories of items that plugins add, each drawn by its owner for every client.

Source: SourceMod's extensions/topmenus (TopMenu.cpp, smn_topmenus.cpp). The rig draws titles anew each time; the
extension keeps them per client until the categories change, unless `CacheTitles` is off.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..binding import Call, Callback, native
from ..machine import NativeError
from ..memory import Buffer, Shared
from .admins import check_access
from .menus import CHAT, WENT_BACK, Menu
from .panels import EXIT_BACK, IGNORE, Panel

if TYPE_CHECKING:
    from ..sourcemod import SourceMod

DISPLAY_OPTION, DISPLAY_TITLE, SELECT_OPTION, DRAW_OPTION, REMOVE_OBJECT = range(5)
START, LAST_ROOT, LAST_CATEGORY = 0, 1, 3
CATEGORY, ITEM = range(2)

Render = Callback | Callable[[int, int, int, int, Shared, int], object]


@dataclass(eq=False, slots=True)
class Entry:
    """A category (without parent) or an item. An empty `command` is open to all who may see the category."""

    number: int
    name: str
    render: Render
    owner: object
    command: str
    flags: int
    info: str
    parent: "Entry | None" = None


@dataclass(slots=True)
class Place:
    """Where a client was: the first item of the root's page and of the category's, and the category."""

    root: int = 0
    item: int = 0
    category: Entry | None = None


@dataclass(eq=False, slots=True)
class TopMenu:
    """A top menu; it hears of the menus that it shows. `sections` orders categories and items by a config file."""

    sm: "SourceMod"
    render: Render
    handle: int = 0
    entries: dict[int, Entry] = field(default_factory=dict)
    sections: dict[str, list[str]] = field(default_factory=dict)
    places: dict[int, Place] = field(default_factory=dict)

    def add(self, entry: Entry) -> int:
        """Add an entry; its number, or 0 if its name is taken."""
        if any(other.name == entry.name for other in self.entries.values()):
            return 0
        self.entries[entry.number] = entry
        return entry.number

    def free(self) -> int:
        """The lowest number that is free."""
        return next(number for number in range(1, len(self.entries) + 2) if number not in self.entries)

    def category(self, name: str) -> Entry | None:
        """The category of that name."""
        return next((e for e in self.entries.values() if e.name == name and e.parent is None), None)

    def remove(self, entry: Entry) -> None:
        """Remove an entry, and with a category its items; their owners' functions are called."""
        for one in [child for child in self.entries.values() if child.parent is entry] + [entry]:
            del self.entries[one.number]
            self._tell(one.render, REMOVE_OBJECT, one.number, 0)

    def forget(self, owner: object) -> None:
        """Remove the entries of a plugin that unloads, without calling it."""
        gone = [e for e in self.entries.values() if owner in (e.owner, e.parent and e.parent.owner)]
        for entry in gone:
            del self.entries[entry.number]

    def show(self, client: int, position: int) -> bool:
        """Show the root, or the category the client was in last."""
        place = self.places.setdefault(client, Place())
        if position == LAST_CATEGORY and place.category and self.show_category(client, place.category, last=True):
            return True
        if position == START:
            self.places[client] = place = Place()
        root = Menu(self, self._text(self.render, DISPLAY_TITLE, 0, client))
        for entry in self._sorted(client, [e for e in self.entries.values() if e.parent is None], list(self.sections)):
            if self._children(entry):
                root.add(entry.name, "", 0)
        return self.sm.menus.show(root, client, 0, place.root)

    def show_category(self, client: int, category: Entry, *, last: bool) -> bool:
        """Show a category; False if the client may use nothing in it."""
        if not self._open(client, category):
            return False
        menu = Menu(self, self._text(category.render, DISPLAY_TITLE, category.number, client))
        menu.flags |= EXIT_BACK
        order = self.sections.get(category.name, [])
        for entry in self._sorted(client, self._children(category), order):
            menu.add(entry.name, "", 0)
        place = self.places.setdefault(client, Place())
        place.category = category
        return self.sm.menus.show(menu, client, 0, place.item if last else 0)

    def _children(self, category: Entry) -> list[Entry]:
        return [entry for entry in self.entries.values() if entry.parent is category]

    def _open(self, client: int, category: Entry) -> bool:
        """Whether the client may use an item of it, by its flags alone where no command is named."""
        return any(check_access(self.sm, client, e.command, e.flags) for e in self._children(category))

    def _sorted(self, client: int, entries: list[Entry], order: list[str]) -> list[Entry]:
        """Those named in the config file first, in its order; the rest by what the client reads."""

        def key(entry: Entry) -> tuple[int, str]:
            if entry.name in order:
                return order.index(entry.name), ""
            return len(order), self._text(entry.render, DISPLAY_OPTION, entry.number, client)

        return sorted(entries, key=key)

    def _text(self, render: Render, action: int, number: int, client: int) -> str:
        return self._tell(render, action, number, client, size=128).text or ""

    def _tell(self, render: Render, action: int, number: int, client: int, *, size: int = 0) -> Shared:
        buffer = Shared.buffer(max(size, 1))
        render(self.handle, action, number, client, buffer, size)
        return buffer

    def _entry(self, menu: Menu | None, item: int) -> Entry | None:
        """The entry behind an item of a shown menu; None if it was removed meanwhile."""
        assert menu is not None
        return next((e for e in self.entries.values() if e.name == menu.items[item].info), None)

    # The callbacks of the menus it shows.

    def start(self, menu: Menu) -> None: ...
    def display(self, menu: Menu, client: int, panel: Panel) -> None: ...
    def end(self, menu: Menu, reason: int) -> None: ...

    def select(self, menu: Menu | None, client: int, item: int, first: int) -> None:
        entry = self._entry(menu, item)
        if entry is None:
            return
        place = self.places[client]
        if entry.parent is None:
            place.root = first
            if not self.show_category(client, entry, last=False):
                self.show(client, LAST_ROOT)
            return
        place.item = first
        if entry.command and not check_access(self.sm, client, entry.command, entry.flags):
            self.show(client, LAST_CATEGORY)
            return
        with self.sm.commands.replying(CHAT):
            self._tell(entry.render, SELECT_OPTION, entry.number, client)

    def cancel(self, menu: Menu | None, client: int, reason: int) -> None:
        if reason == WENT_BACK:
            self.show(client, LAST_ROOT)

    def style(self, menu: Menu, client: int, item: int, style: int) -> int:
        entry = self._entry(menu, item)
        if entry is None:
            return style
        if entry.parent is None and not self._open(client, entry):
            return IGNORE
        drawn = self._tell(entry.render, DRAW_OPTION, entry.number, client, size=2)
        if drawn.text:
            return ord(drawn.text[0])
        allowed = not entry.command or check_access(self.sm, client, entry.command, entry.flags)
        return 0 if allowed else IGNORE

    def draw(self, menu: Menu, client: int, panel: Panel, item: int, style: int) -> int:
        entry = self._entry(menu, item)
        return panel.draw(self._text(entry.render, DISPLAY_OPTION, entry.number, client), style) if entry else 0


@native("TopMenu.TopMenu", "CreateTopMenu")
def topmenu_new(call: Call, callback: Callback) -> int:
    menu = TopMenu(call.sm, callback)
    menu.handle = call.open(menu)
    return menu.handle


@native("TopMenu.FromHandle")
def topmenu_of(call: Call, handle: int) -> int:
    call.sm.handles.get(handle, TopMenu)
    return handle


@native("TopMenu.LoadConfig", "LoadTopMenuConfig")
def topmenu_config(call: Call, menu: TopMenu, file: str, error: Buffer) -> bool:
    """The rig orders by `sections`, which a test sets."""
    return True


@native()
def AddToTopMenu(
    call: Call, menu: TopMenu, name: str, kind: int, callback: Callback, parent: int, command: str, flags: int,
    *info: int,
) -> int:  # fmt: skip
    above = menu.entries.get(parent)
    if (kind == CATEGORY and parent) or (kind == ITEM and (above is None or above.parent is not None)):
        return 0
    text = call.plugin.memory.text(info[0]) if info else ""
    return menu.add(Entry(menu.free(), name, callback, call.plugin, command, flags, text, above))


@native("TopMenu.AddCategory")
def topmenu_add_category(
    call: Call, menu: TopMenu, name: str, callback: Callback, command: str, flags: int, info: str
) -> int:
    return menu.add(Entry(menu.free(), name, callback, call.plugin, command, flags, info))


@native("TopMenu.AddItem")
def topmenu_add_item(
    call: Call, menu: TopMenu, name: str, callback: Callback, parent: int, command: str, flags: int, info: str
) -> int:
    above = menu.entries.get(parent)
    if above is None or above.parent is not None:
        return 0
    return menu.add(Entry(menu.free(), name, callback, call.plugin, command, flags, info, above))


def _entry(menu: TopMenu, number: int) -> Entry:
    if number not in menu.entries:
        raise NativeError(f"Invalid menu object {number}")
    return menu.entries[number]


@native("TopMenu.GetInfoString", "GetTopMenuInfoString")
def topmenu_info(call: Call, menu: TopMenu, number: int, buffer: Buffer) -> int:
    return buffer.write(_entry(menu, number).info)


@native("TopMenu.GetObjName", "GetTopMenuObjName")
def topmenu_name(call: Call, menu: TopMenu, number: int, buffer: Buffer) -> int:
    return buffer.write(_entry(menu, number).name)


@native("TopMenu.Remove", "RemoveFromTopMenu")
def topmenu_remove(call: Call, menu: TopMenu, number: int) -> None:
    if number in menu.entries:
        menu.remove(menu.entries[number])


@native("TopMenu.Display", "DisplayTopMenu")
def topmenu_show(call: Call, menu: TopMenu, client: int, position: int) -> bool:
    call.client(client, in_game=True)
    return menu.show(client, position)


@native("TopMenu.DisplayCategory", "DisplayTopMenuCategory")
def topmenu_show_category(call: Call, menu: TopMenu, number: int, client: int) -> bool:
    call.client(client, in_game=True)
    category = menu.entries.get(number)
    if category is None or category.parent is not None:
        return False
    return menu.show_category(client, category, last=True) or menu.show(client, LAST_ROOT)


@native("TopMenu.FindCategory", "FindTopMenuCategory")
def topmenu_find(call: Call, menu: TopMenu, name: str) -> int:
    category = menu.category(name)
    return category.number if category else 0


@native("TopMenu.CacheTitles.set", "SetTopMenuTitleCaching")
def topmenu_cache(call: Call, menu: TopMenu, cache: bool) -> None: ...
