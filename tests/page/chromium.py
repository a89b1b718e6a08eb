"""Debian's Chromium, by playwright's library: pages as people see them, and what they do that they must not do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from playwright.sync_api import Browser, ConsoleMessage, Page, Route, sync_playwright

from tests.programs import installed, npm_package

Scheme = Literal["light", "dark", "forced"]
"""`forced`: the colours of the system alone, as Windows' contrast themes do."""
SERIOUS = ("serious", "critical")
"""Impacts of axe's that no page may have."""


class Site(Protocol):
    """A daemon whose pages are looked at."""

    @property
    def url(self) -> str:
        """Its address."""

    def ask(self, path: str, body: object | None = None) -> Any:
        """The admin interface's answer."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """Debian's Chromium; without it the test is skipped. As root it has no sandbox."""
    program = installed("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@dataclass
class Tab:
    """A tab of a browser of its own, and what went wrong in it."""

    page: Page
    url: str
    errors: list[str] = field(default_factory=list)
    """What the page wrote into the console as an error or a warning, uncaught errors, missing files, dialogs."""
    strangers: list[str] = field(default_factory=list)
    """Requests to anywhere else: none goes out."""

    def go(self, path: str) -> int:
        """Open a page of the daemon, and wait until it is drawn; its status."""
        answer = self.page.goto(self.url + path, wait_until="load")
        return answer.status if answer else 0

    def violations(self) -> list[str]:
        """What axe finds that is serious or critical: its rule, and the elements."""
        # By the debugger's door: the page's own policy keeps every other script out.
        self.page.evaluate((npm_package("axe-core") / "axe.min.js").read_text() + "; 0")
        found = self.page.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
        return [
            f"{rule['id']} ({rule['impact']}): {rule['help']}: {node['html'][:200]}"
            for rule in found
            if rule["impact"] in SERIOUS
            for node in rule["nodes"]
        ]

    def sideways(self) -> int:
        """Pixels by which the page is wider than the window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))

    def shot(self, file: Path, *, whole: bool = True) -> Path:
        """A picture of the whole page, or of the window alone."""
        file.parent.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=file, full_page=whole)
        return file


@contextmanager
def tab(
    browser: Browser, world: Site, scheme: Scheme = "light", width: int = 1280, *, scripts: bool = True
) -> Iterator[Tab]:
    """A logged-in tab: `scripts=False` is a browser without JavaScript."""
    with stranger(browser, world.url, scheme, width, scripts=scripts) as opened:
        log_in(opened, world)
        yield opened


@contextmanager
def stranger(
    browser: Browser, url: str, scheme: Scheme = "light", width: int = 1280, *, scripts: bool = True
) -> Iterator[Tab]:
    """A tab of somebody who is not logged in, for the pages at an address."""
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if scheme == "dark" else "light",
        forced_colors="active" if scheme == "forced" else "none",
        java_script_enabled=scripts,
        locale="en-GB",
        timezone_id="Europe/Berlin",
    )
    context.set_default_timeout(15_000)
    opened = Tab(context.new_page(), url)

    def watch(route: Route) -> None:
        if route.request.url.startswith((url, "data:", "blob:")):
            route.continue_()
        else:
            opened.strangers.append(route.request.url)
            route.abort()

    context.route("**/*", watch)
    page = opened.page

    def listen(said: ConsoleMessage) -> None:
        if said.type in ("error", "warning"):
            opened.errors.append(f"{said.text} ({said.location['url'].removeprefix(url)})")

    page.on("console", listen)
    page.on("dialog", lambda dialog: (opened.errors.append(f"a dialog: {dialog.message}"), dialog.dismiss()))
    page.on("pageerror", lambda error: opened.errors.append(str(error)))
    try:
        yield opened
    finally:
        context.close()


def log_in(opened: Tab, world: Site) -> None:
    """Follow a login link, as `equipoise page` prints it."""
    opened.go(world.ask("login", {})["path"])
    opened.page.click("main button")
    opened.page.wait_for_url("**/")
