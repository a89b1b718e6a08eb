"""A server for operators: its status, results of commands, scripts that call in vain, its map's course, its console."""

from __future__ import annotations

import asyncio
import logging
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

from equipoise.core.effects import DecisionKind
from equipoise.core.events import Phase, SplitSolved
from equipoise.core.model import Mode, Outlook, PlayerId, ServerId, Side
from equipoise.core.phrases import Text
from equipoise.core.rules import Level
from equipoise.core.session import Session
from equipoise.errors import ScriptError
from equipoise.service.clock import Clock
from equipoise.service.log_lines import Repeats
from equipoise.store.notes import CHANGES, Chance

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Proposal:
    """The split that a dry run of a scramble found, with the moves that it needs."""

    split: dict[str, tuple[PlayerId, ...]]
    before: Outlook | None
    after: Outlook | None
    """Of the sides, before and after; None where one side is empty."""
    spread_before: tuple[float, float] | None
    spread_after: tuple[float, float] | None
    """Standard deviations of the skills on A and on B, in points."""
    moves: tuple[tuple[PlayerId, Side | None], ...]
    """Players who would change place, and their new side; None: the bench."""
    present: Mapping[PlayerId, Side | None]
    """Where all of these players are now; None: they wait."""

    @classmethod
    def of(cls, solved: SplitSolved) -> Proposal:
        """The proposal that a solved split makes."""
        split = solved.split
        moves = tuple(
            (entry.id, split.side_of(entry.id))
            for entry in solved.ask.entries
            if split.side_of(entry.id) is not entry.side
        )
        return cls(
            {"a": split.a, "b": split.b, "bench": split.bench},
            solved.before,
            solved.after,
            solved.spread_before,
            solved.spread_after,
            moves,
            {entry.id: entry.side for entry in solved.ask.entries},
        )


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """The result of an admin's command."""

    ok: bool
    lines: tuple[Text, ...]
    proposal: Proposal | None = None
    version: int = 0
    """Of the roster that it is about."""


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """One server at one moment."""

    server: ServerId
    pool: str
    lost: bool
    """The script has been silent for `silence_seconds`."""
    silent_seconds: float | None
    """None: the script was not heard since the daemon serves this server."""
    served_seconds: float
    """How long the daemon serves this server: since its start, or since the server was added."""
    plugin: str | None
    """The script's version."""
    enabled: bool
    """False while an admin has switched Equipoise off on this server."""
    inactive_reason: str
    """Why the script leaves the map alone, by the game's rules; empty when it does not."""
    unranked: str
    """NS2: why the game does not rank its rounds: `cheats`, `slots`, `spectators`, `mods`; empty: it does, or it is not
    known."""
    level: Level
    """How far Equipoise goes on the map, by its name."""
    level_reason: str
    """The key of [maps] that matched the map; empty when none did."""
    map: str
    """The map that is played; empty before the script came."""
    mode: Mode
    """The mode, which decides when a scramble is due."""
    sides: tuple[str, str]
    """What the game calls sides A and B."""
    phase: Phase
    """The phase of the round."""
    round: int
    """Number of the running round of this map; between rounds, of the last one."""
    streak: int
    """Rounds in a row that one side has won."""
    streak_side: Side | None
    """The side that won them."""
    pending: str | None
    """Why a scramble is due; null when none is."""
    voices: int
    """Players who have asked for a vote on a scramble."""
    vote_running: bool
    """A vote is running."""
    players_a: int
    """How many play on side A."""
    players_b: int
    """How many play on side B."""
    waiting: int
    """How many wait for a side."""
    sum_a: float
    """Sum of the skills on side A."""
    sum_b: float
    """Sum of the skills on side B."""
    win_probability: float | None
    """Of side A; None while a side is empty."""
    outlook: Outlook | None
    """The same, and how sure it is."""
    balanced_by: str
    """The rating system that makes the teams now."""
    ring: int
    """Rounds of the pool that wait for the store."""
    dropped_rounds: int
    """Rounds that the script's own ring lost."""
    clock_ahead: float | None
    """Seconds by which the script's clock was ahead of the daemon's when its last round came; None: none came."""
    boot: int
    """The start of the script that is served, or was before the daemon's last start; 0: none was ever heard."""
    stale_scripts: tuple[StaleScript, ...]
    """Others that call as this server."""
    refused_batches: tuple[RefusedBatch, ...]
    """Why batches of its script were refused, as far as none like them was taken since; the last one at the end."""


