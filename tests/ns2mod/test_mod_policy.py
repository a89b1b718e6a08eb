"""The mod's policy under LuaJIT: any order of game states, joins and orders.

The states come as the game's own code sets them and in any other order, because other mods set them too.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lupa.luajit21 import LuaRuntime

from equipoise.core.fallback import from_cache
from equipoise.core.model import PlayerId, Split, SplitCache
from equipoise.wire.codec import cache as encode_cache
from tests.ns2mod.modules import FOLDER, Modules

STATES = ("NotStarted", "WarmUp", "PreGame", "Countdown", "Started", "Team1Won", "Team2Won", "Draw")


class Policy:
    """One policy in a Lua of its own, and all that it said so far."""

    def __init__(self) -> None:
        self.lua = LuaRuntime()
        for name in ("plan", "policy"):
            self.lua.execute(f"dofile({str(FOLDER / name) + '.lua'!r})")
        self.raw: Any = self.lua.eval("Equipoise.Policy.New()")
        self.said: list[dict[str, Any]] = []
        self.now = 100.0
        self.people: dict[str, dict[str, Any]] = {}

    def table(self, value: Any) -> Any:
        return self.lua.table_from(value, recursive=True)

    @property
    def snapshot(self) -> Any:
        return self.table(self.people)

    def _heard(self, events: Any) -> list[str]:
        heard = [dict(event) for event in events.values()]
        self.said += heard
        return [event["kind"] for event in heard]

    def state(self, name: str, winner: int | None = None) -> list[str]:
        return self._heard(self.raw.State(self.raw, name, winner, self.now))

    def frame(self, *, chairs: bool = False) -> list[str]:
        return self._heard(self.raw.Frame(self.raw, self.raw.state, chairs, self.now))

    def states(self, *names: str) -> list[str]:
        return [kind for name in names for kind in self.state(name)]

    def stands(
        self, player: str, team: int, *, human: bool = True, commander: bool = False, alive: bool = True
    ) -> None:
        self.people[player] = {"team": team, "human": human, "commander": commander, "alive": alive}

    def joins(self, player: str, to: int, **call: Any) -> tuple[Any, ...]:
        person = self.people[player]
        known = {"id": player, "human": person["human"], "from": person["team"], "to": to, "enforcing": True, **call}
        answer = self.raw.Join(self.raw, self.table(known), self.snapshot, self.now)
        return answer if isinstance(answer, tuple) else (answer,)

    def assign(
        self, order: str, red: list[str], blu: list[str], moment: str = "freeze", start: int | None = None
    ) -> Any:
        asked = self.raw.start if start is None else start
        split = {"order": order, "red": red, "blu": blu, "moment": moment}
        return self.raw.Assign(self.raw, self.table(split), self.snapshot, asked)

    def carried_out(self, moves: Any) -> list[int]:
        """Applies the moves and returns the difference of the sides after each."""
        leads = []
        for move in moves.values():
            self.people[move["id"]]["team"] = move["team"]
            leads.append(self.lead())
        return leads

    def lead(self) -> int:
        return abs(sum({1: 1, 2: -1}.get(one["team"], 0) for one in self.people.values() if one["human"]))


STARTS: dict[str, tuple[tuple[str | bool, ...], list[str]]] = {
    "a normal one, in which the game resets before the countdown": (
        ("WarmUp", "PreGame", True, "NotStarted", "Countdown", True, "Started"),
        ["round_started", "countdown", "round_live"],
    ),
    "a commander leaves in PreGame": (
        ("WarmUp", "PreGame", "NotStarted", False, "WarmUp"),
        ["round_started", "round_aborted"],
    ),
    "a commander leaves in the countdown": (
        ("NotStarted", "Countdown", False, "Started"),
        ["round_started", "countdown", "round_live"],
    ),
    "without PreGame it begins with two commanders": (
        ("WarmUp", True, True, False, True, "NotStarted", "Countdown", "Started"),
        ["round_started", "round_aborted", "round_started", "countdown", "round_live"],
    ),
}
"""States of the game, and frames in which both sides have a commander or not."""


@pytest.mark.parametrize(("steps", "heard"), STARTS.values(), ids=STARTS)
def test_a_start_is_told_once_and_given_up_where_the_game_gives_it_up(
    steps: tuple[str | bool, ...], heard: list[str]
) -> None:
    policy = Policy()
    for step in steps:
        if isinstance(step, bool):
            policy.frame(chairs=step)
        else:
            policy.state(step)
    assert [event["kind"] for event in policy.said] == heard


def test_a_reset_in_a_round_ends_it_as_partial() -> None:
    policy = Policy()
    policy.states("NotStarted", "Countdown", "Started", "NotStarted")
    assert policy.said[-1] == {"kind": "round_ended", "winner": 0, "partial": True}
    assert policy.frame(chairs=True) == ["round_started"]


@pytest.mark.parametrize(("state", "argument", "winner"), [("Team2Won", 1, 1), ("Team2Won", None, 2), ("Draw", 0, 0)])
def test_the_winner_is_the_side_that_the_game_named_and_else_the_states(
    state: str, argument: int | None, winner: int
) -> None:
    policy = Policy()
    policy.states("Countdown", "Started")
    policy.state(state, argument)
    assert policy.said[-1] == {"kind": "round_ended", "winner": winner, "partial": False}


steps = st.lists(
    st.one_of(
        st.sampled_from(STATES).map(lambda name: ("state", name)),
        st.booleans().map(lambda chairs: ("frame", chairs)),
        st.sampled_from(["freeze", "now"]).map(lambda moment: ("assign", moment)),
        st.tuples(st.sampled_from("abcdefgh"), st.sampled_from([0, 1, 2, 3])).map(lambda join: ("team", join)),
        st.sampled_from("abcdefgh").map(lambda player: ("left", player)),
        st.sampled_from("abcdefgh").map(lambda player: ("chair", player)),
    ),
    max_size=40,
)


def _next_phase(phase: str, event: dict[str, Any]) -> str:
    """The daemon's view: the events alone say which phase it is, and none comes in a wrong one."""
    kind = event["kind"]
    if kind in {"countdown", "order_failed"}:
        return phase
    expected, after = {
        "round_started": ({"idle", "over"}, "freeze"),
        "round_aborted": ({"freeze"}, "idle"),
        "round_live": ({"freeze"}, "running"),
        "round_ended": ({"running"}, "over"),
        "over": ({"idle", "over"}, "idle"),
    }[kind]
    assert phase in expected, f"{kind} in {phase}"
    return after


