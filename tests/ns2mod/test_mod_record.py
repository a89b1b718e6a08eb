"""The record of a round, against a model that asks at every moment who was where."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from equipoise.core.events import RoundEnded
from equipoise.core.model import STEAM_ID_BASE, PlayerId, is_bot
from equipoise.wire import Batch
from equipoise.wire.codec import decode_batch
from tests.ns2mod.modules import Modules

MODULES = Modules()
NEW = MODULES.all.Record.New
SIDES = {1: "marines", 2: "aliens"}
START = 100.0

Snapshot = dict[str, dict[str, Any]]


def place(team: int, role: str = "field") -> dict[str, Any]:
    return {"team": team, "role": role}


@dataclass
class Recorded:
    """A record, and the calls of the engine's hooks."""

    players: Snapshot
    record: Any = field(init=False)

    def __post_init__(self) -> None:
        self.record = NEW(MODULES.table({"id": "1-1", "clock": START, "players": self.players}))

    def enter(self, player: str, team: int, clock: float, role: str | None = None) -> None:
        self.record.Enter(self.record, player, team, role, START + clock)

    def role(self, player: str, role: str, clock: float) -> None:
        self.record.Role(self.record, player, role, START + clock)

    def leave(self, player: str, clock: float) -> None:
        self.record.Leave(self.record, player, START + clock)

    def disconnect(self, player: str, clock: float) -> None:
        self.record.Disconnect(self.record, player, START + clock)

    def look(self, snapshot: Snapshot, clock: float) -> None:
        self.record.Look(self.record, MODULES.table(snapshot), START + clock)

    def finish(self, clock: float) -> tuple[dict[str, Any], float]:
        players, seconds = MODULES.call(self.record.Finish, self.record, START + clock)
        return {player["id"]: player for player in players}, seconds


def spans(player: dict[str, Any]) -> list[tuple[str, str, float, float]]:
    return [(span["side"], span["role"], span["from"], span["to"]) for span in player["spans"]]


def test_a_look_closes_and_opens_what_calls_missed_and_a_call_that_says_nothing_new_changes_nothing() -> None:
    recorded = Recorded({"7": place(1, "commander"), "8": place(2), "9": place(1)})
    recorded.enter("7", 1, 20)
    recorded.look({"7": place(1), "8": place(3), "10": place(2)}, 50)
    players, _ = recorded.finish(600)
    assert spans(players["7"]) == [("marines", "commander", 0, 50), ("marines", "field", 50, 600)]
    assert spans(players["8"]) == [("aliens", "field", 0, 50)]
    assert (players["9"]["left"], spans(players["9"])) == (True, [("marines", "field", 0, 50)])
    assert spans(players["10"]) == [("aliens", "field", 50, 600)]


def test_a_pause_adds_nothing() -> None:
    """In NSL's pause the game's clock stands still; it may lag behind what was seen."""
    recorded = Recorded({"7": place(1), "8": place(2)})
    recorded.enter("7", 2, 100)
    for _ in range(60):
        recorded.look({"7": place(2), "8": place(2)}, 99.9)
    recorded.enter("7", 1, 100)
    players, seconds = recorded.finish(200)
    assert spans(players["7"]) == [("marines", "field", 0, 200)]
    assert seconds == 200


def test_who_changes_sides_without_end_makes_no_round_too_long() -> None:
    recorded = Recorded({"7": place(1), "8": place(2)})
    for n in range(1000):
        recorded.enter("7", 1 + n % 2, n + (0.5 if n % 100 else 0))
    players, _ = recorded.finish(2000)
    assert len(players["7"]["spans"]) == 64
    assert spans(players["7"])[-1] == ("aliens", "field", 999.5, 2000)


def test_of_too_many_players_people_and_those_who_played_longest_stay() -> None:
    recorded = Recorded({str(n): place(0) for n in range(1, 301)} | {"bot:1": place(2)})
    for n in range(1, 301):
        recorded.enter(str(n), 1, n)
    players, _ = recorded.finish(400)
    assert set(players) == {str(n) for n in range(1, 129)}


@dataclass(frozen=True)
class Step:
    """One call at a time: of the hooks, or a look; also the hooks that the engine does not fire."""

    what: str
    id: str
    team: int
    role: str
    passes: float


