"""The rules of the sources, played against the daemon that `equipoise init --rules source` sets up.

What is expected is written from the two documents alone: SynElo's ("F1" … "F11" and its sections) and NS2's (its
sections by name). Their formulas are computed here anew, in a few plain lines each. Where a document is silent or
mistaken, and a test cannot do without an answer, the answer is one of docs/rules.md and says so.
"""

from __future__ import annotations

import itertools
import json
import math
import statistics
import urllib.parse
import urllib.request
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.cli.house import one_line, run
from tests.daemons import RealDaemon

pytestmark = pytest.mark.slow

Json = dict[str, Any]
Teams = tuple[list[str], list[str]]


class Server:
    """A game server with its script: it reports what happens and does what it is told."""

    sides = ("red", "blu")

    def __init__(self, daemon: RealDaemon, map: str, facts: Json, game: str = "tf2") -> None:
        self.daemon, self.map, self.facts, self.game = daemon, map, facts, game
        self.people: dict[str, str] = {}
        """The side of each player; "none": they wait to play."""
        self.more: dict[str, Json] = {}
        """What a roster says of a player besides."""
        self.seq, self.now, self.maps, self.rounds, self.phase = 0, 0.0, 0, 0, "idle"
        self.reply: Json = {}
        self.orders: list[Json] = []
        self.cache: Json | None = None

    @property
    def session(self) -> str:
        return f"7-{self.maps}"

    def post(self, *events: Json) -> None:
        """Send what happened; carry the orders out, which may be new events."""
        while True:
            self.seq, self.now = self.seq + 1, self.now + 0.25
            batch = {"v": 1, "server": "s", "boot": 7, "seq": self.seq, "at": self.now, "events": list(events)}
            self.reply = self._send(json.dumps(batch))
            self.cache = self.reply.get("cache", self.cache)
            self.orders += self.reply["orders"]
            if not (events := tuple(itertools.chain(*map(self._carried_out, self.reply["orders"])))):
                if not self.reply["want"]:
                    return
                events = (self.roster(),)

    def _send(self, batch: str) -> Json:
        if self.game == "ns2":
            data = urllib.parse.urlencode({"secret": self.daemon.secret, "data": batch}).encode()
            headers = {"Content-Type": "application/x-www-form-urlencoded"}
        else:
            data = batch.encode()
            headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.daemon.secret}"}
        request = urllib.request.Request(f"http://127.0.0.1:{self.daemon.port}/v1/events", data, headers)
        with urllib.request.urlopen(request, timeout=60) as response:
            answer: Json = json.load(response)
        assert answer["ok"], answer
        return answer

    def _carried_out(self, order: Json) -> list[Json]:
        match order["kind"]:
            case "assign":
                places = dict(zip((*self.sides, "none"), (order["red"], order["blu"], order["bench"]), strict=True))
                moved = {id: side for side, ids in places.items() for id in ids}
            case "move" | "place":
                moved = {order["id"]: order["side"]}
            case _:
                return []
        self.people |= moved
        done = [{"kind": "side_changed", "id": id, "side": side, **self._flags(id)} for id, side in moved.items()]
        return done + ([{"kind": "order_done", "order": order["order"]}] if "order" in order else [])

    def _flags(self, id: str) -> Json:
        return {"waiting": self.people[id] == "none"}

    def lines(self) -> list[Json]:
        return [
            {"id": id, "side": side, "connected": 100.0, **self._flags(id), **self.more.get(id, {})}
            for id, side in self.people.items()
        ]

    def roster(self, **more: Any) -> Json:
        return {"kind": "roster", "players": self.lines(), **more}

    def begins(self, people: Sequence[str], *, waiting: bool = False) -> None:
        """The map begins with these players, who wait in arena and stand on the two sides elsewhere."""
        arena = self.facts.get("game_type") == 4
        self.people = {id: "none" if arena else self.sides[n % 2] for n, id in enumerate(people)}
        self.maps, self.phase = self.maps + 1, "idle"
        hello = {"kind": "hello", "plugin": "source/1", "game": self.game, "map": self.map, "session": self.session}
        self.post({**hello, "phase": self.phase, "facts": self.facts, "waiting": waiting}, self.roster())

    def starts(self) -> str | None:
        """The freeze of a round; the purpose of the order that made new teams for it."""
        first = len(self.orders)
        self.post({"kind": "round_started", "players": self.lines()})
        for _ in range(20):
            self.post()
        made = [order["purpose"] for order in self.orders[first:] if order["kind"] == "assign"]
        return made[0] if made else None

    def goes_live(self) -> Teams:
        self.rounds, self.phase = self.rounds + 1, "running"
        self.post({"kind": "round_live", "round": f"7-{self.rounds}", "players": self.lines()})
        return self.teams()

    def ends(self, winner: int | None, captures: tuple[int, int] = (1, 1), **more: Any) -> None:
        """The round is over after two minutes, in which all who stand on a side fought."""
        lineup = [{"id": id, "side": side} for id, side in self.people.items() if side != "none"]
        first = self.sides[0]
        players = [
            {**one, "seconds": {"red" if one["side"] == first else "blu": 120.0}, "fought": True} for one in lineup
        ]
        round = {"lineup": lineup, "players": players, "seconds": 120.0, **more}
        self.phase = "over"
        ended = {"kind": "round_ended", "round": f"7-{self.rounds}", "session": self.session, "map": self.map}
        of_game = {"game": self.game, "facts": self.facts, "started_at": 1_763_622_000.0 + 200 * self.rounds}
        result = {
            "winner": "none" if winner is None else self.sides[winner],
            "captures": dict(zip(("red", "blu"), captures, strict=True)),
        }
        self.post({**ended, **of_game, **result, **round})
        assert self.reply["rounds"] in ({f"7-{self.rounds}": "stored"}, {}), self.reply

    def plays(self, winner: int | None, captures: tuple[int, int] = (1, 1)) -> tuple[str | None, Teams]:
        """A whole round: why teams were new for it, and who played it."""
        made = self.starts()
        teams = self.goes_live()
        self.ends(winner, captures)
        return made, teams

    def teams(self) -> Teams:
        a, b = ([id for id, side in self.people.items() if side == one] for one in self.sides)
        return a, b

    def ratings(self) -> dict[str, float]:
        return {id: self.daemon.ask(f"players/{id}")["player"]["rating"] for id in self.people}

    def set(self, ratings: dict[str, float]) -> None:
        for id, rating in ratings.items():
            self.daemon.ask(f"players/{id}", {"rating": rating, "new": True}, "PUT")


