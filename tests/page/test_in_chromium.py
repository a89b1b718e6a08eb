"""The wall in a browser: nothing in the console, nothing from elsewhere, nothing that axe calls serious."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser

from tests.page.chromium import Scheme, tab
from tests.page.worlds import World

pytestmark = pytest.mark.world


@pytest.mark.parametrize("scheme", ["light", "dark", "forced"])
def test_the_wall_is_clean(scheme: Scheme, browser: Browser, full: World) -> None:
    with tab(browser, full, scheme) as opened:
        opened.go("/")
        assert "payload-1" in opened.page.inner_text("main")
        # Until the site serves the stream.
        errors = [each for each in opened.errors if not each.endswith("(/live)")]
        assert (errors, opened.strangers, opened.violations(), opened.sideways()) == ([], [], [], 0)
