"""The daemon reads skills while another of its threads rates a round."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from equipoise.core.model import PlayerId
from equipoise.ratings import create
from equipoise.ratings.system import Match

PEOPLE = [PlayerId(str(76561198000000000 + number)) for number in range(14)]
ROUNDS = 400


def matches() -> Iterator[Match]:
    draw = random.Random(5)
    for number in range(ROUNDS):
        six = draw.sample(PEOPLE, 6)
        yield Match((tuple(six[:3]), tuple(six[3:])), draw.choice([(0, 1), (1, 0), (0, 0)]), started_at=100.0 * number)


@pytest.fixture
def switching() -> Iterator[None]:
    """Threads take turns after every few lines."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def test_a_reader_sees_everybody_as_before_a_round_or_as_after_it(switching: None) -> None:
    system = create("joint", active=8)
    known = {_seen(system.covariance(PEOPLE))}

    def rate() -> None:
        for match in matches():
            system.rate(match)
            known.add(_seen(system.covariance(PEOPLE)))

    read = []
    with ThreadPoolExecutor(1) as thread:
        rating = thread.submit(rate)
        while not rating.done():
            read.append(_seen(system.covariance(PEOPLE)))
        rating.result()
    assert len(set(read)) > 10, "the reader came between the rounds"
    assert set(read) <= known


def _seen(covariance: object) -> str:
    return repr(covariance)