def ids(count: int) -> list[str]:
    return [str(76561198000000001 + number) for number in range(count)]


@contextmanager
def server(folder: Path, map: str, game: str = "tf2", **facts: Any) -> Iterator[Server]:
    daemon = RealDaemon(folder, "s", forked=True, game=game, rules="source")
    daemon.start()
    try:
        yield (Ns2 if game == "ns2" else Server)(daemon, map, facts, game)
    finally:
        assert daemon.stop() == 0


@pytest.fixture
def arena(tmp_path: Path) -> Iterator[Server]:
    with server(tmp_path, "arena_lumberyard", game_type=4) as started:
        yield started


@pytest.fixture
def koth(tmp_path: Path) -> Iterator[Server]:
    with server(tmp_path, "koth_viaduct", game_type=2, koth=True) as started:
        yield started


# SynElo, "Parameters" and "Rating Algorithm": F1 to F6.

R_0, R_MIN, T_SHADOW, K_MIN, K_MAX, W, SIGMA = 1000, 100, 50, 2, 72, 500, 400
THETA = 400 * math.floor(statistics.median(range(1, 12 + 1)))


def f1(a: float, b: float) -> float:
    return 1 / (1 + math.exp(-(a - b) / THETA))


def f3(w: list[float], e: list[float], o: list[float]) -> float:
    if len(w) < 2:
        return 1.0  # silent: without halves a newcomer moves fast
    m = len(w) // 2
    v_vel = abs(statistics.fmean(w[-m:]) - statistics.fmean(w[:m])) / K_MAX
    v_wre = abs(statistics.fmean(o) - statistics.fmean(e)) / 0.10
    v_vol = statistics.pstdev(w) / K_MAX
    return min(1.0, max(0.0, 0.25 * v_vel + 0.25 * v_wre + 0.5 * v_vol))