def round_number(session: Session) -> int:
    """Number of the running round of this map, from 1; between rounds, of the last one that counted."""
    return max(1, session.memory.tally.completed + (session.state.phase is not Phase.OVER))


# Scripts that call a server in vain: superseded ones, and those whose batches are refused.

LEAST_SILENCE_SECONDS = 60.0
"""Twice the time after which a stale script calls again."""

REMEMBERED_SECONDS = 86400.0
"""How long a refusal is shown whose kind of event did not come again: a server that is played every evening sends all
kinds within a day."""
MOST_REFUSED = 8
"""Kinds of refusals of one server that are told apart."""
MOST_KINDS = 32
"""Kinds of events that are kept of one refusal: more than the protocol has, but a script may send any words."""
CUT = 200
"""Characters that are kept of a message, and of a path."""


@dataclass(frozen=True, slots=True)
class StaleScript:
    """A superseded script that calls."""

    boot: int
    """The number of its start, as in its batches."""
    since: float
    """When its first stale batch came; seconds since the epoch."""


@dataclass(slots=True)
class StaleScripts:
    """The superseded scripts of one server: as many as boots are remembered, others are not known to be superseded."""

    silence_seconds: float
    """A script that has been silent this long, and for `LEAST_SILENCE_SECONDS`, does not call any more."""
    _heard: dict[int, tuple[StaleScript, float]] = field(default_factory=dict)
    """By boot, with the time of the last batch."""

    def note(self, boot: int, now: float, epoch: float) -> bool:
        """Note a stale batch; True when its script was not known to call."""
        scripts = {script.boot: script for script in self.calling(now)}
        self._heard = {number: heard for number, heard in self._heard.items() if number in scripts}
        self._heard[boot] = scripts.get(boot, StaleScript(boot, epoch)), now
        return boot not in scripts

    def forget(self, boot: int) -> None:
        """The script is the server's own from now on."""
        self._heard.pop(boot, None)

    def calling(self, now: float) -> tuple[StaleScript, ...]:
        """Return those that were heard lately, the longest stale first."""
        longest = max(self.silence_seconds, LEAST_SILENCE_SECONDS)
        return tuple(script for script, at in self._heard.values() if now - at < longest)


@dataclass(frozen=True, slots=True)
class RefusedBatch:
    """Batches of a server's own script that were refused for one reason, and none like them was taken since."""

    code: str
    """The kind of refusal: a word of docs/protocol.md."""
    status: int
    """The HTTP status of the refusal."""
    path: str
    """Where the last one was wrong; empty: as a whole."""
    message: str
    """What was wrong there."""
    kinds: tuple[str, ...]
    """Kinds of events that may be at fault. It is over when all were taken; with none, when any batch was."""
    count: int
    """How many batches they are."""
    since: float
    """When the first one came, in seconds since the epoch."""
    last: float
    """When the last one came, in seconds since the epoch."""