def _applied_well(policy: Policy, moves: Any) -> None:
    commanders = {player: one["team"] for player, one in policy.people.items() if one["commander"]}
    watching = {player for player, one in policy.people.items() if one["team"] == 3}
    before = policy.lead()
    for lead in policy.carried_out(moves)[:-1]:
        assert lead <= max(before, 2) + 1
    if moves:
        assert policy.lead() <= 1
    assert all(policy.people[player]["team"] == team for player, team in commanders.items())
    assert all(policy.people[player]["team"] == 3 for player in watching)


class Match:
    """Carries out any step, and checks what the policy says on the way."""

    def __init__(self) -> None:
        self.policy = Policy()
        self.phase = "idle"
        self.orders = 0
        self.held: str | None = None
        """The order that waits for a countdown."""

    def step(self, kind: str, value: Any) -> None:
        before = len(self.policy.said)
        getattr(self, f"_{kind}")(value)
        for event in self.policy.said[before:]:
            self._heard(event)
        assert self.phase == self.policy.raw.phase or {self.phase, self.policy.raw.phase} == {"idle", "over"}
        assert self.held is None or self.policy.raw.state != "Started"

    def _state(self, name: str) -> None:
        self.policy.state(name)

    def _frame(self, chairs: bool) -> None:
        self.policy.frame(chairs=chairs)

    def _team(self, join: tuple[str, int]) -> None:
        self.policy.stands(*join)

    def _left(self, player: str) -> None:
        self.policy.people.pop(player, None)

    def _chair(self, player: str) -> None:
        if player in self.policy.people:
            self.policy.people[player]["commander"] = True

    def _assign(self, moment: str) -> None:
        self.orders += 1
        answer = self.policy.assign(str(self.orders), list("abcd"), list("efgh"), moment)
        if not isinstance(answer, tuple):
            assert moment == "now" or self.policy.raw.state == "Countdown"
            _applied_well(self.policy, answer)
        elif answer[0] == "hold":
            self.held = str(self.orders)

    def _heard(self, event: dict[str, Any]) -> None:
        self.phase = _next_phase(self.phase, event)
        if event["kind"] == "countdown":
            held = self.policy.raw.TakeHeld(self.policy.raw)
            assert (held["order"] if held else None) == self.held
            self.held = None
        elif event["kind"] == "order_failed":
            assert event["order"] == self.held
            self.held = None


