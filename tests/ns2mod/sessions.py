"""A whole evening on NS2: the mod's files in LuaJIT on the fake server, the real daemon behind a real socket."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from equipoise.core.model import STEAM_ID_BASE
from tests.daemons import RealDaemon
from tests.ns2mod.rig import Game
from tests.ns2mod.rig.clients import Client

Json = dict[str, Any]
MOD = Path(__file__).parents[2] / "ns2mod"
MARINES, ALIENS = 1, 2
SIDES = {"a": "marines", "b": "aliens", None: "none"}
PEOPLE = "abcdefghij"
STACKED = {"c": 3100.0, "e": 3000.0, "g": 2900.0, "i": 3000.0, "d": 400.0, "f": 400.0, "h": 400.0, "j": 400.0}
"""Ratings with which the marines (a, c, e, g, i) are far stronger; a and b, who do, are alike."""
QUIET = "[autobalance]\nenabled = false\n[shuffle]\nat_round_start = false\n"
"""Only what the test does changes the sides."""
SETTLE_SECONDS = 1.0
"""Of the game: the mod looks at everybody four times a second and posts what is new in the same frame."""


Span = tuple[str, str, int, int]
"""Side, role, from and to, in whole seconds since the round went live."""


@dataclass(frozen=True, slots=True)
class StoredRound:
    """A round as the daemon stored it; people by name."""

    winner: str
    seconds: float
    partial: bool
    unrated: str | None
    lineup: dict[str, str]
    spans: dict[str, list[Span]]
    """Of each participant."""
    counts: dict[str, dict[str, int]]
    """What they did."""
    bots: list[Span]
    """Of all bots, sorted."""


class Evening:
    """An NS2 server with our mod, and its daemon. `options` are the fake server's."""

    def __init__(self, folder: Path, settings: str = "", mod: Path = MOD, pool: str = "", **options: Any) -> None:
        self.daemon = RealDaemon(folder / "daemon", settings=settings, forked=True, game="ns2", pool=pool)
        self.daemon.start()
        config = folder / "ns2"
        config.mkdir()
        url = f"http://127.0.0.1:{self.daemon.port}"
        told = {"url": url, "server": self.daemon.server, "secret": self.daemon.secret, "language": "en"}
        (config / "Equipoise.json").write_text(json.dumps(told))
        self.game = Game([mod], config=config, **options).boot()
        self.names: dict[str, str] = {}
        """Names by SteamID64, of all who were ever here."""
        self.settle()

    # Time and people.

    def settle(self, seconds: float = SETTLE_SECONDS) -> None:
        """Let the game go on until the daemon knows what happened, and its orders are carried out."""
        self.game.run(seconds)

    def connect(self, account: int, name: str, **fields: Any) -> Client:
        """A person connects and moves in the ready room."""
        client = self.game.connect(account, name, **fields)
        self.names[str(STEAM_ID_BASE + account)] = name
        client.moves()
        return client

    def seat(self, *names: str, first: int = 1000) -> dict[str, Client]:
        """People connect and are on the sides in turn, marines first, as if they had been there before."""
        people = {name: self.connect(first + number, name) for number, name in enumerate(names)}
        self.settle()
        for number, client in enumerate(people.values()):
            assert self.game.seat(client, 1 + number % 2)
        self.settle()
        return people

    def rate(self, people: dict[str, Client], **ratings: float) -> None:
        """Set ratings as an admin, by name."""
        for name, rating in ratings.items():
            self.daemon.ask(f"players/{steam_id(people[name])}", {"rating": rating, "new": True}, "PUT")

    def sides(self) -> list[list[str]]:
        """Names on the marines and on the aliens, sorted."""
        return [sorted(self.game.team(team)) for team in (MARINES, ALIENS)]

    # Rounds.

    def start(self, marine: Client, alien: Client) -> None:
        """Both take their chairs; frames until the round runs."""
        assert marine.commands()
        assert alien.commands()
        self.game.start_round()
        self.settle()

    def end(self, winner: int | None) -> None:
        """A side wins, or it is a draw; frames until all are in the ready room again."""
        self.game.end_game(winner)
        self.settle(10.0)

    # The daemon's view.

    def status(self) -> Json:
        """The server as the daemon sees it."""
        found: Json = self.daemon.ask(f"servers/{self.daemon.server}")["server"]
        return found

    def player(self, client: Client) -> Json:
        """A player as the daemon sees them."""
        found: Json = self.daemon.ask(f"players/{steam_id(client)}")["player"]
        return found

    def stored(self) -> list[StoredRound]:
        """All rounds of the store, in the order they were applied."""
        path = self.daemon.folder / "state" / "equipoise.db"
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
            db.row_factory = sqlite3.Row
            rows = db.execute("SELECT * FROM rounds ORDER BY number").fetchall()
            return [self._round(row, db) for row in rows]

    def _round(self, row: sqlite3.Row, db: sqlite3.Connection) -> StoredRound:
        played = db.execute("SELECT player, spans, counts FROM participants WHERE round = ?", (row["number"],))
        played = played.fetchall()
        return StoredRound(
            SIDES[row["winner"]],
            row["seconds"],
            bool(row["partial"]),
            row["unrated"],
            {self.names.get(seat["id"], seat["id"]): SIDES[seat["side"]] for seat in json.loads(row["lineup"])},
            {self.names[one["player"]]: _spans(one["spans"]) for one in played},
            {self.names[one["player"]]: json.loads(one["counts"]) for one in played},
            sorted(_spans(row["bots"])),
        )

    def decisions(self, *kinds: str) -> list[Json]:
        """The decision log, oldest first."""
        found = self.daemon.ask(f"decisions?server={self.daemon.server}")["decisions"]
        return [one for one in reversed(found) if not kinds or one["kind"] in kinds]


NewEvening = Callable[..., Evening]
"""What the fixture `new_evening` is."""


def stacked(new_evening: NewEvening, settings: str = "", **options: object) -> tuple[Evening, dict[str, Client]]:
    """Ten players, the strong ones all on the marines."""
    evening = new_evening(settings, **options)
    people = evening.seat(*PEOPLE)
    evening.rate(people, **STACKED)
    evening.settle(6)
    assert evening.status()["win_probability"] > 0.9
    return evening, people


def fair(evening: Evening) -> bool:
    """The present sides are inside the fair band."""
    return 0.45 <= evening.status()["win_probability"] <= 0.55


def steam_id(client: Client) -> str:
    """The SteamID64 of a person."""
    return str(STEAM_ID_BASE + client.account_id)


def _spans(text: str) -> list[Span]:
    """Stored spans with their times in whole seconds: the rig's frames are shorter."""
    return [
        (SIDES[each["side"]], each["role"], round(each["start"]), round(each["end"]))
        for each in json.loads(text or "[]")
    ]
