"""Evenings of KOTH, payload and arena, by a client written from docs/protocol.md alone: what players read is true.

`EQUIPOISE_EXAMPLES=300` plays three seeds of each.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import settings

from tests.daemons import RealDaemon
from tests.document_client import Json, Player
from tests.witness import Witness, part

SEEDS = range(max(1, settings.default.max_examples // 100))
MAPS_PLAYED, ROUNDS = 2, 10
"""Of an evening: maps, and rounds of each."""
SPREAD = 0.35
"""Standard deviation of hidden skill, in log-odds: wide enough for wins in a row and for teams that are not even."""
ALL = {
    "Equipoise_Scrambled", "Equipoise_ScramblePending", "Equipoise_ScrambleCancelled", "Equipoise_ReasonAdmin",
    "Equipoise_VoteVoice", "Equipoise_VotePassed", "Equipoise_VoteFailed", "Equipoise_VoteCooldown",
    "Equipoise_VoteAlreadyDue", "Equipoise_ReasonVote", "Equipoise_DryRunInterval", "Equipoise_DryRunLine",
    "Equipoise_TeamsChanceInterval", "Equipoise_Status", "Equipoise_WhyLine", "Equipoise_ReasonJoinSmaller",
    "a preview that came true", "an order that failed", "a round of the teams that were announced",
}  # fmt: skip
FIELD = {
    "Equipoise_ReasonWaitingEnded", "Equipoise_ReasonNoCapture", "Equipoise_ReasonGap", "Equipoise_RefusedLocked",
    "Equipoise_ReasonReturn", "Equipoise_ScrambleWaits", "Equipoise_HeldDuel",
}  # fmt: skip
REQUIRED = {
    "koth": ALL | FIELD,
    "payload": ALL | FIELD | {"Equipoise_ReasonRounds", "Equipoise_TooUnevenTwo"},
    "arena": ALL | {
        "Equipoise_ReasonRoundTwo", "Equipoise_ReasonStreak", "Equipoise_ReasonDuel", "Equipoise_ReasonEqualSides",
        "Equipoise_ReasonWaits", "Equipoise_RefusedLockedScramble", "Equipoise_Benched", "Equipoise_DuelWait",
    },
}  # fmt: skip
"""Lines that an evening of each mode must have had: what nobody reads is compared with nothing."""


class Evening(Witness):
    """People who come and go, ask for sides, vote, and win by what they are worth."""

    late_for = 0
    """The last round whose teams came too late for somebody."""

    def evening(self) -> None:
        strengths = [self._luck.gauss(0, SPREAD) for _ in range(self.size)]
        self.people = [Player(id=str(next(self._numbers)), strength=each, joined=0) for each in strengths]
        for _ in range(MAPS_PLAYED):
            self.begins_map()
            for one in self.away():
                self.arrives(one)
            if self.mode != "arena":
                self.waiting_ends()
            for number in range(1, ROUNDS + 1):
                self.before_round(number)
                self.start_round()
                self.inside_round(number)
                self.ends()
                self.after_round()
        if self.mode != "arena":
            self.too_few_are_left()

    def away(self) -> list[Player]:
        return [one for one in self.people if one.id not in self.players]

    def before_round(self, number: int) -> None:
        if number in (2, 7) and self.mode != "arena":
            for one in self._luck.sample(self.eligible(), number % 3):
                one.flags["held"] = "duel"
            self.roster()
        if self.promised is not None and number % 3 != 1:
            self.commands("scramble", "dry")
        if self.promised is not None and number % 3 == 1:
            self.asks_for_a_vote()
        if number == 4:
            for words in ("cancel", "next", "cancel"):
                self.admin_asked = True
                if words == "next" or self.promised is not None:
                    self.commands("scramble", words)

    def inside_round(self, number: int) -> None:
        for one in self.players.values():
            one.flags.pop("held", None)
        self.roster()
        if number == 2:
            for word in ("teams", "status", "why"):
                self.commands(word)
        if number in (3, 6):
            self.votes_on_a_scramble()
        if number == 8 and self.mode != "arena":
            self.admin_scrambles()
        self.somebody_locked_wants_to_go()
        self.people_come_and_go()

    def people_come_and_go(self) -> None:
        leaving = self._luck.choice((0, 0, 1, 1, 2)) if len(self.players) > self.size - 3 else 0
        if self.mode == "arena":
            leaving = min(leaving, min(len(self.on(side)) for side in self.sides) - 1)
        for one in self._luck.sample(self.on(self._luck.choice(self.sides)), leaving):
            self.leave(one)
            self.post()
        for one in self.away():
            if self._luck.random() < 0.4:
                self.arrives(one)
        if self.mode != "arena" and abs(self.gap()) > 1:
            self.closes()

    def too_few_are_left(self) -> None:
        """Three play on; what becomes due waits until others have come."""
        self.start_round()
        while len(self.players) > 3:
            self.leave(max(map(self.on, self.sides), key=len)[-1])
            self.post()
        self.end_round(0, (1, 0))
        assert "Equipoise_ScrambleWaits" in self.heard
        for one in self.away()[:3]:
            self.arrives(one)
        self.start_round()
        self.end_round(0, (1, 1))

    def asks_for_a_vote(self) -> None:
        self.commands("vote", self._luck.choice(self.eligible()).id, admin=False)

    def votes_on_a_scramble(self) -> None:
        """Until there are voices enough, or a voice is refused."""
        for one in self._luck.sample(self.eligible(), len(self.eligible())):
            self.commands("vote", one.id, admin=False)
            if self.votes or one.id not in self.voices:
                break
        for order in self.votes:
            # Just enough votes, and one too few, in turn.
            yes = part(0.6, len(self.eligible())) - (self.maps + 1) % 2
            self.result = yes, len(self.eligible()) - yes
            self.happens("vote_ended", order=order, yes=self.result[0], no=self.result[1])
        self.votes.clear()
        self.post()

    def admin_scrambles(self) -> None:
        self.admin_asked, self.promised = True, self.promised or "ordered by an admin"
        read = self.heard.count("Equipoise_ScramblePending")
        self.commands("scramble", "now")
        self.post()
        assert self.promised is None or self.heard.count("Equipoise_ScramblePending") > read

    def somebody_locked_wants_to_go(self) -> None:
        locked = [one for one in self.players.values() if self.locks.get(one.id) == one.side]
        if locked and abs(self.gap()) < 2:
            one = self._luck.choice(locked)
            (other,) = {*self.sides} - {one.side}
            assert self.asks(one, other)["reason"]["phrase"].startswith("Equipoise_RefusedLocked")

    def ends(self) -> None:
        strength = [sum(each.strength for each in self.on(side)) for side in self.sides]
        winner = int(self._luck.random() > 1 / (1 + math.exp(strength[1] - strength[0])))
        captures = [self._luck.randrange(2), self._luck.randrange(2)]
        captures[winner] = 1
        self.end_round(winner, (captures[0], captures[1]))

    def do_assign(self, order: Json) -> None:
        """Now and then somebody has left when an order comes: then another follows."""
        if self.number % 3 == 2 and self.late_for != self.number and len(self.players) > self.size - 3:
            self.late_for = self.number
            self.leave(self._luck.choice(self.eligible()))
        super().do_assign(order)

    def after_round(self) -> None:
        if self.mode == "payload":
            self.switches_sides()
        if self._luck.random() < 0.3 and len(self.players) > self.size - 3:
            self.leave(self._luck.choice(list(self.players.values())))
        self.post()
        for one in self.away():
            if self._luck.random() < 0.3:
                self.arrives(one)


@contextmanager
def servers(folder: Path, names: list[str]) -> Iterator[tuple[RealDaemon, dict[str, str]]]:
    """A daemon with these servers, each with a pool of its own as `equipoise init` writes it; their secrets."""
    daemon = RealDaemon(folder, "main", forked=True)
    text = daemon.config.read_text()
    (pool,) = re.findall(r"(?ms)^\[pool\.main\]$(.*?)^\[", text)
    secrets = {name: f"the secret of {name}" for name in names}
    for name, secret in secrets.items():
        digest = sha256(secret.encode()).hexdigest()
        text += f'\n[pool.{name}]{pool}[server.{name}]\npool = "{name}"\ngame = "tf2"\nsecret_sha256 = "{digest}"\n'
    daemon.config.write_text(text)
    daemon.start()
    try:
        yield daemon, secrets
    finally:
        daemon.kill()


@pytest.mark.world
@pytest.mark.parametrize("seed", SEEDS)
def test_what_players_read_is_what_happens(tmp_path: Path, seed: int) -> None:
    evenings = {"koth-12": ("koth", 12), "payload-24": ("payload", 24), "arena-12": ("arena", 12)}
    with ExitStack() as ends:
        daemon, secrets = ends.enter_context(servers(tmp_path, [*evenings]))
        scripts = [Evening(daemon, name, secrets[name], *of, seed) for name, of in evenings.items()]
        for script in scripts:
            ends.callback(script.close)
        with ThreadPoolExecutor(2) as together:
            played = {script.server: together.submit(script.evening) for script in scripts}
        faults = {name: fault for name, evening in played.items() if (fault := evening.exception())}
        for fault in faults.values():
            raise fault
    heard = {mode: {line for one in scripts if one.mode == mode for line in one.heard} for mode in REQUIRED}
    assert {mode: REQUIRED[mode] - lines for mode, lines in heard.items() if REQUIRED[mode] - lines} == {}