steps = st.lists(
    st.builds(
        Step,
        st.sampled_from(["enter", "leave", "disconnect", "role", "look", "unseen", "finish"]),
        st.sampled_from(["1", "2", "3", "bot:1"]),
        st.integers(0, 3),
        st.sampled_from(["field", "commander"]),
        st.sampled_from([0.0, 0.0001, 0.0005, 0.3333, 1.0, 59.99951]) | st.floats(-5, 100),
    ),
    max_size=40,
)


@dataclass
class Truth:
    """Where everybody is, and for how long each was where."""

    at: dict[str, tuple[int, str] | None]
    clock: float = 0.0
    seconds: dict[tuple[str, str, str], float] = field(default_factory=dict)

    def until(self, clock: float) -> None:
        for player, where in self.at.items():
            if where and where[0] in SIDES and clock > self.clock:
                key = (player, SIDES[where[0]], where[1])
                self.seconds[key] = self.seconds.get(key, 0.0) + clock - self.clock
        self.clock = max(self.clock, clock)


def play(steps: Iterable[Step]) -> tuple[Recorded, Truth, dict[str, tuple[int, str] | None]]:
    here: dict[str, tuple[int, str] | None] = {"1": (1, "field"), "2": (2, "commander"), "bot:1": (1, "field")}
    recorded = Recorded({player: place(*where) for player, where in here.items() if where})
    truth, clock = Truth(dict(here)), 0.0
    for step in steps:
        clock += step.passes
        if step.what != "unseen":
            truth.until(clock)
        player, role = step.id, step.role if step.team in SIDES else "field"
        match step.what:
            case "enter":
                here[player] = (step.team, role)
                recorded.enter(player, step.team, clock, role)
            case "leave":
                here[player] = (0, "field")
                recorded.leave(player, clock)
            case "disconnect":
                here[player] = None
                recorded.disconnect(player, clock)
            case "role" if (where := truth.at.get(player)) and where[0] in SIDES:
                here[player] = (where[0], step.role)
                recorded.role(player, step.role, clock)
            case "unseen":
                here[player] = (step.team, role)
                continue
            case "finish":
                recorded.finish(clock)
                continue
            case _:
                recorded.look({player: place(*where) for player, where in here.items() if where}, clock)
                truth.at = dict(here)
        truth.at[player] = here.get(player)
    return recorded, truth, here


@given(steps, st.floats(0, 100))
def test_spans_never_overlap_lie_inside_and_add_up(steps: list[Step], rest: float) -> None:
    recorded, truth, _ = play(steps)
    end = truth.clock + rest
    truth.until(end)
    players, seconds = recorded.finish(end)
    assert abs(seconds - end) <= 0.001
    for player_id, player in players.items():
        found = spans(player)
        assert all(0 <= start < to <= seconds for _, _, start, to in found)
        assert all(one[3] <= other[2] for one, other in pairwise(found))
        for (who, side, role), lasted in truth.seconds.items():
            if who == player_id:
                counted = sum(to - start for at, as_, start, to in found if (at, as_) == (side, role))
                assert abs(counted - lasted) <= 0.001 * (len(steps) + 2)
    played = {player_id for (player_id, _, _), lasted in truth.seconds.items() if lasted > 0.001}
    assert played <= set(players)


def steam_id(player: str) -> PlayerId:
    return PlayerId(player if player.startswith("bot:") else str(STEAM_ID_BASE + int(player)))


@given(steps)
def test_the_daemon_reads_every_round(steps: list[Step]) -> None:
    recorded, truth, _ = play(steps)
    event = MODULES.call(
        recorded.record.Event,
        recorded.record,
        {
            "clock": START + truth.clock + 90,
            "session": "1-1",
            "map": "ns2_veil",
            "startedAt": 1763622000.123,
            "winner": "none",
        },
    )
    (ended,) = read(event).events
    assert isinstance(ended, RoundEnded)
    assert {presence.id: len(presence.spans) for presence in ended.round.presences} == {
        steam_id(player["id"]): len(player["spans"]) for player in event["players"]
    }
    assert len(ended.round.bots) == sum(len(each.spans) for each in ended.round.presences if is_bot(each.id))


def read(event: dict[str, Any]) -> Batch:
    text = MODULES.encode({"v": 1, "server": "veil", "boot": 1, "seq": 1, "at": 5, "events": [event]})
    return decode_batch(text.encode())
