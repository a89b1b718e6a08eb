"""The laws of wishes, friends and secret team choices hold for any order of events on an NS2 server."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from equipoise.core import events as e
from equipoise.core.effects import Tell
from equipoise.core.friends import present
from equipoise.core.memory import HEAVIEST_WISH, MOST_REMEMBERED, groups
from equipoise.core.model import Mode, PlayerId
from equipoise.core.rules import Rules, ScrambleRules, ShuffleRules, VoteRules
from equipoise.core.session import Session
from equipoise.core.shuffles import terms
from equipoise.core.state import Stage
from tests.core.scripts import command, hello, roster
from tests.core.test_any_order import AnyServer, humans

NS2_RULES = (
    Rules(),
    Rules(
        scramble=ScrambleRules(min_players=2),
        shuffle=ShuffleRules(at_round_start=False, max_moves=1, choice_seconds=5.0),
        vote=VoteRules(min_players=2, cooldown_minutes=0.0),
    ),
)
WORDS = {"prefer": ("marines", "aliens", "none", "both"), "choose": ("marines", "aliens", "random", "both")}


class AnyNs2Server(AnyServer):
    """An NS2 server whose players also state wishes, make friends and choose in secret."""

    @initialize(given_rules=st.sampled_from(NS2_RULES), prompt=st.booleans())
    def begin(self, given_rules: Rules, prompt: bool) -> None:  # type: ignore[override]
        self.mode, self.rules, self.prompt = Mode.NS2, given_rules, prompt
        self.session = Session(given_rules)
        self.happens(hello(Mode.NS2))
        self.roster = roster("abc1|def|g")
        self.happens(e.RosterSeen(0.0, self.roster))
        self.all_asks_answered()

    @rule(rules=st.sampled_from(NS2_RULES))
    def configuration_is_reloaded(self, rules: Rules) -> None:  # type: ignore[override]
        self.rules = rules
        self.session.use(rules)

    @rule(player=humans, verb=st.sampled_from(sorted(WORDS)), n=st.integers(0, 3))
    def says(self, player: PlayerId, verb: str, n: int) -> None:
        memory, was_open = self.session.memory, self.session.state.choice_stage is Stage.OPEN
        effects = self.happens(command(verb, WORDS[verb][n], by=player, admin=False))
        assert isinstance(effects[0], Tell)
        assert effects[0].player == player
        if verb == "choose" and self.session.state.choice_stage is Stage.OPEN:
            assert len(effects) == 1
            assert self.session.memory is memory
        assert verb == "choose" or len(effects) == 1
        assert was_open or self.session.state.choice_stage is not Stage.OPEN

    @rule(one=humans, other=humans | st.just(PlayerId("none")), answered=st.booleans())
    def befriends(self, one: PlayerId, other: PlayerId, answered: bool) -> None:
        self.happens(command("friend", other, by=one, admin=False))
        if answered and other != "none":
            self.happens(command("friend", one, by=other, admin=False))

    @rule(by=humans, admin=st.booleans(), cancel=st.sampled_from([False, False, True]))
    def asks_for_a_choice(self, by: PlayerId, admin: bool, cancel: bool) -> None:
        self.happens(command("choice", *(["cancel"] if cancel else []), by=by, admin=admin))

    @rule(chosen=st.dictionaries(humans, st.integers(0, 2)), text=st.sampled_from(["abc|def|g", "ab|cd||e", "ab|c"]))
    def a_choice_opens(self, chosen: dict[PlayerId, int], text: str) -> None:
        """The game waits for commanders, and an admin lets its players choose."""
        self.happens(command("on"))
        self.happens(hello(Mode.NS2, at=self.now, session=self.session.memory.session))
        self.roster = roster(text)
        self.roster_seen(None)
        self.all_asks_answered()
        self.happens(command("choice", by=None))
        for player, n in chosen.items():
            self.happens(command("choose", WORDS["choose"][n], by=player, admin=False))

    @precondition(lambda self: self.session.state.choice_stage is Stage.OPEN)
    @rule(settled=st.booleans())
    def the_time_to_choose_is_up(self, settled: bool) -> None:
        self.now = max(self.now, self.session.state.choice.ends_at)  # type: ignore[union-attr]
        self.tick()
        assert self.session.state.choice_stage is not Stage.OPEN
        if settled:
            self.settle()

    @precondition(lambda self: self.session.state.choice_stage is Stage.OPEN)
    @rule(n=st.integers(0, 2))
    def all_choose(self, n: int) -> None:
        for entry in self.session.state.roster.eligible():
            self.happens(command("choose", WORDS["choose"][n], by=entry.id, admin=False))
        assert self.session.state.choice_stage is not Stage.OPEN

    @invariant()
    def wishes_and_groups_are_within_the_rules(self) -> None:
        memory = self.session.memory
        assert all(1 < weight <= HEAVIEST_WISH for weight in memory.weights.values())
        found = set(groups(memory.friendships).values())
        assert all(2 <= len(group) <= 4 for group in found)
        assert not any(one & two for one, two in combinations(found, 2))
        sizes = (memory.wishes, memory.weights, memory.friendships, memory.chairs, self.session.state.invitations)
        assert all(len(each) <= MOST_REMEMBERED for each in sizes)

    @invariant()
    def terms_name_players_whom_a_split_may_place(self) -> None:
        state = self.session.state
        eligible = {entry.id for entry in state.balanced_roster().eligible()}
        asked = terms(state)
        assert eligible.issuperset(asked.wishes)
        assert eligible.issuperset(asked.spread_evenly)
        assert all(eligible >= group for group in asked.groups)
        assert asked.groups == present(state)
        assert all(1 <= wish.weight <= HEAVIEST_WISH for wish in asked.wishes.values())

    @invariant()
    def an_open_choice_waits_for_its_time_between_rounds(self) -> None:
        state = self.session.state
        if state.choice_stage is Stage.OPEN:
            assert state.phase is e.Phase.IDLE
            assert state.acts
            assert state.memory.choosing
            assert self.session.deadline() is not None
            secret = replace(state.choice, chosen={})  # type: ignore[type-var]
            assert terms(state) == terms(replace(state, choice=secret))
        elif state.known:
            assert not state.memory.choosing
        assert state.choice_stage is not Stage.CLOSED or state.memory.pending is not None


AnyNs2Server.TestCase.settings = settings(
    max_examples=settings.default.max_examples, stateful_step_count=40, deadline=None, derandomize=True
)
TestAnyNs2Server = AnyNs2Server.TestCase
