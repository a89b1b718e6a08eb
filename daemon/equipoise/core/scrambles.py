"""Splits from question to order to result: which split a freeze needs, and what changes when it is carried out.

A split is asked for with the roster's version, solved outside the session, and ordered only while that version still
holds; otherwise it is asked for again, up to `MAX_ATTEMPTS` orders per freeze. A pending scramble survives every
failure on this way: it ends by being carried out, by a split that moves nobody, by an admin's cancel, with the map, or
in arena when the last human leaves.

In arena a freeze has *candidates*: the players who were eligible when it began. Its teams are made of them, and players
who come later wait. Only if teams have to be made again, because a candidate left or a side is empty, the late players
take part too. All others who stand on a side, because they are late or have no class, go to the bench.

Four purposes, in this order: arena's opening duel, a scramble that is due, in arena sides of equal size, so that
players who sat out the last round come in, and the swaps of sides that are too uneven. NS2 has one of its own, the
shuffle (`core.shuffles`).

Sides are too uneven where the win probability has run away between two rounds: as few players as possible change
sides then. That is no scramble: streak, round count, voices, other players' locks and what is pending stay. It is
decided at a round's start, when it is known who is here, so never after a map's last round; and never by the script
alone.
"""

from __future__ import annotations

from dataclasses import replace
from math import dist, inf, log, sqrt

from equipoise.core import fallback, friends, shuffles
from equipoise.core.asks import AskSplit, Moment, Purpose, SwapTerms
from equipoise.core.bench import (
    bench_costs,
    eligible_count,
    has_largest_sizes,
    split_entries,
    team_sizes,
    waiting_players,
)
from equipoise.core.effects import Assign, DecisionKind, LogDecision, Say, Tell, Unlock
from equipoise.core.events import OrderDone, OrderFailed, Phase, ScrambledAlone, SplitSolved, Stayed
from equipoise.core.model import EVEN_CHANCES, IMMUNE, Immunity, Mode, OrderId, PlayerId, Side, Split, is_bot, is_even
from equipoise.core.phrases import Phrase, Text, not_moved, percent, told, with_chance
from equipoise.core.state import Effects, State

MAX_ATTEMPTS = 3
"""Assignments per freeze: players may come and leave while a split is solved, but teams must not change for ever."""

LARGE_SIDE = 6
"""Players on a side from which on a due scramble moves two each way at least, below it one."""

KNOWN_ROUNDS = 10
"""Rated rounds after which a player is known: half of those on the sides have to be."""

AGAIN = 2
"""The cost of moving a player who was moved lately, or from a friend; another costs 1."""

_KINDS: dict[Purpose, DecisionKind] = {
    Purpose.DUEL: "duel",
    Purpose.SCRAMBLE: "scramble",
    Purpose.EQUAL_SIDES: "equal_sides",
    Purpose.TOO_UNEVEN: "too_uneven",
    Purpose.SHUFFLE: "shuffle",
}


_SCRAMBLES = (Purpose.SCRAMBLE, Purpose.SHUFFLE)
"""Purposes that end what is pending, and take a cached split when the solver fails."""


def make_due(state: State, reason: Text) -> Effects:
    """Make a scramble due: it is carried out at the next round start. A second reason does not replace the first.

    Until the roster says who is here nothing is announced: the script reports late that a round ended, and only behind
    it that it has scrambled alone.
    """
    if state.memory.pending is not None:
        return ()
    state.memory = replace(state.memory, pending=reason)
    state.unannounced = True
    return (LogDecision("pending", reason), *(() if "roster" in state.wants else announce(state)))


def announce(state: State) -> Effects:
    """Tell all players what became due, if it still is and they have not read of it."""
    reason, state.unannounced = state.memory.pending if state.unannounced else None, False
    return () if reason is None else (Say(announced(state, reason)),)


def announced(state: State, reason: Text) -> Text:
    """A line that says when a due scramble will be carried out, and why it is due."""
    if state.enough_players:
        return Text(Phrase.SCRAMBLE_PENDING, (reason,))
    return Text(Phrase.SCRAMBLE_WAITS, (reason, str(state.rules.scramble.min_players)))


