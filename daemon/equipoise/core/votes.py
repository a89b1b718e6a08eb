"""Decisions of the players together: the vote for a scramble, and NS2's secret team choice.

Voices for a vote are counted, a menu is ordered, its result is judged.

The game's own vote would scramble without looking at ratings, so who calls it asks here, as in chat (`ask_for`). When
enough of those present have asked, the script shows a menu; what passes makes a scramble due like any other trigger,
or is carried out at once (`vote.when`). A vote is refused while the teams are even, which only the pool knows:
`AskChance` is answered by `ChanceFound`, and then the voice counts, or the answer to the player is the chance. Ratings
can be wrong: after two rounds in a row for one side the chance is not asked for, and every voice counts.

NS2 has no menu: enough voices pass the vote. There uneven sides are the only ground, as a shuffle of even ones
would move no player; and a vote that starts the round again has to come early in it.

Voices and the running vote end together: with a result, an admin's cancel, the map, and as soon as a scramble is due
or Equipoise may not act any more (`settle`, after every event).
"""

from __future__ import annotations

import math
from dataclasses import replace

from equipoise.core import shuffles
from equipoise.core.asks import AskChance
from equipoise.core.bench import eligible_count
from equipoise.core.effects import Cancel, LogDecision, OpenVote, Say, Tell
from equipoise.core.events import ChanceFound, Commanded, Phase, VoteEnded
from equipoise.core.model import NS2_SIDES, OrderId, PlayerId, Side
from equipoise.core.phrases import Phrase, Text, told
from equipoise.core.rules import EARLY_SECONDS
from equipoise.core.scrambles import at_once, in_freeze, make_due, may_be_at_once
from equipoise.core.state import Ballot, Effects, Stage, State, Voices

OVERDUE_SECONDS = 30.0
"""How long after its end a vote's result may take: a script repeats what was not answered."""

ROUNDS_IN_A_ROW = 2
"""After so many rounds for one side the teams do not count as even, whatever their ratings say."""

_SAID = {"vote_running": Phrase.VOTE_RUNNING, "cancelled": Phrase.VOTE_CANCELLED}
"""What all players read, by the reason for which the script could not hold the vote."""


def ask_for(state: State, by: PlayerId | None, now: float) -> Effects:
    """Count a player's voice, or answer why there is no vote. Where the teams may be even, first ask for the chance."""
    if (refusal := _refusal(state, by, now)) is not None:
        return (Tell(by, (refusal,)),)
    # `_refusal` has answered it: `None` is in no roster.
    assert by is not None, "the console is not eligible"
    a, b = (tuple(entry.id for entry in state.roster.on(side)) for side in Side)
    # An empty side has no chance to ask for.
    # Players may have left one side altogether; that these teams are uneven needs no pool.
    if not (a and b) or _counts_anyway(state):
        return _count(state, by, now)
    return (AskChance(state.version, state.memory.context, a, b, by, state.roster.commanders()),)


def _counts_anyway(state: State) -> bool:
    """The voice counts, however even the present sides are.

    In NS2 a shuffle moves no player while the sides are even: it is worth a vote only where players are to be placed.
    """
    if not state.ns2:
        return state.memory.tally.streak >= ROUNDS_IN_A_ROW
    return state.phase is not Phase.RUNNING and any(entry.side is None for entry in state.roster.eligible())


def _refusal(state: State, by: PlayerId | None, now: float) -> Text | None:
    """Why no vote may start now; None: one may, unless the teams are even."""
    rules, voices = state.rules.vote, state.voices
    reasons = (
        (not rules.enabled, Phrase.VOTE_OFF),
        (not state.memory.enabled, Phrase.STATUS_OFF),
        (not _plays(state, by), Phrase.VOTE_NOT_PLAYING),
        (state.memory.pending is not None or state.waits_for_teams, Phrase.VOTE_ALREADY_DUE),
        (voices.order is not None, Phrase.VOTE_RUNNING),
        (now < state.memory.no_vote_before, Phrase.VOTE_COOLDOWN),
        (eligible_count(state.roster) < rules.min_players, Phrase.VOTE_TOO_FEW),
        (state.ends_at is not None and now >= state.ends_at - rules.quiet_seconds, Phrase.VOTE_ROUND_ENDS),
        (state.map_ends, Phrase.MAP_ENDS),
        (state.ns2 and _too_late(state, now), Phrase.VOTE_TOO_LATE),
    )
    return next((Text(phrase) for holds, phrase in reasons if holds), None)


