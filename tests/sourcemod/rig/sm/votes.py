"""The one vote that may run: a menu shown to many, whose choices are counted (SourceMod's core/MenuVoting.cpp)."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..memory import Table
from .menus import (
    VOTE_CANCEL,
    VOTE_END,
    VOTE_START,
    VOTING_CANCELLED,
    VOTING_DONE,
    Menu,
    MenuHandler,
)
from .panels import Panel

if TYPE_CHECKING:
    from ..sourcemod import SourceMod

PENDING = -1
NO_REVOTES = 1
GENERIC, NO_VOTES = -1, -2


@dataclass(slots=True)
class Votes:
    """The vote of a server. `choices` is what each asked client chose, PENDING until they have."""

    sm: "SourceMod"
    menu: Menu | None = None
    choices: dict[int, int] = field(default_factory=dict)
    next_at: float = 0.0
    """Map time before which plugins are asked not to start another."""
    _showing: int = 0
    _started: bool = False
    _cancelled: bool = False
    _seconds: int = 0
    _since: float = 0.0
    _flags: int = 0

    @property
    def delay(self) -> int:
        """Whole seconds left of the delay between votes."""
        return max(int(self.next_at - self.sm.world.map_time), 0)

    def begin(self, menu: Menu, clients: list[int], seconds: int, flags: int) -> None:
        """Show `menu` to clients and count. If no client can be shown it the vote is over at once, without votes."""
        self.choices, self._showing, self._started, self._cancelled = {}, 0, False, False
        self.menu, self._seconds, self._flags = menu, seconds, flags
        self._since = self.sm.world.map_time
        self._plugin.start(menu)
        self._delay_next(seconds)
        for client in clients:
            self.sm.menus.show(menu, client, seconds, handler=self)
        self._started = True
        self._plugin.tell(menu, VOTE_START)
        if not self._showing:
            self._finish()

    def withdraw(self) -> None:
        """Cancel the vote: it ends when the menu is off the last screen, which is now."""
        if self.menu is not None and not self._cancelled:
            self._cancelled = True
            self.sm.menus.cancel(self.menu)

    def show_again(self, client: int, *, revotes: bool) -> bool:
        """Show the menu again to somebody who was asked, taking back what they chose."""
        assert self.menu is not None
        if self.choices[client] != PENDING:
            if self._flags & NO_REVOTES or not revotes:
                return False
            self.choices[client] = PENDING
        left = int(self._seconds - (self.sm.world.map_time - self._since))
        return self.sm.menus.show(self.menu, client, (left or 1) if self._seconds else 0, handler=self)

    def client_left(self, client: int) -> None:
        """The vote of somebody who leaves does not count, unless it was the last the vote waited for."""
        self.choices.pop(client, None)

    def end_map(self) -> None:
        """A new map has no delay."""
        self.next_at = 0.0

    # The menu's callbacks. All but start and end are passed on to the plugin.

    def start(self, menu: Menu) -> None:
        self._showing += 1

    def display(self, menu: Menu, client: int, panel: Panel) -> None:
        self.choices[client] = PENDING
        self._plugin.display(menu, client, panel)

    def select(self, menu: Menu | None, client: int, item: int, first: int) -> None:
        assert menu is not None
        self.choices[client] = menu.item(client, item).number if client in menu.orders else item
        self._plugin.select(menu, client, item, first)

    def cancel(self, menu: Menu | None, client: int, reason: int) -> None:
        self._plugin.cancel(menu, client, reason)

    def end(self, menu: Menu, reason: int) -> None:
        self._showing -= 1
        if self._started and not self._showing:
            self._finish()

    def style(self, menu: Menu, client: int, item: int, style: int) -> int:
        return self._plugin.style(menu, client, item, style)

    def draw(self, menu: Menu, client: int, panel: Panel, item: int, style: int) -> int:
        return self._plugin.draw(menu, client, panel, item, style)

    @property
    def _plugin(self) -> MenuHandler:
        assert self.menu is not None
        assert isinstance(self.menu.handler, MenuHandler)
        return self.menu.handler

    def _delay_next(self, seconds: int) -> None:
        delay = self.sm.convars["sm_vote_delay"].number
        self.next_at = self.sm.world.map_time + delay + seconds if delay >= 1.0 else 0.0

    def _finish(self) -> None:
        """Count, then call the plugin, which may start another vote from there."""
        menu, plugin = self.menu, self._plugin
        assert menu is not None
        self._delay_next(0)
        self.menu = None
        counts = dict.fromkeys(range(len(menu.items)), 0)
        for choice in self.choices.values():
            if choice != PENDING:
                counts[choice] += 1
        ranking = sorted(((item, votes) for item, votes in counts.items() if votes), key=lambda one: -one[1])
        if self._cancelled or not ranking:
            plugin.tell(menu, VOTE_CANCEL, GENERIC if self._cancelled else NO_VOTES)
            plugin.end(menu, VOTING_CANCELLED)
            return
        if plugin.vote_result is not None:
            self._tell_result(menu, plugin, ranking)
        else:
            self._tell_winner(menu, plugin, ranking)
        plugin.end(menu, VOTING_DONE)

    def _tell_winner(self, menu: Menu, plugin: MenuHandler, ranking: list[tuple[int, int]]) -> None:
        """The winner, chosen at random among equals, and the counts packed into one cell."""
        most, total = ranking[0][1], sum(votes for _, votes in ranking)
        winner = self.sm.random.choice([item for item, votes in ranking if votes == most])
        plugin.tell(menu, VOTE_END, winner, total << 16 | most & 0xFFFF)

    def _tell_result(self, menu: Menu, plugin: MenuHandler, ranking: list[tuple[int, int]]) -> None:
        assert plugin.vote_result is not None
        asked = sorted(self.choices.items())
        total = sum(votes for _, votes in ranking)
        plugin.vote_result(menu.handle, total, len(asked), Table(asked), len(ranking), Table(ranking))
