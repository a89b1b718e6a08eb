"""A whole evening: the plugin's bytecode on the fake server, the real daemon behind a real socket."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.daemons import RealDaemon
from tests.sourcemod.answerer import TRANSLATIONS, fill_in, settle
from tests.sourcemod.rig import Game, Plugin, play
from tests.sourcemod.rig.game.facts import BLU, RED, SIDES, Reason, State
from tests.sourcemod.rig.game.players import Player

Json = dict[str, Any]


class Evening:
    """A game server with our plugin, and its daemon."""

    def __init__(self, game: Game, daemon: RealDaemon, smx: Path) -> None:
        self.game, self.daemon, self._smx = game, daemon, smx
        fill_in(game, f"http://127.0.0.1:{daemon.port}", daemon.server, daemon.secret)
        self.plugin = self.load()

    def load(self) -> Plugin:
        """Load the plugin, late if a map runs."""
        return self.game.load(self._smx, translations=TRANSLATIONS)

    # Time.

    def wait(self, seconds: float) -> None:
        """Let the game go on, every poll answered in between."""
        end = self.game.now + seconds
        while self.game.now < end:
            self.game.advance(min(0.5, end - self.game.now))
            self.game.settle()

    def freeze(self) -> None:
        """Go on to the next freeze time after waiting, and let its orders be carried out."""
        game = self.game
        game.until(lambda: game.rounds.state is State.PREROUND and not game.rounds.waiting, within=200)
        self.wait(1.0)

    def live(self) -> None:
        """Go on until the round is live."""
        play.go_live(self.game)
        self.game.settle()

    # People.

    def seat(self, name: str, side: str = "auto", cls: str = "soldier", **identity: int) -> Player:
        """A player connects, asks for a side, gets one, and chooses a class."""
        player = self.game.connect(name, **identity)
        self.game.settle()
        self.game.join(player, side)
        self.game.settle()
        self.game.command(player, f"joinclass {cls}")
        self.game.settle()
        return player

    def seat_together(self, *names: str) -> None:
        """Connected players ask for a side in one frame, then choose a class: arena starts with the first two."""
        players = [player for player in self.game.humans() if player.name in names]
        for player in players:
            self.game.join(player, "auto")
        self.game.settle()
        for player in players:
            self.game.command(player, "joinclass soldier")

    def rate(self, **ratings: float) -> None:
        """Set ratings as an admin, by player name."""
        for player in self.game.humans():
            if player.name in ratings:
                self.daemon.ask(f"players/{player.steamid}", {"rating": ratings[player.name], "new": True}, "PUT")

    def named(self, ids: list[str]) -> list[str]:
        """Names of players given by id."""
        names = {str(player.steamid): player.name for player in self.game.humans()}
        return [names[one] for one in ids]

    def side(self, side: int) -> list[str]:
        """Names on a side, sorted."""
        return sorted(player.name for player in self.game.teams.members(side))

    def sides(self) -> list[list[str]]:
        """Names on RED and on BLU, sorted."""
        return [self.side(side) for side in SIDES]

    def sizes(self) -> list[int]:
        """Numbers of players on RED and on BLU."""
        return [len(self.side(side)) for side in SIDES]

    def sitting_out(self) -> list[str]:
        """Names of players on no side, sorted."""
        return sorted(player.name for player in self.game.humans() if player.team not in SIDES)

    # Rounds.

    def win(self, side: int, reason: Reason = Reason.POINTS_CAPTURED) -> None:
        """All players fight, then one side wins, and the round is reported."""
        play.fight(self.game)
        if self.game.mode.arena:
            play.wipe_out(self.game, RED + BLU - side)
        else:
            self.game.rounds.win(side, reason)
        settle(self.game)

    def round(self, winner: int) -> None:
        """Go on to the next freeze time, and play that round to its end."""
        self.freeze()
        self.live()
        self.win(winner)

    # The daemon's view.

    def status(self) -> Json:
        """The server as the daemon sees it."""
        answer: Json = self.daemon.ask(f"servers/{self.daemon.server}")["server"]
        return answer

    def rounds(self, player: Player) -> int:
        """Rounds a player was rated for."""
        return int(self.daemon.ask(f"players/{player.steamid}")["player"]["rounds"])

    def rating(self, player: Player) -> float:
        """A player's rating in the daemon's pool."""
        return float(self.daemon.ask(f"players/{player.steamid}")["player"]["rating"])

    def decisions(self, *kinds: str) -> list[Json]:
        """The decision log, oldest first."""
        found = self.daemon.ask(f"decisions?server={self.daemon.server}")["decisions"]
        return [one for one in reversed(found) if not kinds or one["kind"] in kinds]


NewEvening = Callable[..., Evening]
"""What the fixture `new_evening` is."""


def live(new_evening: NewEvening, players: int, map_name: str = "koth_harvest_final", settings: str = "") -> Evening:
    """A running round after waiting's scramble; all players are equally good."""
    evening = new_evening(map_name, settings)
    for number in range(players):
        evening.seat(f"P{number}")
    evening.freeze()
    evening.live()
    return evening


def leave(evening: Evening, *players: Player) -> None:
    """Players leave the server in one moment."""
    for player in players:
        evening.game.leave(player)
    evening.game.settle()
