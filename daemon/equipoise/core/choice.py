"""The secret team choice of NS2: between rounds every player says marines, aliens or random, and reads no other's.

An admin opens it, or enough players who ask for it. While it is open the choices are in `State.choice` alone: effects
other than the answer to the player who chose depend on who has chosen at most, never on what. When the time is up, or
all have chosen, a shuffle by `shuffles.terms` is due at once: like any other it stays pending until it is carried out.
The choices are not remembered, so a restart of the daemon ends an open choice; `Memory.choosing` says that there was
one.
"""

from __future__ import annotations

from dataclasses import replace

from equipoise.core import shuffles
from equipoise.core.bench import eligible_count
from equipoise.core.effects import LogDecision, Say, Tell
from equipoise.core.events import Commanded, Phase
from equipoise.core.model import NS2_SIDES, PlayerId, Side
from equipoise.core.phrases import Phrase, Text
from equipoise.core.scrambles import at_once
from equipoise.core.state import Ballot, Effects, Stage, State, Voices
from equipoise.core.votes import close, part

RANDOM = "random"


def obey(state: State, event: Commanded, now: float) -> Effects:
    """`choice`: open it, for an admin, or ask for it; `choice cancel`: an admin ends it without new teams."""
    admin = event.admin and (event.outside or state.rules.admin_commands)
    if event.words[1:] == ("cancel",):
        return _obey_cancel(state, event, admin=admin)
    if event.words[1:]:
        return (Tell(event.by, (Text(Phrase.UNKNOWN_COMMAND, (" ".join(event.words),)),)),)
    refusal = _refusal(state) or (None if admin else _vote_refusal(state, event.by, now))
    if refusal is not None:
        return (Tell(event.by, (refusal,)),)
    if not admin:
        return _count(state, event.by, now)
    effects = _open(state, Text(Phrase.REASON_ADMIN), now)
    return effects if event.by is not None else (*effects, Tell(None, (Text(Phrase.CHOICE_OPENED),)))


def _obey_cancel(state: State, event: Commanded, *, admin: bool) -> Effects:
    if not admin:
        words = " ".join(event.words)
        refusal = Text(Phrase.REFUSED_IN_GAME, (words,)) if event.admin else Text(Phrase.REFUSED_ADMIN)
        return (Tell(event.by, (refusal,)),)
    if state.choice_stage is not Stage.OPEN:
        return (Tell(event.by, (Text(Phrase.CHOICE_NONE),)),)
    reason = Text(Phrase.REASON_ADMIN)
    # An admin in the game reads it as all players do.
    answer = () if event.by is not None else (Tell(None, (Text(Phrase.CHOICE_CANCELLED), reason)),)
    return (*answer, *_cancel(state, reason))


def _refusal(state: State) -> Text | None:
    """Why no choice may open now, by any means."""
    if not state.memory.enabled:
        return Text(Phrase.STATUS_OFF)
    if state.phase is not Phase.IDLE or not state.acts:
        return Text(Phrase.CHOICE_NOT_NOW)
    if state.choice_stage in (Stage.OPEN, Stage.CLOSED):
        return Text(Phrase.CHOICE_RUNNING)
    return None if state.enough_players else _too_few(state)


def _too_few(state: State) -> Text:
    return Text(Phrase.NOT_ENOUGH_PLAYERS, (str(state.rules.scramble.min_players), str(eligible_count(state.roster))))


def _vote_refusal(state: State, by: PlayerId | None, now: float) -> Text | None:
    """Why a player may not ask for a choice now."""
    rules = state.rules.vote
    reasons = (
        (not rules.enabled, Phrase.VOTE_OFF),
        (not _plays(state, by), Phrase.PLAYING_ONLY),
        (now < state.memory.no_vote_before, Phrase.VOTE_COOLDOWN),
        (eligible_count(state.roster) < rules.min_players, Phrase.VOTE_TOO_FEW),
    )
    return next((Text(phrase) for holds, phrase in reasons if holds), None)


def _plays(state: State, player: PlayerId | None) -> bool:
    return player in {entry.id for entry in state.roster.eligible()}


