"""A session at one moment: its memory, and what a restart may forget.

The modules that decide (`scrambles`, `autobalance`, `joins`, `commands`) read and change it; only `session` creates it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Literal

from equipoise.core.asks import AskMoves, AskSide, AskSplit, AskSwitch, CacheSplits
from equipoise.core.bench import eligible_count
from equipoise.core.effects import Effect, Lock, Move
from equipoise.core.events import Phase, SideWanted, SplitSolved, Stayed
from equipoise.core.memory import MOVED_SECONDS, HeldSide, Memory
from equipoise.core.model import (
    IMMUNE,
    MOST_PLAYERS,
    Entry,
    Immunity,
    Mode,
    OrderId,
    PlayerId,
    PlayerSummary,
    Roster,
    RoundId,
    Side,
    Split,
    SplitCache,
)
from equipoise.core.phrases import Phrase, Text
from equipoise.core.rules import MapLevel, Rules, Triggers, level_of


class Stage(Enum):
    """How far a secret team choice is."""

    OPEN = "open"
    """Players choose; what they chose is secret."""
    CLOSED = "closed"
    """The shuffle is due, and the choices are its wishes."""
    APPLIED = "applied"
    """The teams were made. Until the round goes live, other shuffles keep to what was chosen."""


@dataclass(frozen=True, slots=True)
class Ballot:
    """One secret team choice."""

    ends_at: float
    """When it closes at the latest, on the session's clock."""
    stage: Stage = Stage.OPEN
    chosen: Mapping[PlayerId, Side | None] = field(default_factory=dict)
    """None: either side."""

    def with_choice(self, player: PlayerId, side: Side | None) -> Ballot:
        """The latest choice of a player counts."""
        return replace(self, chosen={**self.chosen, player: side})

    def of(self, roster: Roster) -> Ballot:
        """The choices of players who are still here."""
        return replace(
            self, chosen={player: side for player, side in self.chosen.items() if roster.get(player) is not None}
        )

    def wished(self) -> dict[PlayerId, Side]:
        """The players who chose a side."""
        return {player: side for player, side in self.chosen.items() if side is not None}


@dataclass(frozen=True, slots=True)
class AdminsMove:
    """A move that an admin ordered, until the script reports its result."""

    move: Move
    by: PlayerId | None
    """None: the console or the admin API."""
    outside: bool
    """Through the admin API: the script has not told the players who ordered it."""


VOICE_SECONDS = 300.0
"""How long a player's wish for a vote counts."""


@dataclass(frozen=True, slots=True)
class Voices:
    """The players who have asked for a vote, until one has a result; times are the session's `now`."""

    asked_at: Mapping[PlayerId, float] = field(default_factory=dict)
    order: OrderId | None = None
    """The vote that runs; None while none does."""
    opened_at: float = 0.0
    """When it was ordered."""

    def with_voice(self, player: PlayerId, now: float) -> Voices:
        """One more voice, or the same again; those that are too old are dropped.

        >>> ann, bob = PlayerId("ann"), PlayerId("bob")
        >>> list(Voices().with_voice(ann, 0.0).with_voice(bob, 300.0).asked_at)
        ['bob']
        """
        return replace(self, asked_at={**self.lasting(now), player: now})

    def lasting(self, now: float) -> Mapping[PlayerId, float]:
        """The voices that are not too old."""
        return {player: at for player, at in self.asked_at.items() if now - at < VOICE_SECONDS}

    def of(self, roster: Roster) -> Voices:
        """The voices of players who are still here."""
        return replace(
            self, asked_at={player: at for player, at in self.asked_at.items() if roster.get(player) is not None}
        )


Effects = tuple[Effect, ...]


@dataclass(frozen=True, slots=True)
class PendingJoin:
    """A player who asked for a side, until all ratings are known and the pool has answered."""

    wanted: SideWanted
    since: float
    """When they asked, on the daemon's clock."""
    ask: AskSide | AskSwitch | None = None
    """What the pool is asked; None: ratings are missing."""