def due_after_waiting(state: State) -> Effects:
    """Waiting For Players is over. In arena round 2 takes this place; NS2 has no such moment."""
    if not state.enforces or not state.triggers.waiting:
        return ()
    return make_due(state, Text(Phrase.REASON_WAITING_ENDED))


_TO_THE_END = (Phrase.REASON_ADMIN, Phrase.REASON_WAITING_ENDED)
"""What is due in a map's last minutes too: an admin's order, and the end of waiting, which gives the map its whole time
again."""


def end_with_map(state: State) -> Effects:
    """Drop what triggers or votes made due when the map's last minutes begin, unless it is being carried out."""
    reason = state.memory.pending
    under_way = state.assigned or state.asked is not None
    if reason is None or reason.phrase in _TO_THE_END or under_way or not state.map_ends:
        return ()
    state.memory, state.unannounced = replace(state.memory, pending=None), False
    return (LogDecision("dropped", reason), Say(Text(Phrase.MAP_ENDS)))


def at_once(state: State, reason: Text) -> Effects:
    """Scramble now. If the split cannot be ordered now, it is still due at the next round start."""
    # Not `make_due`: players would read that a scramble is due and, a moment later, that it was made.
    state.memory = replace(state.memory, pending=state.memory.pending or reason)
    return ask(state, due_purpose(state), reason, moment=Moment.NOW)


def may_be_at_once(state: State) -> bool:
    """Teams can be made now, without waiting for a round start.

    In NS2 also while no round runs, but not in the freeze: a split that comes in it is in time for the round. There it
    may start the round again, so a second order waits for the result of the first.
    """
    if state.ns2 and state.assigned:
        return False
    phases = (Phase.IDLE, Phase.RUNNING) if state.ns2 else (Phase.FREEZE, Phase.RUNNING)
    return state.acts and not state.arena and not state.no_moves and state.phase in phases


def due_purpose(state: State) -> Purpose:
    """The purpose of a scramble that is due."""
    return Purpose.SHUFFLE if state.ns2 else Purpose.SCRAMBLE


def in_freeze(state: State) -> Effects:
    """Ask for the split that this freeze needs, if it needs one and none is under way."""
    # An assignment that is not confirmed yet settles the teams: its `OrderDone` comes back to here.
    idle = state.asked is None and not state.assigned and state.attempts < MAX_ATTEMPTS and not state.unseen
    if state.phase is not Phase.FREEZE or not idle or not state.acts or state.waiting:
        return ()
    if state.arena:
        _choose_candidates(state)
    if (need := _needed(state)) is None:
        return shuffles.leave_alone(state) if state.ns2 else _bench_others(state)
    return ask(state, *need) if eligible_count(state.balanced_roster()) >= 2 else ()


def before_chairs(state: State) -> Effects:
    """NS2: ask for the shuffle around the likely commanders, once the sides have gathered and nobody sits yet."""
    if not shuffles.parts_commanders(state):
        return ()
    state.commanders_parted = True
    return ask(state, Purpose.SHUFFLE, Text(Phrase.REASON_CHAIRS), moment=Moment.NOW)


def _bench_others(state: State) -> Effects:
    """Order players to the bench who stand on a side and are no candidates; the candidates stay where they are."""
    roster = state.balanced_roster()
    a, b = (tuple(entry.id for entry in roster.on(side)) for side in Side)
    if not _others(state) or not a or not b:
        return ()
    purpose = Purpose.DUEL if _duels(state) else Purpose.EQUAL_SIDES
    # The pool is not asked: this split leaves the candidates where they are, and has no chance to be judged by.
    question = _question(state, purpose, Text(Phrase.REASON_WAITS))
    split = Split(a, b, tuple(sorted(waiting_players(roster))))
    return _order(state, SplitSolved(question, split, None, None, None))


