"""Everything that people do on the page: by mouse, by the keyboard alone, and in a browser without JavaScript."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Locator

from equipoise.core.asks import Moment
from equipoise.core.effects import Assign, Move, Order
from equipoise.core.model import Side
from tests.page.chromium import Tab, tab
from tests.page.games import Game, Home
from tests.web.daemon import CONFIG, SECRETS, Daemon, running

pytestmark = pytest.mark.world
Way = Literal["mouse", "keyboard", "no scripts"]
PEOPLE = [f"Player {number}" for number in range(12)]
FOCUS = """element => {
  if (!element.isConnected) return "exchanged";
  if (document.activeElement !== element) return "elsewhere";
  const style = getComputedStyle(element), box = element.getBoundingClientRect();
  return element.matches(":focus-visible")
    && style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2
    && box.top >= 0 && box.bottom <= innerHeight ? "seen" : "unseen";
}"""
"""Where the focus is: the page exchanges its parts at any moment, also between the search for an element and this."""


@dataclass
class Hand:
    """A person at a tab of their own."""

    tab: Tab
    way: Way

    def press(self, word: str | re.Pattern[str]) -> None:
        """Press the link or the button that begins with a word."""
        pattern = re.compile(f"^{re.escape(word)}") if isinstance(word, str) else word
        page = self.tab.page
        target = page.get_by_role("link", name=pattern).or_(page.get_by_role("button", name=pattern))
        if self.way == "keyboard":
            self._reach(target)
        with page.expect_navigation():
            if self.way == "keyboard":
                page.keyboard.press("Enter")
            else:
                target.click()

    def write(self, label: str, words: str) -> None:
        """Write into a field, over what is in it."""
        field = self.tab.page.get_by_label(label)
        if self.way == "keyboard":
            self._reach(field)
            self.tab.page.keyboard.press("Control+A")
            self.tab.page.keyboard.type(words)
        else:
            field.fill(words)

    def _reach(self, target: Locator) -> None:
        target.wait_for()
        for _ in range(120):
            focus = target.evaluate(FOCUS)
            assert focus != "unseen", f"nobody sees that it has the focus: {target.evaluate('e => e.outerHTML')}"
            if focus == "seen":
                return
            if focus == "elsewhere":
                self.tab.page.keyboard.press("Tab")
        pytest.fail(f"Tab does not reach {target}")

    @property
    def text(self) -> str:
        return self.tab.page.inner_text("body")

    def at(self, path: str) -> bool:
        """Whether this is the page, by its path."""
        return self.tab.page.url.removeprefix(self.tab.url).partition("?")[0] == path


@contextmanager
def hand(browser: Browser, daemon: Daemon, way: Way) -> Iterator[Hand]:
    with tab(browser, Home(daemon), scripts=way != "no scripts") as opened:
        yield Hand(opened, way)
        expected = re.compile(r"40[139]")  # what the browser says of a page that is a refusal
        assert [each for each in opened.errors if not expected.search(each)] == []
        assert opened.strangers == []


ways = pytest.mark.parametrize("way", ["mouse", "keyboard", "no scripts"])


@ways
def test_people_log_in_by_a_token_or_a_link_and_out(way: Way, browser: Browser, daemon: Daemon) -> None:
    with hand(browser, daemon, way) as me:
        me.press("Log out")
        assert me.at("/login")
        me.tab.go("/decisions?hours=24")
        me.write("Token", "wrong")
        me.press("Log in")
        assert "This token is not known here." in me.text
        me.write("Token", SECRETS["guest"])
        me.press("Log in")
        assert me.tab.page.url == f"{me.tab.url}/decisions?hours=24"
        assert "guest (viewer)" in me.text
        me.press("Log out")
        me.tab.go(Home(daemon).ask("login", {})["path"])
        me.press("Log in")
        assert me.at("/")
        assert "owner (admin)" in me.text
        me.press("Log out")
        me.tab.go("/")
        assert me.at("/login")


@ways
def test_each_order_is_shown_confirmed_audited_and_carried_out(way: Way, browser: Browser, tmp_path: Path) -> None:
    with running(tmp_path, f"{CONFIG}[autobalance]\nenabled = false\n") as daemon, hand(browser, daemon, way) as me:
        game, home = Game(daemon, PEOPLE), Home(daemon)

        def order(link: str, button: str) -> list[Order]:
            """What the script is ordered when both are pressed."""
            me.press("Equipoise")
            me.press("arena-1")
            before = len(home.audited())
            me.press(link)
            assert (game.sync(), len(home.audited())) == ([], before), "to look does nothing"
            me.press(button)
            assert me.at("/servers/arena-1"), me.text
            assert home.audited()[0][:2] == ("token:owner", "arena-1")
            assert len(home.audited()) == before + 1
            return game.sync()

        assert not any(isinstance(each, Assign) for each in order("Scramble next round", "Scramble next round"))
        assert home.ask("servers/arena-1")["server"]["pending"] == "ordered by an admin"
        order("Cancel", "Cancel it")
        assert home.ask("servers/arena-1")["server"]["pending"] is None

        before = game.sides()
        (moved,) = [each for each in order("Scramble now", "Scramble now") if isinstance(each, Assign)]
        assert moved.moment is Moment.NOW
        assert game.sides() != before
        assert all(name in me.text for name in PEOPLE)

        for player in game.game.on(Side.A)[:3]:
            game.game.disconnect(player)
        game.sync()
        moves = [each for each in order("Balance", "Balance") if isinstance(each, Move)]
        assert len(moves) == 1
        for each in moves:
            game.game.die(each.player)
        game.sync()
        assert sorted(map(len, game.sides())) == [4, 5]

        order("Switch off", "Switch off")
        assert home.ask("servers/arena-1")["server"]["enabled"] is False
        order("Switch on", "Switch on")
        assert home.ask("servers/arena-1")["server"]["enabled"] is True


@ways
def test_each_edit_is_shown_confirmed_audited_and_made(way: Way, browser: Browser, daemon: Daemon) -> None:
    game, home = Game(daemon, PEOPLE), Home(daemon)
    played = game.end()
    player = next(iter(game.names))
    with hand(browser, daemon, way) as me:
        before = rating(home, player)
        me.press("Players")
        me.write("Player", "Player 0")
        me.press("Search")
        me.press("Player 0")
        me.write("New rating", "1234")
        me.press("Set…")
        assert ("1,234" in me.text, rating(home, player)) == (True, before), "to look does nothing"
        me.press("Set the rating")
        assert (me.at(f"/players/{player}"), rating(home, player)) == (True, 1234)
        me.press("Make a newcomer")
        me.press("Make a newcomer")
        assert (me.at(f"/players/{player}"), rating(home, player)) == (True, 1000)
        me.press("Take back the last edit")
        me.press("Take back the last edit")
        assert (me.at(f"/players/{player}"), rating(home, player)) == (True, 1234)

        me.tab.go(f"/rounds/arena-1/{played}")
        me.write("Take it out of the ratings", "a cheater played")
        me.press("Take it out…")
        assert home.ask(f"rounds/arena-1/{played}")["round"]["void"] is False
        me.press("Take this round out")
        assert home.ask(f"rounds/arena-1/{played}")["round"]["void"] is True
        me.press("Put it back")
        me.press("Put this round back")
        assert me.at(f"/rounds/arena-1/{played}")
        assert home.ask(f"rounds/arena-1/{played}")["round"]["void"] is False
        assert len(home.audited()) == 5
        me.press("Audit")
        assert "a cheater played" in me.text


def rating(home: Home, player: str) -> float:
    found: float = home.ask(f"players/{player}")["player"]["rating"]
    return found