class RefusedBatches:
    """The refused batches of one server.

    A script whose rounds are refused still has its heartbeats taken. So a refusal is over when the kinds of events that
    it concerned were taken, or when a script of another version says hello, as after an update. What is to be sent
    again as it was (503) is no refusal, and a script with the secret of another server is found by `web.refusals`.
    """

    def __init__(self, server: ServerId) -> None:
        self.server = server
        self.counted = Counter[str]()
        """All batches refused since the daemon started, by code."""
        self._now: dict[tuple[str, str], tuple[RefusedBatch, str | None]] = {}
        """By code and by path without numbers, with the version of the script."""
        self._repeats = Repeats(log, logging.WARNING)

    def close(self) -> None:
        """Write to the log what was counted."""
        self._repeats.close()

    def note(self, refusal: ScriptError, version: str | None, epoch: float) -> None:
        """Note that a batch was refused."""
        # The same batch comes again (503), or it was not this server's script (code `server`).
        if refusal.status == 503 or refusal.code == "server":
            return
        path, message = (defused(text)[:CUT] for text in (refusal.path or "", refusal.message))
        key = refusal.code, re.sub(r"\[\d+\]", "[]", path)
        # Out and in again: the first of the dict is the one that came longest ago, and goes first.
        before, _ = self._now.pop(key, (None, None))
        if before is not None and epoch - before.last >= REMEMBERED_SECONDS:
            before = None
        kinds = [*refusal.kinds, *(before.kinds if before else ())]
        self._now[key] = entry = (
            RefusedBatch(
                code=refusal.code,
                status=refusal.status,
                path=path,
                message=message,
                kinds=tuple(sorted(islice(dict.fromkeys(defused(kind)[:CUT] for kind in kinds), MOST_KINDS))),
                count=before.count + 1 if before else 1,
                since=before.since if before else epoch,
                last=epoch,
            ),
            version,
        )
        self.counted[refusal.code] += 1
        while len(self._now) > MOST_REFUSED:
            del self._now[next(iter(self._now))]
        self._repeats.log(key, "a batch of the script is refused", **self._named(entry[0]))

    def taken(self, kinds: Collection[str], version: str | None) -> None:
        """Note that a batch with these kinds of events was taken, from a script of this version."""
        for key, (batch, by) in tuple(self._now.items()):
            rest = tuple(kind for kind in batch.kinds if kind not in kinds)
            # A script of another version may not send that kind any
            # more, or sends it right: what the old one did is over.
            if rest and by in (None, version):
                self._now[key] = replace(batch, kinds=rest), by
            else:
                del self._now[key]
                log.info("batches like those that were refused are taken again", extra=self._named(batch))

    def current(self, epoch: float) -> tuple[RefusedBatch, ...]:
        """Return the refusals that are not over, the one that came last at the end."""
        return tuple(batch for batch, _ in self._now.values() if epoch - batch.last < REMEMBERED_SECONDS)

    def _named(self, batch: RefusedBatch) -> dict[str, object]:
        # Not the message: it may have a player's name.
        fields: dict[str, object] = {"server": self.server, "code": batch.code, "path": batch.path}
        return fields | {"kinds": ",".join(batch.kinds), "count": batch.count}


# The course of a map: how even the sides of a server are, noted whenever they have changed.

Sides = tuple[frozenset[PlayerId], frozenset[PlayerId]]


class Course:
    """Notes the chance of one server's sides once they have stood for a moment, unless they are as they were noted."""

    settle_seconds = 3.0
    """From a change to its line. A scramble moves people one after the other: the states between are nobody's."""

    def __init__(self, server: ServerId, clock: Clock, look: Callable[[], None]) -> None:
        self._server = server
        self._clock = clock
        self._look = look
        """Is called when a change has settled: the host then calls `line`."""
        self._timer: asyncio.TimerHandle | None = None
        self._roster = -1
        """Version of the last roster that was looked at."""
        self._session = ""
        self._sides: Sides = frozenset(), frozenset()
        """The sides of the last line."""
        self._kind: DecisionKind | None = None
        """The last decision since then that changes sides."""

    def see(self, session: Session, kinds: Iterable[DecisionKind]) -> None:
        """See a session after a piece of work, with the kinds of its decisions."""
        self._kind = next((kind for kind in reversed([*kinds]) if kind in CHANGES), self._kind)
        if session.state.version == self._roster and session.memory.session == self._session:
            return
        self._roster = session.state.version
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self.settle_seconds, self._settled)

    def close(self) -> None:
        """Note nothing more."""
        if self._timer is not None:
            self._timer.cancel()

    def _settled(self) -> None:
        self._timer = None
        self._look()

    def line(self, session: Session, outlook_now: Callable[[], Outlook | None]) -> Chance | None:
        """Return the line to note now; None: the sides are as they were, one is empty, or nothing is known of them."""
        a, b = (frozenset(entry.id for entry in session.state.roster.on(side)) for side in Side)
        same_map = session.memory.session == self._session
        # Most changes of a roster leave the sides as they are, and an outlook costs a prediction.
        if (same_map and (a, b) == self._sides) or (outlook := outlook_now()) is None:
            return None
        cause = self._cause((a, b)) if same_map else "map"
        self._session, self._sides, self._kind = session.memory.session, (a, b), None
        return Chance(
            server=self._server,
            at=self._clock.epoch(),
            session=session.memory.session,
            map=session.memory.map,
            round=round_number(session),
            chance=outlook.chance,
            low=outlook.low,
            high=outlook.high,
            players_a=len(a),
            players_b=len(b),
            cause=cause,
        )

    def _cause(self, sides: Sides) -> str:
        if self._kind is not None:
            return self._kind
        before, after = self._sides[0] | self._sides[1], sides[0] | sides[1]
        common = before & after
        was_on_a, is_on_a = self._sides[0] & common, sides[0] & common
        if common and was_on_a | is_on_a == common and not was_on_a & is_on_a:
            return "switched"
        if was_on_a != is_on_a:
            return "sides"
        return "joined" if len(after) > len(before) else "left"


