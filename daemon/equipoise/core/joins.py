"""Players who ask for a side: a joiner is placed, a switch is allowed or refused with its reason.

The script holds the player until the answer arrives. A joiner goes, in this order: back to the side they are locked
to, unless that would leave a gap of two; to the smaller side; to the side that leaves the smaller difference in
skill. Of equal sides a player who has friends on one goes there, if the sides stay even. Wishes only break ties: if
players could pick a side freely, strong players would pick the same one.
The difference needs the ratings of all players on the sides: until their summaries are loaded, the question is kept
in `State.pending_joins`. Where the errors of the ratings are known, the pool is asked which side becomes more even
(`AskSide`), and the question is kept until it answers.

A switch goes by sizes first: it may leave no gap of two, and from a side that is larger by two everybody may go. From
one that is larger by one it leaves the same gap the other way round, so skill decides: the pool is asked for the
chance before and after it (`AskSwitch`). It is allowed where the chance stays in the fair band or comes nearer to a
half. At odd counts a way back is always open, so who went is locked as if they had been placed: they are back no sooner
than a lock ends.

Without ratings, without the pool's answer, or if either takes too long for the script, which holds players for a
second at most, head count decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from equipoise.core import friends, shuffles
from equipoise.core.asks import AskSide, AskSwitch, LoadSummaries
from equipoise.core.effects import Ignored, LogDecision, Place, Tell, Unlock
from equipoise.core.events import Phase, SideFound, SideWanted, SwitchJudged
from equipoise.core.memory import HeldSide
from equipoise.core.model import Entry, Immunity, PlayerId, Roster, Side
from equipoise.core.phrases import Phrase, Text, not_moved, percent
from equipoise.core.state import Effects, PendingJoin, State

ANSWER_SECONDS = 0.75
"""How long a player waits for an answer by skill. Scripts hold them for a second: an answer by sizes still reaches them
within it, with its reason and the lock that belongs to it."""

LEAST_GAIN = 0.001
"""Win probability by which a switch has to bring the chance nearer to a half; rounding alone brings none."""

SkillsBySide = Mapping[Side, Mapping[PlayerId, float]]
"""The skill of each player on each side, in rating points."""


@dataclass(frozen=True, slots=True)
class Placement:
    """The answer to a player who asked for a side."""

    side: Side
    reason: Text

    @property
    def refused(self) -> bool:
        """The player stays where they are, against their wish."""
        return self.reason.phrase.refusal


def side_wanted(state: State, event: SideWanted, now: float) -> Effects:
    """Answer at once, or load the missing ratings first.

    On a map whose level is not `balance` the script does not ask. A script that does not know the level yet lets the
    player join when no answer comes.
    """
    if state.map_level.level != "balance":
        return (Ignored(event, state.phase),)
    shuffles.note_wish(state, event)
    join = PendingJoin(event, now)
    # Everybody's, not the joiner's alone: the difference is a sum over both sides.
    strangers = state.without_summary(event.id) if state.acts else ()
    if strangers:
        state.pending_joins[event.id] = join
        return (LoadSummaries(strangers),)
    return _answer(state, join, now)


def summaries_loaded(state: State, now: float) -> Effects:
    """Answer the players who waited for ratings."""
    joins = [join for join in state.pending_joins.values() if join.ask is None]
    for join in joins:
        # Before `_answer`, which puts a player back who has to wait for the pool.
        del state.pending_joins[join.wanted.id]
    return tuple(effect for join in joins for effect in _answer(state, join, now))


def summaries_not_loaded(state: State, now: float) -> Effects:
    """Answer the players who waited for ratings by head count."""
    return _by_count(state, [join for join in state.pending_joins.values() if join.ask is None], now)


def no_answer(state: State, ask: AskSide | AskSwitch, now: float) -> Effects:
    """Answer the player of a question that failed by head count."""
    join = state.pending_joins.get(ask.player)
    return () if join is None or join.ask != ask else _by_count(state, [join], now)


def overdue_at(state: State) -> float | None:
    """When the first of the players who wait has waited too long, on the daemon's clock; None: nobody waits."""
    return min((join.since + ANSWER_SECONDS for join in state.pending_joins.values()), default=None)


