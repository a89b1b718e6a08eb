"""An evening of arena in real time: the plugin's bytecode on the rig, its daemon somewhere else.

`python -m tests.machines.evening FOLDER PLUGIN URL SERVER SECRET` plays until there is a file FOLDER/stop and the round
is over. FOLDER/rounds has the number of rounds so far, FOLDER/report.json at the end what was seen.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.sourcemod.answerer import REPORTED, TRANSLATIONS, fill_in
from tests.sourcemod.rig import Game, play
from tests.sourcemod.rig.game.facts import BLU, RED, SIDES
from tests.sourcemod.rig.sm.http import Flight, Http, Result

PEOPLE = 12
BONUS_SECONDS = 5
"""The game's least."""


class RealTime(Game):
    """A game server whose clock is the machine's: no frame waits for an answer, as in the game."""

    def begin(self) -> None:
        """Time passes from now on."""
        self.sm.http.patience = 0.0
        self._began = time.monotonic() - self.now

    def frame(self) -> None:
        super().frame()
        if self.sm.http.patience is not None:
            time.sleep(max(0.0, self._began + self.now - time.monotonic()))


@dataclass
class Report:
    """What was seen from the game server."""

    rounds: int = 0
    answers: list[float] = field(default_factory=list)
    """Seconds from a request to the frame that has its answer."""
    unanswered: int = 0
    """Requests that ended without one."""
    sides: list[list[list[str]]] = field(default_factory=list)
    """Names on RED and BLU in every round."""


class Watched(Http):
    """Notes how long every answer takes."""

    report: Report

    def _deliver(self, flight: Flight, instead: Result | None) -> None:
        assert flight.answer is not None
        if (instead or flight.answer.result()).error:
            self.report.unanswered += 1
        else:
            self.report.answers.append(self.sm.world.now - (flight.since or 0.0))
        super()._deliver(flight, instead)


def main(folder: Path, smx: Path, url: str, server: str, secret: str) -> None:
    game, report = RealTime(folder / "game"), Report()
    game.sm.http = http = Watched(game.sm)
    http.report = report
    fill_in(game, url, server, secret)
    game.load(smx, translations=TRANSLATIONS)
    game.sm.convars["mp_bonusroundtime"].set(str(BONUS_SECONDS))
    game.start_map("arena_well")
    game.begin()
    for number in range(PEOPLE):
        come(game, f"P{number}")
    while not (folder / "stop").exists():
        play.go_live(game)
        game.advance(3.0)
        report.sides.append([sorted(player.name for player in game.teams.members(side)) for side in SIDES])
        play.fight(game)
        # The side of one player always wins: scrambles become due.
        play.wipe_out(game, BLU if "P0" in report.sides[-1][0] else RED)
        report.rounds += 1
        game.advance(REPORTED)
        (folder / "rounds").write_text(str(report.rounds))
    game.advance(15.0)
    (folder / "report.json").write_text(json.dumps(asdict(report)))
    game.close()


def come(game: Game, name: str) -> None:
    """Somebody connects, asks for a side, and chooses a class."""
    player = game.connect(name)
    game.advance(0.5)
    game.join(player, "auto")
    game.advance(0.5)
    game.command(player, "joinclass soldier")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:6])