def _others(state: State) -> tuple[PlayerId, ...]:
    """Arena's freeze: humans on a side who are not among its candidates, or have no class, and may be moved."""
    if not state.arena or state.candidates is None:
        return ()
    players = {entry.id for entry in state.balanced_roster().entries}
    late = (seat for seat in state.roster.humans() if seat.side is not None and seat.id not in players)
    return tuple(entry.id for entry in late if not entry.stays)


def _choose_candidates(state: State) -> None:
    """Note the eligible players at the freeze's start; with the late ones, if teams have to be made again in it."""
    eligible = frozenset(entry.id for entry in state.roster.eligible())
    if state.candidates is None:
        state.candidates = eligible
    left = not state.candidates <= eligible
    empty = any(not any(entry.ready for entry in state.roster.on(side)) for side in Side)
    if (left or empty) and _needed(state):
        state.candidates = eligible


def _needed(state: State) -> tuple[Purpose, Text] | None:
    """The purpose of the split that this freeze needs, and the reason; None when the teams are right."""
    if state.ns2:
        return shuffles.needed(state)
    if _duels(state):
        return None if _duel_is_set(state) else (Purpose.DUEL, Text(Phrase.REASON_DUEL))
    # A due scramble comes first: its split makes the sides equal too.
    if state.memory.pending is not None and state.enough_players:
        return Purpose.SCRAMBLE, state.memory.pending
    if state.arena and not _sides_are_equal(state):
        return Purpose.EQUAL_SIDES, Text(Phrase.REASON_EQUAL_SIDES)
    return (Purpose.TOO_UNEVEN, Text(Phrase.REASON_TOO_UNEVEN)) if _too_uneven(state) else None


def _duels(state: State) -> bool:
    """Round 1 is a duel. Who is held plays where they stand: then all others do too."""
    first = state.arena and state.memory.tally.completed == 0 and state.rules.arena.round_one == "duel"
    return first and not any(entry.stays and not entry.bot for entry in state.roster.entries)


def _duel_is_set(state: State) -> bool:
    """One human faces another, and it is the pair that was chosen, or there is no other."""
    roster = state.balanced_roster()
    is_duel = all(sum(not entry.bot for entry in roster.on(side)) == 1 for side in Side)
    return is_duel and (state.teams_made or eligible_count(roster) == 2)


def _sides_are_equal(state: State) -> bool:
    """The sides have their largest sizes, and no player sat out the last round and should come in."""
    roster = state.balanced_roster()
    return (state.teams_made or not waiting_players(roster)) and has_largest_sizes(roster)


def _too_uneven(state: State) -> bool:
    """Whether sides may be too uneven: nobody has looked at them in this freeze, and the players are known.

    Sides that differ by two are uneven by their numbers: autobalance closes that gap when the round is live.
    """
    sizes = state.roster.sizes()
    if abs(sizes[Side.A] - sizes[Side.B]) > 1:
        return False
    is_played = state.memory.tally.completed > 0 and not state.teams_made and state.even_version != state.version
    enough = eligible_count(state.roster) >= state.rules.scramble.min_players  # who watches is no part of it
    return state.triggers.chance and is_played and not state.map_ends and enough and _known(state)


def _known(state: State) -> bool:
    players = [entry.id for side in Side for entry in state.roster.on(side) if not entry.bot]
    rounds = [state.summaries[player].rounds for player in players if player in state.summaries]
    return 2 * sum(count >= KNOWN_ROUNDS for count in rounds) >= len(players) > 0


def ask(
    state: State,
    purpose: Purpose,
    reason: Text,
    *,
    moment: Moment = Moment.FREEZE,
    dry: bool = False,
    by: PlayerId | None = None,
) -> Effects:
    """Ask for a split of the players who are here now, unless all of them stay on one side.

    `dry`: the answer is shown to the player `by` and nothing is ordered.
    """
    question = replace(_question(state, purpose, reason), moment=moment, by=by, dry=dry)
    # Those who have to stay fill one side: there is no split to ask for.
    if 0 in question.sizes:
        lines = log_stayed(_held(question), said=True) if moment is Moment.NOW and not dry else ()
        return (*lines, *(_no_answer(question) if dry else _waits(state, question)))
    if not dry:
        state.asked = question
    return (question,)