def overdue(state: State, now: float) -> Effects:
    """Answer the players who have waited too long by head count."""
    joins = (join for join in state.pending_joins.values() if now >= join.since + ANSWER_SECONDS)
    return _by_count(state, [*joins], now)


def _by_count(state: State, waiting: Iterable[PendingJoin], now: float) -> Effects:
    effects: Effects = ()
    for join in waiting:
        del state.pending_joins[join.wanted.id]
        effects += _answer(state, join, now, by_count=True)
    return effects


def answered(state: State, event: SideFound | SwitchJudged, now: float) -> Effects:
    """Answer a player whom the pool was asked about; if the roster has changed since the question, look again."""
    join = state.pending_joins.get(event.ask.player)
    if join is None or join.ask != event.ask:
        return ()
    del state.pending_joins[event.ask.player]
    return _answer(state, join, now, event)


def _answer(
    state: State,
    pending: PendingJoin,
    now: float,
    found: SideFound | SwitchJudged | None = None,
    *,
    by_count: bool = False,
) -> Effects:
    event = pending.wanted
    entry = state.roster.get(event.id) or Entry(event.id, None)
    # Where teams are left alone players get what they ask for; the script has held them and needs an answer.
    if not state.acts:
        # "Any side" has to become one: the script sends the player there itself.
        sizes = state.roster.sizes()
        return (Place(event.id, event.side or min(Side, key=sizes.__getitem__), Text(Phrase.REASON_ALLOWED)),)
    # A round of arena takes nobody in: who comes now plays the next one.
    # In the freeze too: its candidates are chosen, and a stream of joiners must not make teams again and again.
    if state.arena and entry.side is None and state.phase in (Phase.FREEZE, Phase.RUNNING):
        state.place(event.id, None, waiting=True)
        return (Place(event.id, None, Text(Phrase.REASON_WAITS)),)
    # The game keeps them where they are, whatever the answer: they read why.
    if entry.side is None and entry.held:
        return (Tell(event.id, (not_moved(entry.held, f"@{event.id}"),)),)
    lock = state.held_side(event.id, now)
    if entry.side is None and event.side and lock is None and shuffles.has_room(state, event.side):
        return _place(state, entry, Placement(event.side, Text(Phrase.REASON_ALLOWED)), now)
    question = None if by_count else _question(state, entry, event.side, lock)
    if question is not None:
        # Nobody was asked yet, or the sides have changed since: ask about the sides of now.
        if found is None or found.ask != question:
            state.pending_joins[event.id] = replace(pending, ask=question)
            return (question,)
        by_skill = _switch(state, entry, found) if isinstance(found, SwitchJudged) else _joins(found)
        return _place(state, entry, by_skill, now)
    if entry.side is not None:
        return _place(state, entry, answer_switch(state.roster, entry, event.side, lock, now), now)
    skills = None if by_count else {side: state.skills_on(side) for side in Side}
    return _place(state, entry, place_joiner(state.roster, event.id, event.side, lock, skills), now)


def _question(state: State, entry: Entry, wanted: Side | None, held: HeldSide | None) -> AskSide | AskSwitch | None:
    """The question for the pool about a player; None where sizes or a lock decide, or a joiner has no known errors."""
    a, b = (tuple(seat.id for seat in state.roster.on(side)) for side in Side)
    context, commanders = state.memory.context, state.roster.commanders()
    # A lock decides without skill.
    if held is not None:
        return None
    if entry.side is not None:
        own, others = (a, b) if entry.side is Side.A else (b, a)
        larger_by_one = others and len(own) - len(others) == 1
        # Only a switch from a side that is larger by one keeps the numbers as even as they are.
        if wanted is not entry.side.other or not larger_by_one or state.arena or _made_anew(state):
            return None
        return AskSwitch(state.version, context, a, b, entry.id, commanders)
    summary = state.summaries.get(entry.id)
    count = friends.beside(state, entry.id)
    of_friends = None if count[Side.A] == count[Side.B] else max(Side, key=count.__getitem__)
    # Means alone need no question (`place_joiner`); errors, friends, and in NS2 map and chairs only the pool knows.
    by_means = summary is None or (summary.deviation is None and of_friends is None and not state.ns2)
    if len(a) != len(b) or by_means:
        return None
    return AskSide(state.version, context, a, b, entry.id, wanted, commanders, of_friends)


