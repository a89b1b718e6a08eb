"""A game script's side of the protocol, without pauses: JSON batches over one kept-alive connection."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.daemons import RealDaemon

PLAYERS = [str(76561198000000000 + number) for number in range(24)]
FACTS = {"game_type": 2, "koth": True}
BOOT = 1763622000123
SESSION = f"{BOOT}-1"


@contextmanager
def running(settings: str = "", folder: Path | None = None) -> Iterator[RealDaemon]:
    """Run a daemon process with its own folder, and kill it at the end."""
    with TemporaryDirectory() as made:
        daemon = RealDaemon(folder or Path(made) / "daemon", settings=settings)
        daemon.start()
        try:
            yield daemon
        finally:
            daemon.kill()


class Script:
    """Posts batches as one server."""

    def __init__(self, port: int, server: str, secret: str, boot: int = BOOT) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self._headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
        self._server, self._boot = server, boot
        self._seq = 0

    def post(self, *events: object) -> tuple[dict[str, object], float]:
        """Post one batch; returns the reply and the milliseconds until it was read."""
        self._seq += 1
        batch = {
            "v": 1,
            "server": self._server,
            "boot": self._boot,
            "seq": self._seq,
            "at": float(self._seq),
            "events": events,
        }
        body = json.dumps(batch)
        began = time.perf_counter()
        try:
            self._connection.request("POST", "/v1/events", body, self._headers)
        except OSError:  # closed after a long silence: the next request makes another one
            self._connection.close()
            raise
        answer = self._connection.getresponse().read()
        took = (time.perf_counter() - began) * 1e3
        reply = json.loads(answer)
        assert reply["ok"], reply
        return reply, took

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def introduce(self) -> None:
        """Say hello, and report 24 players in a running round."""
        self.post(hello(), {"kind": "roster", "players": roster()})


def hello() -> dict[str, object]:
    """The script introduces itself in the middle of a round."""
    return {
        "kind": "hello",
        "plugin": "bench",
        "game": "tf2",
        "map": "koth_harvest_final",
        "session": SESSION,
        "slots": 24,
        "phase": "running",
        "facts": FACTS,
    }


def roster() -> list[dict[str, object]]:
    """A roster of 12 against 12."""
    return [{"id": player, "side": side_of(number), "connected": 60.0} for number, player in enumerate(PLAYERS)]


def side_of(number: int) -> str:
    """The side of a player, by number."""
    return "red" if number % 2 else "blu"


def round_ended(number: int) -> dict[str, object]:
    """The end of a round in which all 24 players fought."""
    seats = [{"id": player, "side": side_of(place)} for place, player in enumerate(PLAYERS)]
    played = [
        seat
        | {"seconds": {"red": 300.0 * (seat["side"] == "red"), "blu": 300.0 * (seat["side"] == "blu")}, "fought": True}
        for seat in seats
    ]
    return {
        "kind": "round_ended",
        "round": f"{BOOT}-{number}",
        "session": SESSION,
        "map": "koth_harvest_final",
        "game": "tf2",
        "facts": FACTS,
        "started_at": 1763622000.0 + 400 * number,
        "seconds": 300.0,
        "winner": "red" if number % 3 else "blu",
        "captures": {"red": 1, "blu": 1},
        "lineup": seats,
        "players": played,
    }


def percentiles(times: Sequence[float]) -> str:
    """p50 and p99, milliseconds."""
    ordered = sorted(times)
    return f"p50 {ordered[len(ordered) // 2]:6.2f} ms   p99 {ordered[int(len(ordered) * 0.99)]:6.2f} ms"
