"""Histories drawn from NS2's model as an NS2 server tells them: rounds with spans, posted to a real daemon."""

from __future__ import annotations

import json
import time
import urllib.error
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import numpy as np

from equipoise.ratings.history import Floats, History
from tests.daemons import RealDaemon
from tests.ratings.ns2.samples import SOURCE

AT_ONCE = 8
"""Rounds in a batch: as many as a script's outbox."""
SKILLS = ("average", "offset", "commander")


def rounds_of(history: History) -> Iterator[dict[str, Any]]:
    """Each match as `round_ended` of an NS2 server, the last an hour ago; the lineup: who was there at its start."""
    began = time.time() - float(history.started_at[-1]) - 3600.0
    spans = history.spans
    assert spans is not None
    assert history.side is not None
    assert history.map is not None
    assert history.seconds is not None
    for match in range(len(history)):
        words = [history.sides[history.side[2 * match + team]] for team in (0, 1)]
        lines = []
        for place in range(*history.teams[[2 * match, 2 * match + 2]].tolist()):
            team = int(place >= history.teams[2 * match + 1])
            (span,) = range(spans.starts[place], spans.starts[place + 1])
            role = "commander" if spans.commander[span] else "field"
            start, end = float(spans.start[span]), float(spans.end[span])
            stretch = {"side": words[team], "from": start, "to": end, "role": role}
            lines.append({"id": history.players[history.members[place]], "side": words[team], "spans": [stretch]})
        yield {
            "kind": "round_ended",
            "round": f"1763622000123-{match}",
            "session": "1763622000123",
            "map": history.maps[history.map[match]],
            "game": "ns2",
            "started_at": began + float(history.started_at[match]),
            "seconds": float(history.seconds[match]),
            "winner": words[int(np.argmin(history.ranks[2 * match : 2 * match + 2]))],
            "lineup": [{"id": one["id"], "side": one["side"]} for one in lines if one["spans"][0]["from"] == 0.0],
            "players": lines,
        }


class NS2Server:
    """A daemon process with one NS2 server and a pool rated by `ns2`; and the server's script."""

    def __init__(self, folder: Path, *, forked: bool = True) -> None:
        self.daemon = RealDaemon(folder, forked=forked)
        (file,) = (folder / "servers.d").glob("*.toml")
        file.write_text(file.read_text().replace('game = "tf2"', 'game = "ns2"\nmin_rated_humans = 2'))
        config, keys = self.daemon.config.read_text(), "\n".join(f"{name} = {value}" for name, value in SOURCE.items())
        self.daemon.config.write_text(config.replace('"synelo"', f'"ns2"\n{keys}', 1).replace("k_max = 12\n", ""))
        self._seq = 0

    def play(self, rounds: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Post rounds until each is stored, as a script does; the replies."""
        replies = []
        for first in range(0, len(rounds), AT_ONCE):
            left = list(rounds[first : first + AT_ONCE])
            while left:
                reply = self.post(*left)
                stored = {round for round, status in reply.get("rounds", {}).items() if status == "stored"}
                left = [each for each in left if each["round"] not in stored]
                replies.append(reply)
        return replies

    def post(self, *happened: dict[str, Any]) -> Any:
        """The answer to a batch; a refusal is one too."""
        self._seq += 1
        batch = {"v": 1, "server": self.daemon.server, "boot": 1763622000123, "seq": self._seq, "at": float(self._seq)}
        body = json.dumps({**batch, "events": happened}).encode()
        headers = {"Authorization": f"Bearer {self.daemon.secret}", "Content-Type": "application/json"}
        try:
            with urlopen(
                Request(f"http://127.0.0.1:{self.daemon.port}/v1/events", body, headers), timeout=60
            ) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as refusal:
            return json.load(refusal)


@dataclass(frozen=True, slots=True)
class Recovered:
    """Estimates of one skill of all players against the truth, in points."""

    estimates: Floats
    deviations: Floats
    truth: Floats

    @property
    def error(self) -> float:
        """Root mean square."""
        return float(np.sqrt(np.mean((self.estimates - self.truth) ** 2)))

    @property
    def correlation(self) -> float:
        return float(np.corrcoef(self.estimates, self.truth)[0, 1])

    @property
    def in_deviations(self) -> float:
        """Root mean square of the errors in the deviations that were handed out: 1 if those are right."""
        return float(np.sqrt(np.mean(((self.estimates - self.truth) / self.deviations) ** 2)))


def recovered(daemon: RealDaemon, history: History, truth: dict[str, Floats]) -> dict[str, Recovered]:
    """What the admin interface says of each player's skills."""
    seen = [daemon.ask(f"players/{player}")["player"]["skills"] for player in history.players]
    return {
        name: Recovered(
            np.array([each[name]["value"] for each in seen]),
            np.array([each[name]["deviation"] for each in seen]),
            truth[name],
        )
        for name in SKILLS
    }
