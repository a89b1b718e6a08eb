"""Commands of admins and players: one table, from which the scripts and the documents are made (`make texts`).

Look-ups go on to the host, which has the rating pool and the decision log.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from equipoise.core import autobalance, friends, scrambles, shuffles, swap_offers, votes
from equipoise.core.effects import LogDecision, LookUp, Move, Say, Tell
from equipoise.core.events import Commanded, OrderFailed, Phase
from equipoise.core.model import Entry, OrderId, PlayerId
from equipoise.core.phrases import Phrase, Text, no_moves, not_moved
from equipoise.core.state import AdminsMove, Effects, State, Voices

LONGEST_QUOTE = 64
"""Characters of a command that is quoted: a line of the game's chat has 127."""


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
    """Give the line that all players read to a sender outside the game; an admin in the game would read it twice."""
    return () if event.by is not None else _tell(event, *lines)


def _look_up(state: State, event: Commanded, now: float) -> Effects:
    return (LookUp(event),)


def _vote(state: State, event: Commanded, now: float) -> Effects:
    return votes.ask_for(state, event.by, now)


def _ns2(answer: Answer) -> Answer:
    """A command that only servers of Natural Selection 2 have."""

    def answered(state: State, event: Commanded, now: float) -> Effects:
        return answer(state, event, now) if state.ns2 else _tell(event, Text(Phrase.NS2_ONLY, (event.words[0],)))

    return answered


def _unknown(state: State, event: Commanded) -> Effects:
    return _tell(event, Text(Phrase.UNKNOWN_COMMAND, (" ".join(event.words),)))


def _scramble_now(state: State, event: Commanded) -> Effects:
    """Scramble at once; in arena, between rounds, and while nobody may be moved, at the next round start."""
    if not state.enough_players:
        return _tell(event, votes.too_few(state))
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
        return _tell(event, votes.too_few(state))
    reason = state.memory.pending or Text(Phrase.REASON_ADMIN)
    return scrambles.ask(state, scrambles.due_purpose(state), reason, dry=True, by=event.by)


def _skip(state: State, event: Commanded) -> Effects:
    """NS2: leave the teams as they are before the next round."""
    if not state.ns2:
        return _unknown(state, event)
    text = Text(Phrase.SHUFFLE_SKIPPED)
    return (*_answer(event, text), LogDecision("cancel", text), *shuffles.skip(state), Say(text))


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
    "skip": _skip,
    "cancel": _cancel,
}


def _scramble(state: State, event: Commanded, now: float) -> Effects:
    when = event.words[1] if len(event.words) > 1 else "now"
    return _SCRAMBLES.get(when, _unknown)(state, event)


def _balance(state: State, event: Commanded, now: float) -> Effects:
    if state.arena:
        return _tell(event, Text(Phrase.CANNOT_BALANCE_ARENA))
    effects = autobalance.check(state, now, forced=True)
    # The gap is there and nobody may be moved for it: `check` has logged that, and the admin is told.
    stays = state.gap_reason is not None and state.asked_moves is None and not state.moves
    if state.gap_since is None or stays:
        return (*effects, *_tell(event, autobalance.needless(state)))
    return effects


def _move(state: State, event: Commanded, now: float) -> Effects:
    """Order one player to the other side, or say why not."""
    if len(event.words) < 2:
        return _unknown(state, event)
    player = PlayerId(event.words[1])
    entry = state.roster.get(player)
    if entry is None:
        return _tell(event, Text(Phrase.UNKNOWN_PLAYER, (event.words[1],)))
    if (why := _not_moved(state, entry)) is not None:
        return _tell(event, why)
    assert entry.side is not None, "who is on no side is not moved"
    move = Move(state.next_order(), Text(Phrase.REASON_ADMIN), player, entry.side.other, 0.0, 0.0)
    state.admins_moves = {**state.admins_moves, move.order: AdminsMove(move, event.by, event.outside)}
    log = LogDecision("move", move.reason, move.order, players=(player,), side=move.side)
    return (*_tell(event, _goes(state, move)), move, log)