def _question(state: State, purpose: Purpose, reason: Text) -> AskSplit:
    roster = state.scrambled_roster() if purpose in _SCRAMBLES else state.balanced_roster()
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
        # Infinite: any difference will do, so that only the bench and the moves decide, as in SynElo's original rules.
        state.rules.scramble.tolerance if state.rules.arena.swaps or purpose is not Purpose.EQUAL_SIDES else inf,
        _must_play(state, purpose, sum(sizes) - sum(entry.stays for entry in entries)),
        each_way=_each_way(state, sizes) if purpose is Purpose.SCRAMBLE else 0,
        groups=friends.present(state, roster) if purpose is Purpose.SCRAMBLE else (),
        terms=shuffles.terms(state) if purpose is Purpose.SHUFFLE else None,
        swaps=_swap_terms(state) if purpose is Purpose.TOO_UNEVEN else None,
    )


def _swap_terms(state: State) -> SwapTerms:
    """Who may change side, what that costs, and which win probabilities are wanted."""
    # `heard_at` is the `now` of the last event from the script, and questions are asked while one is received.
    now, (low, high) = state.heard_at or 0.0, state.rules.scramble.fair_band
    immune = Immunity.AUTOBALANCE | Immunity.SCRAMBLE
    stay = {entry.id for entry in state.roster.entries if entry.stays or entry.immune & immune}
    together = {player for side in Side for player in friends.with_friends(state, side)}
    costs = dict.fromkeys(state.lately_moved(now) | together, AGAIN)
    # In the band, and where players read "even": a swap that ended between the two would be announced as uneven.
    even = max(low, EVEN_CHANCES[0]), min(high, EVEN_CHANCES[1])
    return SwapTerms((low, high), even, frozenset(stay | state.moved_twice(now)), costs)


def _each_way(state: State, sizes: tuple[int, int]) -> int:
    """How many players a due scramble moves at least, each way: people expect new teams. SynElo's rules do not."""
    if not state.rules.scramble.tolerance:
        return 0
    return 2 if min(sizes) >= LARGE_SIDE else 1


def _must_play(state: State, purpose: Purpose, places: int) -> frozenset[PlayerId]:
    """Players who may not be benched; `places` is how many may come in or give way."""
    if purpose is Purpose.EQUAL_SIDES:
        players = waiting_players(state.balanced_roster())
        # When most players waited, not all of them can play: then the bench costs alone decide.
        return players if len(players) <= places else frozenset()
    return state.always_play() if purpose is Purpose.SCRAMBLE and places else frozenset()


def solved(state: State, event: SplitSolved) -> Effects:
    """Order the split; if the roster has changed since the question, ask again instead."""
    if event.ask.dry:
        return (Tell(event.ask.by, tuple(proposal(state, event))),)
    # The question was withdrawn, or asked again with other players.
    # The whole question is compared: a second one may have the same version and another reason or moment.
    if event.ask != state.asked:
        return ()
    state.asked = None
    if not _still_holds(state, event.ask):
        return _ask_again(state, event.ask)
    return _order(state, event)


def _still_holds(state: State, question: AskSplit) -> bool:
    return state.acts and question.version == state.version and _in_time(state, question)


def _in_time(state: State, question: AskSplit) -> bool:
    if state.ns2:
        return shuffles.in_time(state, question.moment)
    if question.moment is Moment.NOW:
        return state.phase in (Phase.FREEZE, Phase.RUNNING) and not state.no_moves
    return state.phase is Phase.FREEZE


def _ask_again(state: State, question: AskSplit) -> Effects:
    # Otherwise what was asked for at once is still pending, and `in_freeze` asks for it when its time has come.
    if question.moment is Moment.NOW and state.acts and _in_time(state, question) and state.enough_players:
        return ask(state, question.purpose, question.reason, moment=Moment.NOW)
    return in_freeze(state)


