"""Who may do what: every route, for every role, and for scripts also the server and the pool that they ask about."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from equipoise.web import refusals
from equipoise.web.openapi import TABLE
from tests.web.daemon import CONFIG, Answer, Daemon, running
from tests.wire.samples import BLU, RED, ROUND, posted

pytestmark = pytest.mark.slow

TWO_POOLS = CONFIG.replace('game = "ns2"', 'game = "ns2"\npool = "side"\nadmin_commands = false') + "[pool.side]\n"
"""arena-1 feeds `main`, and its script is trusted; ns2-1 feeds `side`, and its script is not."""

NO_SECRET, VIEWER, ADMIN, OWN, OTHER = "none", "guest", "owner", "arena-1", "ns2-1"
CALLERS = (NO_SECRET, VIEWER, ADMIN, OWN, OTHER)
"""The requests below are about server arena-1 and pool `main`: OWN is its script, OTHER that of another pool."""

READERS = {VIEWER: "ok", ADMIN: "ok", OWN: "role", OTHER: "role"}
ADMINS = {VIEWER: "role", ADMIN: "ok", OWN: "role", OTHER: "role"}
IDS = [RED, BLU, "76561197960287932", "76561197960287933"]

EVERYBODY = dict.fromkeys((VIEWER, ADMIN, OWN, OTHER), "ok")
NAMED = {"id": RED, "server": "arena-1", "pool": "main", "round": "1-4", "map": "arena_well", "name": "none"}

ALLOWED: dict[str, tuple[str, Any, dict[str, str]]] = {
    f"GET {route.path}": (
        f"{route.plain_path.format(**NAMED)}{'?pool=main' if '{id}' in route.path else ''}",
        None,
        READERS,
    )
    for route in TABLE
    if route.method == "GET"
} | {
    "POST /v1/events": ("/v1/events", posted(), {VIEWER: "role", ADMIN: "role", OWN: "ok", OTHER: "server"}),
    "POST /v1/rounds": (
        "/v1/rounds",
        {"server": "arena-1", "round": ROUND},
        EVERYBODY | {VIEWER: "role", OTHER: "server"},
    ),
    "POST /v1/splits": ("/v1/splits", {"ids": IDS, "pool": "main"}, EVERYBODY | {OTHER: "pool"}),
    "PUT /v1/admin/players/{id}": (f"/v1/admin/players/{RED}?pool=main", {"rating": 1500, "new": True}, ADMINS),
    "DELETE /v1/admin/players/{id}": (f"/v1/admin/players/{RED}?pool=main", None, ADMINS),
    "POST /v1/admin/players/{id}/undo": (f"/v1/admin/players/{RED}/undo?pool=main", {}, ADMINS),
    "POST /v1/admin/rounds/{server}/{round}/void": (
        "/v1/admin/rounds/arena-1/none/void",
        {},
        ADMINS | {ADMIN: "not_found"},
    ),
    "POST /v1/admin/login": ("/v1/admin/login", None, READERS),
    "POST /v1/admin/pools/{pool}/seasons": (
        "/v1/admin/pools/main/seasons",
        {"name": "Winter"},
        ADMINS | {ADMIN: "refused"},
    ),
    "GET /v1/admin/pools/{pool}/seasons/{name}": (
        "/v1/admin/pools/main/seasons/none",
        None,
        READERS | {VIEWER: "not_found", ADMIN: "not_found"},
    ),
    "GET /v1/admin/players/{id}/export": (f"/v1/admin/players/{RED}/export", None, ADMINS | {ADMIN: "not_found"}),
    "POST /v1/admin/players/{id}/hide": (
        f"/v1/admin/players/{RED}/hide",
        {"hidden": False},
        ADMINS | {ADMIN: "not_found"},
    ),
    "POST /v1/admin/players/{id}/forget": (
        f"/v1/admin/players/{RED}/forget",
        {"dry_run": True},
        ADMINS | {ADMIN: "not_found"},
    ),
    "POST /v1/admin/pools/{pool}/calibrate": ("/v1/admin/pools/main/calibrate", {"dry_run": True}, ADMINS),
    "POST /v1/admin/pools/{pool}/refit": (
        "/v1/admin/pools/main/refit",
        {},
        ADMINS | {ADMIN: "refused"},  # SynElo has no such fit
    ),
    "POST /v1/admin/pools/{pool}/upgrade": (
        "/v1/admin/pools/main/upgrade",
        None,
        ADMINS | {ADMIN: "refused"},  # it is not shared
    ),
    "GET /v1/admin/pools/{pool}/players": ("/v1/admin/pools/main/players?text=7", None, READERS),
    "POST /v1/admin/pools/{pool}/match": ("/v1/admin/pools/main/match", {"a": [RED], "b": [BLU]}, READERS),
    "GET /v1/admin/pools/{pool}/export": ("/v1/admin/pools/main/export", None, ADMINS),
    "POST /v1/admin/servers/{server}/{action:scramble|balance|cancel|on|off}": (
        "/v1/admin/servers/arena-1/on",
        {},
        ADMINS,
    ),
    "POST /v1/admin/reload": ("/v1/admin/reload", {"dry_run": True}, ADMINS),
    "POST /v1/admin/servers/{server}/rcon": (
        "/v1/admin/servers/arena-1/rcon",
        {"command": "status"},
        {**ADMINS, ADMIN: "rcon"},  # it has none
    ),
    "POST /v1/admin/servers/{server}/plugin": (
        "/v1/admin/servers/arena-1/plugin",
        {"dry_run": True},
        {**ADMINS, ADMIN: "refused"},  # nobody has said where its folder is
    ),
    "GET /v1/admin/doctor": ("/v1/admin/doctor", None, ADMINS),
    "GET /healthz": ("/healthz", None, EVERYBODY | {NO_SECRET: "ok"}),
    "GET /openapi.json": ("/openapi.json", None, EVERYBODY),
}
"""For each route a request about arena-1 and its pool, and its answer to each caller: "ok", or the refusal's code.

