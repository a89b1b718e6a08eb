"""The natives of menus, panels and votes (SourceMod's core/logic/smn_menus.cpp)."""

from ..binding import Call, Callback, Text, native
from ..machine import NativeError
from ..memory import Buffer, Ref
from .menus import INTERRUPTED, Item, Menu, MenuHandler, PanelHandler
from .panels import CONTROLS, EXIT, EXIT_BACK, KEYS, NO_VOTE, Panel, drawable

NO_MENU, NORMAL, RAW_PANEL = 0, 2, 3


class MenuStyle:
    """The one style TF2 has."""


def _style(call: Call) -> int:
    handles = call.sm.handles
    return handles.find(call.sm.menu_style) or handles.open(call.sm.menu_style, closable=False)


def _open(call: Call, callback: Callback, actions: int) -> int:
    menu = Menu(MenuHandler(call.sm, callback, actions))
    menu.handle = call.open(menu)
    return menu.handle


@native("Menu.Menu", "CreateMenu")
def menu_new(call: Call, callback: Callback, actions: int) -> int:
    return _open(call, callback, actions)


@native()
def CreateMenuEx(call: Call, style: MenuStyle | None, callback: Callback, actions: int) -> int:
    return _open(call, callback, actions)


@native("Menu.Display", "DisplayMenu")
def menu_display(call: Call, menu: Menu, client: int, seconds: int) -> bool:
    return call.sm.menus.show(menu, client, seconds)


@native("Menu.DisplayAt", "DisplayMenuAtItem")
def menu_display_at(call: Call, menu: Menu, client: int, first: int, seconds: int) -> bool:
    return call.sm.menus.show(menu, client, seconds, first)


@native("Menu.AddItem", "AddMenuItem")
def menu_add(call: Call, menu: Menu, info: str, display: str, style: int, *client: int) -> bool:
    return menu.add(info, display, style)


@native("Menu.InsertItem", "InsertMenuItem")
def menu_insert(call: Call, menu: Menu, position: int, info: str, display: str, style: int) -> bool:
    full = not menu.pagination and len(menu.items) >= KEYS
    if full or not 0 <= position < len(menu.items):
        return False
    menu.items.insert(position, Item(info, display, style, position))
    return True


@native("Menu.RemoveItem", "RemoveMenuItem")
def menu_remove(call: Call, menu: Menu, position: int) -> bool:
    if not 0 <= position < len(menu.items):
        return False
    del menu.items[position]
    return True


@native("Menu.RemoveAllItems", "RemoveAllMenuItems")
def menu_clear(call: Call, menu: Menu) -> None:
    menu.items.clear()


@native("Menu.GetItem", "GetMenuItem")
def menu_item(call: Call, menu: Menu, position: int, info: Buffer, style: Ref, display: Buffer, *client: int) -> bool:
    who = client[0] if client else 0
    if not who and menu.orders:
        raise NativeError("This menu is shuffled per client: GetItem needs a client index")
    if not 0 <= position < len(menu.items):
        return False
    item = menu.item(who, position)
    info.write(item.info)
    display.write(item.display)
    style.value = item.style
    return True


@native("Menu.ShufflePerClient", "MenuShufflePerClient")
def menu_shuffle(call: Call, menu: Menu, start: int, stop: int) -> None:
    if 0 < stop < start:
        raise NativeError("Stop must be -1 or >= start!")
    count = min(len(menu.items), 255 if stop < 0 else stop)
    for client in range(1, call.sm.world.slots + 1):
        middle = list(range(start, count))
        call.sm.random.shuffle(middle)
        menu.orders[client] = [*range(start), *middle]


@native("Menu.SetClientMapping", "MenuSetClientMapping")
def menu_map(call: Call, menu: Menu, client: int, order: Ref, count: int) -> None:
    menu.orders[client] = order.read(min(count, 255))


@native("Menu.SetTitle", "SetMenuTitle")
def menu_set_title(call: Call, menu: Menu, text: Text) -> None:
    menu.title = str(text)


@native("Menu.GetTitle", "GetMenuTitle")
def menu_title(call: Call, menu: Menu, buffer: Buffer) -> int:
    return buffer.write(menu.title)


@native("Menu.ToPanel", "CreatePanelFromMenu")
def menu_to_panel(call: Call, menu: Menu) -> int:
    return call.open(Panel())


@native("Menu.Cancel", "CancelMenu")
def menu_cancel(call: Call, menu: Menu) -> None:
    if call.sm.votes.menu is menu:
        call.sm.votes.withdraw()
    else:
        call.sm.menus.cancel(menu)


@native("Menu.Pagination.set", "SetMenuPagination")
def menu_set_pagination(call: Call, menu: Menu, per_page: int) -> bool:
    if per_page > KEYS - CONTROLS or per_page == 1:
        return False
    if not per_page and menu.pagination:
        menu.flags &= ~EXIT
    menu.pagination = per_page
    return True


@native("Menu.Pagination.get", "GetMenuPagination")
def menu_pagination(call: Call, menu: Menu) -> int:
    return menu.pagination


@native("Menu.OptionFlags.set", "SetMenuOptionFlags")
def menu_set_flags(call: Call, menu: Menu, flags: int) -> None:
    menu.flags = flags


@native("Menu.OptionFlags.get", "GetMenuOptionFlags")
def menu_flags(call: Call, menu: Menu) -> int:
    return menu.flags