def _order(state: State, event: SplitSolved) -> Effects:
    if event.ask.purpose in _SCRAMBLES and not event.moved():
        return _without_moves(state, event)
    # The pool found nothing better: the same players are not looked at again in this freeze.
    if event.ask.purpose is Purpose.TOO_UNEVEN and not event.moved():
        state.even_version = state.version
        return in_freeze(state)
    first = shuffles.first(state, event.ask.moment) if state.ns2 else ()
    order = state.next_order()
    state.attempts += 1
    # The script benches late players only if the order names them; bots it leaves alone, so that they are not named.
    split = humans_only(event.split)
    split = replace(split, bench=(*split.bench, *_others(state)))
    state.assigned[order] = replace(event, split=split)
    return (
        *first,
        Assign(order, event.ask.reason, split, event.ask.moment, event.ask.purpose),
        _decision(state, state.assigned[order], order),
    )


def _without_moves(state: State, event: SplitSolved) -> Effects:
    """End a scramble that moves nobody: what was due and the streak are over, players read why, and nobody is locked.

    Arena's bench is the one of this split. A shuffle that nobody asked for passes in silence.
    """
    choice_lines = shuffles.without_moves(state, event) if state.ns2 else ()
    if state.memory.pending is None:
        return ()
    state.memory = replace(state.memory, pending=None, tally=state.memory.tally.scrambled())
    # Arena's bench was chosen by this split as by one that moves players: who waits now has had their turn.
    state.teams_made = state.teams_made or state.arena
    state.even_version = state.version  # players read that they stay: in this freeze nobody is swapped either
    text = Text(Phrase.SHUFFLE_NEEDLESS, (state.side_name(Side.A), told(event.after), cause(state, event)))
    messages = (*_tell_bench(event), Say(text), *choice_lines)
    return (_decision(state, event), *messages, *log_stayed(_held(event.ask), said=True), *in_freeze(state))


def _held(question: AskSplit) -> Stayed:
    """Who was held on their side when a scramble was asked for, and why."""
    is_scramble = question.purpose in _SCRAMBLES
    return {entry.id: entry.held for entry in question.entries if is_scramble and entry.stays and entry.held}


def _decision(state: State, event: SplitSolved, order: OrderId | None = None) -> LogDecision:
    is_expected = event.after is None or (event.moved() and is_even(event.after.teams))
    return LogDecision(
        _KINDS[event.ask.purpose],
        event.ask.reason,
        order,
        humans_only(event.split),
        event.moved(),
        event.before,
        event.after,
        event.spread_after,
        cause=None if is_expected or event.ask.purpose not in _SCRAMBLES else cause(state, event),
        likely=event.likely,
    )


def humans_only(split: Split) -> Split:
    """The split without bots, which stay where they are: orders do not name them."""
    sides = (tuple(player for player in side if not is_bot(player)) for side in (split.a, split.b, split.bench))
    return Split(*sides)


def not_solved(state: State, question: AskSplit) -> Effects:
    """There is no split: a scramble takes the cached one; without a cache it stays pending."""
    if question.dry:
        return _no_answer(question)
    if question != state.asked:
        return ()
    state.asked = None
    split = fallback.adapted(state) if question.purpose in _SCRAMBLES and _still_holds(state, question) else None
    if split is None:
        return _waits(state, question)
    return _order(state, SplitSolved(question, split, None, None, None))


def _no_answer(question: AskSplit) -> Effects:
    return (Tell(question.by, (Text(Phrase.NO_ANSWER),)),)