# Commands that administrators send to a game server's console, and the output that they see.
#
# A console takes `;` and a line's end for the end of a command, and quotes for those of an argument; nothing quotes
# what is between. So whatever could begin a second command is refused.
#
# Where a command takes a player, the game looks for them by a part of their name, and players choose their names:
# `sm_kick Bob Marley` kicks any player with `Bob` in the name, and `sm_slay @all` is for everybody, not for the player
# who is called so. So the name of a player who is there is refused as the target; `#userid` and SteamIDs name players
# for certain. Anywhere else a name is a word like others, or a player who is called `1` or `list` would forbid it.

LONGEST_COMMAND = 400
"""Bytes. The engine cuts a command at 512."""
TARGETING = frozenset(
    {
        *("kick", "sm_kick", "sm_ban", "sm_banip", "sm_votekick", "sm_voteban", "sm_who"),
        *("sm_slap", "sm_slay", "sm_rename", "sm_voteburn", "sm_voteslay", "sm_play", "sm_psay"),
        *("sm_mute", "sm_gag", "sm_silence", "sm_unmute", "sm_ungag", "sm_unsilence"),
        *("sm_beacon", "sm_timebomb", "sm_burn", "sm_firebomb", "sm_freeze", "sm_freezebomb"),
        *("sm_gravity", "sm_blind", "sm_noclip", "sm_drug"),
        *("sm_eq_rating", "sm_eq_move", "sm_eq_set", "sm_eq_reset"),
        *("sv_kick", "sv_ban", "sv_eject", "sv_psay", "sv_slay", "sv_switchteam"),
        *("sh_kick", "sh_ban", "sh_eject", "sh_pm", "sh_slay", "sh_setteam", "sh_gag", "sh_ungag", "sh_rr"),
        *("sv_eq_rating", "sv_eq_move", "sv_eq_set", "sv_eq_reset"),
    }
)
"""Commands whose first argument is a player: the engine's, those of SourceMod's own plugins (plugins/*.sp), ours; in
NS2 the game's (ServerAdminCommands.lua), Shine's and ours."""
RELAYS = frozenset({"sm_rcon", "sh_rcon"})
"""Commands whose arguments are a command."""
CERTAIN = re.compile(r"#?[0-9]+|#STEAM_[0-9:_]+|#\[U:[0-9:_]+\]", re.IGNORECASE)
"""Names that are none as a target: a number, a `#userid`, a SteamID, which the game looks for first."""
SECRETS = frozenset({"rcon_password", "sv_password", "tv_password", "sh_password"})
"""Variables, and NS2's commands, that would stand in the audit, or on the screen."""


def check_command(command: str, names: Iterable[str]) -> str:
    """The command as it is sent. ScriptError (422): it is refused; `names` are those of players who are there."""
    command = command.strip()
    words = command.split()
    if not words:
        raise _refusal("there is no command")
    if len(command.encode(errors="replace")) > LONGEST_COMMAND:
        raise _refusal(f"a command has at most {LONGEST_COMMAND} bytes")
    for character in command:
        if character in ";\"'" or not character.isprintable():
            raise _refusal(f"a command must not contain {character!r}: one command, without quotes")
    if secret := next((word for word in words if word.lower() in SECRETS), None):
        raise _refusal(f"{secret} would stand in the audit: set it in the game server's own configuration")
    _check_target([word.lower() for word in words], names)
    return command


def _check_target(words: list[str], names: Iterable[str]) -> None:
    while words and words[0] in RELAYS:
        words = words[1:]
    if not words or words[0] not in TARGETING:
        return
    for name in names:
        plain = name.lower().split()
        if plain and words[1 : 1 + len(plain)] == plain and not CERTAIN.fullmatch(name.strip()):
            certain = "#userid or SteamID (`status` shows both), in NS2 by Steam Id (sv_status)"
            raise _refusal(f"{name!r} is the name of a player: name them by {certain}")


def _refusal(message: str) -> ScriptError:
    return ScriptError("command", message, path="$.command")


def defused(output: str) -> str:
    """Output without characters that would do something to a terminal; each is shown as its number.

    >>> print(defused("plain\\n\\x1b[2Jred\\u202e"))
    plain
    \\x1b[2Jred\\u202e
    """
    return "".join(_shown(character) for character in output.replace("\r\n", "\n"))


def _shown(character: str) -> str:
    harmless = character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp")
    return character if harmless else character.encode("unicode_escape").decode()
