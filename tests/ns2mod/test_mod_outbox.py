"""No finished round is lost but by overflow, which is counted; and what else waits is right when it is sent."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from equipoise.web.requests import LIMIT
from equipoise.wire.codec import decode_batch
from tests.ns2mod.modules import Modules

MODULES = Modules()

BOOT = 1763622000123


class Crash(Exception):
    """The server's process is gone."""


@dataclass
class Disk:
    """The mod's `config://` folder, whose machine may stop in the middle of a write.

    As `io.open(name, "w+")` of the game: what was there is gone before the first byte is written.
    """

    files: dict[str, str] = field(default_factory=dict)
    crash_after: float | None = None
    """The part of the next write that reaches the disk before the crash; None: all is well."""
    full: bool = False

    def read(self, name: str) -> str | None:
        return self.files.get(name)

    def write(self, name: str, text: str) -> bool:
        if self.full:
            self.files[name] = text[: len(text) // 2]
            return False
        if self.crash_after is not None:
            self.files[name] = text[: int(len(text) * self.crash_after)]
            raise Crash
        self.files[name] = text
        return True

    def table(self, lua: Any) -> Any:
        return lua.table_from({"read": self.read, "write": self.write})


def round_ended(round_id: str, players: int = 2) -> dict[str, Any]:
    return {
        "kind": "round_ended",
        "round": round_id,
        "session": "1-1",
        "map": "ns2_veil",
        "game": "ns2",
        "started_at": 1763622000.5,
        "seconds": 600.25,
        "winner": "marines",
        "lineup": [{"id": str(n), "side": "marines"} for n in range(1, players + 1)],
        "players": [
            {
                "id": str(n),
                "side": "marines",
                "spans": [{"side": "marines", "role": "field", "from": 0, "to": 600.25}],
            }
            for n in range(1, players + 1)
        ],
    }


@dataclass
class Mail:
    """An outbox over a disk; `new` is what a map change or a restart makes of it."""

    disk: Disk = field(default_factory=Disk)
    log: list[str] = field(default_factory=list)
    now: float = 1000.0
    boots: int = 0
    hello_ready: bool = True
    box: Any = None

    def __post_init__(self) -> None:
        self.new()

    def new(self) -> None:
        self.disk.crash_after = None
        self.boots += 1
        lua = MODULES.lua
        self.box = MODULES.all.Outbox.New(
            lua.table_from(
                {
                    "files": self.disk.table(lua),
                    "json": MODULES.json,
                    "boot": BOOT + self.boots,
                    "server": "veil",
                    "at": lambda: self.now,
                    "hello": self._hello,
                    "roster": lambda: MODULES.table({"kind": "roster", "players": []}),
                    "log": self.log.append,
                }
            )
        )
        self.box.Load(self.box)

    def _hello(self) -> Any:
        hello = {"kind": "hello", "plugin": "1", "game": "ns2", "map": "ns2_veil", "session": "1-1", "phase": "idle"}
        return MODULES.table(hello) if self.hello_ready else None

    def add(self, kind: str, *, durable: bool = False, **fields: Any) -> None:
        self.box.Add(self.box, MODULES.table({"kind": kind, **fields}), durable)

    def finish(self, round_id: str, players: int = 2) -> None:
        self.box.Finish(self.box, MODULES.table(round_ended(round_id, players)))

    def batch(self) -> dict[str, Any] | None:
        """The next batch, which the daemon would read; None while one is in flight."""
        found = MODULES.call(self.box.Batch, self.box, self.now)
        if found is None:
            return None
        text, seq = found
        decode_batch(text.encode())
        posted: dict[str, Any] = json.loads(text)
        assert posted["seq"] == seq
        return posted

    def sent(self) -> dict[str, Any]:
        """The next batch, which there must be."""
        posted = self.batch()
        assert posted is not None
        return posted

    def kinds(self) -> list[str]:
        """The kinds of event in the next batch; rounds by their id."""
        return [event.get("round", event["kind"]) for event in self.sent()["events"]]

    def answered(self, rounds: dict[str, str] | None = None, want: tuple[str, ...] = ()) -> None:
        self.box.Answered(self.box, MODULES.table({"rounds": rounds or {}, "want": list(want)}))

    def unanswered(self) -> str:
        word: str = self.box.Unanswered(self.box)
        return word

    def refused(self, code: str, path: str | None = None, rounds: dict[str, str] | None = None) -> str:
        fault = {"code": code, "message": "…", "path": path, "rounds": rounds or {}}
        word: str = self.box.Refused(self.box, MODULES.table(fault))
        return word

    def rounds(self) -> list[str]:
        """What is in the ring, oldest first."""
        return [slot["round"] for slot in MODULES.call(lambda: self.box.ring.slots)]

    @property
    def dropped(self) -> int:
        return int(self.box.ring.dropped)


def opened(mail: Mail | None = None) -> Mail:
    """An outbox whose daemon has heard of it."""
    mail = mail or Mail()
    assert mail.kinds() == ["hello", "roster"]
    mail.answered()
    return mail


def test_once_there_is_a_game_the_first_batch_has_a_hello_what_happened_as_it_was_then_and_the_roster() -> None:
    mail = Mail(hello_ready=False)
    mail.add("player_joined", id="7")
    mail.finish("1-1")
    mail.now += 5
    assert mail.batch() is None
    mail.hello_ready = True
    posted = mail.sent()
    assert [event["kind"] for event in posted["events"]] == ["hello", "round_ended", "player_joined", "roster"]
    assert (posted["server"], posted["boot"], posted["seq"], posted["at"]) == ("veil", BOOT + 1, 1, 1005)
    assert posted["events"][2] == {"kind": "player_joined", "id": "7", "at": 1000}
    mail.add("heartbeat")
    assert mail.batch() is None, "one is in flight at a time"
    mail.answered({"1-1": "stored"})
    assert mail.kinds() == ["heartbeat"]


def test_a_batch_without_an_answer_comes_again_as_it_was_and_then_gives_way() -> None:
    mail = opened()
    mail.add("side_changed", id="7", side="marines")
    mail.add("order_done", durable=True, order="o1")
    first = mail.batch()
    assert mail.unanswered() == "again"
    mail.add("side_changed", id="8", side="aliens")
    mail.now += 1
    assert mail.batch() == first
    assert mail.unanswered() == "given_up"
    assert mail.kinds() == ["hello", "order_done", "roster"]


def test_after_a_silence_what_happened_between_two_rounds_is_told_between_them() -> None:
    mail = opened()
    mail.finish("1-1")
    for n in range(2, 4):
        mail.now += 60
        mail.add("scrambled_alone", durable=True, red=[], blu=[])
        mail.add("side_changed", id="7", side="marines")
        mail.now += 60
        mail.finish(f"1-{n}")
        for _ in range(2):
            mail.batch()
            mail.unanswered()
    assert mail.kinds() == ["hello", "1-1", "scrambled_alone", "1-2", "scrambled_alone", "1-3", "roster"]


def test_what_happened_after_rounds_that_wait_for_the_next_batch_waits_with_them_and_so_does_the_roster() -> None:
    mail = Mail()
    happened = []
    for n in range(8):
        mail.now += 600
        mail.finish(f"1-{n}", players=128)  # they do not fit into one batch
        mail.now += 60
        mail.add("scrambled_alone", durable=True, red=[], blu=[])
        happened += [f"1-{n}", "scrambled_alone"]
    first = mail.kinds()
    mail.answered(dict.fromkeys(first, "stored"))
    assert first[-1] in happened
    assert [*first, *mail.kinds()] == ["hello", *happened, "roster"]


def test_rounds_of_another_process_come_before_all_that_happens_in_this_one() -> None:
    mail = opened()
    mail.finish("1-1")
    mail.now = 10.0
    mail.new()
    mail.add("scrambled_alone", durable=True, red=[], blu=[])
    mail.now += 60
    mail.finish("2-1")
    assert mail.kinds() == ["hello", "1-1", "scrambled_alone", "2-1", "roster"]


def test_only_stored_frees_a_slot_and_a_kept_round_is_offered_with_the_next() -> None:
    mail = opened()
    mail.finish("1-1")
    mail.finish("1-2")
    assert mail.kinds() == ["1-1", "1-2"]
    mail.answered({"1-1": "kept", "1-2": "stored"})
    assert mail.kinds() == []
    mail.answered()
    mail.finish("1-3")
    assert mail.kinds() == ["1-1", "1-3"]
    mail.answered({"1-1": "stored"})
    assert mail.kinds() == ["1-3"]  # a round that the reply does not name


@pytest.mark.parametrize("silent", [True, False])
def test_a_kept_round_is_offered_again_after_a_silence_and_to_a_daemon_that_does_not_know_us(silent: bool) -> None:
    mail = opened()
    mail.finish("1-1")
    mail.batch()
    mail.answered({"1-1": "kept"})
    for _ in range(2 if silent else 0):
        mail.batch()
        mail.unanswered()
    if not silent:
        mail.batch()
        mail.answered(want=("hello", "roster"))
    assert mail.kinds() == ["hello", "1-1", "roster"]


def test_unsent_events_of_a_rounds_beginning_give_way_to_its_end() -> None:
    mail = opened()
    mail.add("round_started", players=[])
    mail.add("round_live", round="1-1", players=[])
    mail.finish("1-1")
    assert mail.kinds() == ["1-1", "roster"]


def test_rounds_survive_a_restart_and_go_with_the_first_batch() -> None:
    mail = opened()
    for n in range(3):
        mail.finish(f"1-{n}")
    mail.new()
    posted = mail.sent()
    assert posted["seq"] == 1
    assert [event.get("round") for event in posted["events"]] == [None, "1-0", "1-1", "1-2", None]
    assert posted["events"][1]["players"][0]["spans"] == [{"side": "marines", "role": "field", "from": 0, "to": 600.25}]


def test_a_round_that_waits_already_is_not_taken_again() -> None:
    mail = opened()
    mail.finish("1-1", players=3)
    mail.finish("1-1", players=1)
    posted = mail.sent()
    (event,) = (event for event in posted["events"] if event["kind"] == "round_ended")
    assert len(event["players"]) == 3


def test_the_ninth_round_drops_the_oldest_and_the_daemon_hears_of_it_once() -> None:
    mail = opened()
    for n in range(10):
        mail.finish(f"1-{n}")
    assert mail.rounds() == [f"1-{n}" for n in range(2, 10)]
    mail.new()
    assert mail.sent()["dropped"] == 2
    mail.answered()
    assert mail.sent()["dropped"] == 0


def test_a_round_that_falls_out_while_a_batch_is_in_flight_is_reported_with_the_next() -> None:
    mail = opened()
    for n in range(9):
        mail.finish(f"1-{n}")
    mail.batch()
    mail.finish("1-9")
    mail.answered()
    assert mail.sent()["dropped"] == 1
    assert mail.refused("stale") == "stale"  # of such a batch only the rounds are taken
    assert mail.sent()["dropped"] == 1


def test_a_full_disk_keeps_the_last_whole_file_is_tried_again_and_says_once_what_to_do_and_once_that_it_is_over() -> (
    None
):
    mail = opened()
    mail.finish("1-1")
    mail.disk.full = True
    for n in range(2, 5):
        mail.finish(f"1-{n}")
    (said,) = mail.log
    assert said.startswith("EquipoiseOutbox")
    for part in (" cannot be written: finished rounds are lost", "free the disk", "config directory"):
        assert part in said
    assert Mail(Disk(dict(mail.disk.files))).rounds() == ["1-1"]
    mail.disk.full = False
    mail.batch()
    assert Mail(Disk(dict(mail.disk.files))).rounds() == ["1-1", "1-2", "1-3", "1-4"]
    mail.finish("1-5")
    assert mail.log[1:] == [said.split()[0] + " is written again."]


@pytest.mark.parametrize("text", ["", "x", "{}", '{"number":1,"sum":"00000001","data":{}}', "[[[[", "\xff\x00"])
def test_a_file_of_anything_else_is_left_out(text: str) -> None:
    mail = Mail(Disk({"EquipoiseOutbox1.json": text, "EquipoiseOutbox2.json": text}))
    assert mail.rounds() == []
    mail.finish("1-1")
    mail.new()
    assert mail.rounds() == ["1-1"]


def test_a_file_that_was_changed_inside_gives_way_to_the_older_one() -> None:
    mail = opened()
    mail.finish("1-1")
    mail.finish("1-2")
    newest = max(mail.disk.files, key=lambda name: len(mail.disk.files[name]))
    mail.disk.files[newest] = mail.disk.files[newest].replace("1-2", "1-9")
    mail.new()
    assert mail.rounds() == ["1-1"]
    assert mail.log == [f"{newest} is damaged and left out."]


def test_a_refused_event_is_dropped_and_the_others_go_again() -> None:
    mail = opened()
    mail.finish("1-1")
    mail.add("order_done", durable=True, order="o1")
    mail.add("side_changed", id="7", side="marines")
    assert mail.kinds() == ["1-1", "order_done", "side_changed"]
    assert mail.refused("schema", "$.events[1].order") == "again"
    assert mail.kinds() == ["1-1", "side_changed"]
    assert mail.refused("twice", "$.events[0].players[1].id") == "again"
    assert mail.kinds() == ["side_changed"]
    assert mail.rounds() == []
    mail.new()
    assert mail.rounds() == []


@pytest.mark.parametrize("code", ["busy", "credentials", "server", "throttled", "internal", "unavailable", "", "new"])
def test_what_only_an_operator_or_time_can_mend_costs_no_round(code: str) -> None:
    mail = opened()
    mail.finish("1-1")
    mail.batch()
    assert mail.refused(code) == "later"
    assert mail.kinds() == ["hello", "1-1", "roster"]


def test_a_stale_batch_gives_its_rounds_and_begins_anew() -> None:
    mail = opened()
    mail.finish("1-1")
    mail.finish("1-2")
    mail.add("order_done", durable=True, order="o1")
    mail.batch()
    assert mail.refused("stale", rounds={"1-1": "stored"}) == "stale"
    assert mail.kinds() == ["hello", "1-2", "roster"]


def test_the_round_that_makes_the_daemon_refuse_whole_batches_is_found_and_the_others_are_kept() -> None:
    mail = opened()
    for n in range(4):
        mail.finish(f"1-{n}")
    stored: list[str] = []
    for _ in range(12):
        sent = [kind for kind in mail.kinds() if kind.startswith("1-")]
        if "1-1" in sent:
            assert mail.refused("json") == "again"
        else:
            stored += sent
            mail.answered(dict.fromkeys(sent, "stored"))
    assert stored == ["1-0", "1-2", "1-3"]
    assert mail.rounds() == []


def test_a_daemon_that_refuses_everything_costs_no_round() -> None:
    mail = opened()
    mail.finish("1-1")
    mail.add("side_changed", id="7", side="marines")
    mail.batch()
    assert mail.refused("json") == "again"
    for _ in range(5):
        assert mail.kinds() == ["hello", "roster"]
        assert mail.refused("json") == "later"
    assert mail.rounds() == ["1-1"]


def test_events_without_end_give_way_to_a_roster() -> None:
    mail = opened()
    mail.add("order_done", durable=True, order="o1")
    for _ in range(128):
        mail.add("side_changed", id="7", side="marines")
    assert mail.kinds() == ["hello", "order_done", "roster"]


def test_a_batch_of_many_long_rounds_is_no_longer_than_the_daemon_takes() -> None:
    mail = opened()
    for n in range(8):
        mail.finish(f"1-{n}", players=128)
    batches: list[list[str]] = []
    while mail.rounds():
        posted = mail.sent()
        assert len(urlencode({"secret": "s" * 64, "data": json.dumps(posted)})) <= LIMIT
        batches.append([event["round"] for event in posted["events"]])
        mail.answered(dict.fromkeys(batches[-1], "stored"))
    assert [round_id for rounds in batches for round_id in rounds] == [f"1-{n}" for n in range(8)]
    assert len(batches) == 2


def test_an_empty_outbox_knows_that_it_is() -> None:
    mail = Mail()
    assert not mail.box.Empty(mail.box)
    opened(mail)
    assert mail.box.Empty(mail.box)
    mail.finish("1-1")
    assert not mail.box.Empty(mail.box)
    mail.batch()
    mail.answered({"1-1": "kept"})
    assert mail.box.Empty(mail.box)


class Evenings(RuleBasedStateMachine):
    """Rounds, answers, refusals, crashes and restarts in any order.

    A round is safe once `Finish` has returned. What is safe is in the ring until the daemon has stored it, or has
    refused it by name, or it fell out and was counted.
    """

    def __init__(self) -> None:
        super().__init__()
        self.mail = Mail()
        self.safe: list[str] = []
        self.gone: set[str] = set()
        self.counted = 0
        self.flight: dict[str, Any] | None = None

    def _guarded(self, act: Any, crash: float | None) -> bool:
        """Whether it was done without a crash. After one the server starts again."""
        self.mail.disk.crash_after = crash
        try:
            act()
        except Crash:
            self._restart()
            return False
        finally:
            self.mail.disk.crash_after = None
        return True

    def _restart(self) -> None:
        self.flight = None
        self.mail.new()

    crashes = st.none() | st.floats(0, 1)

    @rule(crash=crashes)
    def finish(self, crash: float | None) -> None:
        round_id = f"{self.mail.boots}-{len(self.safe)}"
        if self._guarded(lambda: self.mail.finish(round_id), crash):
            self.safe.append(round_id)

    @rule()
    def other(self) -> None:
        self.mail.add("side_changed", id="7", side="marines")

    @rule(crash=crashes)
    def send(self, crash: float | None) -> None:
        found: list[dict[str, Any] | None] = []
        if self._guarded(lambda: found.append(self.mail.batch()), crash) and found[0]:
            self.flight = found[0]

    @precondition(lambda self: self.flight)
    @rule(data=st.data(), crash=crashes)
    def answer(self, data: st.DataObject, crash: float | None) -> None:
        posted, self.flight = self.flight, None
        assert posted is not None
        rounds = {
            event["round"]: data.draw(st.sampled_from(["stored", "kept", ""]))
            for event in posted["events"]
            if event["kind"] == "round_ended"
        }
        rounds = {round_id: status for round_id, status in rounds.items() if status}
        self.gone |= {round_id for round_id, status in rounds.items() if status == "stored"}
        self.counted += posted["dropped"]
        want = data.draw(st.sampled_from([(), ("roster",), ("hello", "roster")]))
        self._guarded(lambda: self.mail.answered(rounds, want), crash)

    @precondition(lambda self: self.flight)
    @rule()
    def silence(self) -> None:
        self.flight = None
        self.mail.unanswered()

    @precondition(lambda self: self.flight)
    @rule(data=st.data(), code=st.sampled_from(["schema", "busy", "stale", "credentials"]), crash=crashes)
    def refuse(self, data: st.DataObject, code: str, crash: float | None) -> None:
        posted, self.flight = self.flight, None
        assert posted is not None
        path = None
        if code == "schema" and posted["events"]:
            index = data.draw(st.integers(0, len(posted["events"]) - 1))
            path = f"$.events[{index}].x"
            self.gone |= {posted["events"][index].get("round", "")}
        elif code == "schema":
            code = "busy"
        self._guarded(lambda: self.mail.refused(code, path), crash)

    @rule()
    def restart(self) -> None:
        self._restart()

    @rule(full=st.booleans())
    def disk(self, full: bool) -> None:
        """A full disk is no crash: what is in memory is safe as long as the process lives."""
        if full:
            self.mail.disk.full = True
            self.mail.finish(f"{self.mail.boots}-full-{len(self.safe)}")
            self.mail.disk.full = False
            self.mail.box.ring.Retry(self.mail.box.ring)
            self.safe.append(f"{self.mail.boots}-full-{len(self.safe)}")

    @invariant()
    def no_round_is_lost_but_by_overflow_which_is_counted(self) -> None:
        held = self.mail.rounds()
        assert len(held) <= 8
        lost = set(self.safe) - set(held) - self.gone
        assert len(lost) <= self.counted + self.mail.dropped


Evenings.TestCase.settings = settings(max_examples=settings.default.max_examples * 3 // 5, stateful_step_count=40)
TestEvenings = Evenings.TestCase
