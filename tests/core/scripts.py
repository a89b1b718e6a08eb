"""A small vocabulary for scripts of a session: players are letters, bots are digits, a roster is `"ab|cd|e|f"`.

That reads: a and b on side A, c and d on side B, e waits to play, f watches.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from equipoise.core import events as e
from equipoise.core.asks import LoadSummaries
from equipoise.core.effects import Assign, Effect, Move
from equipoise.core.model import (
    Context,
    Entry,
    Immunity,
    LineupPlayer,
    Mode,
    PlayerId,
    PlayerSummary,
    Presence,
    Roster,
    Round,
    RoundId,
    ServerId,
    Side,
    Split,
)
from equipoise.core.rules import Rules
from equipoise.core.session import Session

A, B = Side.A, Side.B
MAP, SESSION = "this map", "s1"
KOTH = Context(Mode.KOTH, MAP)
INITIAL = 2000.0

Script = Sequence[tuple[float, e.Event]]


def ids(letters: str) -> tuple[PlayerId, ...]:
    """Letters are players, digits are bots."""
    return tuple(PlayerId(f"bot:{letter}" if letter.isdigit() else letter) for letter in letters)


def roster(
    text: str,
    *,
    dead: str = "",
    unready: str = "",
    immune: str = "",
    carrier: str = "",
    building: str = "",
    held: str = "",
    objective: Mapping[str, float] | None = None,
    charge: Mapping[str, float] | None = None,
    connected: Mapping[str, float] | None = None,
) -> Roster:
    """The roster that the text describes; each mark lists the letters it holds for."""
    charge, connected = charge or {}, connected or {}
    places = ((A, False), (B, False), (None, True), (None, False))
    entries = [
        Entry(
            ids(letter)[0],
            side,
            waiting,
            alive=letter not in dead,
            connected=connected.get(letter, 100.0),
            immune=Immunity.ALL if letter in immune else Immunity.NONE,
            carrier=letter in carrier,
            building=letter in building,
            charge=charge.get(letter, 0.0),
            ready=letter not in unready,
            held="duel" if letter in held else "",
            objective=(objective or {}).get(letter),
        )
        for (side, waiting), letters in zip(places, text.split("|"), strict=False)
        for letter in letters
    ]
    return Roster(tuple(entries))


def roster_text(players: Roster) -> str:
    """The inverse of `roster`, without marks; the players of each group in alphabetical order."""
    groups = (
        players.on(A),
        players.on(B),
        tuple(entry for entry in players.entries if entry.side is None and entry.waiting),
        tuple(entry for entry in players.entries if entry.side is None and not entry.waiting),
    )
    return "|".join("".join(sorted(entry.id[-1] for entry in group)) for group in groups).rstrip("|")


def split(text: str) -> Split:
    """A split as text: side A, side B, bench."""
    return Split(*(ids(letters) for letters in text.split("|")))


def summaries(ratings: Mapping[str, float]) -> e.SummariesLoaded:
    """The pool's answer about these players, by letter."""
    return e.SummariesLoaded(tuple(PlayerSummary(ids(letter)[0], rating) for letter, rating in ratings.items()))


def hello(
    mode: Mode = Mode.KOTH,
    phase: e.Phase = e.Phase.IDLE,
    *,
    at: float = 0.0,
    session: str = SESSION,
    map_name: str = MAP,
    waiting: bool = False,
    late: bool = False,
    inactive_reason: str = "",
    due: bool = False,
) -> e.Hello:
    """The hello of a script on KOTH, unless said otherwise."""
    return e.Hello(at, session, map_name, mode, phase, waiting, late, inactive_reason, due)


def seen(text: str, at: float = 0.0, *, ends_in: float | None = None, no_moves: str = "", **marks: str) -> e.RosterSeen:
    """The script's own roster, which replaces what the session believed."""
    return e.RosterSeen(at, roster(text, **marks), ends_in, no_moves)  # type: ignore[arg-type]


def started(text: str, at: float = 0.0, *, unready: str = "", held: str = "") -> e.RoundStarted:
    """A round's freeze time begins with this roster."""
    return e.RoundStarted(at, roster(text, unready=unready, held=held))


