"""Splits from question to order to result: which split a freeze needs, and what changes when it is carried out.

A split is asked for with the roster's version, solved outside the session, and ordered only while that version still
holds; otherwise it is asked for again, up to `MAX_ATTEMPTS` orders per freeze. A pending scramble survives every
failure on this way: it ends by being carried out, by an admin's cancel, with the map, or in arena when the last human
leaves.

In arena a freeze has *candidates*: the players who were eligible when it began. Its teams are made of them, and players
who come later wait. Only if teams have to be made again, because a candidate left or a side is empty, the late players
take part too. All others who stand on a side, because they are late or have no class, go to the bench.

Three purposes, in this order: arena's opening duel, a scramble that is due, and in arena sides of equal size, so that
players who sat out the last round come in.
"""

from __future__ import annotations

from dataclasses import replace

from equipoise.core.asks import AskSplit, CacheSplits, Moment, Purpose
from equipoise.core.bench import (
    bench_costs,
    eligible_count,
    has_largest_sizes,
    split_entries,
    team_sizes,
    waiting_players,
)
from equipoise.core.effects import Assign, DecisionKind, LogDecision, Say, Tell, Unlock
from equipoise.core.events import Phase, ScrambledAlone, SplitsCached, SplitSolved
from equipoise.core.fallback import from_cache
from equipoise.core.model import OrderId, PlayerId, Side, Split, SplitCache, is_bot
from equipoise.core.phrases import Phrase, Text
from equipoise.core.state import Effects, State

MAX_ATTEMPTS = 3
"""Assignments per freeze: players may come and leave while a split is solved, but teams must not change for ever."""

_KINDS: dict[Purpose, DecisionKind] = {
    Purpose.DUEL: "duel",
    Purpose.SCRAMBLE: "scramble",
    Purpose.EQUAL_SIDES: "equal_sides",
}


def make_due(state: State, reason: Text) -> Effects:
    """Make a scramble due: it is carried out at the next round start. A second reason does not replace the first."""
    if state.memory.pending is not None:
        return ()
    state.memory = replace(state.memory, pending=reason)
    return (LogDecision("pending", reason), Say(Text(Phrase.SCRAMBLE_PENDING)), Say(reason))


def in_freeze(state: State) -> Effects:
    """Ask for the split that this freeze needs, if it needs one and none is under way."""
    idle = state.asked is None and not state.assigned and state.attempts < MAX_ATTEMPTS
    if state.phase is not Phase.FREEZE or not idle or not state.acts or state.waiting:
        return ()
    if state.arena:
        _choose_candidates(state)
    if (needed := _needed(state)) is None:
        return _bench_others(state)
    return ask(state, *needed) if eligible_count(state.balanced_roster()) >= 2 else ()


def _bench_others(state: State) -> Effects:
    """Order players to the bench who stand on a side and are no candidates; the candidates stay where they are."""
    roster = state.balanced_roster()
    a, b = (tuple(entry.id for entry in roster.on(side)) for side in Side)
    if not _others(state) or not a or not b:
        return ()
    purpose = Purpose.DUEL if _duels(state) else Purpose.EQUAL_SIDES
    question = _question(state, purpose, Text(Phrase.REASON_WAITS))
    split = Split(a, b, tuple(sorted(waiting_players(roster))))
    return _order(state, SplitSolved(question, split, None, None, None))


def _others(state: State) -> tuple[PlayerId, ...]:
    """Arena's freeze: humans on a side who are not among its candidates, or have no class."""
    if not state.arena or state.candidates is None:
        return ()
    playing = {entry.id for entry in state.balanced_roster().entries}
    return tuple(entry.id for entry in state.roster.humans() if entry.side is not None and entry.id not in playing)


def _choose_candidates(state: State) -> None:
    """Note the eligible players at the freeze's start; with the late ones, if teams have to be made again in it."""
    here = frozenset(entry.id for entry in state.roster.eligible())
    if state.candidates is None:
        state.candidates = here
    left = not state.candidates <= here
    empty = any(not any(entry.ready for entry in state.roster.on(side)) for side in Side)
    if (left or empty) and _needed(state):
        state.candidates = here


def _needed(state: State) -> tuple[Purpose, Text] | None:
    """The purpose of the split that this freeze needs, and the reason; None when the teams are right."""
    if _duels(state):
        return None if _duel_is_set(state) else (Purpose.DUEL, Text(Phrase.REASON_DUEL))
    if state.memory.pending is not None and enough_players(state):
        return Purpose.SCRAMBLE, state.memory.pending
    if state.arena and not _sides_are_equal(state):
        return Purpose.EQUAL_SIDES, Text(Phrase.REASON_EQUAL_SIDES)
    return None


def enough_players(state: State) -> bool:
    """There are as many eligible players as a scramble needs."""
    return eligible_count(state.balanced_roster()) >= state.rules.scramble.min_players


def _duels(state: State) -> bool:
    return state.arena and state.memory.tally.completed == 0 and state.rules.arena.round_one == "duel"


