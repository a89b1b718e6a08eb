"""Players and rounds on the page of a real daemon, and edits whose effect is shown before they are made."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.page.test_actions import FORM
from tests.page.test_oversight import GUEST, page
from tests.page.test_site import OWNER
from tests.web.daemon import CONFIG, SECRETS, Answer, Daemon, running
from tests.web.test_admin import SIX, audit, joined
from tests.web.test_batches import batch
from tests.web.test_careers import ME, play
from tests.web.test_ns2_rounds import ALIEN, MARINE, SECONDS, ended, post, span, stay
from tests.wire.samples import HELLO, RED, finished

pytestmark = pytest.mark.slow  # a daemon and an evening's rounds for each

DAY = 86400.0
HOSTILE = "<script>alert(1)</script>&\"'\u202e evil\u2066"
FIRST = f"/players/{ME}"


def lately(daemon: Daemon, count: int) -> None:
    """Rounds of the last hour."""
    play(daemon, count, first=time.time() - 3600)


def submitted(daemon: Daemon, name: str, ids: Sequence[str], **fields: Any) -> None:
    """A round of these players that a program sends."""
    sent = finished(ids, round=name, started_at=time.time() - 600, **fields)
    del sent["kind"]
    answer = daemon.call("POST", "/v1/rounds", {"server": "arena-1", "round": sent})
    assert (answer.body["status"], answer.body["unrated"]) == ("stored", None), answer.body


def link(text: str, rel: str) -> str | None:
    found = re.search(rf'<a rel="{rel}" href="([^"]+)"', text)
    return found and unescape(found[1])


def listed(text: str, pattern: str) -> list[str]:
    """What the links of a page's tables lead to."""
    return re.findall(rf'<td><a (?:class="player" )?href="/{pattern}"', text)


