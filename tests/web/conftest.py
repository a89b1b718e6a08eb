"""Daemons for the tests of the web."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from equipoise.web import refusals
from tests.web.daemon import Daemon, running
from tests.web.edited import Edited


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with running(tmp_path) as started:
        yield started


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """One daemon for requests that must change nothing; at the end nothing was changed."""
    with running(tmp_path_factory.mktemp("untouched")) as started:
        yield started
        for server in started.call("GET", "/v1/admin/servers").body["servers"]:
            assert server["silent_seconds"] is None
        assert started.call("GET", "/v1/admin/audit").body["audit"] == []
        assert started.call("GET", "/v1/admin/decisions").body["decisions"] == []
        assert started.call("GET", "/v1/admin/pools/main/quality").body["players"]["count"] == 0


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """One daemon that tests may change as they like; to answer a wrong secret it does not wait."""
    with pytest.MonkeyPatch.context() as patch, running(tmp_path_factory.mktemp("attacked")) as started:
        patch.setattr(refusals, "DELAY_SECONDS", 0.0)
        yield started


@pytest.fixture
def edited(tmp_path: Path) -> Iterator[Edited]:
    with running(tmp_path) as daemon:
        yield Edited(daemon, tmp_path)