class SynElo:
    """The document's ratings, from the rounds as they are played."""

    def __init__(self) -> None:
        self.rating: dict[str, float] = {}
        self.window: dict[str, list[tuple[float, float, float]]] = {}
        self.called: list[tuple[float, float]] = []

    def rate(self, teams: Teams, outcome: float, rated: Iterable[str] | None = None) -> None:
        sums = [sum(self.rating.get(id, R_0) for id in team) for team in teams]
        p_a = f1(*sums)
        self.called.append((p_a, outcome))
        for team, p, s in ((teams[0], p_a, outcome), (teams[1], 1 - p_a, 1 - outcome)):
            for id in team if rated is None else set(team) & set(rated):
                rating, seen = self.rating.get(id, R_0), self.window.setdefault(id, [])
                c = f3(*([row[n] for row in seen[-W:]] for n in range(3)))
                g = math.exp(-((rating - R_0) ** 2) / (2 * SIGMA**2))  # F4
                k = K_MIN + (K_MAX - K_MIN) * c * g  # F5
                self.rating[id] = max(R_MIN, round(rating + k * (s - p)))  # F2; Python's round is the banker's
                seen.append((self.rating[id], p, s))

    def f6(self) -> float:
        return statistics.fmean((p - o) ** 2 for p, o in self.called)


def test_ratings_are_those_of_f1_to_f6(arena: Server) -> None:
    """Sixty rounds of ten players: every rating after every tenth, who is visible, and the Brier score."""
    assert THETA == 2400
    luck, source = Random(21), SynElo()
    arena.begins(ids(10))
    for number in range(1, 61):
        winner = luck.choice((0, 0, 0, 1, 1, None))
        _, teams = arena.plays(winner)
        source.rate(teams, {0: 1.0, 1: 0.0, None: 0.5}[winner])
        if number % 10 == 1:
            assert arena.ratings() == {id: source.rating.get(id, R_0) for id in arena.people}
    assert len({*source.rating.values()}) > 3
    for id in arena.people:
        player = arena.daemon.ask(f"players/{id}")["player"]
        assert player["rounds"] == len(source.window[id])
        assert player["visible"] is (len(source.window[id]) >= T_SHADOW)
    found = arena.daemon.ask("pools/main/quality")["quality"]
    assert (found["rounds"], found["brier"]["value"]) == (60, pytest.approx(source.f6()))


def test_no_rating_falls_below_the_floor_and_far_from_r_0_k_is_small(arena: Server) -> None:
    """F2's max and F4: at 105 and at 1900 G is e^-2.5 and e^-2.53, so that K is at most 7.7."""
    people = ids(4)
    arena.set(dict(zip(people, (105.0, 103.0, 1900.0, 1900.0), strict=True)))
    arena.begins(people)
    source = SynElo()
    source.rating = dict(zip(people, (105.0, 103.0, 1900.0, 1900.0), strict=True))
    for _ in range(8):
        arena.starts()
        teams = arena.goes_live()
        winner = int(people[0] in teams[0])  # the weakest lose
        arena.ends(winner)
        source.rate(teams, 1.0 - winner)
    assert arena.ratings() == {id: source.rating[id] for id in people}
    assert min(source.rating.values()) >= R_MIN


# SynElo, "Session Flow and Protocol".


def off(ratings: dict[str, float], teams: Sequence[Iterable[str]]) -> float:
    return abs(sum(ratings[id] for id in teams[0]) - sum(ratings[id] for id in teams[1]))


def f7(ratings: dict[str, float], k: int) -> float:
    """The least |Σ(A) − Σ(B)| of k against k; "Player 0 (highest-rated) is anchored to team A"."""
    order = sorted(ratings, key=lambda id: -ratings[id])
    found = math.inf
    for rest in itertools.combinations(order[1:], k - 1):
        a = {order[0], *rest}
        for b in itertools.combinations([id for id in order if id not in a], k):
            found = min(found, off(ratings, (a, b)))
    return found


def test_an_evening_of_arena_goes_duel_scramble_and_then_three_in_a_row(arena: Server) -> None:
    """Ten players. "Round 1 is always a 1v1 duel. … Round 2 is always scrambled unconditionally. From round 3 onward, a
    scramble triggers when one team wins 3 rounds in a row"."""
    people = ids(10)
    arena.begins(people)
    made, teams = arena.plays(None)
    assert ([len(team) for team in teams], made) == ([1, 1], "duel")
    made, teams = arena.plays(0)
    assert (made, [len(team) for team in teams]) == ("scramble", [5, 5])
    for winner, since in ((0, False), (1, False), (1, False), (0, False), (0, False), (None, False), (0, False)):
        made, again = arena.plays(winner)
        assert (made, again) == (None, teams), since
    made, again = arena.plays(0)
    assert (made, again) == (None, teams)
    made, again = arena.plays(0)  # the third in a row
    assert (made, again) == (None, teams)
    ratings = arena.ratings()
    made, again = arena.plays(0)
    assert made == "scramble"
    assert off(ratings, again) == f7(ratings, 5)
    made, kept = arena.plays(0)  # new teams begin a new row: this is their second win
    assert (made, kept) == (None, again)