def _joins(found: SideFound) -> Placement:
    if found.side is found.ask.friends:
        return Placement(found.side, Text(Phrase.REASON_JOIN_FRIEND))
    return _joins_weaker(found.side)


def _joins_weaker(side: Side) -> Placement:
    return Placement(side, Text(Phrase.REASON_JOIN_WEAKER))


def fair(state: State, judged: SwitchJudged) -> bool:
    """Whether players may change side: the chance stays in the fair band, or comes nearer to a half."""
    low, high = state.rules.shuffle.fair_band if state.ns2 else state.rules.scramble.fair_band
    return low <= judged.after <= high or abs(judged.before - 0.5) - abs(judged.after - 0.5) >= LEAST_GAIN


def _switch(state: State, entry: Entry, found: SwitchJudged) -> Placement:
    """Answer a player who asks for the other side by the chance that it would leave."""
    assert entry.side is not None
    low, high = state.rules.shuffle.fair_band if state.ns2 else state.rules.scramble.fair_band
    if low <= found.after <= high:
        return Placement(entry.side.other, Text(Phrase.REASON_ALLOWED))
    if fair(state, found):
        return _joins_weaker(entry.side.other)
    favourite = Side.A if found.after > 0.5 else Side.B
    chance = percent(max(found.after, 1.0 - found.after))
    return Placement(entry.side, Text(Phrase.REFUSED_SWITCH, (state.side_name(favourite), chance)))


def _made_anew(state: State) -> bool:
    """All teams are made anew before the next round."""
    return state.waits_for_teams or shuffles.will_follow(state)


def keep_locks(state: State, before: Roster, now: float) -> Effects:
    """Hold players where they are seen now, and those no more who are immune from locks."""
    return (*_unlock_immune(state), *_went_to_watch(state, before, now), *_take_along(state, now))


def _unlock_immune(state: State) -> Effects:
    immune = tuple(
        entry.id for entry in state.roster.entries if entry.immune & Immunity.LOCK and entry.id in state.memory.locks
    )
    state.memory = state.memory.unlocked(immune)
    return (Unlock(immune),) if immune and state.balances else ()


def _take_along(state: State, now: float) -> Effects:
    """Take the locks along of players whom the game, an admin or another plugin put on the other side."""
    # Else they could go back, and undo what the game did: a lock's side is that of its player.
    effects: Effects = ()
    for entry in state.roster.humans():
        lock = state.held_side(entry.id, now)
        if state.balances and lock is not None and entry.side not in (None, lock.side):
            effects += state.lock_until({entry.id: lock.side.other}, lock.until, now)
    return effects


def _went_to_watch(state: State, before: Roster, now: float) -> Effects:
    """Note who left their side to watch, and keep that side for them for a while.

    Who comes back would else be placed as a joiner: by leaving, and by the move that closes the gap they leave, a
    player could get to the other side.
    """
    seconds = state.rules.scramble.spectator_seconds
    if state.ns2 or not seconds:
        return ()
    watchers = {
        entry.id for entry in state.roster.humans() if entry.side is None and not entry.waiting and not entry.held
    }
    left = {entry.id: entry.side for entry in before.entries if entry.id in watchers and entry.side is not None}
    since = {player: at for player, at in state.watching_since.items() if player in watchers and now - at < seconds}
    state.watching_since = since | dict.fromkeys(left, now)
    # In arena the sides are made anew before each round.
    if state.arena or not state.acts or state.waits_for_teams:
        return ()
    until = now + seconds
    return state.lock_until(
        {player: side for player, side in left.items() if not _holds(state, player, until)}, until, now
    )


def _holds(state: State, player: PlayerId, until: float) -> bool:
    """Tell whether the player has a lock that lasts as long anyway."""
    lock = state.memory.locks.get(player)
    return lock is not None and lock.holds(until)


def _place(state: State, entry: Entry, placement: Placement, now: float) -> Effects:
    place = Place(entry.id, placement.side, placement.reason)
    if placement.refused:
        return (place, *_note_kept(state, entry.id, placement))
    if entry.side is placement.side:
        return (place,)
    state.place(entry.id, placement.side)
    log = LogDecision("place", placement.reason, players=(entry.id,), side=placement.side)
    return (place, log, *_lock(state, entry, placement.side, now))