@dataclass(frozen=True, slots=True)
class Swap:
    """Two players who change places."""

    moves: tuple[Move, Move]
    until: float
    """When it is given up, on the session's clock."""
    orders_done: frozenset[OrderId] = frozenset()

    @property
    def open(self) -> tuple[Move, ...]:
        """The moves that are still to be carried out."""
        return tuple(move for move in self.moves if move.order not in self.orders_done)

    def without(self, order: OrderId) -> Swap:
        """The swap after one of its moves."""
        return replace(self, orders_done=self.orders_done | {order})


@dataclass(slots=True)
class State:
    """One server's session; it changes only while an event is received or a deadline has passed."""

    rules: Rules
    memory: Memory
    phase: Phase = Phase.IDLE
    known: bool = False
    """The script has introduced itself since this process started."""
    waiting: bool = False
    """Waiting For Players is on."""
    inactive_reason: str = ""
    """Why the script carries no orders out, by the game's own rules; empty when it does."""
    roster: Roster = field(default_factory=Roster)
    unseen: bool = True
    """No roster has come since the script's last hello: what is known of it may be of before a silence."""
    version: int = 0
    """Grows when a player comes, leaves, changes side, takes command or is held: answers to older questions no longer
    hold."""
    summaries: dict[PlayerId, PlayerSummary] = field(default_factory=dict)
    phase_at: float = 0.0
    """When the phase began, on the script's clock."""
    round: RoundId | None = None
    """The running round; None while none runs."""
    lineup: Mapping[PlayerId, Side] = field(default_factory=dict)
    """The sides when the running round went live."""
    skill_at_start: Mapping[PlayerId, float] | None = None
    """Skills of the lineup when the round went live; None until all of them are known."""
    live_at: float | None = None
    """When the running round went live, on the daemon's clock; None while none runs, or when that was not seen."""
    ends_at: float | None = None
    """When the running round ends, where that is known."""
    map_ends_at: float | None = None
    """When the map's time is over, where that is known."""
    no_moves: str = ""
    """Why the game lets nobody be moved in the running round now; empty when they may be."""
    no_moves_logged: bool = False
    """That a gap stays open because of it is in the log."""
    assigned: dict[OrderId, SplitSolved] = field(default_factory=dict)
    """Assignments that the script has not confirmed yet."""
    asked: AskSplit | None = None
    """The split that is being solved."""
    attempts: int = 0
    """Assignments ordered in this freeze."""
    unannounced: bool = False
    """A scramble became due while nobody knew who is here: players have not read of it."""
    candidates: frozenset[PlayerId] | None = None
    """Arena's freeze: the players whom its split may place. None before a split was considered."""
    teams_made: bool = False
    """A split was carried out in this freeze: the players who wait now are its bench and have not sat out yet."""
    even_version: int | None = None
    """The roster version of this freeze at which it was found that no player has to move: for a shuffle, or because
    the sides are too uneven."""
    moves: dict[OrderId, Move] = field(default_factory=dict)
    """Moves that the script has not confirmed yet."""
    cancelled: Mapping[OrderId, Move] = field(default_factory=dict)
    """The last moves that were cancelled: one of them may have been carried out meanwhile."""
    admins_moves: Mapping[OrderId, AdminsMove] = field(default_factory=dict)
    """Moves that admins ordered and the script has not confirmed yet; no gap that closes ends them."""
    asked_moves: AskMoves | None = None
    """The moves that are being solved."""
    gap_since: float | None = None
    """When the present gap was first seen; None while there is none."""
    gap_reason: Text | None = None
    """Why the present gap has fewer moves than it needs; None while it has them."""
    forced: bool = False
    """An admin asked to close the gap, no matter how soon the round ends."""
    objective_at: Mapping[PlayerId, float] = field(default_factory=dict)
    """When players last captured or defended an objective, as far as the script's last roster tells."""
    unmovable: frozenset[PlayerId] = frozenset()
    """Players whom the script could not move in this round."""
    pending_joins: dict[PlayerId, PendingJoin] = field(default_factory=dict)
    """Players who wait for a side."""
    watching_since: Mapping[PlayerId, float] = field(default_factory=dict)
    """When those who watch left their side for it."""
    kept: frozenset[tuple[PlayerId, Phrase]] = frozenset()
    """Players who had to stay on their side in this round, and why: each is logged once, however often they ask."""
    voices: Voices = field(default_factory=Voices)
    """Players who ask for a vote, and the vote that runs."""
    choice_voices: Voices = field(default_factory=Voices)
    """Players who ask for a secret team choice."""
    swap_invitations: Mapping[tuple[PlayerId, PlayerId], float] = field(default_factory=dict)
    """When a player asked another to swap sides, until the answer."""
    swaps_shown: Mapping[tuple[PlayerId, PlayerId], float] = field(default_factory=dict)
    """When the other read of it."""
    swap_questions: Mapping[PlayerId, AskSwitch] = field(default_factory=dict)
    """What the pool is asked about a swap, by the player who named the other."""
    swaps: tuple[Swap, ...] = ()
    """Agreed swaps that the script has not confirmed as a whole."""
    volunteers: Mapping[PlayerId, Side] = field(default_factory=dict)
    """Who offers to be moved, and the side that they stand on."""
    choice: Ballot | None = None
    """The secret team choice, until the round after it goes live."""
    invitations: Mapping[tuple[PlayerId, PlayerId], float] = field(default_factory=dict)
    """When a player asked another to be friends, until the answer."""
    invitations_shown: Mapping[tuple[PlayerId, PlayerId], float] = field(default_factory=dict)
    """When the other read of it, also of what was withdrawn."""
    weights_before: Mapping[PlayerId, int] | None = None
    """What wishes weighed before the first shuffle since a round went live; None before that shuffle."""
    chairs_free: bool = False
    """NS2: both command chairs were seen empty since a round went live, or since somebody was asked to command."""
    chair_asked: PlayerId | None = None
    """The last commander whose match was asked to take the other chair, since a round went live."""
    asked_to_command: tuple[PlayerId, ...] = ()
    """Who was asked to command since a round went live."""
    commanders_parted: bool = False
    """NS2: the shuffle before the chairs are filled was asked for since the last round."""
    shuffle_moves: int = 0
    """Players who changed side in shuffles since a round went live."""
    cache: SplitCache | None = None
    asked_cache: CacheSplits | None = None
    """The cache that is being solved."""
    wants: frozenset[Literal["hello", "roster"]] = frozenset(("hello", "roster"))
    """What the next reply asks the script to send."""
    heard_at: float | None = field(default=None, compare=False)
    """When the last event came from the script, even one that was ignored."""

    def copy(self) -> State:
        """An independent copy: containers are copied, the frozen values in them are shared."""
        # The other mappings are replaced whole when they change, so that two states may share them.
        return replace(
            self,
            summaries=dict(self.summaries),
            assigned=dict(self.assigned),
            moves=dict(self.moves),
            pending_joins=dict(self.pending_joins),
        )

    @property
    def arena(self) -> bool:
        """Arena has rules of its own nearly everywhere."""
        return self.memory.mode is Mode.ARENA

    @property
    def ns2(self) -> bool:
        """NS2 shuffles instead of scrambling: fewest moves, commanders stay."""
        return self.memory.mode is Mode.NS2

    @property
    def triggers(self) -> Triggers:
        """The triggers of this mode."""
        return self.rules.triggers_of(self.memory.mode)

    @property
    def waits_for_teams(self) -> bool:
        """Players are waited for, and new teams are made when that ends."""
        return self.waiting and self.triggers.waiting

    @property
    def enough_players(self) -> bool:
        """There are as many eligible players as a scramble needs."""
        return eligible_count(self.scrambled_roster()) >= self.rules.scramble.min_players

    def side_name(self, side: Side) -> str:
        """Players' name for a side."""
        names = self.rules.sides or self.memory.mode.side_names
        return names[side is Side.B]

    @property
    def map_level(self) -> MapLevel:
        """How far Equipoise goes on this map, by its name."""
        return level_of(self.memory.map, self.rules.maps)

    @property
    def balances(self) -> bool:
        """Equipoise may balance this map's sides: neither the level of the map nor the game's own rules forbid it."""
        return not self.inactive_reason and self.map_level.level == "balance"

    @property
    def has_roster(self) -> bool:
        """The script reports players: it is known, and does not leave the game alone by the map's name."""
        return self.known and self.map_level.level != "off"

    @property
    def enforces(self) -> bool:
        """Scrambles become due: Equipoise is on, and balances this map."""
        return self.memory.enabled and self.balances

    @property
    def acts(self) -> bool:
        """Whether orders may be given: the script is known, and `enforces` holds."""
        return self.known and self.enforces

    @property
    def left_alone_at(self) -> float | None:
        """When the map's last minutes begin, in which only admins change the teams; None: it is not known, or never."""
        if not self.rules.last_minutes or self.map_ends_at is None:
            return None
        return self.map_ends_at - self.rules.last_minutes * 60

    @property
    def map_ends(self) -> bool:
        """The map's last minutes have begun."""
        at = self.left_alone_at
        return at is not None and (self.heard_at or 0.0) >= at

    @property
    def choice_stage(self) -> Stage | None:
        """How far the secret team choice is; None while there is none."""
        return None if self.choice is None else self.choice.stage

    def enter(self, phase: Phase, at: float) -> None:
        """Begin a phase of the round, at a time of the script's clock."""
        # Candidates are those of one freeze.
        self.phase, self.phase_at, self.candidates = phase, at, None
        self.no_moves, self.no_moves_logged = "", False
        if phase is Phase.RUNNING:
            # From here on the next round is prepared: the shuffles before it count together.
            self.weights_before, self.shuffle_moves = None, 0
            self.chairs_free, self.chair_asked = False, None

    def close_round(self) -> None:
        """Forget the running round: its id, lineup, skills at the start, times, and who had to stay."""
        self.round, self.lineup, self.skill_at_start = None, {}, None
        self.live_at, self.ends_at, self.kept = None, None, frozenset()
        self.commanders_parted = False

    def accept_roster(self, roster: Roster) -> None:
        """Take over the script's own roster: players who are not on it have left, even if no event said so."""
        self.unseen = False
        self.set_roster(roster)
        now = self.heard_at or 0.0
        self.objective_at = {seat.id: now - seat.objective for seat in roster.entries if seat.objective is not None}
        present = {entry.id for entry in roster.entries}
        self.pending_joins = {player: event for player, event in self.pending_joins.items() if player in present}
        self._forget_strangers()

    def learn(self, summaries: Iterable[PlayerSummary]) -> None:
        """Note ratings. A script that goes on naming players who are not here must not fill memory."""
        if len(self.summaries) > 2 * MOST_PLAYERS:
            self._forget_strangers()
        self.summaries.update({summary.id: summary for summary in summaries})

    def _forget_strangers(self) -> None:
        # Each rated round brings those who left during it. The lineup's are needed until its skills are noted.
        present = {entry.id for entry in self.roster.entries}
        players = present | self.lineup.keys() | self.pending_joins.keys()
        self.summaries = {player: summary for player, summary in self.summaries.items() if player in players}

    def set_roster(self, roster: Roster) -> bool:
        """Replace the roster; True when a player came, left or changed side."""
        if self.ns2:
            # In NS2 bots do not count towards sizes, so the rules need not see them.
            roster = Roster(roster.humans())
        if not self.arena:
            # Elsewhere a player may join a running round, so a split need not wait for their class.
            roster = Roster(tuple(entry if entry.ready else replace(entry, ready=True) for entry in roster.entries))
        # As splits see it: in arena's freeze a late player dates no question.
        before = _positions(self.balanced_roster())
        self.roster = roster
        sides = {entry.id: entry.side for entry in roster.entries} if self.volunteers else {}
        self.volunteers = {player: side for player, side in self.volunteers.items() if sides.get(player) is side}
        is_new = _positions(self.balanced_roster()) != before
        self.version += is_new
        return is_new

    def put(self, entry: Entry) -> bool:
        """Replace a player's line, or add it; True when a player came or changed side.

        A script that never says who left must not fill memory, nor slow down other servers: a full roster takes no one
        more, and the script is asked for its own.
        """
        if len(self.roster.entries) >= MOST_PLAYERS and self.roster.get(entry.id) is None:
            self.wants |= {"roster"}
            return False
        return self.set_roster(self.roster.with_entry(entry))

    def balanced_roster(self) -> Roster:
        """The part of the roster that splits are about.

        In arena's freeze those are the candidates, and who stays on a side whatever is ordered. Players who come later
        wait for the next round: a stream of joiners would otherwise cause new teams again and again until the round
        goes live.
        """
        candidates = self.candidates
        if candidates is None:
            return self.roster
        entries = self.roster.entries
        players = (
            entry for entry in entries if entry.bot or (entry.eligible and (entry.stays or entry.id in candidates))
        )
        return Roster(tuple(players))

    def with_immune(self, roster: Roster) -> Roster:
        """The roster as scrambles see it: who is immune from them is held on their side."""
        if self.arena or not any(entry.immune & Immunity.SCRAMBLE for entry in roster.entries):
            return roster
        keep = (seat.side is not None and seat.immune & Immunity.SCRAMBLE and not seat.held for seat in roster.entries)
        pairs = zip(roster.entries, keep, strict=True)
        return Roster(tuple(replace(entry, held=IMMUNE) if stays else entry for entry, stays in pairs))

    def always_play(self) -> frozenset[PlayerId]:
        """Who is never benched by a split of any size: the highest rated player, by SynElo's original rules."""
        if not self.rules.scramble.top_player_always_plays:
            return frozenset()
        entries = self.balanced_roster().eligible()
        summaries = [summary for entry in entries if (summary := self.summaries.get(entry.id))]
        return frozenset(summary.id for summary in sorted(summaries, key=lambda summary: -summary.balance)[:1])

    def scrambled_roster(self) -> Roster:
        """The part of the roster that scrambles are about: also who left their side a moment ago to watch."""
        since = (self.heard_at or 0.0) - self.rules.scramble.spectator_seconds
        fresh = {player for player, at in self.watching_since.items() if at > since}
        fresh -= {entry.id for entry in self.roster.entries if entry.immune & Immunity.SCRAMBLE and not self.arena}
        roster = self.with_immune(self.balanced_roster())
        if not fresh:
            return roster
        others = (entry for entry in roster.entries if entry.id not in fresh)
        return Roster((*others, *(replace(seat, waiting=True) for seat in self.roster.entries if seat.id in fresh)))

    def settled(self) -> Roster:
        """The roster as it will be when the agreed swaps are carried out."""
        roster = self.roster
        for swap in self.swaps:
            for move in swap.open:
                if (entry := roster.get(move.player)) is not None and entry.side is not None:
                    roster = roster.with_entry(entry.moved(move.side))
        return roster

    def swapping(self) -> frozenset[PlayerId]:
        """The players of agreed swaps."""
        return frozenset(move.player for swap in self.swaps for move in swap.moves)

    def place(self, player: PlayerId, side: Side | None, *, waiting: bool = False) -> bool:
        """Put one player on a side, or on none; True when they were elsewhere before."""
        old = self.roster.get(player) or Entry(player, None)
        return self.put(old.moved(side, waiting=waiting))

    def cancel(self, moves: Mapping[OrderId, Move]) -> None:
        """Note moves that the script is told to give up."""
        self.cancelled = dict([*self.cancelled.items(), *moves.items()][-MOST_PLAYERS:])

    def hold(self, stayed: Stayed) -> None:
        """Note who could not be moved, until the script's next roster says what is so."""
        for player, why in stayed.items():
            if (entry := self.roster.get(player)) is not None:
                self.put(replace(entry, held=why))
                self.wants |= {"roster"}

    def place_split(self, split: Split) -> None:
        """Put all players where a split says."""
        for entry in self.roster.humans():
            if entry.id in split.bench:
                self.place(entry.id, None, waiting=True)
            elif (side := split.side_of(entry.id)) is not None:
                self.place(entry.id, side)

    def next_order(self) -> OrderId:
        """An id that no other order of this server has, also after a restart."""
        number = self.memory.orders + 1
        self.memory = replace(self.memory, orders=number)
        return OrderId(f"o{number}")

    def held_side(self, player: PlayerId, now: float) -> HeldSide | None:
        """The player's lock; None: they have none, or it has expired."""
        lock = self.memory.locks.get(player)
        return lock if lock is not None and lock.holds(now) else None

    def lately_moved(self, now: float) -> frozenset[PlayerId]:
        """Players who were moved a short time ago: others come first."""
        spare = self.rules.autobalance.spare_minutes * 60
        return frozenset(player for player, at in self.memory.moved.items() if now - at < spare)

    def at_objectives(self, now: float) -> frozenset[PlayerId]:
        """Players who captured or defended an objective a short time ago: others come first."""
        spare = self.rules.autobalance.objective_seconds
        return frozenset(player for player, at in self.objective_at.items() if now - at < spare)

    def moved_twice(self, now: float) -> frozenset[PlayerId]:
        """Players who were moved twice in the last half hour: they are not moved a third time."""
        return frozenset(player for player, at in self.memory.moved_before.items() if now - at < MOVED_SECONDS)

    def lock(self, sides: Mapping[PlayerId, Side], now: float) -> Effects:
        """Lock placed players: in arena until the next scramble, elsewhere for the minutes of the rules; 0: none."""
        if not self.balances or self.rules.lock.minutes == 0:
            return ()
        return self.lock_until(sides, None if self.arena else now + self.rules.lock.minutes * 60, now)

    def lock_until(self, sides: Mapping[PlayerId, Side], until: float | None, now: float) -> Effects:
        """Lock players until a time; None: until the next scramble."""
        immune = {entry.id for entry in self.roster.entries if entry.immune & Immunity.LOCK}
        sides = {player: side for player, side in sides.items() if player not in immune}
        self.memory = self.memory.lock(sides, until)
        seconds = None if until is None else until - now
        return tuple(Lock(player, side, seconds) for player, side in sides.items())

    def skills_on(self, side: Side) -> dict[PlayerId, float]:
        """The skill on a side of every player whose summary is loaded."""
        return {summary.id: summary.on(side) for summary in self.summaries.values()}

    def without_summary(self, *others: PlayerId) -> tuple[PlayerId, ...]:
        """Players on the roster, and these others, whose summary is not loaded."""
        players = dict.fromkeys((*(entry.id for entry in self.roster.entries), *others))
        return tuple(player for player in players if player not in self.summaries)


def _positions(roster: Roster) -> frozenset[tuple[PlayerId, Side | None, bool, bool, bool]]:
    """The roster as far as a split depends on it; marks like `alive` change all the time and date no question."""
    return frozenset(
        (entry.id, entry.side, entry.waiting, entry.commander, entry.held != "") for entry in roster.entries
    )