@given(steps)
def test_in_any_order_of_states_a_start_is_one_and_a_split_never_comes_too_late(steps: list[tuple[str, Any]]) -> None:
    match = Match()
    for kind, value in steps:
        match.step(kind, value)
    assert match.policy.raw.start == sum(event["kind"] == "round_started" for event in match.policy.said)


def test_a_split_waits_for_the_countdown_and_is_dropped_when_the_start_is() -> None:
    policy = Policy()
    policy.stands("a", 1)
    policy.stands("b", 1)
    policy.states("PreGame")
    assert policy.assign("o1", ["a"], ["b"])[0] == "hold"
    policy.states("NotStarted")
    policy.frame()
    assert policy.said[-1] == {"kind": "order_failed", "order": "o1", "reason": "aborted"}


def test_a_split_ordered_at_once_that_comes_when_a_start_has_begun_waits_for_the_countdown() -> None:
    policy = Policy()
    policy.stands("1", 1)
    policy.states("WarmUp", "PreGame")
    assert policy.assign("o1", [], ["1"], "now", start=0)[0] == "hold"
    assert policy.raw.TakeHeld(policy.raw).order == "o1"


def test_a_split_of_an_earlier_start_is_not_taken_for_this_one() -> None:
    policy = Policy()
    policy.states("PreGame")
    asked = policy.raw.start
    policy.states("NotStarted")
    policy.frame()
    policy.states("PreGame")
    assert policy.assign("o1", [], [], start=asked) == (None, "aborted")
    policy.states("NotStarted", "Countdown", "Started")
    assert policy.assign("o2", [], []) == (None, "too_late")


def test_with_one_player_gone_the_others_move_only_if_the_sides_stay_even() -> None:
    policy = Policy()
    for player, team in zip("abcd", (1, 1, 1, 1), strict=True):
        policy.stands(player, team)
    policy.states("NotStarted", "Countdown")
    del policy.people["b"]
    assert {move["id"] for move in policy.assign("o1", ["a", "b"], ["c", "d"]).values()} == {"c", "d"}
    del policy.people["a"]
    assert policy.assign("o2", ["a", "b"], ["c", "d"]) == (None, "sizes")


sides = st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from([0, 1, 2, 3]), min_size=2)


@given(sides, st.sampled_from([0, 1, 2, 3]), st.sampled_from(["human", "force", "ours", "aside", "ready room", "won"]))
def test_a_lock_never_stops_what_is_not_a_humans_own_wish(teams: dict[str, int], to: int, case: str) -> None:
    policy = Policy()
    policy.states("NotStarted")
    for player, team in teams.items():
        policy.stands(player, team, human=not (case == "human" and player == min(teams)))
        policy.raw.Lock(policy.raw, player, 1 if team == 1 else 2, 60, policy.now)
    call: dict[str, Any] = {}
    if case == "force" or case == "ours":
        call[case] = True
    elif case == "aside":
        call["enforcing"] = False
    elif case == "ready room":
        to = 0
    elif case == "won":
        policy.states("Countdown", "Started", "Team1Won")
    assert policy.joins(min(teams), to, **call) == ("pass",)


@given(sides, st.integers(1, 2), st.integers(1, 2), st.booleans())
def test_a_lock_holds_unless_the_players_side_is_larger_by_two(
    teams: dict[str, int], locked: int, to: int, silent: bool
) -> None:
    policy = Policy()
    for player, team in teams.items():
        policy.stands(player, team)
    player = min(teams)
    policy.raw.Lock(policy.raw, player, locked, 60, policy.now)
    answer = policy.joins(player, to, silent=silent)[0]
    others = [team for one, team in teams.items() if one != player]
    gap = others.count(locked) + 1 - others.count(3 - locked)
    on_side = teams[player] in {1, 2}
    bound = to != locked and (not on_side or teams[player] == locked) and gap < 2
    if teams[player] == to:
        assert answer == "pass"
    elif bound and (on_side or silent):
        assert answer == "refuse"
    else:
        assert answer == ("pass" if silent else "hold")