def form(text: str) -> dict[str, str]:
    """The hidden fields of the form that does what a page shows."""
    _, _, behind = text.partition('<main id="main"')
    return {name: unescape(value) for name, value in re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', behind)}


def confirm(daemon: Daemon, path: str, fields: dict[str, str], who: str = "owner") -> Answer:
    headers = {**FORM, "authorization": f"Bearer {SECRETS[who]}"}
    return daemon.request("POST", path, urlencode(fields).encode(), **headers)


def rating(daemon: Daemon, who: str = ME) -> float:
    found: float = daemon.call("GET", f"/v1/admin/players/{who}").body["player"]["rating"]
    return found


def test_a_player_who_only_joined_has_a_page_which_is_found_by_the_name_too(daemon: Daemon) -> None:
    joined(daemon, n30="Ann")
    assert "No rated round yet" in page(daemon, f"/players/{RED}")
    assert daemon.request("GET", "/players/ann", **OWNER).headers["Location"] == f"/players/{RED}"
    assert "Nothing is here" in page(daemon, "/players/76561197960287999", status=404)


def test_the_leaderboard_shows_what_its_route_says(daemon: Daemon) -> None:
    lately(daemon, 12)
    top = daemon.call("GET", "/v1/admin/pools/main/top").body
    text = page(daemon, "/players", GUEST)
    assert listed(text, r"players/(\d+)") == [each["id"] for each in top["players"]]
    assert len(top["players"]) == top["length"] == len(SIX)
    for place, player in enumerate(top["players"], 1):
        assert (player["place"], player["week"], player["month"]) == (place, NEW, NEW)
        assert f"<b>{player['rating']:,.0f}</b>" in text
    assert {place for place in daemon.call("GET", f"/v1/admin{FIRST}").body.items() if place[0] == "length"} == {
        ("length", 6)
    }


NEW = {"gained": None, "place": None}


def test_places_and_points_are_compared_with_those_of_a_week_and_a_month_ago(daemon: Daemon) -> None:
    lately(daemon, 12)
    before = {who: daemon.call("GET", f"/v1/admin/players/{who}").body for who in SIX}
    assert sorted(each["place"] for each in before.values()) == [1, 2, 3, 4, 5, 6]
    with closing(sqlite3.connect(daemon.state / "equipoise.db", isolation_level=None)) as db:
        past = "recorded_at = recorded_at - :days * 86400, started_at = started_at - :days * 86400"
        db.execute(f"UPDATE rounds SET {past}", {"days": 10})
    for number in range(4):
        submitted(daemon, f"later-{number}", SIX)
    daemon.call("PUT", f"/v1/admin{FIRST}", {"rating": 3000})
    top = daemon.call("GET", "/v1/admin/pools/main/top").body["players"]
    assert top[0]["id"] == ME
    for player in top:
        was = before[player["id"]]
        gained = player["rating"] - was["player"]["rating"]
        assert player["week"] == {"gained": pytest.approx(gained), "place": was["place"]}
        assert player["month"] == NEW
    text = page(daemon, "/players")
    assert f"▲ {before[ME]['place'] - 1}<" in text or before[ME]["place"] == 1


def test_the_leaderboard_is_read_to_its_end_and_back(daemon: Daemon) -> None:
    people = [str(76561197960300000 + number) for number in range(120)]
    for group in range(0, 120, 24):
        for number in range(2):
            submitted(daemon, f"{group}-{number}", people[group : group + 24])
    whole = daemon.call("GET", "/v1/admin/pools/main/top?limit=1000").body["players"]
    assert sorted(each["id"] for each in whole) == people
    assert [each["place"] for each in whole] == list(range(1, 121))
    address, seen, pages = "/players", [], []
    while address:
        pages.append(page(daemon, address))
        seen += listed(pages[-1], r"players/(\d+)")
        address = link(pages[-1], "next") or ""
    assert (seen, len(pages)) == ([each["id"] for each in whole], 3)
    assert '<td class="n soft">120</td>' in pages[-1]
    back = page(daemon, link(pages[-1], "prev") or "")
    assert listed(back, r"players/(\d+)") == seen[50:100]
    assert listed(page(daemon, link(back, "prev") or ""), r"players/(\d+)") == seen[:50]
    assert link(pages[0], "prev") is None
    assert "any more" in page(daemon, "/players?after=1")

    # The same of a past board, which stays as it was; of two seasons the newer one is first.
    assert "past seasons" not in pages[0]
    for name in ("Autumn", "Winter & all"):
        assert daemon.call("POST", "/v1/admin/pools/main/seasons", {"name": name}).status == 200
    daemon.call("PUT", f"/v1/admin/players/{seen[119]}", {"rating": 5000})
    daemon.call("POST", f"/v1/admin/players/{seen[60]}/hide", {})
    assert listed(page(daemon, "/players"), r"players/(\d+)")[0] == seen[119]
    (address,) = re.findall(r'<a href="(/seasons/[^"]+)">past seasons', page(daemon, "/players", GUEST))
    assert address == "/seasons/main/Winter%20%26%20all"
    past, places = [], []
    while address:
        pages.append(page(daemon, address, GUEST))
        past += listed(pages[-1], r"players/(\d+)")
        places += [int(place) for place in re.findall(r'<td class="n soft">(\d+)</td>', pages[-1])]
        address = link(pages[-1], "next") or ""
    assert past == [who for who in seen if who != seen[60]]
    assert places == [place for place in range(1, 121) if place != 61]
    assert listed(page(daemon, link(pages[-1], "prev") or ""), r"players/(\d+)") == past[50:99]
    assert 'href="/seasons/main/Autumn"' in pages[-1]
    assert "no season" in page(daemon, "/seasons/main/Spring", status=404)
    assert "no place behind 900" in page(daemon, "/seasons/main/Autumn?after=900")


def test_the_rounds_of_a_player_and_all_rounds_are_read_to_their_end(daemon: Daemon) -> None:
    lately(daemon, 61)
    every = [f"1-{number}" for number in range(61, 0, -1)]
    mine = [one["round"]["round"] for one in daemon.call("GET", f"/v1/admin{FIRST}/rounds?limit=100").body["rounds"]]
    assert 30 < len(mine) < 61
    for address, expected in (
        ("/rounds", every),
        ("/rounds?map=arena_well&server=arena-1&hours=24", every),
        (f"/rounds?player={ME}", mine),
        (f"/rounds?player={ME}&map=arena_well", mine),
        (FIRST, mine),
    ):
        rounds, at = [], address
        while at:
            text = page(daemon, at)
            rounds += listed(text, r"rounds/arena-1/([\w-]+)")
            at = link(text, "next") or ""
        assert rounds == expected, address
    assert "No such round" in page(daemon, "/rounds?map=arena_wel")
    assert "No such round" in page(daemon, "/rounds?server=ns2-1")


def test_a_round_shows_its_sides_what_it_changed_and_who_predicted_it(daemon: Daemon) -> None:
    lately(daemon, 3)
    daemon.call("POST", "/v1/admin/servers/arena-1/off", {})
    found = daemon.call("GET", "/v1/admin/rounds/arena-1/1-3").body
    text = page(daemon, "/rounds/arena-1/1-3", GUEST)
    assert "by synelo" in text
    assert text.count('class="player"') == len(found["players"]) == 6
    for player in found["players"]:
        assert f'<td class="n">{player["after"]:,.0f}</td>' in text
    assert 'action="/rounds/arena-1/1-3/void"' not in text, "a viewer changes nothing"
    assert 'action="/rounds/arena-1/1-3/void"' in page(daemon, "/rounds/arena-1/1-3")
    assert "Nothing is here" in page(daemon, "/rounds/arena-1/gone", status=404)


def test_names_and_reasons_of_others_are_text_wherever_they_stand(daemon: Daemon) -> None:
    joined(daemon, **{f"n{who[-2:]}": HOSTILE for who in SIX})
    for number in range(1, 5):
        submitted(daemon, f"1-{number}", SIX)
    reason = urlencode({"reason": HOSTILE})
    last = daemon.call("POST", "/v1/admin/rounds/arena-1/1-2/void", {"reason": HOSTILE}).body["last_edit"]
    assert last > 0
    paths = [
        *("/players", "/players?text=alert", FIRST, f"{FIRST}/set?rating=1500", f"{FIRST}/reset", "/rounds"),
        *("/rounds/arena-1/1-2", "/rounds/arena-1/1-3", f"/rounds/arena-1/1-3/void?{reason}"),
    ]
    for path in paths:
        text = page(daemon, path)
        assert "alert(1)" in text, path
        assert "<script>" not in text.replace("<script type", ""), path


@pytest.mark.parametrize("kind", ["set", "reset", "undo"])
def test_an_edit_is_shown_first_and_made_only_while_the_player_is_as_shown(daemon: Daemon, kind: str) -> None:
    lately(daemon, 8)
    if kind == "undo":
        daemon.call("PUT", f"/v1/admin{FIRST}", {"rating": 1300})
    path = f"{FIRST}/{kind}?pool=main" + ("&rating=1500" if kind == "set" else "")
    before, lines = rating(daemon), audit(daemon)
    shown = page(daemon, path)
    assert f"{before:,.0f}" in shown
    assert (rating(daemon), audit(daemon)) == (before, lines), "it was only shown"

    # Another admin is quicker.
    daemon.call("PUT", f"/v1/admin{FIRST}", {"rating": 1400})
    late = confirm(daemon, path, form(shown))
    assert late.status == 409
    assert "Nothing was done." in late.raw.decode()
    assert "1,400" in late.raw.decode()
    assert rating(daemon) == 1400
    assert len(audit(daemon)) == len(lines) + 1

    done = confirm(daemon, path, form(late.raw.decode()))
    assert (done.status, done.headers["Location"]) == (303, f"{FIRST}?pool=main")
    line = audit(daemon)[0]
    assert (line["who"], line["action"], line["target"]) == ("token:owner", kind, ME)
    assert rating(daemon) == {"set": 1500, "reset": 1000, "undo": before}[kind]
    again = confirm(daemon, path, form(late.raw.decode()))
    assert again.status == 409, "the same form twice is one edit"
    assert len(audit(daemon)) == len(lines) + 2


def test_of_two_admins_who_confirm_at_once_one_is_asked_again(daemon: Daemon) -> None:
    lately(daemon, 8)
    before = rating(daemon)
    daemon.call("PUT", f"/v1/admin{FIRST}", {"rating": 1300})
    path = f"{FIRST}/undo"
    fields = form(page(daemon, path))
    with ThreadPoolExecutor() as admins:
        answers = list(admins.map(lambda _: confirm(daemon, path, fields).status, range(4)))
    assert sorted(answers) == [303, 409, 409, 409]
    assert rating(daemon) == before, "an edit that was taken back twice would be there again"


def test_a_round_is_taken_out_and_put_back_only_while_no_other_edit_came(daemon: Daemon) -> None:
    lately(daemon, 8)
    was = {who: rating(daemon, who) for who in SIX}
    out, back = "/rounds/arena-1/1-2/void", "/rounds/arena-1/1-2/restore"
    shown = page(daemon, f"{out}?reason=a+cheater+played")
    assert "a cheater played" in shown
    assert {who: rating(daemon, who) for who in SIX} == was
    daemon.call("PUT", f"/v1/admin/players/{SIX[1]}", {"rating": 1400})
    late = confirm(daemon, out, form(shown))
    assert (late.status, "Nothing was done." in late.raw.decode()) == (409, True)
    # A round that ends meanwhile is part of the replay: on a busy server nobody could confirm otherwise.
    submitted(daemon, "meanwhile", SIX)
    assert confirm(daemon, out, form(late.raw.decode())).status == 303
    assert "a cheater played" in page(daemon, "/rounds/arena-1/1-2")
    line = audit(daemon)[0]
    assert (line["who"], line["action"], line["after"]) == ("token:owner", "void", "void: a cheater played")
    assert confirm(daemon, out, form(late.raw.decode())).status == 409
    assert "void already" in page(daemon, out, status=409)
    assert confirm(daemon, back, form(page(daemon, back))).status == 303
    assert daemon.call("GET", "/v1/admin/rounds/arena-1/1-2").body["round"]["void"] is False


def test_an_edit_that_cannot_be_says_why(daemon: Daemon) -> None:
    lately(daemon, 2)
    assert "no edit to take back" in page(daemon, f"{FIRST}/undo", status=404)
    assert "Which rating" in page(daemon, f"{FIRST}/set", status=422)
    assert "rating" in page(daemon, f"{FIRST}/set?rating=ten", status=422)
    assert "rating" in page(daemon, f"{FIRST}/set?rating=-5", status=422)
    assert confirm(daemon, f"{FIRST}/set", {"rating": "1500"}).status == 422, "nothing was shown"
    assert audit(daemon) == []


@pytest.mark.parametrize("path", [f"{FIRST}/set?rating=1500", f"{FIRST}/reset", "/rounds/arena-1/1-2/void"])
def test_a_viewer_changes_nothing(daemon: Daemon, path: str) -> None:
    lately(daemon, 3)
    assert "Change the rating" not in page(daemon, FIRST, GUEST)
    page(daemon, path, GUEST, status=403)
    assert confirm(daemon, path, form(page(daemon, path)), who="guest").status == 403
    assert audit(daemon) == []


def test_a_person_is_hidden_shown_again_exported_and_forgotten_from_their_page(daemon: Daemon) -> None:
    joined(daemon, **{f"n{who[-2:]}": HOSTILE for who in SIX})
    for number in range(4):
        submitted(daemon, f"1-{number}", SIX)
    others = {who: rating(daemon, who) for who in SIX[1:]}

    shown = page(daemon, f"{FIRST}/hide")
    assert listed(page(daemon, "/players", GUEST), r"players/(\d+)").count(ME) == 1, "it was only shown"
    assert confirm(daemon, f"{FIRST}/hide", form(shown)).headers["Location"] == FIRST
    page(daemon, FIRST, GUEST, status=404)
    assert ME not in page(daemon, "/players", GUEST)
    assert ME not in page(daemon, "/rounds/arena-1/1-1", GUEST)
    assert ME not in page(daemon, f"/players/{SIX[1]}", GUEST)
    assert "Hidden: rated" in page(daemon, FIRST)
    assert confirm(daemon, f"{FIRST}/unhide", form(page(daemon, f"{FIRST}/unhide"))).status == 303
    page(daemon, FIRST, GUEST)

    export = daemon.request("GET", f"{FIRST}/export", **OWNER)
    assert export.headers["Content-Disposition"] == f'attachment; filename="{ME}.json"'
    assert len(export.body["tables"]["participants"]) == 4
    page(daemon, f"{FIRST}/export", GUEST, status=403)

    daemon.post(batch(40, HELLO, {"kind": "roster", "players": []}))
    shown = page(daemon, f"{FIRST}/forget")
    assert "cannot be undone" in shown
    assert "Tick the box" in confirm(daemon, f"{FIRST}/forget", form(shown)).raw.decode()
    for seq, act in ((41, "hide"), (42, "forget")):
        old = form(page(daemon, f"{FIRST}/{act}"))
        daemon.post(batch(seq, {"kind": "player_joined", "id": ME, "name": f"Another {act}"}))
        for sent in (old, {**old, "seen": ""}):
            answer = confirm(daemon, f"{FIRST}/{act}", {**sent, "sure": "true"})
            assert (answer.status, "Nothing was done" in answer.raw.decode()) == (409, True)
            assert f"Another {act}" in answer.raw.decode(), "it is shown anew"
    page(daemon, FIRST, GUEST)
    done = confirm(daemon, f"{FIRST}/forget", {**form(page(daemon, f"{FIRST}/forget")), "sure": "true"})
    assert (done.status, ME in done.raw.decode()) == (200, False)
    assert "stands in their place" in done.raw.decode()
    page(daemon, FIRST, status=404)
    assert {who: rating(daemon, who) for who in SIX[1:]} == others
    assert [line["action"] for line in audit(daemon)][:3] == ["forget", "unhide", "hide"]


NS2 = CONFIG.replace('game = "ns2"', 'game = "ns2"\npool = "side"') + '[pool.side]\nsystem = "ns2"\nbalance = "ns2"\n'


def test_a_player_of_ns2_has_a_skill_by_side_in_their_pool_which_is_chosen_by_itself(tmp_path: Path) -> None:
    with running(tmp_path, NS2) as daemon:
        lately(daemon, 3)
        chair = {**stay(MARINE, "marines"), "spans": [{**span("marines", 0, SECONDS), "role": "commander"}]}
        post(daemon, 1, ended(started_at=time.time() - 900, players=[chair, stay(ALIEN, "aliens")]))
        ((marine, alien),) = (daemon.call("GET", "/v1/admin/rounds/ns2-1/1-1").body["lineup"],)
        text = page(daemon, f"/players/{marine[0]}")
        assert "pool side" in text
        assert [word in text for word in ("<td>Marines</td>", "<td>Aliens</td>", "<td>Commander</td>")] == [True] * 3
        assert f"/players/{alien[0]}?pool=side" in text
        # Who was never seen in that pool is looked for in the others.
        assert "pool main" in page(daemon, FIRST)
        page(daemon, f"{FIRST}?pool=side", status=404)
        assert 'class="tag">commander' in page(daemon, "/rounds/ns2-1/1-1")
        assert 'aria-current="true">side' in page(daemon, "/players?pool=side")