def _provide_button(flag: int, read: tuple[str, ...], write: tuple[str, ...]) -> None:
    if read:

        @native(*read)
        def has(call: Call, menu: Menu) -> bool:
            return bool(menu.flags & flag)

    @native(*write)
    def choose(call: Call, menu: Menu, present: bool) -> bool:
        menu.flags = menu.flags & ~flag | flag * present
        return True


_provide_button(EXIT, ("Menu.ExitButton.get", "GetMenuExitButton"), ("Menu.ExitButton.set", "SetMenuExitButton"))
_provide_button(
    EXIT_BACK,
    ("Menu.ExitBackButton.get", "GetMenuExitBackButton"),
    ("Menu.ExitBackButton.set", "SetMenuExitBackButton"),
)
_provide_button(NO_VOTE, (), ("Menu.NoVoteButton.set", "SetMenuNoVoteButton"))


@native("Menu.ItemCount.get", "GetMenuItemCount")
def menu_count(call: Call, menu: Menu) -> int:
    return len(menu.items)


@native("Menu.Style.get", "GetMenuStyle", "Panel.Style.get", "GetPanelStyle", "GetMenuStyleHandle")
def menu_style(call: Call, thing: int) -> int:
    return _style(call)


@native("Menu.Selection.get", "GetMenuSelectionPosition")
def menu_selection(call: Call, *menu: int) -> int:
    if call.sm.menus.selection is None:
        raise NativeError("Can only be called from inside a MenuAction_Select callback")
    return call.sm.menus.selection


@native()
def RedrawMenuItem(call: Call, text: str) -> int:
    if call.sm.menus.drawing is None:
        raise NativeError("You can only call this once from a MenuAction_DisplayItem callback")
    panel, style = call.sm.menus.drawing
    key = panel.draw(text, style)
    if key:
        call.sm.menus.drawing = None
    return key


@native()
def GetClientMenu(call: Call, client: int, style: int) -> int:
    seen = call.sm.menus.seen.get(client)
    return NO_MENU if seen is None else NORMAL if seen.page else RAW_PANEL


@native()
def CancelClientMenu(call: Call, client: int, ignore: bool, style: int) -> bool:
    return call.sm.menus.cancel_client(client, INTERRUPTED, ignore=ignore)


@native()
def GetMaxPageItems(call: Call, style: int) -> int:
    return KEYS


# Panels.


@native("Panel.Panel", "CreatePanel")
def panel_new(call: Call, style: MenuStyle | None) -> int:
    return call.open(Panel())


@native("Panel.SetTitle", "SetPanelTitle")
def panel_set_title(call: Call, panel: Panel, text: str, only_if_empty: bool) -> None:
    panel.set_title(text, only_if_empty=only_if_empty)


@native("Panel.DrawItem", "DrawPanelItem")
def panel_draw(call: Call, panel: Panel, text: str, style: int) -> int:
    return panel.draw(text, style)


@native("Panel.DrawText", "DrawPanelText")
def panel_draw_text(call: Call, panel: Panel, text: str) -> bool:
    panel.lines.append(text)
    return True


@native("Panel.CanDrawFlags", "CanPanelDrawFlags")
def panel_can_draw(call: Call, panel: Panel, style: int) -> bool:
    return drawable(style)


@native("Panel.SetKeys", "SetPanelKeys")
def panel_set_keys(call: Call, panel: Panel, keys: int) -> bool:
    panel.keys = keys
    return True


@native("Panel.Send", "SendPanelToClient")
def panel_send(call: Call, panel: Panel, client: int, callback: Callback, seconds: int) -> bool:
    """True even if it could not be shown."""
    call.sm.menus.show_panel(panel, client, PanelHandler(call.sm, callback), seconds)
    return True


@native("Panel.TextRemaining.get", "GetPanelTextRemaining")
def panel_remaining(call: Call, panel: Panel) -> int:
    return panel.remaining


@native("Panel.CurrentKey.get", "GetPanelCurrentKey")
def panel_key(call: Call, panel: Panel) -> int:
    return panel.next_key


@native("Panel.CurrentKey.set", "SetPanelCurrentKey")
def panel_set_key(call: Call, panel: Panel, key: int) -> bool:
    return panel.set_key(key)


# Votes.


@native("Menu.DisplayVote", "VoteMenu")
def vote_begin(call: Call, menu: Menu, clients: Ref, count: int, seconds: int, flags: int) -> bool:
    if call.sm.votes.menu is not None:
        raise NativeError("A vote is already in progress")
    call.sm.votes.begin(menu, clients.read(count), seconds, flags)
    return True


@native()
def IsVoteInProgress(call: Call, *menu: int) -> bool:
    return call.sm.votes.menu is not None


@native()
def CancelVote(call: Call) -> None:
    _voting(call)
    call.sm.votes.withdraw()


@native("Menu.VoteResultCallback.set", "SetVoteResultCallback")
def vote_set_result(call: Call, menu: Menu, callback: Callback) -> None:
    assert isinstance(menu.handler, MenuHandler)
    menu.handler.vote_result = callback


@native()
def CheckVoteDelay(call: Call) -> int:
    return call.sm.votes.delay


@native()
def IsClientInVotePool(call: Call, client: int) -> bool:
    _voting(call)
    return client in call.sm.votes.choices


@native()
def RedrawClientVoteMenu(call: Call, client: int, revotes: bool) -> bool:
    _voting(call)
    if client not in call.sm.votes.choices:
        raise NativeError("Client is not in the voting pool")
    return call.sm.votes.show_again(client, revotes=revotes)


def _voting(call: Call) -> None:
    if call.sm.votes.menu is None:
        raise NativeError("No vote is in progress")
