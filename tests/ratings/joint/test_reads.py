"""What the daemon reads of players, one at a time and while another of its threads rates a round."""

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


@pytest.mark.slow
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


def test_one_players_mean_and_deviation_are_those_of_the_joint_covariance() -> None:
    system = create("joint", active=8, drift_days=0.05)
    for match in matches():
        system.rate(match)
    system.seed(PEOPLE[0], rating=1234.0)
    system.rate(Match(((PEOPLE[1],), (PEOPLE[2],)), (0, 1), started_at=100.0 * ROUNDS + 30 * 86_400.0))
    everybody = [*PEOPLE, PlayerId("76561198000000099"), PlayerId("bot:3")]
    covariance = system.covariance(everybody)
    assert covariance is not None
    for place, one in enumerate(everybody):
        assert system.deviation(one) ** 2 == pytest.approx(covariance[place][place], rel=1e-12)
        alone = system.covariance([one])
        assert alone is not None
        assert alone[0][0] == covariance[place][place]
