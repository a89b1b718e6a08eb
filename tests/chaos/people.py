"""Game servers with people, who come, go, change sides, vote and swap, while the daemon is broken and mended.

The script is the one that is written from docs/protocol.md alone. Here it also does what the document says for a daemon
that does not answer, and compares orders with docs/rules.md. An AssertionError says what is wrong.
"""

from __future__ import annotations

import http.client
import json
import time
from collections import Counter, deque
from random import Random
from threading import Event
from typing import Any

from tests.chaos.daemon import Daemon, secret_of
from tests.document_client import POLL, Json, Player, Script

PATIENCE = 120.0
"""Seconds after which an answer, or a round that is stored, comes no more. The store is never away for so long."""
AGAIN = {"busy", "unavailable", "throttled", "waits"}
ANSWERED = 4
"""Batches within which who asks for a side has an answer."""
LOOKUPS = ("status", "teams", "why", "top", "rating", "rank", "help", "dry", "nonsense")
SIZES_FIRST = "Equipoise_ReasonJoinSmaller"
TO_A_PLAYER = ("You ", "That would", "No swap")
"""Beginnings of reasons why a player who asked for another side stays."""
BY_LOCK = ("Equipoise_RefusedLocked", "Equipoise_ReasonReturn")
NO_LOCK = ("Equipoise_RefusedGap", "Equipoise_RefusedSwitch")
BY_GAP = "Equipoise_ReasonGap"
REMEMBERED = 60
"""Requests that are written down when something is wrong."""
LOCKED = 180
"""Seconds for which who was moved is locked."""
FEWEST = 3
"""Players whom nobody makes leave a side."""


