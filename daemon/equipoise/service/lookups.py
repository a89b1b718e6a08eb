"""Answers commands that read instead of order: ratings, ranks, teams, status, why; and an admin's set and reset.

A shadow rating counts in every split but is shown to no player, its owner included; admins see all.

A batch may have 256 commands. Of equal look-ups the first is answered, others have a turn in between, and of more than
`MOST_QUESTIONS` that differ the rest is refused. `set` and `reset` are orders: each is carried out.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence

from equipoise.balancing import skills
from equipoise.balancing.chances import NO_PLAYERS, outlook
from equipoise.core import autobalance, scrambles
from equipoise.core.commands import left_alone
from equipoise.core.effects import Tell
from equipoise.core.events import Commanded, SolveFailed
from equipoise.core.model import STEAM_ID_BASE, Context, Outlook, PlayerId, PlayerSummary, ServerId, Side
from equipoise.core.phrases import Phrase, Text, with_chance
from equipoise.core.session import Session
from equipoise.core.state import State
from equipoise.errors import RatingError, ScriptError, StoreError
from equipoise.service.clock import Clock
from equipoise.service.pool import Pool
from equipoise.service.status import CommandAnswer, Proposal, round_number
from equipoise.service.work import MOST_QUESTIONS, Journal, Questions, claimant
from equipoise.store.notes import Audit
from equipoise.store.store import Store
from equipoise.wire.scalars import ACCOUNTS

TOP = 5
"""Lines of the leaderboard."""
WHY = 5
"""Decisions shown."""
SCRAMBLE_AMONG = 100
"""Decisions among which the last scramble is looked for."""
VISIBLE_ENOUGH = 3
"""With fewer visible players on a side, its sum would give hidden ratings away."""

EDITS = frozenset(("set", "reset"))
OF_THE_SENDER = frozenset(("rating", "rank", "hide"))
"""Look-ups that are about their sender, where they name nobody."""

Lines = tuple[Text, ...]


class Lookups:
    """Answers the look-ups of one server."""

    def __init__(
        self, server: ServerId, pool: Pool, store: Store, journal: Journal, questions: Questions, clock: Clock
    ) -> None:
        self._server = server
        self._pool = pool
        self._store = store
        self._journal = journal
        self._questions = questions
        self._clock = clock

    async def answers(self, commands: Iterable[Commanded], who: str, session: Session) -> AsyncIterator[Tell]:
        """Yield the answer to each command of a batch, in order.

        `who` is named in the audit: the script, or the token of the admin API.
        """
        answers: dict[tuple[object, ...], Lines] = {}
        count = 0
        for command in commands:
            verb = command.words[0]
            if verb in EDITS:
                # What was looked up before the edit is not so any more.
                answers.clear()
                yield Tell(command.by, await self._answered(command, who, session))
                continue
            # `admin` belongs to it: admins are shown hidden ratings,
            # and the same words of a player must not find that answer.
            key = (command.words, command.admin, command.by if verb in OF_THE_SENDER else None)
            if (lines := answers.get(key)) is None:
                count += 1
                # Other servers' work has a turn.
                await asyncio.sleep(0)
                if count <= MOST_QUESTIONS:
                    lines = answers[key] = await self._answered(command, who, session)
                else:
                    lines = (Text(Phrase.FAILED, (self._questions.refuse("command"),)),)
            yield Tell(command.by, lines)

    async def _answered(self, command: Commanded, who: str, session: Session) -> Lines:
        """The lines that answer a command; what the store or the rating system refuses is answered too."""
        with self._questions.attempt("command"):
            try:
                return await self._answer(command, who, session)
            except (StoreError, RatingError, ScriptError) as error:
                return (Text(Phrase.FAILED, (str(error),)),)
        return (Text(Phrase.FAILED, ("the daemon failed on this; its log says how",)),)

    async def _answer(self, command: Commanded, who: str, session: Session) -> Lines:
        match command.words[0]:
            case "rating":
                return await self._rating(command)
            case "rank":
                return await self._rank(command)
            case "top":
                return await self._top()
            case "hide":
                return await self._hide(command, who)
            case "teams":
                return await self._teams(session, admin=command.admin)
            case "status":
                return await self._status(session)
            case "why":
                return await self._why()
            case "set":
                return await self._set(command, who)
            case "reset":
                return await self._reset(command, who)
            case verb:
                raise AssertionError(f"the session looks up nothing called {verb}")

    async def _rating(self, command: Commanded) -> Lines:
        player = _player(command, 1) or command.by
        may_see = command.admin or player == command.by
        if player is None or not (may_see or player not in await self._store.hidden()):
            return (_unknown(command),)
        return (_rating_line(await self._pool.looked_up(player), admin=command.admin),)

    async def _rank(self, command: Commanded) -> Lines:
        player = _player(command, 1) or command.by
        if player is None:
            return (_unknown(command),)
        place = await self._pool.rank(player)
        if place is None:
            return (Text(Phrase.RANK_NONE, (f"@{player}",)),)
        (summary,) = await self._pool.summaries((player,))
        record = (await self._store.records(self._pool.name, (player,)))[player]
        score = f"{record.wins}-{record.draws}-{record.losses}"
        return (Text(Phrase.RANK, (f"@{player}", *map(str, place), f"{summary.rating:.0f}", score)),)

    async def _top(self) -> Lines:
        rows = await self._pool.top(TOP)
        lines = (
            Text(Phrase.TOP_LINE, (str(place), summary.name or f"@{summary.id}", f"{summary.rating:.0f}"))
            for place, summary in enumerate(rows, 1)
        )
        return tuple(lines) or (Text(Phrase.TOP_EMPTY),)

    async def _hide(self, command: Commanded, who: str) -> Lines:
        """Show the sender nowhere, or everywhere again: a player orders it for nobody else."""
        player, hide = command.by, command.words[1:2] != ("off",)
        if player is None:
            return (_unknown(command),)
        if hide is not (player in await self._store.hidden()):
            action = "hide" if hide else "unhide"
            entry = Audit(self._clock.epoch(), claimant(command, who), action, player, "", "")
            await self._pool.hide(player, entry, hide=hide)
        return (Text(Phrase.HIDDEN if hide else Phrase.SHOWN),)

    async def _teams(self, session: Session, *, admin: bool) -> Lines:
        roster, context = session.state.roster, session.memory.context
        sides = on_a, on_b = [tuple(entry.id for entry in roster.on(side)) for side in Side]
        if not all(sides):
            return (Text(Phrase.NOTHING_TO_BALANCE),)
        summaries = [await self._pool.summaries(players) for players in sides]
        a, b = map(session.state.side_name, Side)
        likely = outlook_now(self._pool, context, on_a, on_b, roster.commanders())
        fair = with_chance(Phrase.TEAMS_CHANCE, (a,), likely)
        hidden = any(sum(summary.visible for summary in side) < VISIBLE_ENOUGH for side in summaries)
        if hidden and not admin:
            return (fair,)
        # By the system that makes the teams, as the chance is: others' points would name another favourite.
        sums = (
            sum(skills(self._pool.balancing, context, side, players)) for side, players in zip(Side, sides, strict=True)
        )
        sum_a, sum_b = (f"{total:.0f}" for total in sums)
        return (Text(Phrase.TEAMS, (a, sum_a, b, sum_b)), fair)

    async def _status(self, session: Session) -> Lines:
        memory = session.memory
        if not memory.enabled:
            return (Text(Phrase.STATUS_OFF),)
        alone = left_alone(session.state)
        if alone is not None and alone.phrase is Phrase.MAP_OFF:
            return (alone,)
        # The decisions of this very batch are still in the journal.
        self._journal.flush()
        decisions = await self._store.decisions(self._server, SCRAMBLE_AMONG)
        scrambled_at = [decision.at for decision in decisions if decision.kind in ("scramble", "shuffle", "alone")]
        # Dated ahead when the clock was: as if it had just been.
        last = f"{max(0.0, self._clock.epoch() - scrambled_at[0]) / 60:.0f} min" if scrambled_at else "-"
        reason = memory.pending.english if memory.pending else "-"
        shown = (memory.mode.value, str(round_number(session)), str(memory.tally.streak), reason, last)
        return (*filter(None, (alone,)), Text(Phrase.STATUS, shown))

    async def _why(self) -> Lines:
        self._journal.flush()
        decisions = await self._store.decisions(self._server, WHY)
        lines = (Text(Phrase.WHY_LINE, (decision.kind.replace("_", " "), decision.reason)) for decision in decisions)
        return tuple(lines) or (Text(Phrase.WHY_NONE),)

    async def _set(self, command: Commanded, who: str) -> Lines:
        player, rating = _player(command, 1), _number(command, 2)
        if player is None:
            return (_unknown(command),)
        if rating is None:
            words = " ".join(command.words[2:])
            rule = "a rating is a whole number of at most six digits"
            return (Text(Phrase.FAILED, (f"{rule}, not {words}" if words else rule,)),)
        return await self._edit(player, rating, command, who)

    async def _reset(self, command: Commanded, who: str) -> Lines:
        player = _player(command, 1)
        return (_unknown(command),) if player is None else await self._edit(player, None, command, who)

    async def _edit(self, player: PlayerId, rating: float | None, command: Commanded, who: str) -> Lines:
        # A mistyped id would become a player who never was.
        if not await self._pool.known(player):
            return (_unknown(command),)
        edit = await self._pool.edit(player, rating, claimant(command, who))
        before, after = (f"{summary.rating:.0f}" for summary in (edit.before, edit.after))
        return (Text(Phrase.SET_DONE, (f"@{player}", before, after)),)


def _rating_line(summary: PlayerSummary, *, admin: bool) -> Text:
    name, rounds, rest = f"@{summary.id}", str(summary.rounds), str(summary.missing)
    rating = f"{summary.rating:.0f}"
    if summary.visible:
        return Text(Phrase.RATING, (name, rating, rounds))
    if admin:
        return Text(Phrase.RATING_ADMIN, (name, rating, rounds, rest))
    return Text(Phrase.RATING_SHADOW, (name, rest))


def _player(command: Commanded, place: int) -> PlayerId | None:
    """The SteamID64 at this place of the words, from 1; None when there is none."""
    word = command.words[place] if len(command.words) > place else ""
    number = int(word) if word.isdecimal() else 0
    # Zeros in front, and digits of other scripts, must not make a second player of one.
    return PlayerId(str(number)) if STEAM_ID_BASE < number < STEAM_ID_BASE + ACCOUNTS else None


def _number(command: Commanded, place: int) -> float | None:
    word = command.words[place] if len(command.words) == place + 1 else ""
    return float(word) if word.isdecimal() and len(word) <= 6 else None


def _unknown(command: Commanded) -> Text:
    return Text(Phrase.UNKNOWN_PLAYER, (" ".join(command.words[1:]) or "?",))


# How even sides are, by the system that a pool's teams are made by.


def outlook_now(
    pool: Pool,
    context: Context,
    a: Sequence[PlayerId],
    b: Sequence[PlayerId],
    commanders: Collection[PlayerId] = NO_PLAYERS,
) -> Outlook | None:
    """The outlook by what memory holds; None while a side is empty."""
    return outlook(pool.balancing, context, a, b, commanders) if a and b else None


async def outlook_of(pool: Pool, context: Context, a: Sequence[PlayerId], b: Sequence[PlayerId]) -> Outlook:
    """The outlook of any players. StoreError: a player is not in memory, and the store does not answer."""
    for player in (*a, *b):
        await pool.looked_up(player)
    return outlook(pool.balancing, context, a, b)


# The dry run of an admin's `balance`.


async def propose_moves(state: State, pool: Pool, questions: Questions, now: float) -> CommandAnswer:
    """The moves that autobalance would order now."""
    if (why := left_alone(state)) is not None:
        return CommandAnswer(False, (why,))
    question = autobalance.proposal(state, now)
    if question is None:
        return CommandAnswer(False, (autobalance.needless(state),))
    with questions.attempt("moves") as attempt:
        # Loads them: the solver reads skills from memory.
        await pool.summaries((*question.larger, *question.smaller))
        moves = await questions.solve(question)
        if not isinstance(moves, SolveFailed):
            side = question.larger_side.other
            lines = tuple(scrambles.dry_line(state, player, side) for player in moves.players)
            return CommandAnswer(True, lines, _after_moves(state, pool, dict.fromkeys(moves.players, side)))
        attempt.reason = moves.reason
    return CommandAnswer(False, (Text(Phrase.FAILED, (attempt.reason,)),))


def _after_moves(state: State, pool: Pool, moves: Mapping[PlayerId, Side]) -> Proposal:
    """The sides as they are, and with these players on the other one."""
    present = {entry.id: entry.side for entry in state.roster.entries if entry.side is not None}
    context = state.memory.context

    def sides(places: Mapping[PlayerId, Side | None]) -> list[tuple[PlayerId, ...]]:
        return [tuple(player for player, place in places.items() if place is side) for side in Side]

    now, then = sides(present), sides({**present, **moves})
    return Proposal(
        split={"a": then[0], "b": then[1], "bench": ()},
        before=outlook_now(pool, context, *now),
        after=outlook_now(pool, context, *then),
        spread_before=None,
        spread_after=None,
        moves=tuple(moves.items()),
        present=present,
    )
