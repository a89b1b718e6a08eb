"""Notices: what happens on the game servers and to the daemon, in sentences for people elsewhere.

Every ten seconds the state of everything is compared with that of the last look, and new lines of the decision log are
read: so nothing waits for a notice, and whatever happens between two looks makes few of them.

Of machines that share a pool each tells of its own game servers and of itself, by name; of a server that is silent here
while another one hears it, that one tells.

A notice names no player: a channel may be public, and what was posted there is not taken back when somebody is
forgotten.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Literal

from equipoise.core.model import ServerId
from equipoise.core.wording import chance, change, percent, side_word, span
from equipoise.errors import StoreError
from equipoise.game.port import GameServers
from equipoise.service.clock import Clock
from equipoise.service.host import Host
from equipoise.service.jobs import Scheduler
from equipoise.service.pool import Pool
from equipoise.service.status import ServerStatus
from equipoise.shared.log import Server as PublishedServer
from equipoise.store.notes import NEW_TEAMS, Decision
from equipoise.store.store import Store

LASTING_SECONDS = 60.0
"""A store that is locked or full for so long needs a person."""
DAY = 86_400.0
MOST_DECISIONS = 5_000
"""That are read of ten seconds."""
MOST_ROUNDS = 100_000
"""That one summary counts of a pool."""


@dataclass(frozen=True, slots=True)
class Notice:
    """One thing that happened."""

    event: str
    """Its kind: a word of the key `events`, or `test`."""
    state: Literal["news", "fault", "over"]
    """News; a fault that stands from now on; the end of one."""
    server: ServerId | None
    """The server that it is about; None: the daemon."""
    at: float
    """Seconds since the epoch."""
    text: str
    """A sentence."""


@dataclass(frozen=True, slots=True)
class WebhookStatus:
    """A webhook for operators."""

    name: str
    off: bool
    """It is dead, and is used again when the configuration is read again."""
    fault: str
    """Why the last attempt failed; empty: it did not, or there was none."""


@dataclass(frozen=True, slots=True)
class _Subject:
    """Something that is well or not."""

    event: str
    server: ServerId | None
    fault: str
    """What is wrong, in words; empty: nothing."""
    over: str
    """What is said when that is over; of no other subject, so that it is found again by that."""
    patience: float = 0.0
    """How many seconds a fault has to last before it is told."""
    age: float = 0.0
    """How many seconds it lasts already when it is first seen."""


@dataclass(slots=True)
class _Fault:
    since: float
    told: bool = False


class Notices:
    """`look` and `summary` return what is to be told."""

    def __init__(
        self,
        hosts: Mapping[ServerId, Host],
        pools: Mapping[str, Pool],
        store: Store,
        scheduler: Scheduler,
        game_servers: GameServers,
        clock: Clock,
        elsewhere: Callable[[], Sequence[PublishedServer]],
    ) -> None:
        self._hosts, self._pools, self._store = hosts, pools, store
        self._scheduler, self._game_servers, self._clock = scheduler, game_servers, clock
        self._elsewhere = elsewhere
        self._faults: dict[str, _Fault] = {}
        self._last: int | None = None
        """The number of the last decision that was read; None: before the first look, which tells of no older one."""

    async def look(self) -> list[Notice]:
        """Return what has happened since the last look."""
        notices = list(self._compare())
        with suppress(StoreError):  # told by itself; the decisions are read at another look
            notices += [self._new_teams(decision) for decision in await self._decisions()]
        return notices

    async def summary(self) -> list[Notice]:
        """Return what the last 24 hours brought, a line for each server. StoreError: it cannot be read now."""
        now = self._clock.epoch()
        chances: dict[ServerId, list[float]] = defaultdict(list)
        for pool in tuple(self._pools):
            for row in await self._store.rounds_on_maps(pool, now - DAY, MOST_ROUNDS):
                chances[row.server].append(max(row.prediction, 1.0 - row.prediction))
        changes, away = await self._store.changes_of_sides(now - DAY), self._moved()
        teams = Counter(change.server for change in changes if change.new_teams)
        notices = [
            Notice(
                "summary",
                "news",
                server,
                now,
                f"{server}: in 24 hours {len(favourites)} rounds were rated, new teams: {teams[server]}; "
                f"the favourite had {percent(fmean(favourites))} on average",
            )
            for server, favourites in sorted(chances.items())
            if server in self._hosts and server not in away
        ]
        if not chances and self._machine <= min((peer.machine for peer in self._elsewhere()), default=self._machine):
            notices.append(Notice("summary", "news", None, now, "no round was rated in the last 24 hours"))
        return notices

    def status(self, servers: Collection[str] = ()) -> list[str]:
        """Return a line on each of these servers, or on all."""
        away = self._moved()
        return [
            _line(host) for name, host in self._hosts.items() if (not servers or name in servers) and name not in away
        ]

    @property
    def _machine(self) -> str:
        """This machine's name among those that share a pool; empty: it shares none."""
        states = (pool.sharing for pool in self._pools.values())
        return next((state.machine for state in states if state is not None), "")

    def _moved(self) -> set[ServerId]:
        """Return the servers that are silent here while another machine hears them."""
        heard = {peer.server for peer in self._elsewhere() if not peer.status.get("lost", True)}
        return {name for name, host in self._hosts.items() if name in heard and host.status().lost}

    def _compare(self) -> Iterator[Notice]:
        now, before, self._faults = self._clock.monotonic(), self._faults, {}
        where = f"{self._machine}: " if self._machine else ""
        for subject in self._subjects():
            about, fault = "" if subject.server else where, before.get(subject.over)
            if subject.fault:
                fault = self._faults[subject.over] = fault or _Fault(now - subject.age)
                if not fault.told and now - fault.since >= subject.patience:
                    fault.told = True
                    yield Notice(subject.event, "fault", subject.server, self._clock.epoch(), about + subject.fault)
            elif fault is not None and fault.told:
                text = f"{about}{subject.over}, after {span(now - fault.since)}"
                yield Notice(subject.event, "over", subject.server, self._clock.epoch(), text)

    def _subjects(self) -> Iterator[_Subject]:
        """All that may be told as a fault. What is not here any more, as a removed server, is forgotten silently."""
        epoch, away = self._clock.epoch(), self._moved()
        for name, host in self._hosts.items():
            age = host.silent_seconds() or 0.0
            silence = "" if name in away else _silence(host)
            yield _Subject("lost", name, silence, f"{name}: its script is back", age=age)
            refusals = host.refused.current(epoch)
            # Neither where it was wrong nor how: that may be a player's id or name.
            what = f"{name}: batches of its script are refused ({refusals[-1].code})" if refusals else ""
            advice = f"{what}; `equipoise doctor` says what to do" if what else ""
            yield _Subject("refused", name, advice, f"{name}: batches of its script are not refused any more")
        for peer in self._game_servers.statuses():
            if (state := peer.rcon.state) != "off":
                # The error says who refuses: RCON a password, NS2's web admin a user and a password.
                what = f"{peer.server}: {peer.rcon.error}" if state in ("refused", "closed") else ""
                yield _Subject("rcon", peer.server, what, f"{peer.server}: RCON is not refused any more")
        health = self._store.health()
        what = "" if health.state == "ok" else f"the store is {health.state}: {health.advice}"
        patience = 0.0 if health.state == "damaged" else LASTING_SECONDS
        yield _Subject("store", None, what, "the store takes rounds again", patience)
        for pool in self._pools.values():
            place = "store" if pool.sharing is None else "log"
            what = f"rounds of pool {pool.name} that wait for the {place}: {pool.ring_depth}" if pool.ring_depth else ""
            over = f"no round of pool {pool.name} waits for the {place} any more"
            yield _Subject("waiting", None, what, over, LASTING_SECONDS)
        for job in self._scheduler.status():
            if job.name == "backup":
                what = "" if job.last_error is None else "the nightly backup failed; `equipoise status` says why"
                yield _Subject("backup", None, what, "a backup was made")

    async def _decisions(self) -> list[Decision]:
        """Return the decisions since the last look that made new teams, oldest first."""
        last = self._last
        lines = await self._store.decisions(None, 1 if last is None else MOST_DECISIONS, after=last or 0)
        self._last = lines[0].number if lines else last or 0
        made = [line for line in reversed(lines) if line.kind in NEW_TEAMS and line.server in self._hosts]
        return [] if last is None else made

    def _new_teams(self, decision: Decision) -> Notice:
        host, detail = self._hosts[decision.server], decision.detail or {}
        split, movers = detail.get("split"), detail.get("players")
        words = [decision.reason, change(host.rules.sides or host.session.memory.mode.sides, detail)]
        if isinstance(movers, list):
            words.append(f"{len(movers)} change place")
        if isinstance(split, Mapping) and split.get("bench"):
            words.append(f"{len(split['bench'])} sit out")
        text = f"{decision.server}: {decision.kind}: {', '.join(filter(None, words))}"
        return Notice("scramble", "news", decision.server, decision.at, text)