def _too_late(state: State, now: float) -> bool:
    """NS2: the round has run for too long, or it is not known for how long: the daemon or the mod began in it.

    It counts in real time: a pause of the game does not stop it.
    """
    if state.phase is not Phase.RUNNING:
        return False
    return state.live_at is None or now - state.live_at > state.rules.shuffle.vote_seconds


def chance_found(state: State, event: ChanceFound, now: float) -> Effects:
    """Count the voice, unless the teams are even; if the roster has changed since the question, ask again instead."""
    ask = event.ask
    # The sides that were judged are not those of now.
    if ask.version != state.version:
        return ask_for(state, ask.by, now)
    if (refusal := _refusal(state, ask.by, now)) is not None:
        return (Tell(ask.by, (refusal,)),)
    if event.outlook.is_even(state.rules.shuffle.fair_band if state.ns2 else state.rules.scramble.fair_band):
        return (Tell(ask.by, (Text(Phrase.VOTE_EVEN, (state.side_name(Side.A), told(event.outlook))),)),)
    return _count(state, ask.by, now)


def chance_not_found(state: State, ask: AskChance, now: float) -> Effects:
    """Count the voice: only teams that are known to be even are a reason not to."""
    if (refusal := _refusal(state, ask.by, now)) is not None:
        return (Tell(ask.by, (refusal,)),)
    return _count(state, ask.by, now)


def _count(state: State, by: PlayerId, now: float) -> Effects:
    """Count a voice, and order the vote when there are enough."""
    again = by in state.voices.lasting(now)
    state.voices = state.voices.with_voice(by, now)
    eligible = [entry.id for entry in state.roster.eligible()]
    # Counted anew: a player who asked may watch by now, and is in the roster all the same.
    have = sum(player in state.voices.asked_at for player in eligible)
    rules = state.rules.vote
    quorum = part(rules.fraction if state.ns2 else rules.start_fraction, len(eligible))
    line = Text(Phrase.VOTE_SHUFFLE if state.ns2 else Phrase.VOTE_VOICE, (f"@{by}", str(have), str(quorum)))
    if have >= quorum:
        return (Say(line), *(_pass(state, have, len(eligible), now) if state.ns2 else (_open(state, now),)))
    # Repeated words of one player are not shown to all.
    return (Tell(by, (line,)),) if again else (Say(line),)


def part(fraction: float, whole: int) -> int:
    """The least number, at least 1, that is this fraction of the whole; 0.55 of 20 is 11, not 12.

    >>> part(0.55, 20), part(0.3, 11), part(0.6, 0)
    (11, 4, 1)
    """
    return max(1, math.ceil(fraction * whole - 1e-9))


def _open(state: State, now: float) -> OpenVote:
    """Order the vote. The voices stay until it has a result."""
    order, rules = state.next_order(), state.rules.vote
    state.voices = replace(state.voices, order=order, opened_at=now)
    return OpenVote(order, rules.seconds, rules.fraction, Text(_question(state, now, now + rules.seconds)))


def _question(state: State, first: float, last: float) -> Phrase:
    """The question of a vote whose result comes between these moments: it says when new teams would be made."""
    at_once = {_makes_teams_at_once(state, moment) for moment in (first, last)}
    if len(at_once) > 1:
        return Phrase.VOTE_QUESTION_EARLY
    return Phrase.VOTE_QUESTION_NOW if at_once == {True} else Phrase.VOTE_QUESTION


def _makes_teams_at_once(state: State, at: float) -> bool:
    """Whether new teams follow at once on a vote that passes at this moment; else they come at the next round start.

    In a freeze the next round start is this one.
    """
    if state.arena or state.rules.vote.when == "next":
        return state.ns2 and state.phase is not Phase.RUNNING
    when = state.rules.vote.when or ("now" if state.ns2 else "early")
    if when == "now" or state.phase is not Phase.RUNNING:
        return True
    return state.live_at is not None and at - state.live_at <= EARLY_SECONDS