@pytest.mark.parametrize("seed", range(3))
def test_scrambles_and_cached_splits_are_f7s_with_its_anchor(arena: Server, seed: int) -> None:
    """For every k from 2 to ⌊N/2⌋; nine players with a star, whom any even split would bench."""
    luck, people = Random(seed), ids(9)
    arena.set({id: float(luck.randint(700, 1400)) for id in people} | {people[3]: 2600.0})
    arena.begins(people)
    arena.plays(1)
    cache = arena.cache
    assert cache is not None
    ratings = arena.ratings()
    assert [ratings[id] for id in cache["ids"]] == sorted(ratings.values(), reverse=True)
    found = {split.count("A"): split for split in cache["splits"]}
    assert sorted(found) == [2, 3, 4]
    for k, split in found.items():
        assert split.count("B") == k
        assert split[0] in "AB"
        teams = [[id for id, place in zip(cache["ids"], split, strict=True) if place == side] for side in "AB"]
        assert off(ratings, teams) == f7(ratings, k)
    assert arena.starts() == "scramble"
    assert off(ratings, arena.teams()) == f7(ratings, 4)
    assert arena.people[people[3]] != "none"


def test_between_scrambles_players_come_from_the_queue_and_nobody_else_moves(arena: Server) -> None:
    people = ids(9)
    arena.begins(people)
    arena.plays(0)
    _, before = arena.plays(1)
    for winner in (0, 1, 0, 1):
        made, teams = arena.plays(winner)
        assert made == "equal_sides"
        assert not set(before[0]) & set(teams[1])
        assert not set(before[1]) & set(teams[0])
        before = teams


def test_nobody_votes_and_nobody_is_locked(arena: Server) -> None:
    """The document has neither."""
    people = ids(6)
    arena.begins(people)
    for winner in (0, 0, 0, 0, 0, 1):
        arena.plays(winner)
        for id in people:
            arena.post({"kind": "command", "words": ["vote"], "by": id})
    assert not {"lock", "vote"} & {order["kind"] for order in arena.orders}
    assert {order["kind"] for order in arena.orders} >= {"assign", "say", "tell"}


# SynElo, "Generalization to TF2 Outside of Arena".

ATTACK = {"game_type": 2, "attack_defend": True}


DUE = [
    # "attackers run out of time without capturing any objectives or 2 full rounds completed": RED defends.
    (ATTACK, [(0, (0, 0))], True),
    (ATTACK, [(0, (0, 1))], False),
    (ATTACK, [(1, (0, 0))], False),
    (ATTACK, [(1, (0, 2)), (0, (0, 1))], True),
    ({"game_type": 3}, [(0, (0, 0))], True),
    ({"game_type": 3}, [(1, (0, 4)), (1, (0, 4))], True),
    # "one team never captures the/a control point before the other team wins"
    ({"game_type": 2, "koth": True}, [(1, (0, 1))], True),
    ({"game_type": 2, "koth": True}, [(1, (1, 1))], False),
    ({"game_type": 2}, [(0, (5, 0))], True),
    # "one team never captures the flag before the other team wins"
    ({"game_type": 1}, [(0, (3, 0))], True),
    ({"game_type": 1}, [(0, (3, 1))], False),
    # "Streak-based scrambles do not apply outside Arena."
    ({"game_type": 2, "koth": True}, [(1, (1, 1))] * 5, False),
]


def test_outside_arena_a_scramble_is_due_by_its_gamemode(koth: Server) -> None:
    """Each on a map of its own, of the same server."""
    for case in DUE:
        koth.facts, rounds, due = case
        koth.begins(ids(8))
        for winner, captures in rounds:
            assert not koth.reply["pending"], case
            koth.starts()
            koth.goes_live()
            koth.ends(winner, captures)
        assert koth.reply["pending"] is due, case


