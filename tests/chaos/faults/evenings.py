"""Evenings of servers with people: what no script of a round alone enters."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import time
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from random import Random
from threading import Event
from typing import Any

from tests.chaos import browsing, stored
from tests.chaos.calls import Request, ask, bearer
from tests.chaos.daemon import COMMAND, Daemon, Ended, environment_of_all
from tests.chaos.faults.disks import locked
from tests.chaos.faults.power_loss import database_missing
from tests.chaos.faults.trial import Fault, Trial
from tests.chaos.peers import PASSWORD, neighbours
from tests.chaos.people import PATIENCE, Crowd
from tests.chaos.rules import teams_of
from tests.document_client import Json

JOINT = 'system = "joint"'
BOTH = 'system = "synelo"\nk_max = 8\nshadow_rounds = 8\nbalance = "joint"'
SYSTEMS = (
    *("elo", "glicko", "glicko2", "joint", "ns2", "synelo", "teamskill_allk_ev", "teamskill_allk_ls", "teamskill_k"),
    *("trueskill", "trueskill2", "trueskill_through_time"),
)
"""docs/ratings.md has them."""
HAPPENINGS = 6
"""In a round."""
FEW, MANY = 2, (20, 160)
"""Rounds of each server in the first trial, and in a later one: an evening's end costs as much as a hundred rounds."""
REFUSED = {"changed", "present", "refused", "waits", "unavailable", "busy", "not_found", "rating"}
"""Codes of edits that cannot be made, or not now: also of a round that is not rated, a rating too low."""
SHOWN = 6
"""Players whom an edit has changed, of whom it is seen what is shown of them."""
MOST_GROWN = 150 << 20
"""Bytes: a few rounds of two pools, and no answer of a neighbour that is a gigabyte."""
EDITS: tuple[tuple[str, str, Json], ...] = (
    ("PUT", "", {"rating": 1234}),
    ("POST", "/undo", {}),
    ("POST", "void", {}),
    ("POST", "void", {"undo": True}),
    ("DELETE", "", {}),
    ("POST", "/undo", {}),
)
"""Of a player who played the first round, or of that round."""
CLOSE = 1e-9
"""TeamSkill's replay sums in another order."""
OF_ROUND = "rounds.pool, server, rounds.id, rounds.number"
NUMBERS = {
    "rounds": f"SELECT {OF_ROUND}, prediction, balance_prediction, said, unevenness FROM rounds",
    "participants": (
        f"SELECT {OF_ROUND}, player, before, after, participants.prediction, score, rounds, visible, state "
        "FROM participants JOIN rounds ON rounds.number = round"
    ),
    "players": "SELECT pool, id, rating, rounds, visible, state FROM players",
}
"""What a rating system made, by table: a replay makes the same, and so does another machine of a shared pool."""
DATABASE = re.compile(r"(?m)^database.*\n")
"""The lines by which a pool is shared."""


