"""Commands of admins and players. Lookups go on to the host, which has the rating pool and the decision log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from equipoise.core import autobalance, choice, friends, scrambles, shuffles, votes
from equipoise.core.bench import eligible_count
from equipoise.core.effects import LogDecision, LookUp, Say, Tell
from equipoise.core.events import Commanded
from equipoise.core.phrases import Phrase, Text, no_moves
from equipoise.core.state import Effects, State, Voices

LOOK_UPS_FOR_ALL = frozenset(("rating", "rank", "top", "teams"))
LOOK_UPS = LOOK_UPS_FOR_ALL | {"status", "why", "set", "reset"}
_NS2 = {"prefer": shuffles.prefer, "friend": friends.obey, "choice": choice.obey, "choose": choice.choose}
PLAYERS_MAY = LOOK_UPS_FOR_ALL | _NS2.keys() | {"vote"}
CHANGES = frozenset(("set", "reset", "scramble", "balance", "on", "off"))
"""Commands that `admin_commands = false` takes from admins in the game: the script's secret is then worth none of
them, and a token is needed."""
AUDITED = CHANGES | {"choice"}
"""What an admin may only order, or may order at once where players have to ask."""
MOVES_PLAYERS = frozenset(("vote", "choice", "scramble", "balance"))
"""Commands that are refused on a map whose sides are not to be balanced."""
_SAME = {"shuffle": "scramble"}
"""NS2's word for it; both are understood everywhere."""
LONGEST_QUOTE = 64
"""Characters of a command that is quoted: a line of the game's chat has 127."""


def obey(state: State, event: Commanded, now: float) -> Effects:
    """Carry out a command, or answer its sender with the reason why not."""
    verb, *rest = event.words or ("",)
    verb = _SAME.get(verb, verb)
    if not event.admin and verb not in PLAYERS_MAY:
        return _tell(event, Text(Phrase.REFUSED_ADMIN))
    if verb in CHANGES and not event.outside and not state.rules.admin_commands:
        refused = Text(Phrase.REFUSED_IN_GAME, (quoted(event),))
        claimed = () if event.by is None else (event.by,)
        return (*_tell(event, refused), LogDecision("refused", refused, players=claimed))
    if verb in LOOK_UPS:
        return (LookUp(event),)
    if verb in MOVES_PLAYERS and rest != ["cancel"] and (why := left_alone(state)) is not None:
        return _tell(event, why)
    if verb in _NS2:
        return _NS2[verb](state, event, now) if state.ns2 else _tell(event, Text(Phrase.NS2_ONLY, (verb,)))
    if verb == "vote":
        return votes.ask_for(state, event.by, now)
    if verb == "scramble":
        return _SCRAMBLES.get(rest[0] if rest else "now", _unknown)(state, event)
    if verb == "balance":
        return _balance(state, event, now)
    if verb in ("on", "off"):
        return _switch(state, event, on=verb == "on")
    return _unknown(state, event)


def quoted(event: Commanded) -> str:
    """The command as it was typed, or the beginning of it."""
    return " ".join(event.words)[:LONGEST_QUOTE]


def left_alone(state: State) -> Text | None:
    """Why nothing is ordered on this map; None: orders may be given."""
    if state.balances:
        return None
    if state.map_level.level == "rate" and not state.inactive_reason:
        return Text(Phrase.MAP_RATE, (state.map_level.reason,))
    return Text(Phrase.MAP_OFF, (state.inactive_reason or state.map_level.reason,))


def _tell(event: Commanded, *lines: Text) -> Effects:
    return (Tell(event.by, lines),)


def _answer(event: Commanded, *lines: Text) -> Effects:
    """What all players read, to a sender who does not: an admin in the game would read it twice."""
    return () if event.by is not None else _tell(event, *lines)


def _unknown(state: State, event: Commanded) -> Effects:
    return _tell(event, Text(Phrase.UNKNOWN_COMMAND, (" ".join(event.words),)))


def _too_few(state: State, event: Commanded) -> Effects:
    args = (str(state.rules.scramble.min_players), str(eligible_count(state.roster)))
    return _tell(event, Text(Phrase.NOT_ENOUGH_PLAYERS, args))


def _scramble_now(state: State, event: Commanded) -> Effects:
    """Scramble at once; in arena, between rounds, and while nobody may be moved, at the next round start."""
    if not state.enough_players:
        return _too_few(state, event)
    if not scrambles.may_be_at_once(state):
        why = _tell(event, no_moves(state.no_moves)) if state.no_moves else ()
        return (*why, *_scramble_next(state, event))
    return scrambles.at_once(state, Text(Phrase.REASON_ADMIN))


def _scramble_next(state: State, event: Commanded) -> Effects:
    reason = state.memory.pending or Text(Phrase.REASON_ADMIN)
    due = scrambles.make_due(state, reason)
    off = () if state.memory.enabled else (Text(Phrase.STATUS_OFF),)
    # An admin in the game reads what is due as all players do, but that it waits for `on` is for them alone.
    lines = off if due and event.by is not None else (scrambles.announced(state, reason), *off)
    return (*(_tell(event, *lines) if lines else ()), *due, *scrambles.in_freeze(state))


def _scramble_dry(state: State, event: Commanded) -> Effects:
    if not state.enough_players:
        return _too_few(state, event)
    reason = state.memory.pending or Text(Phrase.REASON_ADMIN)
    return scrambles.ask(state, scrambles.due_purpose(state), reason, dry=True, by=event.by)


def _cancel(state: State, event: Commanded) -> Effects:
    if state.memory.pending is None:
        return _cancel_vote(state, event)
    state.memory = replace(state.memory, pending=None, tally=state.memory.tally.without_streak())
    if state.asked is not None and state.asked.purpose is scrambles.due_purpose(state):
        state.asked = None
    text = Text(Phrase.SCRAMBLE_CANCELLED)
    log = LogDecision("cancel", Text(Phrase.REASON_ADMIN))
    return (*_answer(event, text), log, Say(text), *scrambles.in_freeze(state))


def _cancel_vote(state: State, event: Commanded) -> Effects:
    """`cancel` without a pending scramble means the vote: the two never exist together."""
    if state.voices == Voices():
        return _tell(event, Text(Phrase.NOTHING_PENDING))
    text = Text(Phrase.VOTE_CANCELLED)
    return (*_answer(event, text), LogDecision("cancel", text), *votes.cancel(state), Say(text))


_SCRAMBLES: dict[str, Callable[[State, Commanded], Effects]] = {
    "now": _scramble_now,
    "next": _scramble_next,
    "dry": _scramble_dry,
    "cancel": _cancel,
}


def _balance(state: State, event: Commanded, now: float) -> Effects:
    if state.arena:
        return _tell(event, Text(Phrase.CANNOT_BALANCE_ARENA))
    effects = autobalance.check(state, now, forced=True)
    stays = state.gap_reason is not None and state.asked_moves is None and not state.moves
    if state.gap_since is None or stays:
        return (*effects, *_tell(event, autobalance.needless(state)))
    return effects


def _switch(state: State, event: Commanded, *, on: bool) -> Effects:
    state.memory = replace(state.memory, enabled=on)
    text = Text(Phrase.SWITCHED_ON if on else Phrase.SWITCHED_OFF)
    cancelled = () if on else autobalance.drop(state)
    return (*_tell(event, text), LogDecision("switch", text), *cancelled)