def _silence(host: Host) -> str:
    """Say how long a script is silent that is lost; empty: it is not."""
    seconds, longest = host.silent_seconds(), host.rules.silence_seconds
    if seconds is not None:
        return f"{host.server}: its script has been silent for {span(seconds)}" if seconds >= longest else ""
    status = host.status()
    # One that has never called belongs to a server that is being set up.
    if not status.boot or status.served_seconds < longest:
        return ""
    return f"{host.server}: its script has not called since the daemon started {span(status.served_seconds)} ago"


def _line(host: Host) -> str:
    status = host.status()
    if status.lost:
        silent = status.silent_seconds
        return f"{host.server}: {'its script has not called' if silent is None else f'silent for {span(silent)}'}"
    sides = host.rules.sides or status.sides
    words = [
        status.map,
        f"{status.players_a} {side_word(sides, 'a')}",
        f"{status.players_b} {side_word(sides, 'b')}",
        f"{status.waiting} wait" if status.waiting else "",
        _chance(status, sides),
        "a scramble is due" if status.pending else "",
        "" if status.enabled else "switched off",
    ]
    return f"{host.server}: {', '.join(filter(None, words))}"


def _chance(status: ServerStatus, sides: Sequence[str]) -> str:
    return chance(sides, status.win_probability, asdict(status.outlook)) if status.outlook else ""