class Crowd(Script):
    """One server. `calm` is set while nothing breaks the daemon: then orders that are lost would be its fault."""

    def __init__(
        self, daemon: Daemon, server: str, mode: str, size: int, rng: Random, calm: Event, crowded: float
    ) -> None:
        super().__init__(daemon, server, secret_of(server), mode, size, rng.randrange(10**6))
        self._crowded = crowded
        """In how many rounds more people come and go than a round may name."""
        self.said = deque[str](maxlen=REMEMBERED)
        """The last requests, and what was answered."""
        self._daemon, self._rng, self._calm = daemon, rng, calm
        self.rounds: dict[str, Json] = {}
        """Every round that was sent, as it was sent, in the order in which they were played."""
        self.counts: Counter[str] = Counter()
        self.failing: set[str] = set()
        """Orders that this script answered with `order_failed`."""
        self.locks: dict[str, tuple[str, float]] = {}
        """Players with the side that they are locked to, and until when, as far as this script was told."""
        self._owed: dict[str, int] = {}
        """Players who were moved, and the batch by whose answer they are locked."""
        self._excused: set[int] = set()
        """Gaps of this round, with their sign, of which a reason says why they stay."""
        self._even = 0
        """The last decision when the sides were even: what was said since may be about the gap that there is."""
        self._forbidden = 0
        """The last decision before the game forbade moves: while it does, that is said once."""
        self._maps = 1
        self._blocked = False
        """Nobody may be moved now."""

    # What is sent.

    def ask(self, method: str, path: str, body: str | None = None, **headers: str) -> Any:
        """The same again until an answer comes that is not `busy`; every other one but 200 is wrong."""
        ends_at = time.monotonic() + PATIENCE
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        while time.monotonic() < ends_at:
            try:
                self._connection.request(method, path, body, named)
                with self._connection.getresponse() as response:
                    status, answer = response.status, json.loads(response.read())
                self.said.append(f"{time.time():.3f} {method} {path} {body}\n    {status} {answer}")
            except (OSError, http.client.HTTPException, ValueError):
                self.said.append(f"{time.time():.3f} {method} {path} {body}\n    no answer")
                self._connection.close()
                self.counts["no answer"] += 1
                # Orders were in it, perhaps.
                self._owed.clear()
                self.locks.clear()
            else:
                if (status, answer["ok"]) == (200, True):
                    return answer
                refusal = f"{method} {path} {body}: {status} {answer}"
                assert answer.get("error", {}).get("code") in AGAIN, refusal
                self.counts["again"] += 1
            time.sleep(0.03)
        raise AssertionError(f"{method} {path}: no answer for {PATIENCE:g} s")

    def happens(self, kind: str, **fields: Any) -> None:
        if kind == "order_failed":
            self.failing.add(fields["order"])
        if kind == "round_ended":
            self.rounds[fields["round"]] = fields
        if kind == "order_done" and fields["order"] in self.moves:
            moved = self.moves[fields["order"]][0]
            if not self.players[moved].flags.get("immune"):
                self._owed[moved] = self.seq + ANSWERED
        super().happens(kind, **fields)

    def post(self) -> None:
        super().post()
        if late := [id for id, seq in self._owed.items() if seq < self.seq and id in self.players]:
            raise AssertionError(f"{late} were moved and are not locked: {self.reply}")

    def hello(self, **more: Any) -> None:
        # The daemon knows no order any more that it gave before: nobody is to be moved.
        self.moves.clear()
        self.votes.clear()
        self._owed.clear()
        super().hello(**more)

    def delivers(self, round_id: str) -> None:
        ends_at, kept = time.monotonic() + PATIENCE, False
        while self.reply["rounds"].get(round_id) != "stored":
            assert time.monotonic() < ends_at, f"{round_id} is not stored after {PATIENCE:g} s: {self.reply}"
            kept |= self.reply["rounds"].get(round_id) == "kept"
            time.sleep(0.02)
            self.post()
        self.counts["kept"] += kept

    def presence(self, player: Player) -> Json:
        line = super().presence(player)
        if "counts" in line:
            line["counts"] |= {"assists": self._rng.randrange(9), "points": self._rng.randrange(60)}
        return line

    # What is ordered.

    def goes(self, player: Player, side: str, *, waiting: bool = False) -> None:
        player.flags.pop("held", None)  # the event says nothing of it, and so they are not
        super().goes(player, side, waiting=waiting)

    def do_assign(self, order: Json) -> None:
        if order["moment"] == "freeze" and self.phase != "freeze":
            # Its answer came late: the daemon was away when the round went live.
            self.happens("order_failed", order=order["order"], reason="live")
            return
        self.moves.clear()
        self.locks.clear()  # it ends them, and brings its own
        super().do_assign(order)

    def do_move(self, order: Json) -> None:
        player = self.players.get(order["id"])
        if player is None or player.side == "none" or self.phase != "running":
            self.happens("order_failed", order=order["order"], reason="left" if player is None else "no_side")
            return
        assert player.side != order["side"], f"{player.id} is on {player.side} and is to be moved there"
        # Of several rosters in a batch an earlier one may order what a later one takes back.
        taken_back = {"kind": "cancel", "order": order["order"]} in self.reply["orders"]
        if order["reason"]["phrase"] == BY_GAP:
            assert taken_back or not player.flags.get("immune"), f"{player.id} is immune and is to be moved: {order}"
        assert taken_back or not player.flags.get("held"), f"{player.id} is held and is to be moved: {order}"
        if self._rng.random() < 0.05:
            self.happens("order_failed", order=order["order"], reason="vetoed")
            return
        super().do_move(order)

    def do_place(self, order: Json) -> None:
        player = self.players.get(order["id"])
        if player is None:
            return
        sizes = {side: len(self.on(side)) for side in self.sides}
        here, there = player.side, order["side"]
        other = dict(zip(self.sides, reversed(self.sides), strict=True))
        lost = bool(self.reply["want"])  # it knows nobody yet, and lets everybody go where they want
        phrase = order["reason"]["phrase"]
        lock, ends_at = self.locks.get(player.id, (None, 0.0))
        if phrase == SIZES_FIRST and not lost:
            assert sizes[there] < sizes[other[there]], (order, sizes)
        if phrase in BY_LOCK and lock is not None:
            assert there == lock, f"{player.id} is locked to {lock}: {order}"
        if phrase in BY_LOCK and not lost:
            assert not player.flags.get("immune"), f"{player.id} is immune, and held by a lock: {order}"
        locked = lock is not None and time.monotonic() < ends_at - 1.0 and not player.flags.get("immune")
        if here == "none" and locked and self.phase == "running" and self.mode != "arena" and not lost:
            opened = sizes[lock] + 1 - sizes[other[lock]]
            assert there == lock or opened >= 2, f"{player.id} comes back, is locked to {lock}: {order}, {sizes}"
        if here == lock and locked and not self.moves:
            # Sizes come first, then locks, then skill.
            assert phrase not in NO_LOCK, f"locked to {lock}, and asked as if they were not: {order}, {sizes}"
            assert there == here or sizes[here] - sizes[there] >= 2, f"locked to {lock}: {order}, {sizes}"
        if here != there and there in other and self.mode != "arena" and not lost:
            # Nobody is put where that opens a gap; who comes back goes to their own side, if it opens none.
            assert sizes[there] + 1 - (sizes[other[there]] - (here in other)) < 2, (order, sizes, here)
        super().do_place(order)

    def do_lock(self, order: Json) -> None:
        self.locks[order["id"]] = order["side"], time.monotonic() + order["seconds"]
        if order["seconds"] in (0, LOCKED):  # else it is an older one, which goes along
            self._owed.pop(order["id"], None)

    def do_unlock(self, order: Json) -> None:
        for id in order["ids"]:
            self.locks.pop(id, None)

    def do_tell(self, order: Json) -> None:
        self.counts["told"] += 1

    def sizes_to_be(self) -> dict[str, int]:
        """How many each side has when all moves are carried out."""
        sizes = {side: len(self.on(side)) for side in self.sides}
        for id, side, _ in self.moves.values():
            if (player := self.players.get(id)) and player.side in sizes and player.side != side:
                sizes[player.side] -= 1
                sizes[side] += 1
        return sizes

    # What people do.

    def join(self, side: str = "any") -> None:
        """Someone connects and asks for a side; where no answer comes in a second, sizes decide."""
        player = Player(id=str(next(self._numbers)), strength=self._rng.gauss(0, 1), joined=self.now)
        self.players[player.id] = player
        self.placed.discard(player.id)
        self.happens("player_joined", id=player.id, name=f"player {player.id[-4:]}")
        self.happens("side_wanted", id=player.id, side=side)
        lost = self.counts["no answer"]
        for _ in range(ANSWERED):
            self.post()
            if player.id in self.placed:
                break
        else:
            # The place was in an answer that was lost, perhaps, by a daemon that has been started anew since.
            calm = self._calm.is_set() and self.counts["no answer"] == lost
            assert not calm, f"no place for {player.id}: {self.reply}"
            self.counts["placed by sizes"] += 1
        waits = self.mode == "arena" and self.phase in ("freeze", "running")
        if player.side == "none" and not waits:
            sizes = self.sizes_to_be()
            self.goes(player, min(self.sides, key=lambda each: sizes[each]))

    def leaves(self) -> None:
        side = self._rng.choice(self.sides)
        for each in self._rng.sample(self.on(side), min(self._rng.randint(1, 3), max(0, len(self.on(side)) - FEWEST))):
            self.leave(each)

    def comes(self) -> None:
        for _ in range(self._rng.randint(1, 3)):
            if len(self.players) < 2 * self.size:
                self.join(self._rng.choice((*self.sides, "any")))

    def crowd_comes(self) -> None:
        """More people than a round may name come, play for a moment and go."""
        for number in range(150):
            side = self.sides[number % 2]
            player = Player(id=str(next(self._numbers)), strength=0.0, joined=self.now)
            self.players[player.id] = player
            self.happens("player_joined", id=player.id, name="in a hurry")
            self.goes(player, side)
            self.now += 0.1
            self.leave(player)
            if number % 60 == 59:  # a batch has at most 256 events
                self.post()

    def watches(self) -> None:
        if len(on := self.on(self._rng.choice(self.sides))) > FEWEST:
            self.goes(self._rng.choice(on), "none")

    def comes_back(self) -> None:
        for each in self.players.values():
            if each.side == "none" and not each.flags.get("held"):
                self.happens("side_wanted", id=each.id, side=self._rng.choice((*self.sides, "any")))
                return

    def returns(self) -> None:
        """Someone who is locked watches for a moment, and asks for the other side."""
        for each in self._rng.sample([*self.players.values()], len(self.players)):
            if each.id in self.locks and each.side in self.sides and len(self.on(each.side)) > FEWEST:
                wanted = self.sides[each.side == self.sides[0]]
                self.goes(each, "none")
                self.post()
                self.happens("side_wanted", id=each.id, side=wanted)
                return

    def switches(self) -> None:
        """A player asks for the other side; whatever the answer is, they go by it."""
        if players := [each for side in self.sides for each in self.on(side)]:
            each = self._rng.choice(players)
            self.happens("side_wanted", id=each.id, side=self.sides[each.side == self.sides[0]])

    def says(self) -> None:
        """A command of a player or an admin, in chat or console."""
        one, other = self._rng.sample([*self.players], 2)
        words = self._rng.choice(
            [
                *([word] for word in LOOKUPS),
                ["vote"],
                ["vote"],
                ["friend", other],
                ["friend", "none"],
                ["swap", other],
                ["swap"],
                ["swap", "none"],
                *([["prefer", "marines"], ["choice"], ["choose", "random"]] if self.game == "ns2" else []),
            ]
        )
        self.happens("command", words=words, by=one)
        if words[0] == "swap" and self._rng.random() < 0.7:
            self.post()
            self.happens("command", words=["swap", one], by=other)

    def all_vote(self) -> None:
        """All ask for new teams, and most say yes."""
        for each in list(self.players):
            self.happens("command", words=["vote"], by=each)
        self.post()
        for order in self.votes:
            yes = self._rng.randrange(2 * self.size)
            self.happens("vote_ended", order=order, yes=yes, no=2 * self.size - yes)
        self.votes.clear()

    def ordered(self) -> None:
        """An admin orders something, in the game or by the admin interface."""
        words = self._rng.choice((["scramble", "now"], ["scramble", "next"], ["scramble", "cancel"], ["balance"]))
        if self._rng.random() < 0.5:
            self.happens("command", words=words, by=next(iter(self.players)), admin=True)
        elif words[-1] in ("cancel", "balance"):
            self.orders_by_api(words[-1], {})
        else:
            self.orders_by_api("scramble", {"when": words[-1]})

    def moved_by_admin(self) -> None:
        self.happens("command", words=["move", self._rng.choice([*self.players])], by="", admin=True)

    def orders_by_api(self, action: str, body: Json) -> None:
        """What cannot be done now is refused with 409, and all else with nothing."""
        token = {"Authorization": f"Bearer {self._token}", "Content_Type": "application/json"}
        try:
            self.ask("POST", f"/v1/admin/servers/{self.server}/{action}", json.dumps(body), **token)
        except AssertionError as refusal:
            if " 409 {" not in str(refusal):
                raise

    def flags_change(self) -> None:
        """Some are immune, held or carry something now, others no more."""
        for each in self.players.values():
            for name, value in (("immune", True), ("held", "duel"), ("carrier", True), ("building", True)):
                if self._rng.random() < 0.15:
                    each.flags[name] = value
                elif self._rng.random() < 0.8:
                    each.flags.pop(name, None)
        self.roster()

    def game_forbids_moves(self) -> None:
        """Overtime begins, or ends."""
        self._blocked, self._forbidden = not self._blocked, self.newest()
        self._excused.clear()
        self.roster()

    def roster(self, **more: Any) -> None:
        if self._blocked:
            more |= {"moves": "no", "moves_reason": "overtime"}
        super().roster(**more)

    def sides_swap(self) -> None:
        """The game swaps the sides, as maps do between two rounds of theirs."""
        other = dict(zip(self.sides, reversed(self.sides), strict=True)) | {"none": "none"}
        for each in {**self.present, **self.players}.values():
            # In what is said of the round all sides are the colours at its end.
            each.side = other[each.side]
            each.spans = [(other[side], begin, end) for side, begin, end in each.spans]
        self.lineup = [{**seat, "side": other[seat["side"]]} for seat in self.lineup]
        self.locks = {id: (other[side], ends_at) for id, (side, ends_at) in self.locks.items()}
        self._excused = {-gap for gap in self._excused}
        self.moves.clear()  # those to the old colours are cancelled
        self.happens("sides_switched")
        if self._rng.random() < 0.3:  # who was where is known
            self.roster()
        self.post()
        for id in [*self.locks][:3]:  # they stay with their group
            if (player := self.players.get(id)) and player.side in self.sides:
                self.happens("side_wanted", id=id, side=other[player.side])
        self.post()
        self.returns()

    def map_ends(self) -> None:
        """The next map: a new session."""
        self._maps += 1
        self.session, self.phase = f"{self.boot}-{self._maps}", "idle"
        self.locks.clear()
        waiting = self.game == "tf2" and self.mode != "arena" and self._rng.random() < 0.5
        self.hello(waiting=waiting)
        self.roster()
        self.post()
        if waiting:
            self.happens("waiting_ended")

    # A round.

    def newest(self) -> int:
        return max((line["number"] for line in self.decisions(self._even)), default=self._even)

    def answered(self, happened: str) -> None:
        """A gap gets its moves or a reason within ten seconds of the game, in a round, outside arena."""
        if self.mode == "arena":
            return
        for _ in self.polls():
            sizes = self.sizes_to_be()
            gap = sizes[self.sides[0]] - sizes[self.sides[1]]
            if abs(gap) < 2 or any(abs(gap) <= abs(each) and gap * each > 0 for each in self._excused):
                return
            if self._blocked and self._excused:
                return
            since = min(self._even, self._forbidden) if self._blocked else self._even
            lines = [line["reason"] for line in self.decisions(since) if line["kind"] in ("kept", "failed")]
            if why := [line for line in lines if not line.startswith(TO_A_PLAYER)]:
                self.reasons += why
                self._excused.add(gap)
                return
        said = [f"{line['kind']}: {line['reason']}" for line in self.decisions(max(0, self._even - 5))]
        raise AssertionError(
            f"{self.server}, round {self.number}, {happened}: a gap of {gap}, no move and no reason: "
            f"excused {self._excused}, blocked {self._blocked}, said {said}, {self.lines()}"
        )

    def carries_out(self) -> None:
        """Who is to be moved dies, and is moved."""
        for _ in self.polls():
            if not self.moves and not self._owed:
                return

    def enters(self) -> None:
        """The script starts: its people are here already."""
        self.hello(waiting=False)
        self.roster()
        self.post()
        while len(self.players) < 2 * self.size:
            self.join()

    def plays(self, happenings: int) -> None:
        """A round with things that happen in it, and the time behind it."""
        self._blocked = False  # before a daemon that has just started asks who is there
        if self.game == "ns2" or self.mode == "arena" or self._rng.random() < 0.9:
            self.start()
        else:  # Waiting For Players was cancelled while people play
            self.number += 1
            self.goes_live()
        self._excused.clear()
        ways = [
            self.leaves,
            self.leaves,
            self.leaves,
            self.comes,
            self.comes,
            self.watches,
            self.comes_back,
            self.returns,
        ]
        ways += [self.switches, self.switches, self.says, self.says, self.flags_change]
        if self.mode != "arena":
            ways += [self.ordered, self.moved_by_admin, self.game_forbids_moves]
        if self.game == "tf2":
            ways += [self.all_vote]
        if self._rng.random() < self._crowded:
            ways += 6 * [self.crowd_comes]
        if self.mode == "payload":
            ways += [self.sides_swap]
        for _ in range(happenings):
            if abs(self.gap()) < 2 and not self.moves:
                self._even = self.newest()
            way = self._rng.choice(ways)
            way()
            self.counts[way.__name__] += 1
            self.post()
            self.answered(way.__name__)
            if self._rng.random() < 0.7:  # else something happens first
                self.carries_out()
        while min(len(self.on(side)) for side in self.sides) < 1:
            self.join()
        self.end_round(self._rng.choice((None, None, 0, 1)), (self._rng.randrange(3), self._rng.randrange(3)))
        self.lull()

    def start(self) -> None:
        """A round starts; a scramble that is due comes, unless the daemon was away just then."""
        while min(len(self.on(side)) for side in self.sides) < 1:
            self.join()
        try:
            self.start_round()
        except AssertionError as error:
            if "no new teams" not in str(error):
                raise
            self.counts["no new teams"] += 1
            self.goes_live()

    def lull(self) -> None:
        """Between two rounds."""
        while len(self.players) < 2 * self.size - self._rng.randrange(3):
            self.join()
        if self._rng.random() < 0.15:
            self.map_ends()
        elif self.mode == "payload" and self._rng.random() < 0.5:
            self.sides_swap()
        self.now += POLL
