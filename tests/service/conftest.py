"""Tests marked `also_shared` run on a pool that machines share, too: its log is in a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import pytest

from tests.opened_pool import Sharing
from tests.postgres import PASSWORD, Postgres
from tests.postgres import postgres as postgres


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what is marked so twice; `also_shared(False)` leaves out a test of a file that is marked."""
    mark = metafunc.definition.get_closest_marker("also_shared")
    if mark is not None and mark.args != (False,):
        metafunc.parametrize("pools", ["own", pytest.param("shared", marks=pytest.mark.world)], indirect=True)


@pytest.fixture(scope="session", autouse=True)
def pools(request: pytest.FixtureRequest) -> Postgres | None:
    """The server of shared pools; it starts before what looks for processes that a test leaves."""
    server: Postgres | None = None if getattr(request, "param", "own") == "own" else request.getfixturevalue("postgres")
    return server


@pytest.fixture(autouse=True)
def sharing(request: pytest.FixtureRequest, pools: Postgres | None) -> Iterator[None]:
    callspec = getattr(request.node, "callspec", None)
    if pools is None or callspec is None or callspec.params.get("pools") != "shared":
        yield
        return
    Sharing.password = PASSWORD
    with ThreadPoolExecutor(1) as thread:  # it runs a loop of its own
        Sharing.database_of = cache(lambda store: pools.url(thread.submit(pools.database).result()))
        yield
        Sharing.database_of = None