def _duel_is_set(state: State) -> bool:
    """One human faces another, and it is the pair that was chosen, or there is no other."""
    roster = state.balanced_roster()
    facing = all(sum(not entry.bot for entry in roster.on(side)) == 1 for side in Side)
    return facing and (state.teams_made or eligible_count(roster) == 2)


def _sides_are_equal(state: State) -> bool:
    """The sides have their largest sizes, and no player sat out the last round and should come in."""
    roster = state.balanced_roster()
    return (state.teams_made or not waiting_players(roster)) and has_largest_sizes(roster)


def ask(
    state: State,
    purpose: Purpose,
    reason: Text,
    *,
    moment: Moment = Moment.FREEZE,
    dry: bool = False,
    by: PlayerId | None = None,
) -> Effects:
    """Ask for a split of the players who are here now.

    `dry`: the answer is shown to the player `by` and nothing is ordered.
    """
    question = replace(_question(state, purpose, reason), moment=moment, by=by, dry=dry)
    if not dry:
        state.asked = question
    return (question,)


def _question(state: State, purpose: Purpose, reason: Text) -> AskSplit:
    roster = state.balanced_roster()
    entries = split_entries(roster)
    sizes = (1, 1) if purpose is Purpose.DUEL else team_sizes(entries, bench=state.arena)
    return AskSplit(
        purpose,
        state.version,
        reason,
        state.memory.context,
        entries,
        sizes,
        bench_costs(roster, state.memory.benched),
        state.rules.scramble.tolerance,
        _must_play(state, purpose, sum(sizes) - sum(entry.bot for entry in entries)),
    )


def _must_play(state: State, purpose: Purpose, places: int) -> frozenset[PlayerId]:
    """Players who may not be benched; `places` is how many humans play."""
    if purpose is Purpose.EQUAL_SIDES:
        waited = waiting_players(state.balanced_roster())
        # When most players waited, not all of them can play: then the bench costs alone decide.
        return waited if len(waited) <= places else frozenset()
    if purpose is Purpose.SCRAMBLE and state.rules.scramble.top_player_always_plays:
        rated = [summary for entry in state.balanced_roster().eligible() if (summary := state.summaries.get(entry.id))]
        return frozenset(summary.id for summary in sorted(rated, key=lambda summary: -summary.balance)[:1])
    return frozenset()


def solved(state: State, event: SplitSolved) -> Effects:
    """Order the split; if the roster has changed since the question, ask again instead."""
    if event.ask.dry:
        return (Tell(event.ask.by, tuple(proposal(state, event))),)
    if event.ask != state.asked:
        return ()
    state.asked = None
    if not _still_holds(state, event.ask):
        return _ask_again(state, event.ask)
    return _order(state, event)


def _still_holds(state: State, question: AskSplit) -> bool:
    return state.acts and question.version == state.version and _in_time(state, question)


def _in_time(state: State, question: AskSplit) -> bool:
    if question.moment is Moment.NOW:
        return state.phase in (Phase.FREEZE, Phase.RUNNING)
    return state.phase is Phase.FREEZE


def _ask_again(state: State, question: AskSplit) -> Effects:
    if question.moment is Moment.NOW and state.acts and _in_time(state, question) and enough_players(state):
        return ask(state, question.purpose, question.reason, moment=Moment.NOW)
    return in_freeze(state)


def _order(state: State, event: SplitSolved) -> Effects:
    order = state.next_order()
    state.attempts += 1
    split = humans_only(event.split)
    split = replace(split, bench=(*split.bench, *_others(state)))
    state.assigned[order] = replace(event, split=split)
    kind, reason, moved = _KINDS[event.ask.purpose], event.ask.reason, event.moved()
    return (
        Assign(order, reason, split, event.ask.moment),
        LogDecision(kind, reason, order, split, moved, event.before, event.after),
    )


def humans_only(split: Split) -> Split:
    """The split without bots, which stay where they are: orders do not name them."""
    sides = (tuple(player for player in side if not is_bot(player)) for side in (split.a, split.b, split.bench))
    return Split(*sides)


def not_solved(state: State, question: AskSplit) -> Effects:
    """The solver failed: a scramble takes the cached split; without a cache it stays pending."""
    if question.dry:
        return (Tell(question.by, (Text(Phrase.NO_ANSWER),)),)
    if question != state.asked:
        return ()
    state.asked = None
    split = _from_cache(state) if question.purpose is Purpose.SCRAMBLE and _still_holds(state, question) else None
    if split is None:
        return (LogDecision("failed", Text(Phrase.NO_ANSWER)),)
    return _order(state, SplitSolved(question, split, None, None, None))


def _from_cache(state: State) -> Split | None:
    if state.cache is None:
        return None
    present = [entry.id for entry in state.balanced_roster().eligible()]
    return from_cache(state.cache, present, bench=state.arena)


def done(state: State, order: OrderId, now: float) -> Effects:
    """The script has carried out an assignment."""
    event = state.assigned.pop(order)
    split = event.split
    scrambled = event.ask.purpose is Purpose.SCRAMBLE
    unlocked = _scrambled(state, split) if scrambled else ()
    locked = _make_teams(state, split, now)
    messages = (*_tell_bench(event), *(_tell_scramble(event) if scrambled else ()))
    return (*unlocked, *locked, *messages, *in_freeze(state))


