"""Every page in a browser: nothing in the console, nothing from elsewhere, nothing that axe calls serious."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from click.testing import CliRunner
from playwright.sync_api import Browser, expect

from docs.pictures import screens
from equipoise.cli import main
from tests.page.chromium import Scheme, stranger, tab
from tests.page.worlds import World, world

pytestmark = pytest.mark.world
LEAGUE = Path(__file__).parents[2] / "docs" / "south_america.csv.gz"


@pytest.mark.parametrize(
    ("scheme", "width"),
    [("light", 1280), ("light", 400), ("dark", 1280), ("dark", 400), ("forced", 1280), ("light", 2560)],
)
def test_every_page_is_clean(scheme: Scheme, width: int, browser: Browser, full: World) -> None:
    with tab(browser, full, scheme, width) as opened:
        faults = {name: found for name, path in screens.paths(full).items() if (found := screens.faults(opened, path))}
    with stranger(browser, full.public, scheme, width) as opened:
        for name, path in screens.public_paths(full).items():
            if found := screens.faults(opened, path):
                faults[name] = found
    assert faults == {}


@pytest.mark.parametrize("players", [0, 2])
def test_pages_of_servers_with_hardly_anybody_are_clean(players: int, browser: Browser, tmp_path: Path) -> None:
    with world(tmp_path, players, hours=0.5) as quiet, tab(browser, quiet, width=400) as opened:
        faults = {name: found for name, path in screens.paths(quiet).items() if (found := screens.faults(opened, path))}
    assert faults == {}


def test_pages_are_the_same_without_javascript(browser: Browser, full: World) -> None:
    heads: list[dict[str, list[str]]] = []
    for scripts in (True, False):
        with tab(browser, full, scripts=scripts) as opened:
            heads.append({})
            for name, path in screens.paths(full).items():
                assert opened.go(path) == 200, name
                texts = opened.page.locator("main h1, main h2, main caption, main th").all_inner_texts()
                heads[-1][name] = [text.split()[0] for text in texts if text.strip()]  # behind it are clocks
    assert heads[0] == heads[1]
    assert all(heads[0].values())


def test_a_wall_says_within_seconds_that_its_daemon_is_gone_and_comes_back_with_it(
    browser: Browser, tmp_path: Path
) -> None:
    with world(tmp_path, 2, hours=0.2) as short, tab(browser, short) as opened:
        opened.go("/")
        expect(opened.page.locator("#line")).to_contain_text("live")
        short.run(short.daemon.kill())
        opened.page.wait_for_selector("body.lost", timeout=7_000)
        assert "what you see is old" in opened.page.inner_text("#line")
        short.run(short.daemon.start())
        opened.page.wait_for_selector("body:not(.lost)", timeout=15_000)
        assert "payload-1" in opened.page.inner_text("main")


def test_reports_of_the_laboratory_are_clean_on_screens_and_phones_and_paper(browser: Browser, tmp_path: Path) -> None:
    league = ("--matches", str(LEAGUE), "--teams")
    home = "home=elo:side_advantage=90,margin_scale=3,newcomer=1.5,newcomer_rounds=20"
    commands = {
        "compare": ("compare", home, "elo", "glicko2", "trueskill", *league, "--live"),
        "backtest": ("backtest", "--model", "elo", *league),
        "simulate": ("simulate", "synelo", "elo", "--rounds", "300"),
    }
    faults = {}
    for name, command in commands.items():
        file = tmp_path / f"{name}.html"
        done = CliRunner().invoke(main, ["lab", *command, "--html", str(file)])
        assert done.exit_code == 0, done.output
        for scheme, width in itertools.product(("light", "dark", "forced"), (1280, 400)):
            with stranger(browser, tmp_path.as_uri(), scheme, width) as opened:
                if found := screens.faults(opened, f"/{file.name}"):
                    faults[name, scheme, width] = found
        with stranger(browser, tmp_path.as_uri(), width=680) as opened:
            opened.page.emulate_media(media="print")
            opened.page.goto(file.as_uri())
            # 18 cm of A4: nothing is cut off at the right.
            wide = "[...document.querySelectorAll('svg, table')].map(each => each.getBoundingClientRect().right)"
            assert max(opened.page.evaluate(wide)) <= 680, name
    assert faults == {}
