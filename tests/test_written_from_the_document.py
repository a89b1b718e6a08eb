"""A client written from docs/protocol.md alone plays new pools of every rating system against the real daemon."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path

import pytest

from equipoise import ratings
from tests.daemons import RealDaemon
from tests.document_client import Script

pytestmark = pytest.mark.world

ROUNDS = 8
SLOW = ("is behind the rounds", "the event loop ")
"""What the daemon warns of on a machine that has too much else to do."""


class Evening(Script):
    """Eight rounds; in the first six people leave and a gap opens."""

    def evening(self) -> None:
        self.hello(waiting=self.game == "tf2")
        self.roster()
        self.post()
        for _ in range(2 * self.size):
            self.join()
        self.happens("waiting_ended") if self.game == "tf2" else self.roster()
        self.post()
        for play in (self.two_at_once, self.one_by_one, self.three, self.four, self.nobody_movable, self.last_seconds):
            self.start_round()
            play()
            self.end_round(0, (1, int(self.number not in (2, 4))))
            if self.number in (1, 3):
                for each in self.on(self.sides[1]):
                    self.leave(each)
            while len(self.players) < 2 * self.size:
                self.join()
        for play in (self.vote, self.lookups):
            self.start_round()
            play()
            self.end_round(None, (1, 1))

    def goes_live(self) -> None:
        super().goes_live()
        assert abs(self.gap()) < 2

    def gone(self, count: int) -> None:
        for each in self.on(self.sides[self.number % 2])[-count:]:
            self.leave(each)

    def two_at_once(self) -> None:
        self.gone(2)
        self.closes()
        self.join()
        self.join()

    def one_by_one(self) -> None:
        """One leaves and another comes, then two, and then the one who was to be moved."""
        self.gone(1)
        self.post()
        self.join()
        self.gone(1)
        self.post()
        self.gone(1)
        self.post()
        for id, *_ in list(self.moves.values()):
            self.leave(self.players[id])
        self.closes()

    def three(self) -> None:
        self.gone(3)
        self.closes()

    def four(self) -> None:
        """Four leave, and one comes before all are moved."""
        self.gone(4)
        self.post()
        self.join()
        self.closes()

    def nobody_movable(self) -> None:
        """First none of the larger side may be moved, then all."""
        for each in self.players.values():
            each.flags["immune"] = True
        self.roster()
        self.gone(2)
        self.closes(movable=False)
        for each in self.players.values():
            each.flags.pop("immune")
        self.roster()
        self.closes()

    def last_seconds(self) -> None:
        self.roster(ends_in=20.0)
        self.gone(2)
        self.closes(movable=False)

    def vote(self) -> None:
        for each in list(self.players.values())[: self.size]:
            self.happens("command", words=["vote"], by=each.id)
            self.post()
        for order in self.votes:
            self.happens("vote_ended", order=order, yes=2 * self.size - 1, no=1)
        self.post()

    def lookups(self) -> None:
        for by in ("", next(iter(self.players))):
            for word in ("status", "teams", "why", "top", "rating", "rank"):
                self.happens("command", words=[word], by=by)
                self.heard = [kind for kind in self.heard if kind != "tell"]
                self.post()
                assert "tell" in self.heard, word

    def looks_back(self) -> None:
        """The rounds that are stored are those that were played, and no decision failed."""
        stored = self.admin(f"rounds?server={self.server}")["rounds"]
        assert {each["round"]: each["winner"] for each in stored} == self.played, stored
        assert len(stored) == ROUNDS
        assert [each["round"] for each in stored if each["unrated"]] == []
        failed = [line for line in self.decisions() if line["kind"] == "failed"]
        assert failed == []
        assert {"move", "place", "lock", "tell", "say", "assign"} <= set(self.heard)
        assert "vote" in self.heard or self.game == "ns2"
        assert len(self.reasons) == 2, self.reasons


def pools() -> list[str]:
    """Every rating system that a pool may have."""
    return [name for name in ratings.SYSTEMS if ratings.create(name).live]


@contextmanager
def new_pools(folder: Path) -> Iterator[tuple[RealDaemon, dict[str, str]]]:
    """A daemon with a server and a new pool for each system, and for what `equipoise init` writes; their secrets."""
    secrets = {name: f"the secret of {name}" for name in pools()}
    settings = "".join(
        f'[pool.{name}]\nsystem = "{name}"\nk_max = 12\n' if name == "synelo" else f'[pool.{name}]\nsystem = "{name}"\n'
        for name in secrets
    ) + "".join(
        f'[server.{name}]\npool = "{name}"\ngame = "{"ns2" if name == "ns2" else "tf2"}"\n'
        f'secret_sha256 = "{sha256(secret.encode()).hexdigest()}"\n'
        for name, secret in secrets.items()
    )
    daemon = RealDaemon(folder, "as-init-writes", settings, forked=True)
    daemon.start()
    try:
        yield daemon, {"as-init-writes": daemon.secret, **secrets}
    finally:
        daemon.kill()


def test_an_evening_on_every_server_is_played_and_is_what_the_daemon_kept_of_it(tmp_path: Path) -> None:
    with ExitStack() as ends:
        daemon, servers = ends.enter_context(new_pools(tmp_path))
        scripts = [
            Evening(daemon, server, secret, "ns2" if server == "ns2" else "koth", size=6)
            for server, secret in servers.items()
        ]
        for script in scripts:
            ends.callback(script.close)
        with ThreadPoolExecutor(len(scripts)) as together:
            evenings = {script.server: together.submit(script.evening) for script in scripts}
        assert {
            server: str(fault)[:600] for server, evening in evenings.items() if (fault := evening.exception())
        } == {}
        for script in scripts:
            script.looks_back()
    said = (tmp_path / "daemon.log").read_text().splitlines()
    assert [line for line in said if not line.startswith("<6>") and not any(word in line for word in SLOW)] == []