def done(state: State, answer: OrderDone, now: float) -> Effects:
    """The script has carried out an assignment, but for players who could not be moved."""
    event = state.assigned.pop(answer.order)
    is_scramble = event.ask.purpose in _SCRAMBLES
    # The chance was that of the split as it was ordered; what came out is another, whose chance nobody asked for.
    if answer.stayed:
        event = replace(event, split=_with_stayed(state, event.split, answer.stayed), after=None)
        state.hold(answer.stayed)
    split = event.split
    if event.ask.purpose is Purpose.TOO_UNEVEN:
        return (*_lock_swapped(state, event, split, now), *log_stayed(answer.stayed, answer.order, said=True))
    # Before `_make_teams`, which locks anew: all older locks end here.
    unlocks = _end_scramble(state, split) if is_scramble else ()
    locks = _make_teams(state, split, now)
    choice_lines = shuffles.done(state, event) if event.ask.purpose is Purpose.SHUFFLE else ()
    news = (*_tell_scramble(state, event), *friends.parted(event.ask, split)) if is_scramble else ()
    messages = (*_tell_bench(event), *news, *choice_lines)
    lines = log_stayed({**_held(event.ask), **answer.stayed}, answer.order, said=True)
    return (*unlocks, *locks, *messages, *lines, *in_freeze(state))


def _lock_swapped(state: State, event: SplitSolved, split: Split, now: float) -> Effects:
    """Lock those who changed side there, as after a scramble, and count them as moved; all players read who."""
    before = {entry.id: entry.side for entry in event.ask.entries}
    sides = {player: side for side in Side for player in (split.a if side is Side.A else split.b)}
    movers = {player: side for player, side in sides.items() if before.get(player) is side.other}
    for player in movers:
        state.memory = state.memory.move(player, now)
    state.place_split(split)
    # After `place_split`, which makes a new version of the roster: these sides are not looked at again in this freeze.
    state.even_version = state.version
    return (*state.lock(movers, now), *_swap_lines(state, event, tuple(movers)))


_CHANGED = {2: Phrase.TOO_UNEVEN_TWO, 4: Phrase.TOO_UNEVEN_FOUR}


def _swap_lines(state: State, event: SplitSolved, moved: tuple[PlayerId, ...]) -> Effects:
    # Where somebody could not be moved, another line says who.
    if event.before is None or len(moved) not in _CHANGED:
        return ()
    likely = Side.A if event.before.chance > 0.5 else Side.B
    chance = event.before.chance if likely is Side.A else 1 - event.before.chance
    names = (f"@{player}" for player in moved)
    return (Say(Text(_CHANGED[len(moved)], (state.side_name(likely), percent(chance), *names))),)


def _with_stayed(state: State, split: Split, stayed: Stayed) -> Split:
    """The split as it came out: these players are where they were."""
    sides = {entry.id: entry.side for entry in state.roster.entries if entry.id in stayed}
    places = {player: sides.get(player, split.side_of(player)) for player in (*split.a, *split.b, *split.bench)}
    return Split(
        *(tuple(member for member, side in places.items() if side is target) for target in (Side.A, Side.B, None))
    )


def log_stayed(stayed: Stayed, order: OrderId | None = None, *, said: bool = False) -> Effects:
    """Log who could not be moved, by reason; `said`: all players read it."""
    by_reason: dict[str, tuple[PlayerId, ...]] = {}
    for player, why in stayed.items():
        by_reason[why] = (*by_reason.get(why, ()), player)
    effects: Effects = ()
    for why, players in by_reason.items():
        count = str(len(players))
        effects += (LogDecision("kept", not_moved(why, count), order, players=players),)
        if said and why != IMMUNE:  # who is an admin is theirs to say
            effects += (Say(not_moved(why, f"@{players[0]}" if len(players) == 1 else count)),)
    return effects


def _tell_scramble(state: State, event: SplitSolved) -> Effects:
    """One line for all players: the reason, the win probability, and why it is not even where it is not."""
    reason = event.ask.reason
    if event.after is None:
        return (Say(Text(Phrase.SCRAMBLED_UNKNOWN, (reason,))),)
    shuffle, even = event.ask.purpose is Purpose.SHUFFLE, is_even(event.after.teams)
    phrase = _ANNOUNCED[shuffle, even]
    counts = (str(shuffles.changed_side(event)),) if shuffle else ()
    why = (reason,) if even else (reason, cause(state, event))
    return (Say(Text(phrase, (*counts, state.side_name(Side.A), told(event.after), *why))),)


