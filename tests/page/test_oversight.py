"""Is it fair, maps, decisions, audit and health, on a real daemon."""

from __future__ import annotations

import time

from tests.page.test_site import OWNER
from tests.web.daemon import SECRETS, Daemon
from tests.wire.samples import HELLO, ROUND, posted

GUEST = OWNER | {"authorization": f"Bearer {SECRETS['guest']}"}


def page(daemon: Daemon, path: str, who: dict[str, str] = OWNER, status: int = 200) -> str:
    answer = daemon.request("GET", path, **who)
    assert answer.status == status, answer.raw.decode()
    return answer.raw.decode()


def play(daemon: Daemon, count: int = 3) -> None:
    for number in range(1, count + 1):
        started = time.time() - 3600 + 100 * number
        daemon.post(posted(HELLO, {**ROUND, "round": f"1-{number}", "started_at": started}, seq=number))


def test_without_any_round_each_page_says_what_will_come_and_the_only_pool_needs_no_choice(daemon: Daemon) -> None:
    lists = ("/players", "/players?text=nobody", "/rounds", "/rounds?map=nowhere&server=arena-1")
    for who in (OWNER, GUEST):
        for path in ("/pools/main", "/maps", "/decisions", "/audit", "/health", *lists):
            assert ('class="empty"' if path in lists else "<h1>") in page(daemon, path, who), path
    answer = daemon.request("GET", "/pools", **OWNER)
    assert (answer.status, answer.headers["Location"]) == (303, "/pools/main")


def test_fairness_and_maps_show_what_their_routes_say(daemon: Daemon) -> None:
    play(daemon)
    figures = daemon.call("GET", "/v1/admin/pools/main/evenness").body["figures"]
    text = page(daemon, "/pools/main")
    assert f"<b>{100 * figures['even']:.0f} %</b>" in text
    assert f"{100 * figures['favourite_expected']:.0f} % were expected to" in text
    assert text.count("<title>") == 1 + len(figures["began"]) + len(figures["calibration"])
    name = str(ROUND["map"])
    assert f">{name}</a>" in page(daemon, "/maps")
    assert "3</b>" in page(daemon, f"/maps/main/{name}")
    assert "Nothing is here" in page(daemon, "/maps/main/no_such_map", status=404)


def test_the_log_is_asked_by_server_player_and_time(daemon: Daemon) -> None:
    daemon.call("POST", "/v1/admin/servers/arena-1/off", {})
    daemon.call("POST", "/v1/admin/servers/arena-1/on", {})
    lines = daemon.call("GET", "/v1/admin/decisions").body["decisions"]
    assert lines
    assert page(daemon, "/decisions?server=arena-1&hours=1").count('id="decision-') == len(lines)
    assert "Nothing was decided here" in page(daemon, "/decisions?server=ns2-1")
    assert "No server" in page(daemon, "/decisions?server=nowhere", status=404)
    last = lines[0]["number"]
    assert f'#decision-{last}"' in page(daemon, f"/decisions?before={last + 1}")
    assert page(daemon, "/audit").count('id="line-') == 2


def test_the_doctor_is_for_admins_and_the_jobs_are_for_all(daemon: Daemon) -> None:
    assert "thing" in page(daemon, "/health")
    guest = page(daemon, "/health", GUEST)
    assert ("thing" in guest, "ring retry" in guest) == (False, True)
