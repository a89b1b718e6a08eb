"""How many files a reader opens for one story of the daemon, and how deep: a heartbeat, a round's end, a split.

A story that grows out of its number is not forbidden: raise the number and name the files that it needs.
"""

from __future__ import annotations

import pytest

from bench.calls import stories

FILES = {"heartbeat": 21, "round end": 47, "split": 44}
"""At most; wanted: 20, 35, 15."""
DEEPEST = 13
"""Functions of ours within one another at the end of a round."""


@pytest.mark.slow
def test_a_story_of_the_daemon_stays_within_the_files_and_a_round_end_within_the_depth_that_it_has() -> None:
    told = stories()
    more = {
        name: f"{len(story.files)} files: {' '.join(sorted(story.files))}"
        for name, story in told.items()
        if len(story.files) > FILES[name]
    }
    assert more == {}
    assert len(told["round end"].deepest) <= DEEPEST, " > ".join(told["round end"].deepest)
