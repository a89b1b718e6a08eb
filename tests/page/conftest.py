"""Daemons for the tests of the page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.page.chromium import chromium
from tests.page.worlds import World, oversee, world
from tests.web.conftest import daemon as daemon
from tests.web.conftest import edited as edited


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Not for longer: while it is there, its library's event loop runs in this thread, and no other can."""
    with chromium() as started:
        yield started


@pytest.fixture(scope="package")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Three servers of 24 players each, in the middle of a round after an evening's rounds and an admin's work."""
    with world(tmp_path_factory.mktemp("full")) as built:
        oversee(built)
        yield built
