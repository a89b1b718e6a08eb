"""The laws of a session hold for any order of events from scripts, players and the shell."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from equipoise.core import events as e
from equipoise.core.asks import Ask
from equipoise.core.effects import Assign, Ignored, Move
from equipoise.core.model import Entry, Immunity, Mode, OrderId, PlayerId, Presence, Roster, RoundId, Side, Split
from equipoise.core.rules import DEFAULT_TRIGGERS, ArenaRules, Rules, ScrambleRules, ShuffleRules, Triggers, VoteRules
from equipoise.core.session import Session
from tests.core.laws import PLAYERS, LawfulServer
from tests.core.scripts import MAP, command, finished, hello, ids, roster, roster_text

RULES = (
    Rules(),
    Rules(
        ArenaRules("everyone"),
        ScrambleRules(min_players=2, tolerance=0.0, top_player_always_plays=True, fair_band=(0.5, 0.5)),
        vote=VoteRules(min_players=2, cooldown_minutes=0.0),
        last_minutes=2.0,
        triggers={mode: Triggers(streak=2) for mode in DEFAULT_TRIGGERS},
    ),
    Rules(maps={"map 1": "rate", "map 2": "off"}),
    Rules(
        vote=VoteRules(min_players=2, fraction=0.3, cooldown_minutes=0.0, when="next"),
        shuffle=ShuffleRules(at_round_start=False, fair_band=(0.5, 0.5), max_moves=2),
    ),
)
COMMANDS = (
    ("scramble", "now"),
    ("scramble", "next"),
    ("scramble", "dry"),
    ("scramble", "cancel"),
    ("shuffle", "now"),
    ("shuffle", "cancel"),
    ("balance",),
    ("on",),
    ("off",),
    ("rating",),
    (),
)

players = st.sampled_from(PLAYERS)
humans = st.sampled_from(ids("abcdefg"))
maybe_side = st.sampled_from([Side.A, Side.B, None])
seconds = st.sampled_from([0.0, 0.1, 1.0, 8.0, 35.0, 200.0])


class AnyServer(LawfulServer, RuleBasedStateMachine):
    """A server whose script, players and shell act in any order, and the laws of its session."""

    def __init__(self) -> None:
        super().__init__()
        self.rounds = 0
        self.maps = 0
        self.quiet_steps = 0
        """Steps since the last hello: they are rare, or nothing else would be tried."""

    @initialize(
        mode=st.sampled_from(Mode),
        given_rules=st.sampled_from(RULES),
        known=st.sampled_from([True, True, True, False]),
        prompt=st.booleans(),
    )
    def begin(self, mode: Mode, given_rules: Rules, known: bool, prompt: bool) -> None:
        self.mode, self.rules, self.prompt = mode, given_rules, prompt
        self.session = Session(given_rules)
        if known:
            self.happens(hello(mode))
            self.roster = roster("abc1|def|g")
            self.happens(e.RosterSeen(0.0, self.roster))
            self.all_asks_answered()

    # The script.

    @precondition(lambda self: not self.session.state.known or self.quiet_steps > 8)
    @rule(
        phase=st.sampled_from(e.Phase),
        next_map=st.booleans(),
        late=st.booleans(),
        waiting=st.sampled_from([False, False, True]),
        inactive_reason=st.sampled_from(["", "", "", "mvm"]),
    )
    def hello(self, phase: e.Phase, next_map: bool, late: bool, waiting: bool, inactive_reason: str) -> None:
        self.quiet_steps = 0
        self.maps += next_map
        where = f"map {self.maps}" if next_map and not late else (self.session.memory.map or MAP)
        session = f"session {self.maps}"
        effects = self.happens(
            hello(
                self.mode,
                phase,
                at=self.now,
                session=session,
                map_name=where,
                waiting=waiting,
                late=late,
                inactive_reason=inactive_reason,
            )
        )
        assert not any(isinstance(effect, Assign | Move | Ask) for effect in effects)

    @rule(
        ends_in=st.sampled_from([None, None, 5.0, 33.0, 300.0]),
        no_moves=st.sampled_from(["", "", "", "sudden_death"]),
        map_ends_in=st.sampled_from([None, None, 30.0, 300.0]),
    )
    def is_seen(self, ends_in: float | None, no_moves: str, map_ends_in: float | None) -> None:
        self.roster_seen(ends_in, no_moves, map_ends_in)

    @rule(
        player=players,
        side=maybe_side,
        waiting=st.booleans(),
        marks=st.sampled_from(["", "", "", "SCRAMBLE", "ALL", "carrier", "building", "commander", "held", "objective"]),
        alive=st.booleans(),
        ready=st.sampled_from([True, True, True, False]),
        reported=st.booleans(),
    )
    def stands(
        self, player: PlayerId, side: Side | None, waiting: bool, marks: str, alive: bool, ready: bool, reported: bool
    ) -> None:
        entry = Entry(player, side, waiting and side is None, alive, self.now, ready=ready)
        if marks == "commander" and (side is None or any(other.commander for other in self.roster.on(side))):
            marks = ""  # a side has one chair
        if marks == "held":
            entry = replace(entry, held="" if self.mode is Mode.NS2 else "duel")
        elif marks.isupper():
            entry = replace(entry, immune=Immunity[marks])
        elif marks:
            entry = replace(entry, **{marks: True})  # type: ignore[arg-type]
        self.roster = self.roster.with_entry(entry)
        if reported:
            self.happens(e.SideChanged(self.now, player, entry.side, entry.waiting, ready, entry.held))

    @rule(side=st.sampled_from(Side), stay=st.integers(0, 2), ends_in=st.sampled_from([None, None, 5.0, 33.0]))
    def most_of_a_side_watch(self, side: Side, stay: int, ends_in: float | None) -> None:
        for entry in self.roster.on(side)[stay:]:
            self.roster = self.roster.with_entry(entry.moved(None))
        self.roster_seen(ends_in)

    @rule(player=players, reported=st.booleans())
    def leaves(self, player: PlayerId, reported: bool) -> None:
        self.roster = self.roster.without(player)
        if reported:
            self.happens(e.PlayerLeft(self.now, player))

    @rule(player=players)
    def joins(self, player: PlayerId) -> None:
        self.happens(e.PlayerJoined(self.now, player))

    @rule(player=humans, side=maybe_side)
    def wants(self, player: PlayerId, side: Side | None) -> None:
        self.happens(e.SideWanted(self.now, player, side))

    @rule()
    def round_starts(self) -> None:
        self.happens(e.RoundStarted(self.now, self.roster))

    @rule()
    def orderly_round_start(self) -> None:
        self.round_starts()
        self.settle()
        self.live()

    @rule()
    def live(self) -> None:
        self.rounds += 1
        self.happens(e.RoundLive(self.now, RoundId(f"r{self.rounds}"), self.roster))

    @rule(
        back=st.sampled_from([0, 0, 0, 1, 2]),
        winner=maybe_side,
        captures=st.tuples(st.integers(0, 1), st.integers(0, 1)),
        here=st.sampled_from([True, True, False]),
        late=st.booleans(),
        partial=st.sampled_from([False, False, True]),
    )
    def round_ends(
        self, back: int, winner: Side | None, captures: tuple[int, int], here: bool, late: bool, partial: bool
    ) -> None:
        session = self.session.memory.session if here else "elsewhere"
        presences = tuple(Presence(entry.id, entry.side or Side.A, 9.0, 1.0, True) for entry in self.roster.humans())
        text = roster_text(self.roster)
        name = f"r{max(0, self.rounds - back)}"
        game_round = finished(
            name, winner, text, mode=self.mode, session=session, captures=captures, presences=presences
        )
        game_round = replace(game_round, partial=partial)
        self.happens(e.RoundEnded(0.0 if late else self.now, game_round))

    @rule(
        event=st.sampled_from([e.WaitingEnded(0.0), e.SidesSwitched(0.0), e.Heartbeat(0.0), e.RoundAborted(0.0)]),
    )
    def something_else(self, event: e.Event) -> None:
        if isinstance(event, e.SidesSwitched):
            swapped = (replace(entry, side=entry.side and entry.side.other) for entry in self.roster.entries)
            self.roster = Roster(tuple(swapped))
        self.happens(event)

    @rule(text=st.sampled_from(["ab|cd", "a|b|c", "abc|defg", "|"]))
    def scrambles_alone(self, text: str) -> None:
        made = roster(text)
        bench = tuple(entry.id for entry in made.entries if entry.side is None)
        a, b = (tuple(entry.id for entry in made.on(side)) for side in Side)
        self.happens(e.ScrambledAlone(self.now, Split(a, b, bench)))

    @rule(voters=st.lists(humans, min_size=1, max_size=5), how=st.sampled_from(["ended", "failed", "open"]))
    def players_ask_for_a_vote(self, voters: list[PlayerId], how: str) -> None:
        for voter in voters:
            self.happens(command("vote", by=voter, admin=False))
            self.all_asks_answered()
        if self.votes and how != "open":
            self.vote_ends(6, 1, failed=how == "failed")

    @precondition(lambda self: self.votes)
    @rule(yes=st.integers(0, 6), no=st.integers(0, 6), failed=st.booleans())
    def vote_ends(self, yes: int, no: int, failed: bool) -> None:
        order = self.votes.pop().order
        runs = self.session.state.voices.order == order
        ended = e.VoteEnded(self.now, order=order, yes=yes, no=no)
        event = e.OrderFailed(self.now, order, "vote_running") if failed else ended
        assert runs is not any(isinstance(effect, Ignored) for effect in self.happens(event))

    @rule(words=st.sampled_from(COMMANDS + (("on",),) * 3), admin=st.sampled_from([True, True, False]))
    def commands(self, words: tuple[str, ...], admin: bool) -> None:
        self.happens(command(*words, admin=admin))

    # Orders: carried out, failed, forgotten, answered twice.

    @precondition(lambda self: self.orders)
    @rule(
        n=st.integers(0, 9),
        how=st.sampled_from(["done", "done", "dead_end", "no_moves", "quiet", "held", "partial", "twice", "never"]),
        shown=st.booleans(),
    )
    def order_answered(self, n: int, how: str, shown: bool) -> None:
        order = self.orders.pop(n % len(self.orders))
        if how == "never":
            (effect,) = self.happens(e.OrderDone(self.now, OrderId("of nobody")))
            assert isinstance(effect, Ignored)
            return
        named = (order.player,) if isinstance(order, Move) else (*order.split.a, *order.split.b)
        stayed = {} if self.mode is Mode.NS2 else dict.fromkeys(named[:1], "duel")
        if how in ("dead_end", "no_moves", "quiet", "held"):
            self.happens(e.OrderFailed(self.now, order.order, how, stayed if how == "held" else {}))
            return
        if how == "partial" and isinstance(order, Assign):
            before = self.roster
            self.carry_out(order, shown=False)
            for player in stayed:
                if (entry := before.get(player)) is not None:
                    self.roster = self.roster.with_entry(entry)
            self.happens(e.OrderDone(self.now, order.order, stayed))
            return
        self.carry_out(order, shown)
        for _ in range(2 if how == "twice" else 1):
            self.happens(e.OrderDone(self.now, order.order))

    # The shell: answers at once, late, never, twice or not at all; time; restarts.

    @precondition(lambda self: self.asks)
    @rule(n=st.integers(0, 9), how=st.sampled_from(["solved", "solved", "solved", "failed", "twice", "lost"]))
    def ask_answered(self, n: int, how: str) -> None:
        ask, answered = self.asks.pop(-1 - n % len(self.asks))
        if how == "failed":
            self.happens(e.SolveFailed(ask, "too slow"))
            return
        for _ in range({"lost": 0, "twice": 2}.get(how, 1)):
            self.happens(answered)

    @precondition(lambda self: self.asks)
    @rule()
    def all_answered(self) -> None:
        self.all_asks_answered()

    @rule(elapsed=seconds)
    def time_passes(self, elapsed: float) -> None:
        self.now += elapsed
        self.tick()

    @precondition(lambda self: self.session.deadline() is not None)
    @rule()
    def deadline_comes(self) -> None:
        self.now = max(self.now, self.session.deadline() or 0.0)
        self.tick()

    @rule(phase=st.sampled_from([*e.Phase, None]))
    def daemon_restarts(self, phase: e.Phase | None) -> None:
        self.session = Session(self.rules, self.session.memory)
        self.asks.clear()
        assert self.session.state.wants == {"hello", "roster"}
        if phase is not None:
            self.happens(hello(self.mode, phase, at=self.now, session=self.session.memory.session))
            self.roster_seen(None)

    @rule(rules=st.sampled_from(RULES))
    def configuration_is_reloaded(self, rules: Rules) -> None:
        self.rules = rules
        self.session.use(rules)

    # What always holds.

    @invariant()
    def numbers_make_sense(self) -> None:
        self.quiet_steps += 1
        self.judge_numbers()

    def teardown(self) -> None:
        """Whatever happened before: at the next regular round start a pending scramble is carried out."""
        due, duel = self.session.memory.pending, self.rules.arena.round_one == "duel"
        self.now += 1.0
        self.happens(command("on"))
        self.happens(hello(self.mode, e.Phase.OVER, at=self.now, session=self.session.memory.session))
        self.roster = roster("abcd|ef")
        self.round_starts()
        self.settle()
        if not self.session.state.balances:
            return
        opening = self.mode is Mode.ARENA and duel and self.session.memory.tally.completed == 0
        assert self.session.memory.pending is None or opening
        if due is not None or self.mode is Mode.ARENA:
            assert opening or len(self.roster.on(Side.A)) == len(self.roster.on(Side.B)) == 3


AnyServer.TestCase.settings = settings(
    max_examples=2 * settings.default.max_examples, stateful_step_count=40, deadline=None, derandomize=True
)
TestAnyServer = AnyServer.TestCase
