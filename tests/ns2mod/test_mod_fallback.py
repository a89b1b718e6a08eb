"""The mod fits a cached split to the players who are there exactly as the daemon does."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from equipoise.core.fallback import from_cache
from equipoise.core.model import PlayerId, Split, SplitCache
from equipoise.wire.codec import cache as encode_cache
from tests.ns2mod.modules import Modules

MODULES = Modules()


@st.composite
def caches(draw: st.DrawFn) -> SplitCache:
    """Splits of any sizes, the smallest first, each of some of the players."""
    ids = [PlayerId(str(n)) for n in range(1, draw(st.integers(2, 14)) + 1)]
    splits = []
    for _ in range(draw(st.integers(0, 4))):
        order = draw(st.permutations(ids))
        size = draw(st.integers(2, len(ids)))
        splits.append(Split(tuple(order[: size // 2]), tuple(order[size // 2 : size])))
    return SplitCache(tuple(draw(st.permutations(ids))), tuple(sorted(splits, key=lambda one: len(one.a + one.b))))


@given(caches(), st.lists(st.integers(1, 20).map(str), unique=True, max_size=20), st.integers(-2, 2))
def test_the_law_is_the_daemons(cache: SplitCache, present: list[str], lead: int) -> None:
    wire = encode_cache(cache)
    given_cache = {"ids": list(wire.ids), "splits": list(wire.splits)}
    found = MODULES.call(MODULES.all.Fallback.Split, given_cache, present, lead)
    expected = from_cache(cache, [PlayerId(player) for player in present], bench=False, lead=lead)
    assert found == (expected and {"marines": list(expected.a), "aliens": list(expected.b)})


def test_a_split_that_does_not_fit_its_ids_is_none() -> None:
    cache = {"ids": ["1", "2", "3", "4"], "splits": ["ABBA", "AB"]}
    found = MODULES.call(MODULES.all.Fallback.Split, cache, ["1", "2", "3", "4"])
    assert found == {"marines": ["1", "4"], "aliens": ["2", "3"]}
    assert MODULES.call(MODULES.all.Fallback.Split, {"ids": ["1"], "splits": []}, ["1"]) is None
