"""Sessions that are audited: what the daemon stored beside what the game played, and what became of the players."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass

import pytest

from tests.sourcemod.answerer import settle
from tests.sourcemod.rig import Game, play
from tests.sourcemod.rig.game.facts import BLU, RED, SIDES, Mode
from tests.sourcemod.sessions import Evening, NewEvening

WAITING = "Waiting For Players is over"
NOTHING = "the losing side captured nothing"
"""Reasons of scrambles."""
_SIDES = {"a": RED, "b": BLU, None: 0}


@dataclass(frozen=True, slots=True)
class StoredRound:
    """A round as the daemon stored it. `winner` 0 is a stalemate; `lineup` and `played` are sides by player name."""

    map: str
    mode: str
    winner: int
    captures: tuple[int, int]
    seconds: float
    partial: bool
    unrated: str | None
    lineup: dict[str, int]
    played: dict[str, int]


@dataclass(frozen=True, slots=True)
class PlayedRound:
    """A full round as the game's events tell it; `captures` are points or flags over all its stages."""

    winner: int
    captures: tuple[int, int]
    seconds: float


def stored_rounds(evening: Evening, names: dict[str, str]) -> list[StoredRound]:
    """All rounds, in the order they were applied. `names` are by SteamID."""
    store = evening.daemon.folder / "state" / "equipoise.db"
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as db:
        db.row_factory = sqlite3.Row
        played: dict[int, dict[str, int]] = {}
        for row in db.execute("SELECT round, player, side FROM participants"):
            played.setdefault(row["round"], {})[names[row["player"]]] = _SIDES[row["side"]]
        return [_stored(row, names, played) for row in db.execute("SELECT * FROM rounds ORDER BY number")]


def _stored(row: sqlite3.Row, names: dict[str, str], played: dict[int, dict[str, int]]) -> StoredRound:
    return StoredRound(
        row["map"],
        row["mode"],
        _SIDES[row["winner"]],
        (row["captures_a"], row["captures_b"]),
        row["seconds"],
        bool(row["partial"]),
        row["unrated"],
        {names[seat["id"]]: _SIDES[seat["side"]] for seat in json.loads(row["lineup"])},
        played.get(row["number"], {}),
    )


def played_rounds(game: Game) -> list[PlayedRound]:
    """All full rounds, by the game's own events: no plugin's word counts.

    A round begins with a start that goes on with no stage, goes live when its setup is over, and is void if the game
    restarts.
    """
    live = "teamplay_setup_finished" if game.mode.setup else "teamplay_round_active"
    rounds: list[PlayedRound] = []
    since: float | None = None
    stage_won = False
    captures = {RED: 0, BLU: 0}
    for now, name, fields in game.history:
        if name == "teamplay_restart_round" or (name == "teamplay_round_start" and not stage_won):
            since, captures = None, {RED: 0, BLU: 0}
        if name in (live, "arena_round_start") and since is None:
            since = now
        elif name == "teamplay_point_captured":
            captures[int(fields["team"])] += 1
        elif name == "ctf_flag_captured":
            captures[int(fields["capping_team"])] += 1
        elif name == "teamplay_round_win":
            stage_won = not fields["full_round"]
            if fields["full_round"]:
                assert since is not None
                rounds.append(PlayedRound(int(fields["team"]), (captures[RED], captures[BLU]), now - since))
    return rounds


class Session:
    """An evening of P0, P1 …. As many handles are open when a round goes live as when the first one did."""

    def __init__(
        self,
        new_evening: NewEvening,
        map_name: str,
        *,
        players: int = 6,
        mode: Mode | None = None,
    ) -> None:
        self.evening: Evening = new_evening(map_name, "", mode)
        self.game = self.evening.game
        # Pauses in which nothing happens here: shorter than by default.
        self.game.sm.convars["mp_bonusroundtime"].set("5")
        for number in range(players):
            self.evening.seat(f"P{number}")
        self._handles: dict[str, int] = {}
        self._names: dict[str, str] = {}

    def stack(self) -> None:
        """The strong are all on RED."""
        evening = self.evening
        evening.rate(**dict.fromkeys(evening.side(RED), 2400.0), **dict.fromkeys(evening.side(BLU), 1200.0))

    def live(self) -> None:
        """Go on until the next round or stage is live, and have everybody alive fight."""
        self.evening.freeze()
        self.evening.live()
        self.evening.wait(0.5)
        red, blu = self.evening.sizes()
        if abs(red - blu) < 2:  # else a move is under way, with a timer
            handles = self.game.sm.handles.live(self.evening.plugin)
            self._handles = self._handles or handles
            assert handles == self._handles
        play.fight(self.game)
        self.meet()

    def meet(self) -> None:
        """Note the names of those who are here, for the time when they have left."""
        self._names |= {str(player.steamid): player.name for player in self.game.humans()}

    def until_over(self) -> None:
        """Go on until the running round is won, and reported."""
        self.game.until(lambda: self.game.rounds.won, within=400)
        settle(self.game)

    def capture(self, side: int, *points: int) -> None:
        """The side captures the points one after the other."""
        for point in points:
            play.capture(self.game, side, point)
        settle(self.game)

    def win(self, side: int, reason: int, *, full: bool = True) -> None:
        """The map's winning entity ends the round, or the stage."""
        self.game.rounds.win(side, reason, full_round=full)
        settle(self.game)

    @property
    def sides(self) -> dict[str, int]:
        """Sides by player name."""
        return {player.name: side for side in SIDES for player in self.game.teams.members(side)}

    @property
    def scrambles(self) -> list[str]:
        """Why scrambles were carried out."""
        return [one["reason"] for one in self.evening.decisions("scramble")]

    @property
    def pending(self) -> str | None:
        """Why a scramble is due."""
        reason: str | None = self.evening.status()["pending"]
        return reason

    def read(self, text: str) -> bool:
        """Whether every player on a side read this in chat."""
        players = [player for side in SIDES for player in self.game.teams.members(side)]
        return all(any(text in line for line in player.chat) for player in players)

    def stored(self) -> list[StoredRound]:
        """The stored rounds, in the order they were applied."""
        return stored_rounds(self.evening, self._names)

    def check(self) -> list[StoredRound]:
        """The stored rounds: each that the game played, once and as it was. No player was harmed by being placed."""
        stored, played = self.stored(), played_rounds(self.game)
        assert [(one.winner, one.captures) for one in stored] == [(one.winner, one.captures) for one in played]
        assert [one.seconds for one in stored] == pytest.approx([one.seconds for one in played], abs=0.5)
        for player in self.game.humans():
            assert (player.suicides, player.misplaced) == (0, False), player.name
        return stored