class Evening:
    """A daemon, and servers with people."""

    def __init__(
        self,
        trial: Trial,
        pools: Mapping[str, str],
        servers: Mapping[str, tuple[str, str]],
        configure: Callable[[str, Path], str] = lambda text, _: text,
        sizes: tuple[int, int] = (4, 7),
        crowded: float = 0.05,
    ) -> None:
        """Servers by name, each with its pool and its mode; `configure` changes the configuration in its folder.

        A side has so many players, from `sizes`; in so many rounds, from 0 to 1, crowds come.
        """
        self.trial, self.folder, self.pools, self.servers = trial, trial.folder, [*pools], servers
        self.daemon = Daemon(
            self.folder,
            self.folder / "state",
            pools,
            {name: pool for name, (pool, _) in servers.items()},
            {name: "ns2" for name, (_, mode) in servers.items() if mode == "ns2"},
        )
        self.daemon.state.mkdir()
        self.daemon.config.write_text(configure(self.daemon.config.read_text(), self.folder))
        self.calm = Event()
        self.calm.set()
        self.database: Any = None
        """The server of a shared pool's log."""
        self.tried: Counter[str] = Counter()
        self.forgotten: dict[str, str] = {}
        """People who were forgotten, and who stands in their place."""
        self.crowds: list[Crowd] = []
        self.daemon.start()
        for name, (_, mode) in servers.items():
            rng = Random(trial.rng.random())
            self.crowds.append(Crowd(self.daemon, name, mode, rng.randint(*sizes), rng, self.calm, crowded))

    @property
    def store(self) -> Path:
        return self.daemon.state / "equipoise.db"

    def plays(self, *beside: Callable[[Event], None], rounds: int | None = None) -> None:
        """Rounds on each server, by default many; what runs beside them ends when the event is set."""
        ends, wrong = Event(), Event()
        more = rounds or (FEW if self.trial.scale == 1 else self.trial.rng.randint(*MANY))

        def one(crowd: Crowd) -> None:
            try:
                if not crowd.number:
                    crowd.enters()
                until = crowd.number + more
                while crowd.number < until and not wrong.is_set() and not self.trial.verdict:
                    crowd.plays(HAPPENINGS)
            except AssertionError:
                wrong.set()
                raise

        with ThreadPoolExecutor(len(self.crowds) + len(beside)) as threads:
            troubles = [threads.submit(each, ends) for each in beside]
            playing = [(crowd, threads.submit(one, crowd)) for crowd in self.crowds]
            for crowd, future in playing:
                if (error := future.exception()) is not None:
                    self.note(crowd, error)
            ends.set()
            for trouble in troubles:
                trouble.result()

    @property
    def played(self) -> int:
        return sum(crowd.number for crowd in self.crowds)

    def pauses(self, ends: Event, rounds: float) -> bool:
        """Wait while so many rounds are played, however fast this machine is; whether the evening is over."""
        until = self.played + rounds
        while not ends.wait(self.trial.rng.uniform(0.0, 0.05)):
            if self.played >= until:
                return False
        return True

    def note(self, crowd: Crowd, error: BaseException) -> None:
        """Someone had to stop: a gap that stays, or an answer that is wrong."""
        if not isinstance(error, AssertionError):
            raise error
        server = crowd.server
        (self.folder / f"{server}.said").write_text("\n".join(crowd.said) + "\n")
        kind = "gaps" if " a gap of " in str(error) else "answers"
        getattr(self.trial.verdict, kind).append(f"{server}: {error}"[:1500])

    # What breaks the daemon meanwhile.

    def breaks(self, ends: Event) -> None:
        """Kill it, stop it, hold it, lock its store: one after the other, with rounds between, the first at once."""
        rng, daemon, rounds = Random(self.trial.rng.random()), self.daemon, 0.0
        while not self.pauses(ends, rounds):
            rounds = rng.uniform(0.0, 20.0)
            self.calm.clear()
            faults = ["kill", "kill", "stop", "hold", "lock", *(3 * ["database"] if self.database else [])]
            fault = rng.choice(faults)
            self.tried[fault] += 1
            if fault == "database":
                self.database.stop(rng.choice((signal.SIGINT, signal.SIGKILL)))
                time.sleep(2.0 * rng.random() ** 2)
                self.database.start()
            elif fault == "kill":
                daemon.kill()
                daemon.start()
            elif fault == "stop":
                if code := daemon.stop():
                    self.trial.verdict.answers.append(f"exit {code} after SIGTERM: {daemon.last_words()}")
                daemon.start()
            elif fault == "hold":
                daemon.send(signal.SIGSTOP)
                time.sleep(2.0 * rng.random() ** 2)
                daemon.send(signal.SIGCONT)
            else:
                with locked(self.store):
                    time.sleep(2.0 * rng.random() ** 2)
            self.calm.set()

    # What others ask meanwhile.

    def asks(self, ends: Event) -> None:
        """Operators look at everything, and send commands to consoles; who looks has an answer in time."""
        rng, servers = Random(self.trial.rng.random()), [crowd.server for crowd in self.crowds]
        headers = bearer(self.daemon.token)
        while not ends.wait(rng.uniform(0.0, 0.2)):
            path = rng.choice(("servers", "doctor", f"servers/{rng.choice(servers)}/rcon", "decisions", "audit"))
            method, body = ("POST", b'{"command": "status"}') if path.endswith("rcon") else ("GET", b"")
            began = time.monotonic()
            answer = ask(self.daemon.port, Request(method, f"/v1/admin/{path}", headers, body), 60.0)
            allowed = answer is not None and (answer.ok or answer.code in ("rcon", "game_server"))
            if not allowed or (answer and answer.fault):
                took = time.monotonic() - began
                self.trial.verdict.answers.append(
                    f"{method} {path}, {took:.1f} s: {answer and (answer.fault or answer.json)}"
                )
            self.tried[path.rpartition("/")[2]] += 1

    # What admins do meanwhile.

    def edits(self, ends: Event) -> None:
        """Set, reset, undo, void, hide, forget, refit, calibrate, begin a season."""
        rng = Random(self.trial.rng.random())
        while not self.pauses(ends, rng.uniform(0.0, 3.0)):
            if rng.random() < 0.8:  # a daemon that is not there edits nothing
                self.calm.wait(10.0)
            with stored.reading(self.store) as database:
                query = "SELECT pool, id, rating FROM players ORDER BY random() LIMIT 1"
                player = database.execute(query).fetchone()
                query = "SELECT server, id FROM rounds WHERE unrated IS NULL ORDER BY random() LIMIT 1"
                played = database.execute(query).fetchone()
            if player is not None and played is not None:
                pool, id, rating = player
                self.edit(rng, pool, id, rating, f"rounds/{played[0]}/{played[1]}/void")

    def edit(self, rng: Random, pool: str, player: str, rating: float, void: str) -> None:
        rating, at = round(rating) + rng.randrange(-20, 21), f"players/{player}"
        edits: list[tuple[str, str, Json]] = [
            *(4 * [("PUT", f"{at}?pool={pool}", {"rating": rating})]),
            *(3 * [("POST", f"{at}/undo?pool={pool}", {})]),
            ("DELETE", f"{at}?pool={pool}", {}),
            *(3 * [("POST", void, {}), ("POST", void, {"undo": True})]),
            ("POST", f"{at}/hide", {"hidden": rng.random() < 0.5}),
            ("POST", f"{at}/forget", {"dry_run": True}),
            ("POST", f"pools/{pool}/refit", {}),
            ("POST", f"pools/{pool}/calibrate", {}),
            ("POST", f"pools/{pool}/seasons", {"name": f"season {rng.randrange(10**9)}"}),
        ]
        self.make(pool, player, *rng.choice(edits))

    def make(self, pool: str, player: str, method: str, path: str, body: Json) -> None:
        """Make an edit, and look at what is shown of those whom it has changed."""
        before = stored.ratings(self.store, pool)
        answer = self.edited(method, path, body)
        if answer:
            after = stored.ratings(self.store, pool)
            self.compare_shown(pool, [one for one, rating in after.items() if rating != before.get(one)])
        if answer and path.endswith("forget") and (done := self.edited(method, path, {"seen": answer["seen"]})):
            self.forgotten[player] = done["stand_in"]

    def compare_shown(self, pool: str, players: Sequence[str]) -> None:
        """What the daemon shows of players, which is from its memory, is within a second what is stored."""
        for player in self.trial.rng.sample(players, min(len(players), SHOWN)):
            request = Request("GET", f"/v1/admin/players/{player}?pool={pool}", bearer(self.daemon.token))
            ends_at, seen = time.monotonic() + 1.0, 0
            while seen < 2 or time.monotonic() < ends_at:
                before = stored.ratings(self.store, pool).get(player)
                answer = ask(self.daemon.port, request, 30.0)
                if answer is None or not answer.ok:  # killed, or forgotten
                    break
                shown = answer.json["player"]
                if (shown["rating"], shown["rounds"]) == before:
                    self.tried["shown"] += 1
                    break
                if before == stored.ratings(self.store, pool).get(player):  # no round came meanwhile
                    seen += 1
                time.sleep(0.02)
            else:
                self.trial.verdict.differ.append(f"player {player} of {pool}: shown {shown}, stored {before}")

    def edited(self, method: str, path: str, body: Json) -> Json | None:
        """The answer, if it was done; the only refusals are those of an edit that cannot be made now."""
        headers, words = bearer(self.daemon.token), json.dumps(body).encode()
        answer = ask(self.daemon.port, Request(method, f"/v1/admin/{path}", headers, words), 30.0)
        kind = path.partition("?")[0].rpartition("/")[2] if method == "POST" else method
        if answer is None:
            self.tried[f"{kind} without an answer"] += 1
            return None
        if answer.fault or (not answer.ok and answer.code not in REFUSED):
            self.trial.verdict.answers.append(f"{method} {path} {body}: {answer.fault or answer.json}")
        self.tried[f"{kind} {'done' if answer.ok else 'refused'}"] += 1
        return dict(answer.json) if answer.ok else None

    # What is compared at the end.

    def ends(self) -> None:
        """Compare rounds, live ratings, those after a start, and those of a replay."""
        verdict = self.trial.verdict
        self.trial.settled = True
        self.trial.counts += self.tried
        if verdict:  # enough is wrong
            self.daemon.kill()
            return
        try:
            live = self.known()
            if self.database is not None:
                self.check_another_machine()
            self.starts_anew(live)
            if (code := self.daemon.stop()) != 0:
                verdict.answers.append(f"exit {code} after SIGTERM: {self.daemon.last_words()}")
            with stored.reading(self.store) as database:
                self.check_rounds(database)
                self.check_decisions(database)
            self.check_replay(live)
        except Ended as error:
            verdict.answers.append(f"the daemon: {error}")
        finally:
            self.daemon.kill()
        verdict.late += self.daemon.late
        if count := self.daemon.tracebacks():
            verdict.answers.append(f"{count} tracebacks in {self.daemon.log}")

    def starts_anew(self, live: Mapping[str, Json]) -> None:
        """Kill the daemon, and compare with what it knew."""
        self.daemon.kill()
        self.daemon.start()
        for player, there in self.known().items():
            if differ(there, live.get(player)):
                self.trial.verdict.replay.append(f"{player}: {live.get(player)} before kill -9, {there} behind it")

    def known(self) -> dict[str, Json]:
        """What the daemon says of every player of every pool, once it has finished what it was asked to do."""
        ends_at = time.monotonic() + PATIENCE
        while waits := self.unfinished():
            if time.monotonic() > ends_at:
                raise Ended(f"after {PATIENCE:g} s {waits}")
            time.sleep(0.1)
        with stored.reading(self.store) as database:
            players = database.execute("SELECT pool, id FROM players").fetchall()
        fields = ("rating", "rounds", "visible", "skill", "deviation")
        return {
            f"{id} of {pool}": {name: there[name] for name in fields}
            for pool, id in players
            for there in [self.get(f"players/{id}?pool={pool}")["player"]]
        }

    def unfinished(self) -> str | None:
        for pool in self.pools:
            if self.get(f"pools/{pool}/refit")["refit"]["running_since"] is not None:
                return f"a refit of {pool} goes on"
        for crowd in self.crowds:
            by = self.get(f"servers/{crowd.server}")["server"]["balanced_by"]
            # Until the system that is to make the teams has read the rounds, the one that rates makes them.
            if by is None or (by != "joint" and self.servers[crowd.server][0] == "both"):
                return f"the teams of {crowd.server} are made by {by}"
        return None

    def check_another_machine(self) -> None:
        """A machine that joins the shared pools from nothing has the same numbers."""
        folder = self.folder / "another"
        (folder / "state").mkdir(parents=True)
        another = Daemon(folder, folder / "state", {}, {})
        text = self.daemon.config.read_text().replace(f'"{self.daemon.state}"', f'"{another.state}"')
        text = text.replace(f"port = {self.daemon.port}", f"port = {another.port}").replace('"one"', '"another"')
        another.config.write_text(text)
        for file in self.folder.iterdir():
            if file.is_file() and file.stat().st_size < 100:  # secrets
                shutil.copy(file, folder)
        here = numbers_of(self.store, {})
        another.start()
        try:
            ends_at = time.monotonic() + PATIENCE
            while (apart := apart_by(here, numbers_of(folder / "state" / "equipoise.db", {}))) and (
                time.monotonic() < ends_at
            ):
                time.sleep(0.2)
        finally:
            another.kill()
        self.trial.verdict.differ += [f"on another machine: {each}" for each in apart]

    def get(self, path: str) -> Json:
        answer = ask(self.daemon.port, Request("GET", f"/v1/admin/{path}", bearer(self.daemon.token)), 60.0)
        if answer is None or not answer.ok:
            raise Ended(f"{path}: {answer}")
        return dict(answer.json)

    def check_rounds(self, database: sqlite3.Connection) -> None:
        """Every round that was sent is there once, in the order in which its server played, with those who fought."""
        verdict = self.trial.verdict
        for crowd in self.crowds:
            query = "SELECT number, id, unrated, voided FROM rounds WHERE server = ? ORDER BY number"
            rows = database.execute(query, (crowd.server,)).fetchall()
            there, sent = [row["id"] for row in rows], [*crowd.rounds]
            self.trial.rounds += len(there)
            self.trial.counts[f"rounds of {self.servers[crowd.server][0]}"] += len(there)
            self.trial.counts["crowds"] += crowd.counts["crowd_comes"]
            self.trial.kept += crowd.counts["kept"]
            verdict.lost += [f"{crowd.server}: {each}" for each in sent if each not in there]
            verdict.duplicated += [f"{crowd.server}: {each} was never sent" for each in there if each not in sent]
            if [each for each in there if each in sent] != [each for each in sent if each in there]:
                verdict.reordered.append(f"{crowd.server}: played {sent}, stored {there}")
            for number, id, unrated, voided in rows:
                query = "SELECT side, player FROM participants WHERE round = ?"
                took_part = Counter(tuple(each) for each in database.execute(query, (number,)))
                known = crowd.game == "tf2" and crowd.mode != "arena" and id in crowd.rounds
                if unrated is None and voided is None and known:
                    teams = teams_of(crowd.rounds[id])
                    names = [(side, self.forgotten.get(one, one)) for side, ones in teams.items() for one in ones]
                    if took_part != Counter(names):
                        verdict.differ.append(f"{crowd.server}: {id}: {took_part}, by the rules {teams}")

    def check_decisions(self, database: sqlite3.Connection) -> None:
        """Nothing failed but what a script said."""
        failing = {order for crowd in self.crowds for order in crowd.failing}
        query = "SELECT server, reason, order_id FROM decisions WHERE kind = 'failed'"
        for server, reason, order in database.execute(query):
            if order not in failing and not (self.tried and "StoreError" in reason):
                self.trial.verdict.answers.append(f"{server}: {order or 'a question'} failed: {reason}")

    def check_replay(self, live: Mapping[str, Json]) -> None:
        """Rate all rounds and edits anew in a copy of the store: the same numbers, and the same skills."""
        copy = self.folder / "copy"
        shutil.copytree(self.daemon.state, copy / "state")
        config = copy / "config.toml"
        text = self.daemon.config.read_text().replace(f'"{self.daemon.state}"', f'"{copy / "state"}"')
        config.write_text(DATABASE.sub("", text))
        for file in self.folder.iterdir():
            if file.is_file() and file.stat().st_size < 100:  # secrets
                shutil.copy(file, copy)
        store = copy / "state" / "equipoise.db"
        with closing(sqlite3.connect(store, isolation_level=None)) as database:
            database.execute("DELETE FROM snapshots")
            database.execute("DELETE FROM followed")  # as a machine that has left the shared pools
            query = "SELECT pool, max(number) FROM edits WHERE action IN ('refit', 'spread') GROUP BY pool"
            anew = dict(database.execute(query).fetchall())
        before = numbers_of(store, anew)
        for pool in self.pools:
            words = [*COMMAND, "pool", "recompute", pool, "--config", str(config), "--yes", "--json"]
            ended = subprocess.run(words, capture_output=True, text=True, check=False, env=environment_of_all())
            if ended.returncode:
                self.trial.verdict.answers.append(f"{' '.join(words[2:5])}: exit {ended.returncode}: {ended.stderr}")
        self.trial.verdict.replay += apart_by(before, numbers_of(store, anew))


