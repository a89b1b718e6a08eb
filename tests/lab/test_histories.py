"""Parts of histories."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from equipoise.core.model import PlayerId, Role
from equipoise.errors import RatingError
from equipoise.lab.reading import read_history
from equipoise.ratings.history import History, head, scores
from equipoise.ratings.system import Match, Span
from tests.lab import sets


def test_scores_are_those_of_the_first_team(tmp_path: Path) -> None:
    assert scores(read_history(*sets.write(tmp_path))).tolist() == [1.0, 0.5, 0.0]


def test_three_teams_are_not_measured() -> None:
    teams = tuple((PlayerId(name),) for name in "abc")
    with pytest.raises(RatingError, match="two teams"):
        scores(History.of([Match(teams, ranks=(0, 1, 2))]))


def test_the_head_of_a_set_is_the_set_of_its_head(tmp_path: Path) -> None:
    whole = read_history(*sets.write(tmp_path))
    short = read_history(*sets.write(tmp_path, sets.MATCHES[:2], sets.PARTICIPANTS[:5]))
    cut = head(whole, 2)
    assert len(cut) == 2
    for name in {each.name for each in fields(History)} - {"players"}:
        np.testing.assert_equal(getattr(cut, name), getattr(short, name), err_msg=name)


def test_the_head_keeps_seats_spans_and_bots() -> None:
    ann, bob = PlayerId("ann"), PlayerId("bob")
    one = Match(
        ((ann,), (bob,)),
        (0, 1),
        lineup=((ann,), (PlayerId("bot:1"), bob)),
        spans={bob: (Span(1, 0, 9, Role.COMMANDER),)},
        bots=(Span(1, 0, 9), Span(0, 3, 9)),
    )
    cut, alone = head(History.of([one, one, one]), 1), History.of([one])
    assert cut.lineup_members is not None
    assert alone.lineup_members is not None
    assert cut.lineup_members.tolist() == alone.lineup_members.tolist()
    assert cut.spans is not None
    assert cut.spans.commander.tolist() == [True]
    assert cut.bots is not None
    assert (cut.bots.starts.tolist(), cut.bots.start.tolist()) == ([0, 2], [0, 3])
