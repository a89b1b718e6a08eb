"""NS2's shuffles: the fewest moves that make the sides even, before a round, by a vote or by an admin.

A shuffle goes the way of a scramble (`core.scrambles`): it is asked for, ordered while its roster holds, and done. This
module holds what is different. A round start needs one even if none is due (`shuffle.at_round_start`). One that finds
no player to move is over without an order. One that is carried out in a running round starts the round again, and all
players read so first.

A player's *wish* is the side that they last asked to join, or stated with a command. It weighs 1. A round that begins
with the player on the other side, because a shuffle put them there, doubles the weight; a round on the wanted side sets
it back. So the same players are not denied again and again. Several shuffles before one round count once, by the last
of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace

from equipoise.core import friends
from equipoise.core.asks import Moment, Purpose, ShuffleTerms, Wish
from equipoise.core.effects import Cancel, LogDecision, Say, Tell
from equipoise.core.events import Commanded, Phase, SideWanted, SplitSolved
from equipoise.core.memory import HEAVIEST_WISH, WantedSide
from equipoise.core.model import NS2_SIDES, DueIf, PlayerId, Side, Split
from equipoise.core.phrases import Phrase, Text
from equipoise.core.state import Effects, Stage, State


def needed(state: State) -> tuple[Purpose, Text] | None:
    """The shuffle that this freeze needs, and its reason; None when there is nothing to ask for."""
    if not state.enough_players:
        return None
    if (reason := state.memory.pending) is not None:
        return Purpose.SHUFFLE, reason
    is_done = state.teams_made or state.even_version == state.version
    if is_done or left_alone(state) is not None or not state.rules.shuffle.at_round_start:
        return None
    return Purpose.SHUFFLE, Text(Phrase.REASON_ROUND_START)


def left_alone(state: State) -> Text | None:
    """Return why no shuffle comes before the round by itself; None: one does.

    An admin ordered it so, or people made the teams: at least half of the players were put on their side by an admin or
    another mod, as in a draft.
    """
    if state.memory.skip:
        return Text(Phrase.SHUFFLE_SKIPPED)
    players = [entry for entry in state.roster.humans() if entry.side is not None]
    count = sum(entry.forced for entry in players)
    if 2 * count < len(players) or not count:
        return None
    return Text(Phrase.TEAMS_MADE, (str(count), str(len(players))))


def leave_alone(state: State) -> Effects:
    """Say once in a freeze why its teams are left as they are."""
    reason = left_alone(state)
    if reason is None or state.teams_made or not state.enough_players or not state.rules.shuffle.at_round_start:
        return ()
    state.teams_made = True
    return (LogDecision("kept", reason), Say(reason))


def skip(state: State) -> Effects:
    """Leave the teams as they are until the next round is live: what is due, or ordered for this freeze, is dropped."""
    state.memory, state.unannounced = replace(state.memory, skip=True, pending=None), False
    state.teams_made |= state.phase is Phase.FREEZE  # players have read why
    late = {order: event for order, event in state.assigned.items() if event.ask.moment is Moment.FREEZE}
    for order in late:
        del state.assigned[order]
    state.asked = None
    return tuple(Cancel(order) for order in late)


WORTH_ASKING = 100.0
"""Points by which the one who is asked to command is nearer to the other commander than the farthest of their side."""

MOST_LIKELY = 8
"""Players whom the shuffle before the chairs are filled takes for commanders, those who have commanded most."""

STANDING = 4
"""It comes once no more than one in so many eligible players still stands in the ready room."""


def parts_commanders(state: State) -> bool:
    """Whether the shuffle before the chairs are filled is to come: once between two rounds."""
    return (
        _chairs_open(state)
        and not is_under_way(state)
        and not state.commanders_parted
        and len(likely_commanders(state)) > 1
    )


def is_under_way(state: State) -> bool:
    """Whether the sides are being made anew, at once."""
    return bool(state.assigned) or (state.asked is not None and state.asked.moment is Moment.NOW)


def _chairs_open(state: State) -> bool:
    """The sides have gathered before a round that will be shuffled, and nobody sits in a chair."""
    if state.phase is not Phase.IDLE or not (will_follow(state) and state.acts and state.enough_players):
        return False
    players = state.scrambled_roster().eligible()
    standing = sum(entry.side is None for entry in players)
    is_free = not any(entry.commander for entry in state.roster.entries)
    return is_free and STANDING * standing <= len(players) and left_alone(state) is None


def likely_commanders(state: State) -> dict[PlayerId, tuple[int, int]]:
    """How likely the players who are here are to command A, and B: by who has, above all on that side."""
    counts = Counter(state.memory.chairs)
    times = {entry.id: [counts[entry.id, side] for side in Side] for entry in state.scrambled_roster().eligible()}
    often = sorted((player for player in times if any(times[player])), key=lambda player: -sum(times[player]))
    return {player: (2 * a + b, a + 2 * b) for player in often[:MOST_LIKELY] for a, b in (times[player],)}


def ask_commanders(state: State) -> Effects:
    """Ask the best match for the one commander who is in a chair to take the other, once for each commander.

    While nobody sits, ask the best match of the two sides. The chairs decide more than any shuffle can make up for, and
    nobody is moved into one. Asked are those who have commanded here before, while no round runs.
    """
    if not (will_follow(state) and state.enforces) or is_under_way(state):
        return ()
    chairs = [entry for entry in state.roster.humans() if entry.commander]
    # After a round its commanders leave one by one: the one who is left is not the first of the next.
    state.chairs_free |= not chairs
    if len(chairs) > 1 or not state.chairs_free or left_alone(state) is not None:
        return ()
    if not chairs:
        return _ask_both(state) if _chairs_open(state) and not state.asked_to_command else ()
    (chair,) = chairs
    if chair.id == state.chair_asked:
        return ()
    pair = _closest(state, chair.id)
    if pair is None:
        return ()
    best = pair[chair.side is Side.A]
    state.chairs_free, state.chair_asked = False, chair.id
    if best in state.asked_to_command:
        return ()
    return _ask(state, best, Text(Phrase.CHAIR_ASKED, (f"@{chair.id}",)))


def _ask_both(state: State) -> Effects:
    pair = _closest(state)
    if pair is None:
        return ()
    pairs = zip(pair, reversed(pair), strict=True)
    return tuple(
        line for player, rival in pairs for line in _ask(state, player, Text(Phrase.CHAIR_OFFERED, (f"@{rival}",)))
    )


def _ask(state: State, player: PlayerId, question: Text) -> Effects:
    state.asked_to_command = (*state.asked_to_command, player)
    return (Tell(player, (question,)), _chair_line(state, player, Phrase.REASON_CLOSEST))


def _chair_line(state: State, player: PlayerId, reason: Phrase) -> LogDecision:
    entry = state.roster.get(player)
    return LogDecision("chair", Text(reason), players=(player,), side=None if entry is None else entry.side)


def note_answers(state: State, commanders: Collection[PlayerId]) -> Effects:
    """Log for each player who was asked to command whether they do, as the round goes live."""
    players, state.asked_to_command = state.asked_to_command, ()
    answers = {True: Phrase.REASON_COMMANDS, False: Phrase.REASON_ANOTHER}
    return tuple(_chair_line(state, player, answers[player in commanders]) for player in players)


def _closest(state: State, chair: PlayerId | None = None) -> tuple[PlayerId, PlayerId] | None:
    """The closest pair of chairs, with who sits in one, of those who have commanded; None: it is not worth asking."""
    apart = {pair: gap for pair, gap in _chair_gaps(state).items() if chair is None or chair in pair}
    commanders = {player for player, _ in state.memory.chairs} | {chair}
    best = min((pair for pair in apart if commanders.issuperset(pair)), key=apart.__getitem__, default=None)
    return None if best is None or max(apart.values()) - apart[best] < WORTH_ASKING else best


def _chair_gaps(state: State) -> dict[tuple[PlayerId, PlayerId], float]:
    """How far apart the chairs would be with each player of A and of B, in points, where that is known."""
    on_a, on_b = (
        {
            entry.id: summary.chair_skills[side is Side.B]
            for entry in state.roster.on(side)
            if (summary := state.summaries.get(entry.id)) is not None and summary.chair_skills is not None
        }
        for side in Side
    )
    return {(a, b): abs(on_a[a] - on_b[b]) for a in on_a for b in on_b}


def will_follow(state: State) -> bool:
    """No round runs, and the next one is shuffled before it begins."""
    between = state.phase in (Phase.IDLE, Phase.OVER)
    return state.ns2 and between and state.rules.shuffle.at_round_start


def has_room(state: State, side: Side) -> bool:
    """Whether a joiner gets the side that they want: all are shuffled before the round, and half of them fit on it."""
    if not (will_follow(state) and state.enough_players) or left_alone(state) is not None:
        return False
    return 2 * state.roster.sizes()[side] < len(state.scrambled_roster().eligible())


def due_if(state: State) -> tuple[DueIf, ...]:
    """With a shuffle before every round, each outcome makes the next one due for a script without the daemon."""
    if not state.rules.shuffle.at_round_start or left_alone(state) is not None:
        return ()
    return tuple(DueIf(winner) for winner in (Side.A, Side.B, None))


def in_time(state: State, moment: Moment) -> bool:
    """Whether a split for this moment may be ordered in the present phase."""
    return state.phase in ((Phase.IDLE, Phase.RUNNING) if moment is Moment.NOW else (Phase.FREEZE,))


def without_moves(state: State, event: SplitSolved) -> Effects:
    """No player has to move: this freeze needs no other shuffle of the same players, and wishes are weighed anew."""
    # The roster's, so that a player who comes or goes has the sides looked at again.
    state.even_version = state.version
    return shuffled(state, event.split)


def first(state: State, moment: Moment) -> Effects:
    """The line that all players read before the order."""
    restarts = moment is Moment.NOW and state.phase is Phase.RUNNING
    return (Say(Text(Phrase.SHUFFLE_RESTARTS)),) if restarts else ()


def done(state: State, event: SplitSolved) -> Effects:
    """A shuffle was carried out: count its moves, and weigh the wishes anew."""
    state.shuffle_moves += changed_side(event)
    return shuffled(state, event.split)


def changed_side(event: SplitSolved) -> int:
    """The number of players who changed side; joiners who were placed did not."""
    newcomers = {entry.id for entry in event.ask.entries if entry.side is None}
    return sum(player not in newcomers for player in event.moved())


SIDES = dict(zip(NS2_SIDES, Side, strict=True))
"""The words for sides in commands."""


def note_wish(state: State, event: SideWanted) -> None:
    """Note the side that a player asks to join, unless a round runs: there they go where there is room.

    What they stated stays.
    """
    wish = state.memory.wishes.get(event.id)
    # A player who takes the only free place in a running round says nothing of what they like.
    if not state.ns2 or state.phase is Phase.RUNNING or (wish is not None and wish.stated):
        return
    side_wish = None if event.side is None else WantedSide(event.side, stated=False)
    if side_wish != wish:
        state.memory = state.memory.want(event.id, side_wish)


def prefer(state: State, event: Commanded, now: float) -> Effects:
    """`prefer`: show the wish; `prefer none`: forget it; `prefer marines` or `prefer aliens`: note it."""
    by, words = event.by, tuple(word.casefold() for word in event.words[1:])
    if by is None:
        return (Tell(by, (Text(Phrase.PLAYING_ONLY),)),)
    if words == ("none",):
        state.memory = state.memory.want(by, None)
    elif len(words) == 1 and words[0] in SIDES:
        state.memory = state.memory.want(by, WantedSide(SIDES[words[0]], stated=True))
    elif words:
        return (Tell(by, (Text(Phrase.WISH_USAGE),)),)
    return (Tell(by, (_shown(state, by), Text(Phrase.WISH_USAGE))[: 1 if words else 2]),)


def _shown(state: State, player: PlayerId) -> Text:
    wish = state.memory.wishes.get(player)
    if wish is None:
        return Text(Phrase.WISH_NONE)
    phrase = Phrase.WISH_STATED if wish.stated else Phrase.WISH_ASKED
    return Text(phrase, (state.side_name(wish.side),))


def terms(state: State) -> ShuffleTerms:
    """Criteria for a shuffle of the players who are here."""
    rules, ballot = state.rules.shuffle, state.choice
    if ballot is None or ballot.stage is Stage.OPEN:
        sides = {player: wish.side for player, wish in state.memory.wishes.items()}
        return ShuffleTerms(
            rules.fair_band,
            _most_moves(state),
            groups=friends.present(state),
            wishes=_weighed(state, sides),
            greedy=rules.method == "greedy",
            likely=_likely(state),
        )
    wishes = {player: wish.side for player, wish in state.memory.wishes.items() if wish.stated}
    sides = {player: side for player, side in wishes.items() if player not in ballot.chosen} | ballot.wished()
    eligible = frozenset(entry.id for entry in state.balanced_roster().eligible())
    first = ballot.stage is Stage.CLOSED
    return ShuffleTerms(
        rules.fair_band,
        # Where all players say anew what they want, staying is worth nothing.
        None if first else _most_moves(state),
        moves_count=not first,
        groups=friends.present(state),
        wishes=_weighed(state, sides),
        spread_evenly=eligible.intersection(state.memory.winners),
        likely=_likely(state),
    )


def _likely(state: State) -> dict[PlayerId, tuple[int, int]]:
    """Likely commanders, in the shuffle that comes by itself before the chairs are filled."""
    return likely_commanders(state) if state.memory.pending is None and _chairs_open(state) else {}


def _most_moves(state: State) -> int | None:
    """The most players who may change side; None: however many.

    After a shuffle that was asked for, the one before the round may only add what the first left over: together they
    move no more players than one. Each that is asked for has the whole number.
    """
    most = state.rules.shuffle.max_moves
    if not most:
        return None
    # Nobody asked for it: it is one of those that come before every round.
    is_routine = state.memory.pending is None
    return max(0, most - state.shuffle_moves) if is_routine else most


def _weighed(state: State, wanted: Mapping[PlayerId, Side]) -> dict[PlayerId, Wish]:
    """The wishes that a split can grant. Who keeps their side, as a commander does, is denied nothing."""
    weights = _weights(state)
    eligible = (entry.id for entry in state.scrambled_roster().eligible() if not entry.stays)
    return {player: Wish(wanted[player], weights.get(player, 1)) for player in eligible if player in wanted}


def _weights(state: State) -> Mapping[PlayerId, int]:
    """Weights of the wishes in the shuffles before one round."""
    return state.memory.weights if state.weights_before is None else state.weights_before


def shuffled(state: State, split: Split) -> Effects:
    """A shuffle was carried out, or moved no player: weigh the wishes anew, and announce how a team choice went."""
    state.commanders_parted = True  # new teams that people asked for are left as they are until the round starts
    # By the weights of before the first of these shuffles, whatever an earlier one made of them.
    wishes, weights = terms(state).wishes, dict(_weights(state))
    state.weights_before = _weights(state)
    for player, wish in wishes.items():
        # Taken out: a wish that was granted weighs 1 again, and only those that were not are put back.
        weight = weights.pop(player, 1)
        if split.side_of(player) is wish.side.other:
            weights[player] = min(HEAVIEST_WISH, 2 * weight)
    state.memory = state.memory.weigh(weights)
    return _announce(state, split)


def _announce(state: State, split: Split) -> Effects:
    ballot = state.choice
    if ballot is None or ballot.stage is not Stage.CLOSED:
        return ()
    state.choice = replace(ballot, stage=Stage.APPLIED)
    wishes = {player: side for player, side in ballot.wished().items() if split.side_of(player) is not None}
    count = sum(split.side_of(player) is side for player, side in wishes.items())
    return (Say(Text(Phrase.CHOICE_RESULT, (str(count), str(len(wishes))))),) if wishes else ()