_ANNOUNCED = {
    (False, True): Phrase.SCRAMBLED,
    (False, False): Phrase.SCRAMBLED_UNEVEN,
    (True, True): Phrase.SHUFFLED,
    (True, False): Phrase.SHUFFLED_UNEVEN,
}
"""The sentence on new teams: of a shuffle or a scramble, that are even or not."""

FEW_PLAYERS = 6
"""Up to so many players have at most ten splits into equal sides: none of them may be even."""


def cause(state: State, event: SplitSolved) -> Text:
    """Why a split is as even as it is: the first cause that holds."""
    phrase = _cause(state, event)
    return Text(phrase, (f"{event.chairs:.0f}",) if phrase is Phrase.CAUSE_CHAIRS else ())


def _cause(state: State, event: SplitSolved) -> Phrase:
    if event.after is None:
        return Phrase.CAUSE_RULES
    if is_even(event.after.teams):
        return Phrase.CAUSE_EVEN
    likely = Side.A if event.after.teams > 0.5 else Side.B
    if len(_players_on(likely, event)) > len(_players_on(likely.other, event)):
        return Phrase.CAUSE_HEAD_COUNT
    if event.friends:
        return Phrase.CAUSE_FRIENDS
    if event.chairs:
        return Phrase.CAUSE_CHAIRS
    if _star_decides(state, event, likely):
        return Phrase.CAUSE_STAR
    if any(entry.held for entry in event.ask.entries):
        return Phrase.CAUSE_HELD
    return Phrase.CAUSE_FEW if len(event.ask.entries) <= FEW_PLAYERS else Phrase.CAUSE_RULES


def _players_on(side: Side, event: SplitSolved) -> set[PlayerId]:
    """Everybody on a side after a split, with its bots, which orders do not name."""
    bots = {entry.id for entry in event.ask.entries if entry.bot and entry.side is side}
    return bots | set(event.split.a if side is Side.A else event.split.b)


def _star_decides(state: State, event: SplitSolved, likely: Side) -> bool:
    """The strongest player makes their side the likely winner, and stands out from all others.

    Were they as strong as the second, the sides would be even. Their lead is also more than the standard deviation of
    the others' skills: the best of many ordinary players is no star.
    """
    assert event.after is not None
    players = {side: _players_on(side, event) for side in Side}
    skills = {
        player: state.summaries[player].balance
        for player in players[Side.A] | players[Side.B]
        if player in state.summaries
    }
    # With fewer than three known skills there are no others to stand out from.
    if len(skills) < 3 or event.difference is None or (event.difference > 0) is not (likely is Side.A):
        return False
    star, second, *_ = sorted(skills, key=lambda player: -skills[player])
    lead = skills[star] - skills[second]
    others = [skill for player, skill in skills.items() if player != star]
    deviation = dist(others, [sum(others) / len(others)] * len(others)) / sqrt(len(others))
    # The log odds are proportional to the difference in every system, or nearly so.
    even_part = _log_odds(EVEN_CHANCES[1]) / abs(_log_odds(event.after.teams))
    decides = lead >= abs(event.difference) * (1 - even_part)
    return star in players[likely] and decides and lead > deviation


def _log_odds(chance: float) -> float:
    chance = min(max(chance, 1e-9), 1 - 1e-9)
    return log(chance / (1 - chance))


def _end_scramble(state: State, split: Split) -> Effects:
    """Clear what a scramble ends: the pending reason, streak and round count, and all locks.

    Players in the split are locked again by `_make_teams`. The others are unlocked.
    """
    unlocks = tuple(player for player in state.memory.locks if split.side_of(player) is None)
    state.memory = replace(state.memory, pending=None, tally=state.memory.tally.scrambled(), locks={})
    # A split that is being solved was of the teams of before.
    state.asked = None
    return (Unlock(unlocks),) if unlocks else ()