def _tell_scramble(event: SplitSolved) -> Effects:
    """Announce the win probability, and the reason if it was not announced when the scramble became due."""
    reason = (Say(event.ask.reason),) if event.ask.moment is Moment.NOW else ()
    return (*reason, Say(Text(Phrase.SCRAMBLED, (percent(event.after),)))) if event.after is not None else reason


def _scrambled(state: State, split: Split) -> Effects:
    """Clear what a scramble ends: the pending reason, streak and round count, and all locks.

    Players in the split are locked again by `_make_teams`; the others are unlocked.
    """
    unlocked = tuple(player for player in state.memory.locks if split.side_of(player) is None)
    state.memory = replace(state.memory, pending=None, tally=state.memory.tally.scrambled(), locks={})
    state.asked = None
    return (Unlock(unlocked),) if unlocked else ()


def _make_teams(state: State, split: Split, now: float) -> Effects:
    """Put all players where the split says, and lock them there."""
    state.teams_made = state.phase is Phase.FREEZE
    state.place_split(split)
    return state.lock(dict.fromkeys(split.a, Side.A) | dict.fromkeys(split.b, Side.B), now)


def _tell_bench(event: SplitSolved) -> Effects:
    """Give each benched player the reason: it is their turn, or the round is a duel, or they came too late for it."""
    in_turn = {entry.id for entry in event.ask.entries if event.ask.purpose is not Purpose.DUEL}
    return tuple(
        Tell(player, (Text(Phrase.BENCHED if player in in_turn else Phrase.DUEL_WAIT),)) for player in event.split.bench
    )


def failed(state: State, order: OrderId) -> Effects:
    """The script could not carry out an assignment."""
    event = state.assigned.pop(order)
    if event.ask.version == state.version:
        # With the same players it would fail again a moment later: wait for the next round start.
        state.attempts = MAX_ATTEMPTS
    return (LogDecision("failed", event.ask.reason, order), *in_freeze(state))


def give_up(state: State, *moments: Moment) -> Effects:
    """Drop the assignments of these moments that the script has not confirmed: it is too late for them."""
    late = {order: event for order, event in state.assigned.items() if event.ask.moment in moments}
    for order in late:
        del state.assigned[order]
    return tuple(LogDecision("failed", event.ask.reason, order) for order, event in late.items())


def alone(state: State, event: ScrambledAlone, now: float) -> Effects:
    """The script has scrambled from its cache, without the daemon."""
    # A script that never got an answer scrambles on these two occasions only.
    unasked = Text(Phrase.REASON_ROUND_TWO if state.arena else Phrase.REASON_WAITING_ENDED)
    log = LogDecision("alone", state.memory.pending or unasked, split=event.split)
    return (log, *_scrambled(state, event.split), *_make_teams(state, event.split, now))


def ask_cache(state: State) -> Effects:
    """Ask for a split of every size, for the time when the script gets no answer."""
    if not enough_players(state):
        return ()
    state.asked_cache = CacheSplits(state.memory.context, state.roster.eligible(), bench=state.arena)
    return (state.asked_cache,)


def ask_first_cache(state: State) -> Effects:
    """Ask for the first cache as soon as there are enough players; later ones are asked for at round ends."""
    return ask_cache(state) if state.cache is None and state.asked_cache is None else ()


def cached(state: State, event: SplitsCached) -> Effects:
    """Keep the splits, strongest players first."""
    if event.ask != state.asked_cache:
        return ()
    state.asked_cache = None
    ids = [entry.id for entry in event.ask.entries]
    ids.sort(key=lambda player: -state.summaries[player].balance if player in state.summaries else 0.0)
    state.cache = SplitCache(tuple(ids), event.splits)
    return ()


def not_cached(state: State, question: CacheSplits) -> Effects:
    """The solver failed: the previous cache stays."""
    if question == state.asked_cache:
        state.asked_cache = None
    return ()


def proposal(state: State, event: SplitSolved) -> list[Text]:
    """The lines of a dry run: the win probabilities, and every player who would change place."""
    moves = [
        (entry.id, side)
        for entry in state.roster.eligible()
        if (side := event.split.side_of(entry.id)) is not entry.side
    ]
    lines = [Text(Phrase.DRY_RUN, (str(len(moves)), percent(event.before), percent(event.after)))]
    return lines + [dry_line(player, side) for player, side in moves]


def dry_line(player: PlayerId, side: Side | None) -> Text:
    """A line of a dry run: where a player would go."""
    places = {Side.A: "RED", Side.B: "BLU", None: "-"}
    return Text(Phrase.DRY_RUN_LINE, (f"@{player}", places[side]))


def percent(probability: float | None) -> str:
    """A probability as players read it, in whole per cent; "?" for an unknown one.

    >>> percent(0.508), percent(None)
    ('51', '?')
    """
    return "?" if probability is None else f"{100 * probability:.0f}"