def _note_kept(state: State, player: PlayerId, placement: Placement) -> Effects:
    kept = (player, placement.reason.phrase)
    if kept in state.kept:
        return ()
    state.kept |= {kept}
    return (LogDecision("kept", placement.reason, players=(player,), side=placement.side),)


def _lock(state: State, entry: Entry, side: Side, now: float) -> Effects:
    """Lock a player to the side that they join or change to; a switch takes an existing lock along as it is.

    In arena a switch starts no lock: it would last until the next scramble.
    """
    # A lock would only stand in the way of the split that is to come.
    if _made_anew(state):
        return ()
    lock = state.held_side(entry.id, now)
    if entry.side is None or (lock is None and not state.arena):
        return state.lock({entry.id: side}, now)
    return () if lock is None else state.lock_until({entry.id: side}, lock.until, now)


def place_joiner(
    roster: Roster, player: PlayerId, wanted: Side | None, held: HeldSide | None, skills: SkillsBySide | None
) -> Placement:
    """Choose the side of a player who is on none.

    `skills` may lack players: they count as 0. None: no skills are known, and of equally large sides the player has
    the one that they want.

    >>> ann, bob, cid = map(PlayerId, ("ann", "bob", "cid"))
    >>> roster = Roster((Entry(ann, Side.A), Entry(bob, Side.B)))
    >>> skills = {ann: 2100.0, bob: 1900.0, cid: 2000.0}
    >>> place_joiner(roster, cid, Side.A, None, {Side.A: skills, Side.B: skills}).side
    <Side.B: 'b'>
    """
    count = roster.sizes()
    if held is not None:
        if count[held.side] + 1 - count[held.side.other] < 2:
            return Placement(held.side, Text(Phrase.REASON_RETURN))
        return Placement(held.side.other, Text(Phrase.REASON_JOIN_SMALLER))
    # Numbers before skill: a missing player costs a side more than a weak one.
    if count[Side.A] != count[Side.B]:
        return Placement(min(Side, key=count.__getitem__), Text(Phrase.REASON_JOIN_SMALLER))
    if skills is None:
        return Placement(wanted or Side.A, Text(Phrase.REASON_ALLOWED))
    totals = {side: sum(skills[side].get(entry.id, 0.0) for entry in roster.on(side)) for side in Side}

    def left_over(side: Side) -> tuple[float, bool]:
        # The wish is the second key: it decides between differences that are equal.
        return abs(totals[side] + skills[side].get(player, 0.0) - totals[side.other]), side is not wanted

    return Placement(min(Side, key=left_over), Text(Phrase.REASON_JOIN_WEAKER))


def answer_switch(roster: Roster, entry: Entry, wanted: Side | None, held: HeldSide | None, now: float) -> Placement:
    """Answer a player on a side who asks for the other by head count: refused while they are locked, or if it opens a
    gap of two.

    A player who asks for any side (`wanted` is None) stays, unless their side is larger by two and nothing holds them.
    Who asks for the other side has made up their mind, whatever they leave behind.
    """
    current = entry.side
    assert current is not None
    count = roster.sizes()
    surplus = count[current] - count[current.other]
    if wanted is current or (wanted is None and (surplus < 2 or entry.stays)):
        return Placement(current, Text(Phrase.REASON_ALLOWED))
    if held is not None and surplus < 2:
        return Placement(current, _locked(held, now))
    # The sides are equal, or theirs is the smaller one: leaving it would open a gap of two.
    if surplus < 1:
        sizes_after = (str(count[current] - 1), str(count[current.other] + 1))
        return Placement(current, Text(Phrase.REFUSED_GAP, sizes_after))
    return Placement(current.other, Text(Phrase.REASON_ALLOWED))


def _locked(held: HeldSide, now: float) -> Text:
    if held.until is None:
        return Text(Phrase.REFUSED_LOCKED_SCRAMBLE)
    return Text(Phrase.REFUSED_LOCKED, (str(max(1, round(held.until - now))),))