def test_all_modes_scramble_when_waiting_for_players_is_over(koth: Server) -> None:
    people, luck = ids(12), Random(4)
    koth.set({id: float(luck.randint(500, 1900)) for id in people})
    ratings = {id: koth.daemon.ask(f"players/{id}")["player"]["rating"] for id in people}
    for facts in (ATTACK, {"game_type": 2, "koth": True}, {"game_type": 1}, {"game_type": 3}):
        koth.facts = facts
        koth.begins(people, waiting=True)
        koth.post({"kind": "waiting_ended"})
        assert koth.starts() == "scramble", facts
        assert off(ratings, koth.teams()) == f7(ratings, 6), facts


def test_every_scramble_is_f7s_even_if_that_moves_few_or_nobody(koth: Server) -> None:
    """The document knows no scramble that has to move somebody."""
    people, luck = ids(8), Random(6)
    koth.set({id: float(luck.randint(600, 1600)) for id in people})
    koth.begins(people)
    for number in range(8):
        koth.plays(number % 2, (0, 0))  # a shutout: the next round is scrambled
        ratings = koth.ratings()
        koth.starts()
        assert off(ratings, koth.goes_live()) == f7(ratings, 4)
        koth.ends(None)


def test_uneven_teams_alone_are_no_reason_for_new_ones(koth: Server) -> None:
    people = ids(8)
    koth.begins(people)
    for number in range(12):
        if number == 10:
            koth.set({id: 400.0 + 1800.0 * (id in koth.teams()[0]) for id in people})
        made, teams = koth.plays(number % 2)
        assert (made, [set(team) for team in teams]) == (None, [{*people[::2]}, {*people[1::2]}])
    assert not {"move", "assign"} & {order["kind"] for order in koth.orders}


def test_who_joins_equal_sides_goes_where_the_sums_are_nearest(koth: Server) -> None:
    """ "place the odd player on whichever team minimizes |Σ_A − Σ_B|", whatever they wish."""
    people = ids(9)
    koth.set(dict(zip(people, (1500.0, 900.0, 1400.0, 1000.0, 1100.0, 1000.0, 900.0, 1300.0, 800.0), strict=True)))
    koth.begins(people[:8])
    koth.starts()
    koth.goes_live()
    ratings, joiner = koth.ratings() | {people[8]: 800.0}, people[8]
    a, b = koth.teams()
    wanted = min((0, 1), key=lambda side: off(ratings, ([*a, joiner], b) if side == 0 else (a, [*b, joiner])))
    koth.people[joiner] = "none"
    koth.post({"kind": "player_joined", "id": joiner, "name": "odd"})
    koth.post({"kind": "side_wanted", "id": joiner, "side": koth.sides[1 - wanted]})
    assert koth.people[joiner] == koth.sides[wanted]


