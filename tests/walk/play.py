"""Plays arena rounds as a game server's plugin would: runs on the walked machine, with nothing but its Python.

    python3 play.py CFG ROUNDS [SECONDS]

SECONDS pass between two rounds. CFG is `cfg/sourcemod/equipoise.cfg`: address, name and secret come from it, as the
plugin reads them. Follows docs/protocol.md. Ends with 1 unless the daemon ordered balanced teams.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

PLAYERS = [str(76561197960287930 + number) for number in range(10)]
FACTS = {"game_type": 4}
MAP = "arena_well"
AWAY_SECONDS = 120


class Script:
    """One start of the plugin: numbers its batches, carries out orders, remembers who is where."""

    def __init__(self, cfg: Path) -> None:
        said = dict(re.findall(r'^\s*equipoise_(url|server|secret)\s+"?([^"\n]*)"?', cfg.read_text(), re.MULTILINE))
        self.url, self.server, self.secret = said.get("url", "http://127.0.0.1:27500"), said["server"], said["secret"]
        self.boot = time.time_ns() // 1_000_000
        self.batches = 0
        self.sides = {player: ("red", "blu")[place % 2] for place, player in enumerate(PLAYERS)}
        self.assigned: list[tuple[int, int]] = []

    def send(self, *events: dict[str, Any]) -> dict[str, Any]:
        """A batch; orders of its answer are carried out."""
        self.batches += 1
        at = time.monotonic()
        batch = {"v": 1, "server": self.server, "boot": self.boot, "seq": self.batches, "at": at, "events": events}
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.secret}"}
        request = urllib.request.Request(f"{self.url}/v1/events", json.dumps(batch).encode(), headers)
        reply = self._reply(request)
        done = [self._carry_out(order) for order in reply["orders"] if order["kind"] == "assign"]
        if done:
            self.send(*done)
        return reply

    def _reply(self, request: urllib.request.Request) -> dict[str, Any]:
        """The daemon's; while it is away, the batch is sent again as it is."""
        end = time.monotonic() + AWAY_SECONDS
        while True:
            try:
                with urllib.request.urlopen(request, timeout=10) as answer:
                    reply: dict[str, Any] = json.load(answer)
                return reply
            except urllib.error.HTTPError:
                raise
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.2)

    def _carry_out(self, order: dict[str, Any]) -> dict[str, Any]:
        self.sides = dict.fromkeys(PLAYERS, "none")
        self.sides |= {player: side for side in ("red", "blu") for player in order[side]}
        self.assigned.append((len(order["red"]), len(order["blu"])))
        print(f"{self.server}: {order['reason']['phrase']}: {order['red']} against {order['blu']}")
        return {"kind": "order_done", "order": order["order"]}

    def players(self) -> list[dict[str, Any]]:
        """A roster."""
        return [
            {"id": player, "side": side, "alive": side != "none", "waiting": side == "none", "connected": 600}
            for player, side in self.sides.items()
        ]

    def round(self, number: int) -> None:
        """From the freeze time to the end; the side with the smaller sum of ids wins."""
        name, session = f"{self.boot}-{number}", f"{self.boot}-1"
        self.send({"kind": "round_started", "players": self.players()})
        self.send({"kind": "round_live", "round": name, "players": self.players()})
        seats = [{"id": player, "side": side} for player, side in self.sides.items() if side != "none"]
        sums = {side: sum(int(s["id"]) % 1000 for s in seats if s["side"] == side) for side in ("red", "blu")}
        played = [{**seat, "seconds": {seat["side"]: 61.5}, "fought": True} for seat in seats]
        reply = self.send(
            {
                "kind": "round_ended",
                "round": name,
                "session": session,
                "map": MAP,
                "game": "tf2",
                "facts": FACTS,
                "started_at": time.time() - 61.5,
                "seconds": 61.5,
                "winner": min(sums, key=sums.__getitem__),
                "lineup": seats,
                "players": played,
            }
        )
        if reply["rounds"].get(name) not in ("stored", "kept"):
            sys.exit(f"the round was not taken: {reply}")

    def play(self, rounds: int, seconds: float) -> None:
        """A map of so many rounds."""
        # The plugin that was installed is of the daemon's version.
        version = subprocess.run(["equipoise", "--version"], capture_output=True, text=True, check=True).stdout.split()[
            -1
        ]
        hello = {"kind": "hello", "plugin": version, "game": "tf2", "map": MAP, "session": f"{self.boot}-1"}
        roster = {"kind": "roster", "players": self.players()}
        self.send({**hello, "phase": "idle", "slots": 24, "facts": FACTS}, roster)
        for number in range(1, rounds + 1):
            self.round(number)
            time.sleep(seconds)


if __name__ == "__main__":
    script = Script(Path(sys.argv[1]))
    script.play(int(sys.argv[2]), float(sys.argv[3]) if len(sys.argv) > 3 else 0.0)
    half = len(PLAYERS) // 2
    if (half, half) not in script.assigned:
        sys.exit(f"no balanced teams were ordered, only {script.assigned}")
    print(f"{script.server}: {sys.argv[2]} rounds stored, teams balanced")