What is only read is for readers, unless it stands here.
"""


@pytest.fixture(scope="module")
def two_pools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with pytest.MonkeyPatch.context() as patch, running(tmp_path_factory.mktemp("two-pools"), TWO_POOLS) as started:
        patch.setattr(refusals, "TRIES", len(TABLE) + 1)  # each route is asked for without a secret, in one minute
        # Tests run in any order, and some need a round, and a player whose rating was set.
        assert started.call("POST", "/v1/rounds", {"server": "arena-1", "round": ROUND}).status == 200
        assert started.call("PUT", f"/v1/admin/players/{RED}?pool=main", {"rating": 1500, "new": True}).status == 200
        yield started


def ask(daemon: Daemon, method: str, path: str, body: Any, who: str) -> Answer:
    if who == NO_SECRET:
        return daemon.request(method, path, b"{}" if body is not None else None)
    return daemon.call(method, path, body, who)


def result(answer: Answer) -> str:
    return "ok" if answer.status == 200 else answer.code


def test_every_route_is_in_the_table() -> None:
    assert ALLOWED.keys() == {f"{route.method} {route.path}" for route in TABLE}


@pytest.mark.parametrize("route", ALLOWED)
def test_each_role_is_answered_or_refused(two_pools: Daemon, route: str) -> None:
    path, body, allowed = ALLOWED[route]
    found = {who: result(ask(two_pools, route.partition(" ")[0], path, body, who)) for who in CALLERS}
    assert found == {NO_SECRET: "credentials", **allowed}


def test_a_script_learns_no_rating_of_another_pool(two_pools: Daemon) -> None:
    for steam_id, rating in zip(IDS, (1234.5, 1800, 1500, 999), strict=True):
        two_pools.call("PUT", f"/v1/admin/players/{steam_id}?pool=main", {"rating": rating, "new": True})

    for asked in ({"ids": IDS}, {"ratings": [1, 2, 3, 4]}):
        refused = two_pools.call("POST", "/v1/splits", {**asked, "pool": "main"}, who=OTHER)
        assert (refused.status, refused.code) == (403, "pool")
        assert "main" not in refused.body["error"]["message"]
    unknown = two_pools.call("POST", "/v1/splits", {"ids": IDS, "pool": "none"}, who=OTHER)
    own = two_pools.call("POST", "/v1/splits", {"ids": IDS}, who=OTHER)

    assert unknown.code == "pool"  # whether a pool exists is no business of a script either
    assert [split["difference"] for split in own.body["splits"]] == [0]


def test_a_program_with_a_token_has_to_name_one_of_several_pools(two_pools: Daemon) -> None:
    assert two_pools.call("POST", "/v1/splits", {"ids": IDS}, who=VIEWER).code == "not_found"


def commanded(*words: str, by: str, seq: int) -> dict[str, Any]:
    return posted({"kind": "command", "words": words, "by": by, "admin": True}, server=OTHER, seq=seq)


def test_the_secret_of_a_script_that_is_not_trusted_sets_no_rating(
    two_pools: Daemon, caplog: pytest.LogCaptureFixture
) -> None:
    before = two_pools.call("GET", "/v1/admin/audit").body
    with caplog.at_level(logging.WARNING):
        orders = [
            two_pools.post(commanded("set", RED, "4321", by=by, seq=seq), who=OTHER).body["orders"]
            for seq, by in enumerate(("", BLU), start=100)
        ]

    line = {"phrase": "Equipoise_RefusedInGame", "args": [f"set {RED} 4321"]}
    assert orders == [[{"kind": "tell", "id": by, "lines": [line]}] for by in ("", BLU)]
    assert two_pools.call("GET", f"/v1/admin/players/{RED}?pool=side").code == "not_found"
    assert two_pools.call("GET", "/v1/admin/audit").body == before
    lines = [record for record in caplog.records if "admin_commands" in record.getMessage()]
    assert [record.server for record in lines] == [OTHER]  # type: ignore[attr-defined]  # the second is counted
    decisions = two_pools.call("GET", f"/v1/admin/decisions?server={OTHER}").body["decisions"]
    assert [(each["kind"], each["detail"]) for each in decisions] == [
        ("refused", {"players": [BLU]}),
        ("refused", None),
    ]


def test_the_audit_of_a_command_in_the_game_names_the_script_and_the_player_whom_it_claims(two_pools: Daemon) -> None:
    for seq, words in enumerate((["set", RED, "1600"], ["scramble", "next"]), start=200):
        two_pools.post(posted({"kind": "command", "words": words, "by": BLU, "admin": True}, seq=seq))
    newest = two_pools.call("GET", "/v1/admin/audit?limit=2").body["audit"]
    assert [(each["who"], each["action"], each["target"]) for each in newest] == [
        (f"script:arena-1 player:{BLU}", "command", "arena-1"),
        (f"script:arena-1 player:{BLU}", "set", RED),
    ]
