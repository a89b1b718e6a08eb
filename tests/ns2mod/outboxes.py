"""An outbox of the mod, and what a test asks of it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from equipoise.wire.codec import decode_batch
from tests.ns2mod.disk import Disk
from tests.ns2mod.modules import Modules

MODULES = Modules()

BOOT = 1763622000123


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

    def kinds(self) -> list[str]:
        """The kinds of event in the next batch; rounds by their id."""
        posted = self.batch()
        assert posted is not None
        return [event.get("round", event["kind"]) for event in posted["events"]]

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
