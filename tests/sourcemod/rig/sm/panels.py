"""Panels, and the drawing of a menu on one: what a player sees and which key does what.

TF2 has the radio style: ten keys a page, seven items beside Previous (8), Next (9) and Exit (0, which is key 10).
Source: SourceMod's core/MenuStyle_Radio.cpp (CRadioDisplay) and core/MenuManager.cpp (RenderMenu).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from .menus import Menu

KEYS = 10
CONTROLS = 3
DISABLED, RAWLINE, NOTEXT, SPACER, CONTROL = (1 << bit for bit in range(5))
IGNORE = RAWLINE | NOTEXT
EXIT, EXIT_BACK, NO_SOUND, NO_VOTE = (1 << bit for bit in range(4))


class Slot(Enum):
    """What a key of a drawn page stands for."""

    NONE = auto()
    ITEM = auto()
    PREVIOUS = auto()
    NEXT = auto()
    EXIT = auto()
    BACK = auto()


@dataclass(eq=False, slots=True)
class Panel:
    """Lines drawn one after another; an item takes the next key. `texts` holds the items' texts by key."""

    title: str = ""
    lines: list[str] = field(default_factory=list)
    texts: dict[int, str] = field(default_factory=dict)
    keys: int = 0
    next_key: int = 1

    def draw(self, text: str, style: int) -> int:
        """Draw an item; its key, or 0 if it has none."""
        if self.next_key > KEYS or not drawable(style):
            return 0
        if style & RAWLINE:
            self.lines.append(" " if style & SPACER else text)
            return 0
        key = self.next_key
        self.next_key += 1
        if style & SPACER:
            self.lines.append(" ")
        elif not style & NOTEXT:
            self.texts[key] = text
            self.lines.append(f"{'' if style & DISABLED else '->'}{key % KEYS}. {text}")
            self.keys |= 0 if style & DISABLED else 1 << key - 1
        return key

    def set_title(self, text: str, *, only_if_empty: bool) -> None:
        """Replace the title, or only fill in one that is missing."""
        if not (self.title and only_if_empty):
            self.title = text

    def set_key(self, key: int) -> bool:
        """Let the next item have a later key."""
        if key < self.next_key or self.next_key > KEYS:
            return False
        self.next_key = key
        return True

    @property
    def remaining(self) -> int:
        """Bytes of text that still fit."""
        used = len(self.title.encode()) + 1 + sum(len(line.encode()) + 1 for line in self.lines)
        return max(511 - used, 0)


class Handler(Protocol):
    """Who hears what becomes of a menu: the plugin that made it, or a vote on its behalf."""

    def start(self, menu: "Menu") -> None: ...
    def display(self, menu: "Menu", client: int, panel: Panel) -> None: ...
    def select(self, menu: "Menu | None", client: int, item: int, first: int) -> None: ...
    def cancel(self, menu: "Menu | None", client: int, reason: int) -> None: ...
    def end(self, menu: "Menu", reason: int) -> None: ...
    def style(self, menu: "Menu", client: int, item: int, style: int) -> int: ...
    def draw(self, menu: "Menu", client: int, panel: Panel, item: int, style: int) -> int: ...


def drawable(style: int) -> bool:
    """`CRadioDisplay::CanDrawItem`: a disabled control is left out."""
    return style & IGNORE != IGNORE and not (style & DISABLED and style & CONTROL)