def went_live(
    name: str, text: str, at: float = 0.0, *, dead: str = "", unready: str = "", held: str = ""
) -> e.RoundLive:
    """The round goes live with this roster."""
    return e.RoundLive(at, RoundId(name), roster(text, dead=dead, unready=unready, held=held))


def finished(
    name: str,
    winner: Side | None,
    text: str = "ab|cd",
    *,
    mode: Mode = Mode.KOTH,
    session: str = SESSION,
    captures: tuple[int, int] = (1, 1),
    seconds: float = 100.0,
    partial: bool = False,
    waiting: bool = False,
    presences: tuple[Presence, ...] | None = None,
) -> Round:
    """A finished round; by default all players of the lineup fought to its end."""
    seats = tuple(LineupPlayer(entry.id, entry.side) for entry in roster(text).entries if entry.side is not None)
    if presences is None:
        presences = tuple(presence(seat.id, seat.side, seconds) for seat in seats if not seat.id.startswith("bot:"))
    return Round(
        RoundId(name),
        ServerId("server"),
        session,
        MAP,
        mode,
        1e9,
        seconds,
        winner,
        seats,
        presences,
        *captures,
        partial=partial,
        waiting=waiting,
    )


def presence(
    player: str, side: Side, on_a: float = 0.0, on_b: float = 0.0, *, fought: bool = True, left: bool = False
) -> Presence:
    """What was seen of one player; a single figure is time on the side they ended on."""
    if not on_b and side is B:
        on_a, on_b = 0.0, on_a
    return Presence(PlayerId(player), side, on_a, on_b, fought, left)


def ended(game_round: Round, at: float = 1000.0) -> e.RoundEnded:
    """A finished round is reported."""
    return e.RoundEnded(at, game_round)


def command(*words: str, by: str | None = "a", admin: bool = True) -> e.Commanded:
    """A command from a player, by default from admin "a"; `by=None` is the console."""
    return e.Commanded(0.0, words, None if by is None else PlayerId(by), admin)


def play(session: Session, script: Script) -> list[Effect]:
    """Receive these events; returns all effects, in order."""
    return [effect for now, event in script for effect in session.receive(event, now)]


Kind = TypeVar("Kind")


def the(kind: type[Kind], effects: Iterable[Effect]) -> Kind:
    """The one effect of this kind."""
    (only,) = (effect for effect in effects if isinstance(effect, kind))
    return only


def of(kind: type | tuple[type, ...], effects: Iterable[Effect]) -> list[Effect]:
    """Those of the effects that are of this kind."""
    return [effect for effect in effects if isinstance(effect, kind)]


def begun(
    mode: Mode,
    text: str,
    *,
    rules: Rules | None = None,
    ratings: Mapping[str, float] | None = None,
    phase: e.Phase = e.Phase.RUNNING,
    now: float = 0.0,
) -> Session:
    """A session that knows its players, in a running round "r1" unless another phase is asked for."""
    session = Session(rules or Rules())
    known = {letter: INITIAL for letter in text if letter != "|"} | dict(ratings or {})
    script: list[tuple[float, e.Event]] = [(now, hello(mode, phase)), (now, summaries(known)), (now, seen(text))]
    if phase is e.Phase.RUNNING:
        script.append((now, went_live("r1", text)))
    play(session, script)
    return session


def assigned(effects: Iterable[Effect]) -> Assign:
    """The one assignment among the effects."""
    return the(Assign, effects)


def moves(effects: Iterable[Effect]) -> list[Move]:
    """The moves among the effects."""
    return [effect for effect in effects if isinstance(effect, Move)]


def without_loads(effects: Iterable[Effect]) -> list[Effect]:
    """Everything but requests for ratings."""
    return [effect for effect in effects if not isinstance(effect, LoadSummaries)]


def rules(**sections: Mapping[str, object]) -> Rules:
    """Rules that differ from the defaults: `rules(lock={"minutes": 6}, triggers={"koth": Triggers(streak=2)})`."""
    defaults, tables = Rules(), dict(sections)
    triggers = {**defaults.triggers, **tables.pop("triggers", {})}
    changed = {name: replace(getattr(defaults, name), **values) for name, values in tables.items()}
    return replace(defaults, triggers=triggers, **changed)