def ended(state: State, event: VoteEnded, now: float) -> Effects:
    """Judge the votes cast; a vote that passed makes a scramble due."""
    votes = event.yes + event.no
    # Of nobody's votes the least number is 1: a menu that nobody answered fails.
    quorum = part(state.rules.vote.fraction, votes)
    if event.yes >= quorum:
        return _pass(state, event.yes, votes, now, event.order)
    close(state, now)
    result = Text(Phrase.VOTE_FAILED, (str(event.yes), str(votes), str(quorum)))
    return (LogDecision("vote", result, event.order), Say(result))


def close(state: State, now: float) -> None:
    """The vote has a result."""
    state.voices = Voices()
    state.memory = replace(state.memory, no_vote_before=now + state.rules.vote.cooldown_minutes * 60)


def _pass(state: State, votes: int, of: int, now: float, order: OrderId | None = None) -> Effects:
    """Make new teams at once where `vote.when` says so, else make a scramble due."""
    close(state, now)
    result = Text(Phrase.VOTE_PASSED, (str(votes), str(of)))
    lines = (LogDecision("vote", result, order), Say(result))
    is_frozen = state.phase is Phase.FREEZE  # a split of the freeze is in time for its round
    if not is_frozen and _makes_teams_at_once(state, now) and may_be_at_once(state) and state.enough_players:
        return (*lines, *at_once(state, Text(Phrase.REASON_VOTE)))
    return (*lines, *make_due(state, Text(Phrase.REASON_VOTE)), *in_freeze(state))


def failed(state: State, order: OrderId, reason: str) -> Effects:
    """The script could not show the menu, or an admin ended it there.

    The voices stay while another vote has the menu: the next player who asks has it tried again.
    """
    taken = reason == "vote_running"
    # No cooldown: nobody has voted.
    state.voices = replace(state.voices, order=None) if taken else Voices()
    text = _SAID.get(reason)
    log = LogDecision("failed", Text(Phrase.REASON_VOTE), order)
    return (log,) if text is None else (log, Say(Text(text)))


def cancel(state: State) -> Effects:
    """End the voices so far, and withdraw the menu if it is shown."""
    order = state.voices.order
    state.voices = Voices()
    return () if order is None else (Cancel(order),)


def settle(state: State) -> Effects:
    """Drop the voices of players who left; all where a scramble is due anyway, or no vote may make one due."""
    # Most events find no voices, and every event comes by here.
    if state.voices == Voices():
        return ()
    if not state.acts or state.memory.pending is not None or state.map_ends:
        return cancel(state)
    state.voices = state.voices.of(state.roster)
    return ()


def overdue_at(state: State) -> float | None:
    """When a vote without a result is given up, on the daemon's clock; None: none runs."""
    if state.voices.order is None:
        return None
    return state.voices.opened_at + state.rules.vote.seconds + OVERDUE_SECONDS


def overdue(state: State, now: float) -> Effects:
    """Give up a vote that is overdue: the script may have been restarted while the menu was shown."""
    at, order = overdue_at(state), state.voices.order
    if at is None or now < at:
        return ()
    return (LogDecision("failed", Text(Phrase.REASON_VOTE), order), *cancel(state))


# The secret team choice of NS2: between rounds every player says marines, aliens or random, and reads no other's.
#
# An admin opens it, or enough players who ask for it. While it is open the choices are in `State.choice` alone:
# effects other than the answer to the player who chose depend on who has chosen at most, never on what. When the time
# is up, or all have chosen, a shuffle by `shuffles.terms` is due at once: like any other it stays pending until it is
# carried out. The choices are not remembered, so a restart of the daemon ends an open choice; `Memory.choosing` says
# that there was one.

RANDOM = "random"


def choice(state: State, event: Commanded, now: float) -> Effects:
    """`choice`: open it, for an admin, or ask for it; `choice cancel`: an admin ends it without new teams."""
    admin = event.admin and (event.outside or state.rules.admin_commands)
    if event.words[1:] == ("cancel",):
        return _cancel_by_admin(state, event, admin=admin)
    if event.words[1:]:
        return (Tell(event.by, (Text(Phrase.UNKNOWN_COMMAND, (" ".join(event.words),)),)),)
    refusal = _choice_refusal(state) or (None if admin else _asker_refusal(state, event.by, now))
    if refusal is not None:
        return (Tell(event.by, (refusal,)),)
    if not admin:
        return _count_choice(state, event.by, now)
    effects = _open_choice(state, Text(Phrase.REASON_ADMIN), now)
    return effects if event.by is not None else (*effects, Tell(None, (Text(Phrase.CHOICE_OPENED),)))