def numbers_of(store: Path, anew: Mapping[str, int]) -> dict[str, Json]:
    """What rating systems made since the event by which all before it in a pool was rated anew, by table and key."""
    found: dict[str, Json] = {}
    with stored.reading(store) as database:
        for table, query in NUMBERS.items():
            for row in database.execute(query):
                values = dict(row)
                event = values.pop("number", None)  # a player is of no one event
                if event is not None and event <= anew.get(values["pool"], 0):
                    continue
                if isinstance(values.get("state"), str):
                    values["state"] = json.loads(values["state"])
                keys = [str(values.pop(name)) for name in ("pool", "server", "id", "player") if name in values]
                found[f"{table} {' '.join(keys)}"] = values
    return found


def apart_by(before: Mapping[str, Json], after: Mapping[str, Json]) -> list[str]:
    return [
        f"{key}: stored {before.get(key)}, then {after.get(key)}"[:900]
        for key in sorted({*before, *after})
        if differ(before.get(key), after.get(key))
    ]


def differ(one: object, other: object) -> bool:
    """Whether two values of plain data differ by more than a rounding of sums."""
    if isinstance(one, float | int) and isinstance(other, float | int):
        return abs(one - other) > CLOSE * max(1.0, abs(one), abs(other))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() != other.keys() or any(differ(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) != len(other) or any(map(differ, one, other))
    return one != other


POOLS = {"own": JOINT, "both": BOTH, "ns2": 'system = "ns2"'}
SERVERS = {
    "koth-1": ("own", "koth"),
    "payload-1": ("own", "payload"),
    "koth-2": ("both", "koth"),
    "ns2-1": ("ns2", "ns2"),
}
"""By name, each with its pool and its mode."""


def people(trial: Trial) -> int:
    """`joint` with players' own scores, by itself and behind SynElo, in every kind of game."""
    evening = Evening(trial, POOLS, {**SERVERS, "arena-1": ("both", "arena")})
    evening.plays()
    evening.ends()
    return evening.played


def people_and_swaps(trial: Trial) -> int:
    """Maps on which the game swaps the sides, now and then also in a round."""
    evening = Evening(trial, {"own": JOINT}, dict.fromkeys(("payload-1", "payload-2"), ("own", "payload")))
    evening.plays(rounds=12)
    evening.ends()
    return evening.played


def crowds(trial: Trial) -> int:
    """Servers of up to 32 players, with crowds in every round: more people come and go than a round may name."""
    evening = Evening(trial, POOLS, SERVERS, sizes=(8, 16), crowded=1.0)
    evening.plays(evening.breaks)
    evening.ends()
    return evening.tried.total()


def every_system(trial: Trial) -> int:
    """The same with every rating system."""
    evening = Evening(
        trial,
        {name: f'system = "{name}"' for name in SYSTEMS},
        {f"of-{name}": (name, "ns2" if name == "ns2" else "koth") for name in SYSTEMS},
    )
    evening.plays()
    evening.ends()
    return evening.played


def people_and_faults(trial: Trial) -> int:
    """The same while the daemon is killed, stopped, held, and its store is locked."""
    evening = Evening(trial, POOLS, SERVERS)
    evening.plays(evening.breaks)
    evening.ends()
    return sum(evening.tried.values())


def people_and_neighbours(trial: Trial) -> int:
    """RCON, web admin, A2S and webhooks of those who mean harm: rounds, answers and the loop do not notice them."""
    tried: Counter[str] = Counter()
    with neighbours(trial.rng, tried) as (rcon, web_admin, query, webhook):

        def configure(text: str, folder: Path) -> str:
            (folder / "rcon").write_text(f"{PASSWORD}\n")
            (folder / "rcon").chmod(0o600)
            (folder / "key").write_text("whsec_" + b64encode(bytes(32)).decode() + "\n")
            (folder / "key").chmod(0o600)
            peer = f'rcon = "127.0.0.1:{rcon.port}"\nrcon_password_file = "rcon"\nquery = "127.0.0.1:{query.port}"\n'
            for server in ("koth-1", "koth-2"):
                text = text.replace(f"[server.{server}]\n", f"[server.{server}]\n{peer}")
            login = f'rcon = "127.0.0.1:{web_admin.port}"\nrcon_user = "equipoise"\nrcon_password_file = "rcon"\n'
            text = text.replace("[server.ns2-1]\n", f"[server.ns2-1]\n{login}")
            at = f'url = "http://127.0.0.1:{webhook.port}/api/webhooks/1/token"'
            return (
                f'{text}[notice.discord]\nkind = "discord"\nstatus = true\n{at}\n'
                f'[notice.website]\nkind = "generic"\nsecret_file = "key"\n{at}\n'
            )

        servers = {"koth-1": ("own", "koth"), "koth-2": ("both", "koth"), "arena-1": ("both", "arena")}
        evening = Evening(trial, POOLS, {**servers, "ns2-1": ("ns2", "ns2")}, configure)
        before = memory(evening.daemon.pid)
        evening.plays(evening.asks)
        grown = memory(evening.daemon.pid) - before
        if grown > MOST_GROWN:
            trial.verdict.answers.append(f"the daemon has {grown >> 20} MB more than before")
        evening.ends()
    trial.note = f"{len(tried)} ways, memory + {grown >> 20} MB"
    return sum(tried.values())


def people_and_pages(trial: Trial) -> int:
    """Browsers that open and send whatever the page offers, and readers of the stream, through faults."""
    servers = {"koth-1": ("own", "koth"), "payload-1": ("both", "payload"), "ns2-1": ("ns2", "ns2")}
    evening = Evening(trial, POOLS, servers)
    wrong = trial.verdict.answers

    def opened(ends: Event) -> None:
        browsing.browse(evening.daemon, Random(trial.rng.random()), ends, evening.tried, wrong)

    def watched(ends: Event) -> None:
        browsing.watch(evening.daemon, Random(trial.rng.random()), ends, evening.tried, wrong)

    evening.plays(evening.breaks, opened, opened, watched, watched, watched)
    evening.ends()
    return evening.tried.total()


def memory(pid: int) -> int:
    """Bytes of a process that are in memory."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def people_and_edits(trial: Trial) -> int:
    """Edits of all kinds between rounds and faults."""
    evening = Evening(
        trial,
        {**POOLS, "whole": 'system = "trueskill_through_time"'},
        {
            "koth-1": ("own", "koth"),
            "koth-2": ("both", "koth"),
            "ns2-1": ("ns2", "ns2"),
            "koth-3": ("whole", "koth"),
        },
    )
    evening.plays(evening.breaks, evening.edits)
    evening.ends()
    return evening.tried.total()


def people_and_each_edit(trial: Trial) -> int:
    """Every edit that takes something back or changes the past, in each pool: what is known stays so behind a start."""
    evening = Evening(trial, POOLS, {"koth-1": ("own", "koth"), "koth-2": ("both", "koth"), "ns2-1": ("ns2", "ns2")})
    evening.plays(rounds=FEW)
    for method, way, body in EDITS:
        for crowd in evening.crowds:
            pool, (id, *_) = evening.servers[crowd.server][0], crowd.rounds
            player = crowd.rounds[id]["players"][0]["id"]
            path = f"rounds/{crowd.server}/{id}/void" if way == "void" else f"players/{player}{way}?pool={pool}"
            evening.make(pool, player, method, path, body)
        evening.plays(rounds=1)
        if trial.verdict:
            break
        evening.starts_anew(evening.known())
    evening.ends()
    return len(EDITS)


def people_and_database(trial: Trial) -> int:
    """Shared pools, whose database is stopped and killed too; at the end another machine joins them."""
    from tests.postgres import PASSWORD as OF_DATABASE
    from tests.postgres import cluster

    with cluster() as server:
        lines = f'\ndatabase = "{server.url(server.database())}"\ndatabase_password_file = "database"'

        def configure(text: str, folder: Path) -> str:
            (folder / "database").write_text(f"{OF_DATABASE}\n")
            (folder / "database").chmod(0o600)
            return f'{text}[shared]\nmachine = "one"\n'

        evening = Evening(trial, {name: system + lines for name, system in POOLS.items()}, SERVERS, configure)
        evening.database = server
        evening.plays(evening.breaks, evening.edits)
        evening.ends()
    return evening.tried.total()


FAULTS = (
    Fault("people come and go", people, own=True),
    Fault("people, swapped sides", people_and_swaps, own=True),
    Fault("people, in crowds", crowds, own=True),
    Fault("people, every system", every_system, own=True),
    Fault("people, and faults", people_and_faults, own=True),
    Fault("people, and evil neighbours", people_and_neighbours, own=True),
    Fault("people, pages, and faults", people_and_pages, own=True),
    Fault("people, each edit", people_and_each_edit, own=True),
    Fault("people, edits, and faults", people_and_edits, own=True),
    Fault("people, shared pools, and faults", people_and_database, database_missing, own=True),
)
