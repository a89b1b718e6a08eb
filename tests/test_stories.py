"""The files that a reader opens for one story of the daemon, by name: a heartbeat, a round's end, a split.

A story may grow: name its new file here, and think whether an older one could have told it.
"""

from __future__ import annotations

import pytest

from bench.calls import stories

EVERY = {
    *("app.py", "web/scripts.py", "web/requests.py", "web/routes.py"),
    *("wire/codec.py", "wire/scalars.py"),
    *("service/event_loop.py", "service/host.py", "service/pool.py", "service/status.py", "service/work.py"),
    *("core/session.py", "core/state.py", "core/memory.py", "core/model.py", "core/rules.py"),
    *("core/autobalance.py", "core/joins.py", "core/scrambles.py", "core/swap_offers.py", "core/votes.py"),
}
"""A request, its server's session, and the rules that may wait for a time."""
SKILLS = {
    *("balancing/__init__.py", "balancing/chances.py", "ratings/calibration.py", "ratings/parameters.py"),
    *("ratings/parts/match_arrays.py", "ratings/parts/player_table.py", "ratings/parts/points.py", "ratings/system.py"),
    *("ratings/synelo/formulas.py", "ratings/synelo/system.py"),
    *("solver/bitsets.py", "solver/problem.py", "solver/splits.py"),
    *("store/connection.py", "store/notes.py", "store/store.py", "wire/batches.py"),
}
"""One rating system, the solver, and what is written behind a reply: for a split and for the cached splits alike."""
FILES = {
    "heartbeat": EVERY | {"core/triggers.py"},
    "round end": EVERY
    | SKILLS
    | {"core/fallback.py", "core/participation.py", "core/triggers.py", "service/held.py", "service/ring.py"}
    | {"solver/halves.py", "store/player_rows.py", "store/round_rows.py"},
    "split": EVERY
    | SKILLS
    | {"balancing/means.py", "core/bench.py", "core/events.py", "core/friends.py", "core/phrases.py"}
    | {"solver/constraints.py"},
}
DEEPEST = 13
"""Functions of ours within one another at the end of a round."""


@pytest.mark.slow
def test_a_story_of_the_daemon_has_the_files_that_are_named_and_a_round_end_the_depth() -> None:
    told = stories()
    assert {name: sorted(story.files - FILES[name]) for name, story in told.items()} == {name: [] for name in FILES}
    assert len(told["round end"].deepest) <= DEEPEST, " > ".join(told["round end"].deepest)