def _make_teams(state: State, split: Split, now: float) -> Effects:
    """Put all players where the split says, and lock them there."""
    # Only a freeze's own split settles its teams: the next freeze looks at them again.
    state.teams_made = state.phase is Phase.FREEZE
    if state.candidates is not None:  # who went to watch was none, and is not late
        state.candidates |= {*split.a, *split.b, *split.bench}
    state.place_split(split)
    return state.lock(dict.fromkeys(split.a, Side.A) | dict.fromkeys(split.b, Side.B), now)


def _tell_bench(event: SplitSolved) -> Effects:
    """Give each benched player the reason: it is their turn, or the round is a duel, or they came too late for it."""
    in_turn = {entry.id for entry in event.ask.entries if event.ask.purpose is not Purpose.DUEL}
    return tuple(
        Tell(player, (Text(Phrase.BENCHED if player in in_turn else Phrase.DUEL_WAIT),)) for player in event.split.bench
    )


def failed(state: State, answer: OrderFailed) -> Effects:
    """The script could not carry out an assignment. If it named who stays, the others are split around them."""
    event = state.assigned.pop(answer.order)
    state.hold(answer.stayed)
    # `hold` makes another version where it told something new: then a split around those who stay may succeed.
    if event.ask.version == state.version:
        # With the same players it would fail again a moment later: wait for the next round start.
        state.attempts = MAX_ATTEMPTS
    again = answer.stayed and state.attempts < MAX_ATTEMPTS
    follows = _ask_again(state, event.ask) if again else in_freeze(state)
    lines = log_stayed(answer.stayed, answer.order, said=not follows)
    return (LogDecision("failed", event.ask.reason, answer.order), *lines, *(follows or _waits(state, event.ask)))


def _waits(state: State, question: AskSplit) -> Effects:
    """Say that new teams which were asked for at once wait for the next round start."""
    if question.moment is not Moment.NOW or state.memory.pending is None:
        return ()
    return (Say(announced(state, state.memory.pending)),)


def give_up(state: State, *moments: Moment) -> Effects:
    """Drop the assignments of these moments that the script has not confirmed: it is too late for them."""
    late = {order: event for order, event in state.assigned.items() if event.ask.moment in moments}
    for order in late:
        del state.assigned[order]
    return tuple(LogDecision("failed", event.ask.reason, order) for order, event in late.items())


_ALONE = {Mode.ARENA: Phrase.REASON_ROUND_TWO, Mode.NS2: Phrase.REASON_ROUND_START}
"""When a script scrambles although nothing was due: in other modes when Waiting For Players is over."""


def alone(state: State, event: ScrambledAlone, now: float) -> Effects:
    """The script has scrambled from its cache, without the daemon."""
    # The script may have scrambled for something that this daemon never heard of: the moment tells why.
    reason = Text(_ALONE.get(state.memory.mode, Phrase.REASON_WAITING_ENDED))
    log = LogDecision("alone", state.memory.pending or reason, split=event.split)
    unlocks, locks = _end_scramble(state, event.split), _make_teams(state, event.split, now)
    return (log, *unlocks, *locks, *(shuffles.shuffled(state, event.split) if state.ns2 else ()))


def proposal(state: State, event: SplitSolved) -> list[Text]:
    """The lines of a dry run: the win probabilities, and every player who would change place."""
    moves = [
        (entry.id, side)
        for entry in event.ask.entries
        if not entry.bot and (side := event.split.side_of(entry.id)) is not entry.side
    ]
    lines = [
        with_chance(
            Phrase.DRY_RUN,
            (str(len(moves)), state.side_name(Side.A), percent(event.before.chance if event.before else None)),
            event.after,
        )
    ]
    return lines + [dry_line(state, player, side) for player, side in moves]


def dry_line(state: State, player: PlayerId, side: Side | None) -> Text:
    """A line of a dry run: where a player would go."""
    place = "-" if side is None else state.side_name(side)
    return Text(Phrase.DRY_RUN_LINE, (f"@{player}", place))
