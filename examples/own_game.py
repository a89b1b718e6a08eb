#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A script for a game that Equipoise does not know: a make-believe game of eight players, on the real protocol.

    EQUIPOISE_SECRET=… python own_game.py --server dust --rounds 4

The daemon's configuration needs `[server.dust]` with `game = "other"`. Standard library only. docs/protocol.md says
what each event and order means; a real script does the same from its game's own events.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import time
import urllib.error
import urllib.request

STEAM = 76561197960265728
PLAYERS = {str(STEAM + number): 0.5 + number / 4 for number in range(1, 9)}
"""Ids, and how good each is. The daemon is not told: it finds out by who wins."""


def said(text: dict) -> str:
    """A text by its key and arguments; one of these may be a text itself. A game has a sentence for every key."""
    return " ".join([text["phrase"], *(arg if isinstance(arg, str) else f"({said(arg)})" for arg in text["args"])])


class Script:
    """Collects events, posts them in batches, and carries out orders."""

    def __init__(self, url: str, server: str, secret: str) -> None:
        self.url, self.server, self.secret = url, server, secret
        self.boot, self.seq = time.time_ns() // 1_000_000, 0
        self.events: list[dict] = []
        self.sides = {id: "ab"[place // 4] for place, id in enumerate(PLAYERS)}  # the four best stand on one side

    def roster(self) -> list[dict]:
        return [{"id": id, "side": side} for id, side in self.sides.items()]

    def hello(self) -> None:
        facts = {"mode": "other"}  # the configuration's line `other` of [triggers] says when a scramble is due
        self.events += [
            {"kind": "hello", "plugin": "own-game/1", "game": "other", "map": "de_dust", "session": str(self.boot),
             "phase": "idle", "slots": 8, "facts": facts},
            {"kind": "roster", "players": self.roster()},
        ]  # fmt: skip

    def post(self) -> None:
        """Send what has happened; a batch without an answer, or with `busy`, is sent again as it was."""
        self.seq += 1
        batch = {"v": 1, "server": self.server, "boot": self.boot, "seq": self.seq, "at": time.monotonic(),
                 "events": self.events}  # fmt: skip
        self.events = []
        for _ in range(5):
            answer = self._call(batch)
            if answer.get("ok"):
                return self._obey(answer)
            if answer["error"]["code"] not in ("busy", "unreachable"):
                raise SystemExit(f"refused: {answer['error']}")
            time.sleep(1)
        raise SystemExit(f"no daemon at {self.url}")

    def _call(self, batch: dict) -> dict:
        headers = {"Authorization": f"Bearer {self.secret}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}/v1/events", json.dumps(batch).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=5) as response:
                return json.load(response)
        except urllib.error.HTTPError as refusal:  # a refusal is JSON too
            return json.load(refusal)
        except OSError as error:
            return {"ok": False, "error": {"code": "unreachable", "message": str(error)}}

    def _obey(self, reply: dict) -> None:
        for player in reply["players"]:
            print(f"  {player['id']}: rating {player['rating']:.0f} after {player['rounds']} rounds")
        for order in reply["orders"]:
            if order["kind"] == "assign":
                where = {**dict.fromkeys(order["red"], "a"), **dict.fromkeys(order["blu"], "b")}
                self.sides.update(where)
                print(f"  scramble ({order['reason']['phrase']}):", "".join(self.sides.values()))
                self.events += [{"kind": "side_changed", "id": id, "side": side} for id, side in where.items()]
                self.events.append({"kind": "order_done", "order": order["order"]})
            elif order["kind"] in ("say", "tell"):
                for text in order.get("lines") or [order["text"]]:
                    print("  chat:", said(text))
        if "hello" in reply["want"]:
            self.hello()

    def play(self, number: int, seconds: float) -> None:
        """One round: frozen, live, over."""
        id, began = f"{self.boot}-{number}", time.time() - seconds  # as if it had been played
        self.events.append({"kind": "round_started", "players": self.roster()})
        self.post()  # a scramble that is due is ordered by this answer
        lineup = self.roster()
        self.events.append({"kind": "round_live", "round": id, "players": lineup})
        self.post()
        strength = {side: sum(PLAYERS[id] for id, on in self.sides.items() if on == side) for side in "ab"}
        winner = random.choices("ab", [strength["a"] ** 4, strength["b"] ** 4])[0]
        players = [{**each, "seconds": {"red" if each["side"] == "a" else "blu": seconds}, "fought": True}
                   for each in lineup]  # fmt: skip
        print(f"round {number}: {winner} wins")
        self.events.append(
            {"kind": "round_ended", "round": id, "session": str(self.boot), "map": "de_dust", "game": "other",
             "facts": {"mode": "other"}, "started_at": began, "seconds": seconds, "winner": winner,
             "lineup": lineup, "players": players}
        )  # fmt: skip
        self.post()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="http://127.0.0.1:27500", help="the daemon's address (%(default)s)")
    parser.add_argument("--server", default="dust", help="this server's name in the configuration (%(default)s)")
    parser.add_argument("--rounds", type=int, default=4, help="how many to play (%(default)s)")
    chosen = parser.parse_args()
    script = Script(chosen.url, chosen.server, os.environ.get("EQUIPOISE_SECRET", ""))
    script.hello()
    script.post()
    for number in range(1, chosen.rounds + 1):
        script.play(number, seconds=120.0)


if __name__ == "__main__":
    main()