def _count(state: State, by: PlayerId | None, now: float) -> Effects:
    """Count a player who asks for a choice, and open it when there are enough."""
    assert by is not None, "the console is not eligible"
    again = by in state.choice_voices.lasting(now)
    state.choice_voices = state.choice_voices.with_voice(by, now)
    eligible = state.roster.eligible()
    have = sum(entry.id in state.choice_voices.asked_at for entry in eligible)
    quorum = part(state.rules.vote.fraction, len(eligible))
    line = Text(Phrase.CHOICE_VOICE, (f"@{by}", str(have), str(quorum)))
    if have < quorum:
        # Repeated words of one player are not shown to all.
        return (Tell(by, (line,)),) if again else (Say(line),)
    close(state, now)
    return (Say(line), *_open(state, Text(Phrase.REASON_VOTE), now))


def _open(state: State, reason: Text, now: float) -> Effects:
    seconds = state.rules.shuffle.choice_seconds
    state.choice, state.choice_voices = Ballot(now + seconds), Voices()
    state.memory = replace(state.memory, choosing=True)
    return (LogDecision("choice", reason), Say(Text(Phrase.CHOICE_OPEN, (f"{seconds:g}",))))


def choose(state: State, event: Commanded, now: float) -> Effects:
    """`choose marines`, `choose aliens` or `choose random`: note it; `choose`: show the player's own choice."""
    by, words, ballot = event.by, tuple(word.casefold() for word in event.words[1:]), state.choice
    if ballot is None or ballot.stage is not Stage.OPEN:
        return (Tell(by, (Text(Phrase.CHOICE_NONE),)),)
    if by is None or not _plays(state, by):
        return (Tell(by, (Text(Phrase.PLAYING_ONLY),)),)
    if len(words) == 1 and (words[0] in shuffles.SIDES or words[0] == RANDOM):
        state.choice = ballot.with_choice(by, shuffles.SIDES.get(words[0]))
        return (Tell(by, (Text(Phrase.CHOICE_CHOSEN, words),)),)
    if words or by not in ballot.chosen:
        return (Tell(by, (Text(Phrase.CHOICE_USAGE),)),)
    side = ballot.chosen[by]
    return (Tell(by, (Text(Phrase.CHOICE_CHOSEN, (RANDOM if side is None else NS2_SIDES[side is Side.B],)),)),)


def settle(state: State) -> Effects:
    """After every event: drop who left, close when all have chosen, end what came to nothing."""
    if not _between(state):
        state.choice_voices = Voices()
    elif state.choice_voices != Voices():
        state.choice_voices = state.choice_voices.of(state.roster)
    stage = state.choice_stage
    if stage is Stage.OPEN:
        return _settle_open(state)
    if state.memory.choosing:
        # The process or the script began anew while it was open: players read so as soon as they can be told.
        return _cancel(state, Text(Phrase.REASON_RESTARTED)) if state.known else ()
    is_void = stage is Stage.CLOSED and state.memory.pending is None
    if is_void or (stage is Stage.APPLIED and state.phase is Phase.RUNNING):
        state.choice = None
    return ()


def _between(state: State) -> bool:
    return state.acts and state.phase is Phase.IDLE


def _settle_open(state: State) -> Effects:
    assert state.choice is not None
    if state.phase is not Phase.IDLE:
        return _cancel(state, Text(Phrase.REASON_ROUND_BEGAN))
    if not state.acts:
        return _cancel(state, Text(Phrase.REASON_INACTIVE))
    state.choice = state.choice.of(state.roster)
    silent = [entry.id for entry in state.roster.eligible() if entry.id not in state.choice.chosen]
    return () if silent else _close(state)


def overdue_at(state: State) -> float | None:
    """When the open choice closes."""
    return state.choice.ends_at if state.choice is not None and state.choice_stage is Stage.OPEN else None


def overdue(state: State, now: float) -> Effects:
    """Close the choice when its time is up."""
    at = overdue_at(state)
    return () if at is None or now < at else _close(state)


def _close(state: State) -> Effects:
    assert state.choice is not None
    if not state.enough_players:
        return _cancel(state, _too_few(state))
    if not state.choice.chosen:
        return _cancel(state, Text(Phrase.REASON_NO_CHOICE))
    state.choice = replace(state.choice, stage=Stage.CLOSED)
    state.memory = replace(state.memory, choosing=False)
    return at_once(state, Text(Phrase.REASON_CHOICE))


def _cancel(state: State, reason: Text) -> Effects:
    """End the choice without new teams."""
    state.choice = None
    state.memory = replace(state.memory, choosing=False)
    return (LogDecision("cancel", reason), Say(Text(Phrase.CHOICE_CANCELLED)), Say(reason))