def _not_moved(state: State, entry: Entry) -> Text | None:
    """Why this player cannot be moved now; None: they can."""
    # The mod moves nobody in the freeze.
    phases = (Phase.RUNNING,) if state.ns2 else (Phase.FREEZE, Phase.RUNNING)
    reasons = (
        (not state.memory.enabled, Text(Phrase.STATUS_OFF)),
        (state.arena, Text(Phrase.CANNOT_BALANCE_ARENA)),
        (entry.side is None, Text(Phrase.MOVE_NO_SIDE, (f"@{entry.id}",))),
        (entry.stays, not_moved(entry.held, f"@{entry.id}")),
        (state.phase not in phases or state.waiting, Text(Phrase.MOVE_NO_ROUND)),
        (state.no_moves != "", no_moves(state.no_moves)),
    )
    return next((text for holds, text in reasons if holds), None)


def _goes(state: State, move: Move) -> Text:
    return Text(Phrase.MOVED_BY_ADMIN, (f"@{move.player}", state.side_name(move.side)))


def move_done(state: State, order: OrderId, now: float) -> Effects:
    """Count and lock a player whom an admin moved, as one whom autobalance moved; a gap that this opens is closed."""
    admins_order = _taken(state, order)
    move = admins_order.move
    state.memory = state.memory.move(move.player, now)
    state.place(move.player, move.side)
    says = (Say(_goes(state, move)),) if admins_order.outside else ()
    return (*says, *state.lock({move.player: move.side}, now), *autobalance.check(state, now))


def move_failed(state: State, answer: OrderFailed) -> Effects:
    """Tell the admin why the script did not move a player."""
    admins_order = _taken(state, answer.order)
    player = admins_order.move.player
    state.hold(answer.stayed)
    reasons = {
        "no_round": Text(Phrase.MOVE_NO_ROUND),
        "no_moves": no_moves(state.no_moves),
        **dict.fromkeys(("left", "no_side"), Text(Phrase.MOVE_NO_SIDE, (f"@{player}",))),
    }
    why = reasons.get(answer.reason, not_moved(answer.stayed.get(player, ""), f"@{player}"))
    return (
        Tell(admins_order.by, (why,)),
        LogDecision("failed", admins_order.move.reason, answer.order, players=(player,)),
    )


def _taken(state: State, order: OrderId) -> AdminsMove:
    moves = dict(state.admins_moves)
    entry = moves.pop(order)
    state.admins_moves = moves
    return entry


def _switch(state: State, event: Commanded, now: float) -> Effects:
    state.memory = replace(state.memory, enabled=event.words[0] == "on")
    text = Text(Phrase.SWITCHED_ON if state.memory.enabled else Phrase.SWITCHED_OFF)
    # Moves alone: an assignment is carried out within seconds, and what is pending waits for `on`.
    cancels = () if state.memory.enabled else (*autobalance.drop(state), *swap_offers.drop(state))
    return (*_tell(event, text), LogDecision("switch", text), *cancels)


# The table.

Answer = Callable[[State, Commanded, float], Effects]
Right = Literal["players", "generic", "kick", "root"]
"""Who may: all players, or admins with this right of SourceMod. In NS2 each admin command is a right of its own."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command: a player's in chat and in the console, or an admin's in the console."""

    word: str
    help: str
    """What it does, in English: the scripts and the documents have it."""
    answer: Answer
    who: Right = "players"
    usage: str = ""
    """Its arguments."""
    tf2: tuple[str, ...] | None = None
    """Its words in TF2's chat; None: the word itself. Empty: TF2 does not have it."""
    ns2: bool = True
    """NS2 has it."""
    tells_admins_more: bool = False
    secret: bool = False
    """NS2: no other player must read it."""
    balances: bool = False
    """It is refused on a map whose sides are not to be balanced."""