@dataclass(eq=False, slots=True)
class Page:
    """What of a menu a client sees. `slots` is what each key does, `items` which item it stands for."""

    menu: "Menu"
    client: int
    handler: Handler
    first: int = 0
    last: int = 0
    top: int = 0
    """The item the page begins with."""
    slots: dict[int, Slot] = field(default_factory=dict)
    items: dict[int, int] = field(default_factory=dict)

    def render(self, phrase: Callable[[str], str], *, forward: bool) -> Panel | None:
        """Draw the page that begins at `last` (or ends before `first`); None if nothing can be drawn."""
        room = self._room()
        if room < 2 or not self.menu.items:
            return None
        forward = self._clamp(room, forward=forward)
        found, extra = self._gather(room, forward=forward)
        if not found:
            return None
        before, after = self._neighbours(found, extra, forward=forward)
        panel = Panel()
        self.slots, self.items = {}, {}
        if self.menu.flags & NO_VOTE:
            self.slots[panel.draw(phrase("No Vote"), 0)] = Slot.EXIT
        ordered = found if forward else found[::-1]
        self.top = ordered[0][0]
        for item, style in ordered:
            self._draw_item(panel, item, style)
        self._draw_controls(panel, phrase, room, len(found), before=before, after=after)
        self.handler.display(self.menu, self.client, panel)
        panel.set_title(self.menu.title, only_if_empty=True)
        return panel

    def _room(self) -> int:
        room = self.menu.pagination or KEYS - bool(self.menu.flags & EXIT)
        return room - bool(self.menu.flags & NO_VOTE)

    def _clamp(self, room: int, *, forward: bool) -> bool:
        """Where the search begins, and whether it still goes forward."""
        if self.menu.pagination and forward and self.last >= len(self.menu.items):
            self.first = len(self.menu.items) - 1
            return False
        if self.menu.pagination and not forward and self.first <= room:
            self.last = 0
            return True
        return forward

    def _gather(self, room: int, *, forward: bool) -> tuple[list[tuple[int, int]], int | None]:
        """The items that fit, with their styles, in the order of the search; and the first that does not."""
        start = 0 if not self.menu.pagination else self.last if forward else self.first
        order = range(start, len(self.menu.items)) if forward else range(start, -1, -1)
        found: list[tuple[int, int]] = []
        for item in order:
            style = self.handler.style(self.menu, self.client, item, self.menu.item(self.client, item).style)
            if drawable(style) and not style & RAWLINE:
                if len(found) >= room:
                    return found, item
                found.append((item, style))
            if not self.menu.pagination and len(found) >= room:
                break
        return found, None

    def _neighbours(self, found: list[tuple[int, int]], extra: int | None, *, forward: bool) -> tuple[bool, bool]:
        """Whether there is a page before and after; where they begin is noted."""
        if not self.menu.pagination:
            return False, False
        begin = found[0][0]
        others = range(begin - 1, 0, -1) if forward else range(begin + 1, len(self.menu.items))
        beyond = next((item for item in others if self._shown(item)), None)
        earlier, later = (beyond, extra) if forward else (extra, beyond)
        self.first = self.first if earlier is None else earlier
        self.last = self.last if later is None else later
        return earlier is not None, later is not None

    def _shown(self, item: int) -> bool:
        style = self.handler.style(self.menu, self.client, item, self.menu.item(self.client, item).style)
        return drawable(style) and not style & RAWLINE

    def _draw_item(self, panel: Panel, item: int, style: int) -> None:
        key = self.handler.draw(self.menu, self.client, panel, item, style)
        key = key or panel.draw(self.menu.item(self.client, item).display, style)
        if key:
            self.items[key] = item
            self.slots[key] = Slot.NONE if style & DISABLED else Slot.ITEM

    def _draw_controls(
        self, panel: Panel, phrase: Callable[[str], str], room: int, drawn: int, *, before: bool, after: bool
    ) -> None:
        paged, exit_button = bool(self.menu.pagination), bool(self.menu.flags & EXIT)
        if not (paged or exit_button):
            return
        back = paged and bool(self.menu.flags & EXIT_BACK) and not before
        before = before or back
        if exit_button or before or after:
            for _ in range(KEYS - room + (room - drawn) - 1 - 2 * paged):
                panel.draw("", SPACER if before or after else NOTEXT)
            panel.draw("", RAWLINE | SPACER)
        if paged and (before or after):
            word, slot = ("Back", Slot.BACK) if back else ("Previous", Slot.PREVIOUS)
            self._draw_control(panel, phrase(word), slot, shown=before)
            self._draw_control(panel, phrase("Next"), Slot.NEXT, shown=after)
        elif paged:
            panel.draw("", NOTEXT)
            panel.draw("", NOTEXT)
        if exit_button:
            self._draw_control(panel, phrase("Exit"), Slot.EXIT, shown=True)

    def _draw_control(self, panel: Panel, text: str, slot: Slot, *, shown: bool) -> None:
        if shown:
            self.slots[panel.draw(text, CONTROL)] = slot
        else:
            panel.draw("", SPACER | CONTROL)