@pytest.mark.parametrize(
    ("wait", "stands", "swaps"), [(3.0, 1, True), (3.1, 1, False), (0.0, 0, True), (0.0, 3, False), (0.0, 2, False)]
)
def test_only_who_still_wants_to_change_side_is_swapped(wait: float, stands: int, swaps: bool) -> None:
    policy = Policy()
    for player, team in (("a", 1), ("b", 2), ("c", 1), ("d", 2)):
        policy.stands(player, team)
    policy.joins("a", 2)
    policy.now += wait
    policy.stands("a", stands)
    answer, other = policy.joins("b", 1)
    assert (answer, other["id"] if swaps else other) == (("swap", "a") if swaps else ("hold", True))


def test_a_lock_ends_with_its_time() -> None:
    policy = Policy()
    policy.stands("a", 1)
    policy.raw.Lock(policy.raw, "a", 1, 60, policy.now)
    policy.now += 59
    assert policy.joins("a", 2, silent=True)[0] == "refuse"
    policy.now += 2
    assert policy.joins("a", 2, silent=True) == ("pass",)


def test_a_held_player_is_asked_for_once_and_let_go_after_a_second() -> None:
    policy = Policy()
    policy.stands("a", 0)
    assert policy.joins("a", 1) == ("hold", True)
    assert policy.joins("a", 2) == ("hold", False)
    policy.now += 0.9
    assert len(policy.raw.Expired(policy.raw, policy.now)) == 0
    policy.now += 0.2
    assert [dict(one) for one in policy.raw.Expired(policy.raw, policy.now).values()] == [{"id": "a", "team": 2}]
    assert len(policy.raw.Expired(policy.raw, policy.now + 10)) == 0


def test_a_move_waits_for_a_death_and_fails_when_the_player_or_the_round_is_gone() -> None:
    policy = Policy()
    for player in "abc":
        policy.stands(player, 1)
    order = policy.table({"order": "o1", "id": "a", "team": 2})
    assert policy.raw.Move(policy.raw, order, policy.snapshot) == "no_round"
    policy.states("Countdown", "Started")
    for name, player in (("o1", "a"), ("o2", "b"), ("o3", "c")):
        order = policy.table({"order": name, "id": player, "team": 2})
        assert policy.raw.Move(policy.raw, order, policy.snapshot) is None
    policy.stands("a", 1, alive=False)
    del policy.people["b"]
    policy.stands("c", 1, alive=False, commander=True)
    due, failed = policy.raw.DueMoves(policy.raw, policy.snapshot)
    assert [one["id"] for one in due.values()] == ["a"]
    assert [(one["order"], one["reason"]) for one in failed.values()] == [("o2", "left")]
    policy.state("Team1Won")
    assert policy.said[-1] == {"kind": "order_failed", "order": "o3", "reason": "no_round"}


@pytest.mark.parametrize(("silent", "seconds", "acts"), [(True, 0, True), (False, 1.9, False), (False, 2.1, True)])
def test_the_cached_split_is_applied_once_when_the_daemon_does_not_answer_a_start(
    silent: bool, seconds: float, acts: bool
) -> None:
    policy = Policy()
    policy.states("PreGame", "NotStarted", "Countdown")
    assert not policy.raw.ActsAlone(policy.raw, True, policy.now + 10), "none is due"
    policy = Policy()
    policy.raw.Answered(policy.raw, policy.table({"pending": True}), 1, policy.now)
    policy.now += 1
    policy.states("PreGame", "NotStarted")
    assert not policy.raw.ActsAlone(policy.raw, silent, policy.now)
    policy.states("Countdown")
    policy.now += seconds
    assert policy.raw.ActsAlone(policy.raw, silent, policy.now) is acts
    assert not (acts and policy.raw.ActsAlone(policy.raw, silent, policy.now + 3))


def test_a_round_whose_outcome_makes_a_shuffle_due_makes_it_due_until_the_daemon_knows_better() -> None:
    policy = Policy()
    policy.raw.Answered(policy.raw, policy.table({"due_if": ["red"]}), 1, policy.now)
    policy.raw.Counted(policy.raw, 2, 2)
    assert not policy.raw.due
    policy.raw.Counted(policy.raw, 1, 2)
    assert policy.raw.due
    policy.raw.Answered(policy.raw, policy.table({}), 1, policy.now)
    assert policy.raw.due
    policy.raw.Answered(policy.raw, policy.table({}), 2, policy.now)
    assert not policy.raw.due


# The cached split: it is fitted to the players who are there exactly as the daemon does.

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