NOW = "[now|next|dry|cancel]"
COMMANDS = (
    Command("vote", "ask for a vote on new teams", _vote, tf2=("scramble", "votescramble"), balances=True),
    Command("rating", "your rating", _look_up, tells_admins_more=True),
    Command("rank", "your rank", _look_up, tells_admins_more=True),
    Command("top", "the best players", _look_up),
    Command("teams", "how even the teams are", _look_up),
    Command("hide", "be on no leaderboard; rounds are rated as before", _look_up, usage="[off]"),
    Command(
        "prefer",
        "the side you like to play. Shuffles give it where the teams stay even, sooner the more often they did not",
        _ns2(shuffles.prefer),
        usage="[marines|aliens|none]",
        tf2=(),
    ),
    Command(
        "friend",
        "whom you want to play with: two who named each other, up to four in a group",
        friends.obey,
        usage="[<player>|none]",
        tf2=("buddy",),
    ),
    Command(
        "swap",
        "swap sides with a player who agrees; without a name: be moved first when the other side needs somebody",
        swap_offers.obey,
        usage="[<player>|none]",
        ns2=False,
        balances=True,
    ),
    Command("choice", "ask for a secret team choice, between rounds", _ns2(votes.choice), tf2=(), balances=True),
    Command(
        "choose",
        "your side in a secret team choice",
        _ns2(votes.choose),
        usage="[marines|aliens|random]",
        tf2=(),
        secret=True,
    ),
    Command("status", "what Equipoise knows of this server", _look_up, "generic"),
    Command("why", "the last decisions and their reasons", _look_up, "generic"),
    Command("rating", "their rating, also before it is shown to all", _look_up, "generic", "<player>"),
    Command("scramble", "make new teams; cancel also ends a vote", _scramble, "kick", NOW, ns2=False, balances=True),
    Command(
        "shuffle",
        "shuffle the teams; skip: not before the next round",
        _scramble,
        "kick",
        "[now|next|skip|dry|cancel]",
        tf2=(),
        balances=True,
    ),
    Command("balance", "close a gap between the sides now", _balance, "kick", balances=True),
    Command("move", "put them on the other side now", _move, "kick", "<player>", balances=True),
    Command(
        "choice",
        "let all players choose a side in secret, and shuffle",
        _ns2(votes.choice),
        "generic",
        "[cancel]",
        tf2=(),
        balances=True,
    ),
    Command("set", "set their rating", _look_up, "root", "<player> <rating>"),
    Command("reset", "make them a newcomer again", _look_up, "root", "<player>"),
    Command("on", "go on balancing this server", _switch, "root"),
    Command("off", "leave this server's teams alone; rounds are still rated", _switch, "root"),
)
_BY_WORD = {command.word: command for command in COMMANDS}
LOOK_UPS = frozenset(command.word for command in COMMANDS if command.answer is _look_up)
PLAYERS_MAY = frozenset(command.word for command in COMMANDS if command.who == "players")
CHANGES = frozenset(command.word for command in COMMANDS if command.who in ("kick", "root"))
"""Commands that `admin_commands = false` takes from admins in the game: the script's secret is then worth none of
them, and a token is needed."""
AUDITED = CHANGES | {"choice"}
"""What an admin may only order, or may order at once where players have to ask."""


def obey(state: State, event: Commanded, now: float) -> Effects:
    """Carry out a command, or answer its sender with the reason why not."""
    word, *rest = event.words or ("",)
    command = _BY_WORD.get(word)
    if command is None:
        return _unknown(state, event)
    if not event.admin and word not in PLAYERS_MAY:
        return _tell(event, Text(Phrase.REFUSED_ADMIN))
    if word in CHANGES and not event.outside and not state.rules.admin_commands:
        refusal = Text(Phrase.REFUSED_IN_GAME, (quoted(event),))
        players = () if event.by is None else (event.by,)
        return (*_tell(event, refusal), LogDecision("refused", refusal, players=players))
    # What is pending may be cancelled on any map.
    if command.balances and rest != ["cancel"] and (why := left_alone(state)) is not None:
        return _tell(event, why)
    # In a map's last minutes an admin's order is carried out all the same.
    ends = command.balances and command.who != "players" and state.map_ends and rest[:1] not in (["cancel"], ["dry"])
    return (*(_tell(event, Text(Phrase.MAP_ENDS)) if ends else ()), *command.answer(state, event, now))