def _cancel_by_admin(state: State, event: Commanded, *, admin: bool) -> Effects:
    if not admin:
        words = " ".join(event.words)
        refusal = Text(Phrase.REFUSED_IN_GAME, (words,)) if event.admin else Text(Phrase.REFUSED_ADMIN)
        return (Tell(event.by, (refusal,)),)
    if state.choice_stage is not Stage.OPEN:
        return (Tell(event.by, (Text(Phrase.CHOICE_NONE),)),)
    reason = Text(Phrase.REASON_ADMIN)
    # An admin in the game reads it as all players do.
    answer = () if event.by is not None else (Tell(None, (Text(Phrase.CHOICE_CANCELLED), reason)),)
    return (*answer, *_cancel_choice(state, reason))


def _choice_refusal(state: State) -> Text | None:
    """Why no choice may open now, by any means."""
    if not state.memory.enabled:
        return Text(Phrase.STATUS_OFF)
    if state.phase is not Phase.IDLE or not state.acts:
        return Text(Phrase.CHOICE_NOT_NOW)
    if state.choice_stage in (Stage.OPEN, Stage.CLOSED):
        return Text(Phrase.CHOICE_RUNNING)
    return None if state.enough_players else too_few(state)


def too_few(state: State) -> Text:
    """Say how many players a scramble needs, and how many are here."""
    return Text(Phrase.NOT_ENOUGH_PLAYERS, (str(state.rules.scramble.min_players), str(eligible_count(state.roster))))


def _asker_refusal(state: State, by: PlayerId | None, now: float) -> Text | None:
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


def _count_choice(state: State, by: PlayerId | None, now: float) -> Effects:
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
    return (Say(line), *_open_choice(state, Text(Phrase.REASON_VOTE), now))


def _open_choice(state: State, reason: Text, now: float) -> Effects:
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


def settle_choice(state: State) -> Effects:
    """After every event: drop who left, close when all have chosen, end what came to nothing."""
    if not state.acts or state.phase is not Phase.IDLE:
        state.choice_voices = Voices()
    elif state.choice_voices != Voices():
        state.choice_voices = state.choice_voices.of(state.roster)
    stage = state.choice_stage
    if stage is Stage.OPEN:
        return _settle_open(state)
    if state.memory.choosing:
        # The process or the script began anew while it was open: players read so as soon as they can be told.
        return _cancel_choice(state, Text(Phrase.REASON_RESTARTED)) if state.known else ()
    # The shuffle that the choice made due was cancelled by an admin, or is gone with the map.
    is_void = stage is Stage.CLOSED and state.memory.pending is None
    if is_void or (stage is Stage.APPLIED and state.phase is Phase.RUNNING):
        state.choice = None
    return ()


def _settle_open(state: State) -> Effects:
    assert state.choice is not None
    if state.phase is not Phase.IDLE:
        return _cancel_choice(state, Text(Phrase.REASON_ROUND_BEGAN))
    if not state.acts:
        return _cancel_choice(state, Text(Phrase.REASON_INACTIVE))
    state.choice = state.choice.of(state.roster)
    silent = [entry.id for entry in state.roster.eligible() if entry.id not in state.choice.chosen]
    return () if silent else _close_choice(state)


def choice_ends_at(state: State) -> float | None:
    """When the open choice closes, on the daemon's clock; None: none is open."""
    return state.choice.ends_at if state.choice is not None and state.choice_stage is Stage.OPEN else None


def close_choice_in_time(state: State, now: float) -> Effects:
    """Close the choice when its time is up."""
    at = choice_ends_at(state)
    return () if at is None or now < at else _close_choice(state)


def _close_choice(state: State) -> Effects:
    assert state.choice is not None
    if not state.enough_players:
        return _cancel_choice(state, too_few(state))
    if not state.choice.chosen:
        return _cancel_choice(state, Text(Phrase.REASON_NO_CHOICE))
    state.choice = replace(state.choice, stage=Stage.CLOSED)
    state.memory = replace(state.memory, choosing=False)
    return at_once(state, Text(Phrase.REASON_CHOICE))


def _cancel_choice(state: State, reason: Text) -> Effects:
    """End the choice without new teams."""
    state.choice = None
    state.memory = replace(state.memory, choosing=False)
    return (LogDecision("cancel", reason), Say(Text(Phrase.CHOICE_CANCELLED)), Say(reason))