@pytest.mark.parametrize("gone", [2, 4])
def test_a_gap_of_two_is_closed_by_f11(koth: Server, gone: int) -> None:
    """The player nearest to T = |Σ_A − Σ_B| / 2; "For |Δk| > 2, solve all moves jointly"; within 10 s, at any time."""
    people, luck = ids(12), Random(gone)
    koth.set({id: float(luck.randint(600, 1800)) for id in people})
    koth.begins(people)
    koth.starts()
    koth.goes_live()
    ratings, (a, b) = koth.ratings(), koth.teams()
    stay = sorted(b, key=lambda id: ratings[id])[:-gone]
    for id in set(b) - set(stay):
        del koth.people[id]
    d = sum(ratings[id] for id in a) - sum(ratings[id] for id in stay)
    assert d > 0
    koth.orders.clear()
    koth.post(koth.roster(ends_in=5.0))
    koth.post()
    moves = [order for order in koth.orders if order["kind"] == "move"]
    assert len(moves) == gone // 2
    assert all(0 < order["deadline"] <= 10 for order in moves)
    t = abs(d) / 2
    nearest = min(abs(sum(ratings[id] for id in some) - t) for some in itertools.combinations(a, gone // 2))
    assert abs(sum(ratings[order["id"]] for order in moves) - t) == nearest


def test_f11_spares_nobody_who_was_moved_just_now(koth: Server) -> None:
    people = ids(8)
    koth.set(dict(zip(people, (600.0, 900.0, 1000.0, 900.0, 1400.0, 900.0, 1200.0, 900.0), strict=True)))
    koth.begins(people)
    koth.starts()
    koth.goes_live()
    koth.orders.clear()
    # T is 1200 both times: (4200 - 1800) / 2 with two of BLU gone, then (3000 - 600) / 2 with two of RED gone.
    for gone in ((people[5], people[7]), (people[2], people[4])):
        for id in gone:
            del koth.people[id]
        koth.post(koth.roster())
        koth.post()
    assert [(o["id"], o["side"]) for o in koth.orders if o["kind"] == "move"] == [
        (people[6], "blu"),
        (people[6], "red"),
    ]


def test_f11_is_mended_where_the_larger_side_is_the_weaker_one(koth: Server) -> None:
    """The printed T has no sign and would move the strongest here; every move of r costs 2r, so the weakest goes."""
    people = ids(8)
    koth.set(dict(zip(people, (500.0, 2600.0, 600.0, 2500.0, 1000.0, 2400.0, 1200.0, 900.0), strict=True)))
    koth.begins(people)
    koth.starts()
    koth.goes_live()
    assert people[0] in koth.teams()[0]
    del koth.people[people[7]]
    joined = ids(9)[8]
    koth.set({joined: 1100.0})
    koth.people[joined] = "red"
    koth.orders.clear()
    koth.post({"kind": "player_left", "id": people[7]}, {"kind": "player_joined", "id": joined}, koth.roster())
    koth.post()
    assert [order["id"] for order in koth.orders if order["kind"] == "move"] == [people[0]]


# NS2.

POINTS = 400
"""A skill of 1 in the document's log-odds is shown as so many points."""


class Ns2(Server):
    """A server whose players have times and roles."""

    sides = ("marines", "aliens")

    def ends_with(self, winner: int, spans: dict[str, list[tuple[int, str, float, float]]], seconds: float) -> None:
        lineup = [{"id": id, "side": self.sides[one[0][0]]} for id, one in spans.items() if one[0][2] == 0]
        players = [
            {
                "id": id, "side": self.sides[one[-1][0]], "fought": True,
                "spans": [
                    {"side": self.sides[team], "role": role, "from": begin, "to": end} for team, role, begin, end in one
                ],
            }
            for id, one in spans.items()
        ]  # fmt: skip
        self.ends(winner, lineup=lineup, players=players, seconds=seconds)


class Moultano:
    """ "The Basic Model" with races, the learning rate, skills per team, and commanders, in log-odds."""

    def __init__(self) -> None:
        self.s: dict[str, float] = {}
        self.o: dict[str, float] = {}
        self.chi: dict[str, float] = {}
        self.g: dict[tuple[str, str], float] = {}
        self.lengths: list[float] = []
        self.won = self.played = 0

    def f(self) -> float:
        """The log-odds of the marines' win rate; mended: smoothed by 20 rounds at each step, all on one small map."""
        m, rate = 20, 0.5
        # No rounds elsewhere, none of another size: both steps above give what they are smoothed towards.
        rate = (self.won + m * rate) / (self.played + m)
        return math.log(rate / (1 - rate))

    def rate(self, winner: int, spans: dict[str, list[tuple[int, str, float, float]]], seconds: float) -> None:
        newcomer = (6 - 1) * 0.5  # silent: the mode of the Gamma distribution
        r = statistics.median(self.lengths) if self.lengths else 1200  # silent: before the first round
        a = 2 ** (2 / r)
        t, c = {}, {}
        for id, one in spans.items():
            for kind, into in (("field", t), ("commander", c)):
                into[id] = sum((1 - 2 * team) * (a**-begin - a**-end) for team, role, begin, end in one if role == kind)
        sum_t, sum_c = (sum(map(abs, one.values())) for one in (t, c))
        for id in spans:
            self.s.setdefault(id, newcomer), self.o.setdefault(id, 0.0), self.chi.setdefault(id, newcomer)
        side = {id: 1 - 2 * one[0][0] for id, one in spans.items()}
        logit = sum(t[id] * (self.s[id] + side[id] * self.o[id]) for id in spans) / sum_t
        logit += sum(c[id] * self.chi[id] for id in spans) / sum_c + self.f()
        p, g = 1 / (1 + math.exp(-logit)), 1.0 - winner
        for id in spans:
            for name, skill, grad in (
                ("s", self.s, (g - p) * t[id] / sum_t), ("chi", self.chi, (g - p) * c[id] / sum_c),
            ):  # fmt: skip
                self.g[name, id] = self.g.get((name, id), 0.0) + grad**2  # mended: g of squares
                skill[id] += (0.2 + 0.6 / math.sqrt(self.g[name, id] + 0.1)) * grad
            self.o[id] += 0.2 * (g - p) * abs(t[id]) / sum_t  # mended: o ← o + …
        self.lengths.append(seconds)
        self.played, self.won = self.played + 1, self.won + 1 - winner


def test_ns2s_skills_are_those_of_its_document(tmp_path: Path) -> None:
    """Thirty rounds with late joiners, leavers, commanders and bots: s, o and χ of everybody."""
    luck, people, source = Random(8), ids(10), Moultano()
    with server(tmp_path, "ns2_veil", "ns2") as game:
        game.begins(people)
        for _ in range(30):
            game.goes_live()
            seconds = luck.uniform(300, 2000)
            order = luck.sample(people, 10)
            spans: dict[str, list[tuple[int, str, float, float]]] = {}
            for place, id in enumerate(order):
                begin = 0.0 if place < 6 else luck.uniform(0, seconds / 2)
                end = seconds if place < 8 else luck.uniform(begin + 1, seconds)
                spans[id] = [(place % 2, "commander" if place < 2 else "field", begin, end)]
            winner = luck.randrange(2)
            bots = {f"bot:{n}": [(n % 2, "field", 0.0, luck.uniform(1, seconds))] for n in range(luck.randrange(6))}
            game.ends_with(winner, spans | bots, seconds)
            source.rate(winner, spans, seconds)
        for id in people:
            found = game.daemon.ask(f"players/{id}")["player"]
            assert found["visible"] is True
            skills = {name: found["skills"][name]["value"] / POINTS for name in ("average", "offset", "commander")}
            expected = {"average": source.s[id], "offset": source.o[id], "commander": source.chi[id]}
            assert skills == pytest.approx(expected, abs=1e-6)
    assert max(source.s.values()) - min(source.s.values()) > 0.1


@pytest.mark.parametrize("seed", range(4))
def test_an_ns2_vote_swaps_the_best_pair_until_no_pair_helps(tmp_path: Path, seed: int) -> None:
    """The two steps of "How do we balance the teams in a real game?"; without a vote nothing happens before a round."""
    luck, people = Random(seed), ids(11)
    with server(tmp_path, "ns2_veil", "ns2") as game:
        game.set({id: float(luck.randint(200, 3500)) for id in people})
        game.begins(people)
        game.people[people[10]] = "none"  # has not joined a team
        game.post(game.roster())
        assert game.starts() is None
        game.post({"kind": "round_aborted"})
        ratings, sides = game.ratings(), [set(team) for team in game.teams()]
        assert [len(side) for side in sides] == [5, 5]
        joins = min(
            (0, 1),
            key=lambda n: off(ratings, [side | {people[10]} if n == m else side for m, side in enumerate(sides)]),
        )
        sides[joins].add(people[10])
        while True:
            pairs = [[sides[0] ^ {a, b}, sides[1] ^ {a, b}] for a, b in itertools.product(*sides)]
            best = min(pairs, key=lambda pair: off(ratings, pair))
            if off(ratings, best) >= off(ratings, sides):
                break
            sides = best
        for id in people:
            game.post({"kind": "command", "words": ["vote"], "by": id})
        game.post()
        assert [set(team) for team in game.teams()] == sides
        assert not {"lock", "move"} & {order["kind"] for order in game.orders}


def test_an_ns2_vote_is_taken_however_even_the_teams_are(tmp_path: Path) -> None:
    people = ids(8)
    with server(tmp_path, "ns2_veil", "ns2") as game:
        game.begins(people)
        for id in people:
            game.post({"kind": "command", "words": ["vote"], "by": id})
        game.post()
        said = [order["text"]["phrase"] for order in game.orders if order["kind"] == "say"]
        assert "Equipoise_VotePassed" in said


# The command.


def test_rules_are_written_into_a_new_configuration_alone(tmp_path: Path) -> None:
    assert run("init", tmp_path, "--rules", "source").returncode == 0
    before = (tmp_path / "config.toml").read_text()
    assert "exists already" in one_line(run("init", tmp_path, "--rules", "source", "--server", "other"))
    assert (tmp_path / "config.toml").read_text() == before
