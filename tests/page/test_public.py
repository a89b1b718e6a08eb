"""The public pages of a real daemon: what is there, what never is, and the same as files."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import jsonschema_rs
import pytest
from click.testing import CliRunner

from equipoise.cli import main
from equipoise.errors import ConfigError, ScriptError
from equipoise.page.public_site import MOST_BYTES, MOST_WAITING, PAGES, Made, PublicSite, whole
from equipoise.page.site import TABLE
from equipoise.service import jobs
from equipoise.web.openapi import PUBLIC
from equipoise.web.openapi import TABLE as ROUTES
from tests.game.rcon_servers import free_port
from tests.page.test_profiles import HOSTILE, submitted
from tests.web.daemon import CONFIG, SECRETS, Answer, Daemon, running
from tests.web.test_admin import SIX, batch
from tests.web.test_careers import play
from tests.wire.samples import HELLO

SHADOW, HIDDEN, GONE, EVIL = "76561197960287950", "76561197960287951", "76561197960287952", SIX[0]
SECRET = re.compile(r"(?<![\w.])4,?[23]\d\d(?!\w)")
"""The shadow player's rating, in points with or without a separator."""
LEAKS = ("arena-1-secret", "RCON", "A2S", "waiting_rounds", "plugin", "sum_a", "secret", "owner", "audit")
SEASON = "Winter {1}"
MAP = "workshop/../../cp_<b>ö"


def configured(port: int, more: str = "") -> str:
    return CONFIG.replace("[store]", f"[public]\nport = {port}\n{more}\n[store]")


def fill(daemon: Daemon) -> None:
    """Rounds of six whom everybody sees, of a player in the shadow period, of a hidden and of a forgotten one; people
    on a side; and a season that began before one was hidden and one forgotten.
    """
    play(daemon, 12, first=time.time() - 3600)
    for who, rating in ((SHADOW, 4321), (HIDDEN, 2468)):
        assert daemon.call("PUT", f"/v1/admin/players/{who}", {"rating": rating, "new": True}).status == 200
    submitted(daemon, "9-1", [SHADOW, SIX[1]])
    submitted(daemon, "9-2", [SIX[0], HIDDEN, SIX[1], SIX[2], SIX[3], SIX[4]], map=MAP)
    for number in (3, 4):
        submitted(daemon, f"9-{number}", [HIDDEN, *SIX[1:]])
        submitted(daemon, f"9-{number}-2", [GONE, *SIX[1:]])
    seats = [*((player, "red") for player in [SHADOW, *SIX[:2]]), *((player, "blu") for player in [HIDDEN, *SIX[2:4]])]
    roster = {"kind": "roster", "players": [{"id": player, "side": side} for player, side in seats]}
    joins = [
        {"kind": "player_joined", "id": player, "name": name}
        for player, name in ((SHADOW, "Novice"), (HIDDEN, "Ghost"), (EVIL, HOSTILE))
    ]
    gone = {"kind": "player_joined", "id": GONE, "name": "Phantom"}
    assert daemon.post(batch(98, {**HELLO, "map": "cp_badlands"}, gone)).status == 200
    assert daemon.post(batch(99, roster, *joins)).status == 200
    assert daemon.call("POST", "/v1/admin/pools/main/seasons", {"name": SEASON}).body["seasons"][0]["players"] == 8
    assert daemon.call("POST", f"/v1/admin/players/{HIDDEN}/hide", {}).status == 200
    assert daemon.call("POST", f"/v1/admin/players/{GONE}/forget", {}).status == 200


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Daemon, Daemon]]:
    """A filled daemon: its port for admins, and the public one."""
    port = free_port()
    with running(tmp_path_factory.mktemp("public"), configured(port, 'title = "Fair & Even"')) as daemon:
        fill(daemon)
        yield daemon, replace(daemon, port=port)


def asked(public: Daemon, path: str, **headers: str) -> Answer:
    return public.request("GET", path, **{"accept": "text/html", **headers})


def crawled(public: Daemon) -> dict[str, str]:
    """Every page that links lead to from the first one, by address."""
    texts: dict[str, str] = {}
    waiting = ["/", f"/players/{SHADOW}", "/players?text=o", "/players?text=7656119", "/no/such/page"]
    while waiting:
        address = waiting.pop()
        if address in texts:
            continue
        answer = asked(public, address)
        texts[address] = answer.raw.decode() + answer.headers.get("Location", "")
        assert answer.status in (200, 303) or address == "/no/such/page", (address, answer.status)
        if answer.status == 303:
            waiting.append(answer.headers["Location"])
        links = re.findall(r'<a [^>]*href="([^"]+)"', texts[address])
        waiting += [unescape(link).partition("#")[0] for link in links if not link.startswith("#")]
    return texts


JSON = (
    "servers", "servers/arena-1/roster", "pools", "pools/main/top", "pools/main/maps", "pools/main/evenness?days=999",
    "pools/main/seasons", f"pools/main/seasons/{quote(SEASON)}",
    f"players/{SHADOW}", f"players/{SIX[1]}", "rounds", f"rounds?player={SIX[1]}", "rounds/arena-1/9-1",
    "rounds/arena-1/9-2", "rounds/arena-1/1-1",
)  # fmt: skip


def test_no_route_of_admins_and_no_form_exists_on_the_public_port(pair: tuple[Daemon, Daemon]) -> None:
    _, public = pair
    owner = {"authorization": f"Bearer {SECRETS['owner']}"}
    for method, path in {(route.method, route.path) for route in (*ROUTES, *TABLE)}:
        if any(page.path == path and page.method == method for page in PAGES):
            continue
        there = re.sub(r"{(\w+)(:[^}]*)?}", lambda part: (part[2] or ":x")[1:].partition("|")[0], path)
        for sent in {method, "POST", "PUT", "DELETE"}:
            answer = public.request(sent, there, b"{}" if sent != "GET" else None, **owner)
            assert answer.status in (404, 405), (sent, there)
    for path in ("/live", "/export", "/v1/events", "/metrics", "/healthz", "/openapi.json"):
        assert public.request("GET", path, **owner).status == 404, path
    app = PublicSite(lambda: None).application()  # type: ignore[arg-type, return-value]
    assert {route.method for route in app.router.routes()} == {"GET", "HEAD"}


def test_a_token_shows_no_more_on_the_public_port(pair: tuple[Daemon, Daemon]) -> None:
    _, public = pair
    for path in ("/", "/servers/arena-1", f"/players/{SHADOW}"):
        assert asked(public, path).raw == asked(public, path, authorization=f"Bearer {SECRETS['owner']}").raw


@pytest.mark.slow
def test_no_public_page_or_answer_has_a_shadow_rating_a_hidden_player_or_an_admins_word(
    pair: tuple[Daemon, Daemon],
) -> None:
    daemon, public = pair
    whole = daemon.request("GET", f"/players/{SHADOW}", accept="text/html", authorization=f"Bearer {SECRETS['owner']}")
    assert SECRET.search(whole.raw.decode()), "what is looked for is there for admins"
    texts = crawled(public)
    assert {"/servers/arena-1", "/players", "/rounds", "/maps", "/pools/main", f"/players/{SHADOW}"} <= texts.keys()
    assert texts[f"/seasons/main/{quote(SEASON)}"].count('class="player"') == len(SIX)
    texts |= {path: public.request("GET", f"/v1/public/{path}").raw.decode() for path in JSON}
    for path, text in texts.items():
        assert not SECRET.search(text), (path, SECRET.search(text))
        assert not [one for one in (HIDDEN, "Ghost", GONE, "Phantom", "forgotten") if one in text], path
        assert text.count("<script") == text.count('<script type="module" src="/static/live.js?') or path in JSON, path
        assert [word for word in LEAKS if word in text] == [], path
    assert "Novice" in texts["/servers/arena-1"]
    assert "not shown yet" in texts["/servers/arena-1"]
    assert "Fair &amp; Even" in texts["/"]


def test_what_would_say_a_shadow_rating_is_left_out_and_the_rest_is_whole(pair: tuple[Daemon, Daemon]) -> None:
    daemon, public = pair

    def answered(path: str) -> Any:
        return public.request("GET", f"/v1/public/{path}").body

    duel = answered("rounds/arena-1/9-1")
    assert duel["round"]["win_probability"] is None
    ratings = {player["id"]: (player["before"], player["after"]) for player in duel["players"]}
    assert ratings[SHADOW] == (None, None)
    assert None not in ratings[SIX[1]]
    assert answered("rounds/arena-1/9-2")["round"]["win_probability"] is not None
    top, admins = answered("pools/main/top"), daemon.call("GET", "/v1/admin/pools/main/top").body
    assert [(one["id"], one["rating"]) for one in top["players"]] == [
        (one["id"], round(one["rating"])) for one in admins["players"]
    ]
    for beside in (SHADOW, HIDDEN):
        for way in ("after", "before"):
            assert public.request("GET", f"/v1/public/pools/main/top?{way}={beside}").status == 404
    past = answered(f"pools/main/seasons/{quote(SEASON)}")["players"]
    assert sorted(one["player"] for one in past) == SIX
    assert all(one["rating"] == round(one["rating"]) for one in past)
    here = answered("servers/arena-1/roster")["players"]
    assert [one["id"] for one in here][-1] == SHADOW, "where they stand in the list says nothing of the rating"
    assert len(here) == 5
    # The rating was not shown before the third round: neither is what it was then.
    first = answered("rounds/arena-1/1-1")["players"]
    assert {(one["before"], one["after"]) for one in first if one["rounds"] < 2} == {(None, None)}
    second = answered("rounds/arena-1/1-2")["players"]
    assert {one["before"] for one in second if one["rounds"] == 2} == {None}


def test_answers_are_as_the_document_on_the_public_port_says(pair: tuple[Daemon, Daemon]) -> None:
    _, public = pair
    described = public.request("GET", "/v1/public/openapi.json").body
    for component in described["components"]["schemas"].values():
        if "properties" in component:
            component["additionalProperties"] = False
    asked_for = set()
    for path in (f"/v1/public/{path}" for path in JSON):
        there = path.partition("?")[0]
        (template,) = (each for each in described["paths"] if re.fullmatch(re.sub(r"{\w+}", "[^/]+", each), there))
        operation = described["paths"][template]["get"]
        assert operation["security"] == []
        schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
        whole = {**schema, "components": described["components"]}
        jsonschema_rs.validate(whole, public.request("GET", path).body)
        asked_for.add(template)
    assert asked_for == described["paths"].keys() == {route.path for route in PUBLIC}
    refusal = public.request("GET", "/v1/public/players/nobody")
    reference = described["paths"]["/v1/public/players/{id}"]["get"]["responses"]["404"]["content"]["application/json"]
    jsonschema_rs.validate({**reference["schema"], "components": described["components"]}, refusal.body)


def test_an_answer_is_kept_and_known_by_its_hash(pair: tuple[Daemon, Daemon]) -> None:
    _, public = pair
    for path, seconds in (("/", 30), ("/players", 300), ("/v1/public/servers", 30), ("/v1/public/rounds", 300)):
        first = asked(public, path)
        assert (first.status, first.headers["Cache-Control"]) == (200, f"public, max-age={seconds}")
        again = asked(public, path, if_none_match=f'"x", W/{first.headers["ETag"]}')
        assert (again.status, again.raw) == (304, b"")
        assert asked(public, path, if_none_match='"x"').raw == first.raw
        head = public.request("HEAD", path, accept="text/html")
        assert (head.status, head.raw, head.headers["Content-Length"]) == (200, b"", str(len(first.raw)))
    answer = public.request("GET", "/v1/public/servers", origin="https://community.example")
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert answer.headers["Content-Type"] == "application/json"


def test_search_engines_are_kept_out_unless_they_are_let_in(pair: tuple[Daemon, Daemon], tmp_path: Path) -> None:
    _, public = pair
    assert b"Disallow: /\n" in public.request("GET", "/robots.txt").raw
    answer = asked(public, "/players")
    assert answer.headers["X-Robots-Tag"] == "noindex, nofollow"
    assert b'<meta name="robots" content="noindex' in answer.raw
    port = free_port()
    with running(tmp_path, configured(port, "index = true")) as daemon:
        public = replace(daemon, port=port)
        assert b"Disallow: /\n" not in public.request("GET", "/robots.txt").raw
        answer = asked(public, "/players")
        assert "X-Robots-Tag" not in answer.headers
        assert b"noindex" not in answer.raw


def test_refusals_are_pages_for_people_and_say_nothing_of_the_daemon(pair: tuple[Daemon, Daemon]) -> None:
    _, public = pair
    for path in (
        "/nothing",
        "/servers/nothing",
        "/players/nobody",
        "/rounds/arena-1/x",
        "/maps/main/x",
        "/../config.toml",
    ):
        answer = asked(public, path)
        assert (answer.status, b"Nothing is here" in answer.raw) == (404, True), path
        assert b"equipoise map" not in answer.raw
    assert public.request("GET", "/v1/public/players/nobody").code == "not_found"
    assert public.request("GET", "/v1/public/rounds?limit=x").code == "schema"
    assert asked(public, "/players?after=" + "9" * 300).status == 422


# As files.


def exported(daemon: Daemon, folder: Path, *words: str) -> Any:
    url = f"http://{daemon.host}:{daemon.port}"
    options = ["page", "--url", url, "--token", SECRETS["owner"], "--export", str(folder), *words]
    return CliRunner().invoke(main, options)


def files_in(folder: Path) -> dict[str, str]:
    return {
        str(file.relative_to(folder)): file.read_text()
        for file in folder.rglob("*")
        if file.is_file() and not file.name.startswith(".")
    }


def test_an_export_is_a_site_of_files_whose_links_lead_to_files(pair: tuple[Daemon, Daemon], tmp_path: Path) -> None:
    daemon, _ = pair
    folder = tmp_path / "site"
    told = exported(daemon, folder, "--json")
    assert told.exit_code == 0, told.output
    files = files_in(folder)
    assert json.loads(told.stdout) == {"folder": str(folder), "written": len(files), "removed": 0}
    assert {"index.html", "players.html", f"players/{SIX[1]}.html", "rounds.html", "servers/arena-1.html"} <= set(files)
    assert {"rounds/arena-1/9-2.html", "pools/main.html", "maps.html", "static/page.css", "robots.txt"} <= set(files)
    assert any(name.startswith("maps/main/workshop") for name in files)
    assert any(name.startswith("seasons/main/winter-1") for name in files)
    count = 0
    for name, text in files.items():
        assert re.fullmatch(r"[a-zA-Z0-9_/-]+\.(html|css|svg|txt)", name), name
        assert not SECRET.search(text), name
        assert HIDDEN not in text, name
        if not name.endswith(".html"):
            continue
        for word, link in re.findall(r"\s(href|src|action)=\"([^\"]*)\"", text):
            if link == "#main":
                continue
            count += 1
            assert not re.match(r"/|\w+:", link), (name, link)
            assert word != "action", name
            assert (folder / name).parent.joinpath(unquote(unescape(link))).resolve().is_file(), (name, link)
    assert count > 100
    assert not re.search(r">\d\d:\d\d</time>", "".join(files.values())), "a file is read on another day"
    assert not list(tmp_path.glob("*.html"))


@pytest.mark.slow
def test_a_second_export_removes_what_it_wrote_and_nothing_else(pair: tuple[Daemon, Daemon], tmp_path: Path) -> None:
    daemon, _ = pair
    folder = tmp_path / "site"
    assert exported(daemon, folder).exit_code == 0
    (folder / "players" / "mine.html").write_text("mine")
    list_file = folder / ".equipoise-files.json"
    names = json.loads(list_file.read_text())
    (tmp_path / "precious").write_text("precious")
    list_file.write_text(json.dumps([*names, "old/page.html", "../precious", "/etc/passwd"]))
    (folder / "old").mkdir()
    (folder / "old" / "page.html").write_text("was there before")
    assert "1 that are no more was removed" in exported(daemon, folder).output
    assert not (folder / "old").exists()
    assert (folder / "players" / "mine.html").read_text() == "mine"
    assert (tmp_path / "precious").exists()


def test_an_export_writes_over_nothing_that_is_somebody_elses(pair: tuple[Daemon, Daemon], tmp_path: Path) -> None:
    daemon, _ = pair
    (tmp_path / "index.html").write_text("my website")
    answer = exported(daemon, tmp_path)
    assert answer.exit_code != 0
    assert "choose an empty folder" in answer.output
    assert [file.name for file in tmp_path.iterdir()] == ["index.html"]
    assert (tmp_path / "index.html").read_text() == "my website"
    assert "no pool 'nothing'" in exported(daemon, tmp_path / "site", "--pool", "nothing").output


def test_who_asks_for_one_page_at_once_waits_for_one_and_no_more_is_kept_than_fits() -> None:
    site, count = PublicSite(lambda: None), 0  # type: ignore[arg-type, return-value]

    async def make() -> Made:
        nonlocal count
        count += 1
        await asyncio.sleep(0.001)
        return whole(b"x" * (MOST_BYTES // 4), 200, "text/plain", 300)

    async def ask() -> None:
        same = await asyncio.gather(*(site.found("page", make) for _ in range(100)))
        assert (count, len(set(same))) == (1, 1)
        for number in range(4):
            await site.found(number, make)
        await site.found(3, make)
        assert count == 5
        await site.found("page", make)
        assert count == 6, "the oldest had made room"
        asked = (site.found(f"other {number}", make) for number in range(MOST_WAITING + 5))
        many = await asyncio.gather(*asked, return_exceptions=True)
        assert [each.status for each in many if isinstance(each, ScriptError)] == [503] * 5

    asyncio.run(ask())


@pytest.mark.parametrize(
    ("keys", "fault"),
    [
        ("port = 70000", "$.public.port"),
        ('port = 1\nhost = "203.0.113.7"', "$.public."),
        ('at = "25:00"', "$.public.at: expected a time of day"),
        ("indexed = true", "$.public.indexed: no such key; is it index?"),
    ],
)
def test_wrong_keys_of_the_table_are_refused_by_name(tmp_path: Path, keys: str, fault: str) -> None:
    text = CONFIG.replace("[store]", f"[public]\n{keys}\n[store]")
    with pytest.raises(ConfigError) as refused, running(tmp_path, text):
        pass
    assert fault in str(refused.value)


def test_a_reload_changes_title_and_index_at_once_and_names_the_port_for_a_restart(tmp_path: Path) -> None:
    port = free_port()
    with running(tmp_path, configured(port)) as daemon:
        public = replace(daemon, port=port)
        assert b"Disallow: /\n" in public.request("GET", "/robots.txt").raw
        assert b"<title>Servers \xc2\xb7 Equipoise</title>" in asked(public, "/").raw
        path = tmp_path / "config.toml"
        new = f'port = {port + 1}\ntitle = "Even"\nindex = true\nexport = "site"\n'
        path.write_text(path.read_text().replace(f"port = {port}\n", new))
        told = daemon.call("POST", "/v1/admin/reload", {}).body
        assert told["restart"] == [f"public.port: {port} -> {port + 1}"]
        assert "public.title: Equipoise -> Even" in told["changes"]
        assert b"Disallow: /\n" not in public.request("GET", "/robots.txt").raw
        assert b"<title>Servers \xc2\xb7 Even</title>" in asked(public, "/").raw
        assert "export" in [job["name"] for job in daemon.call("GET", "/v1/admin/servers").body["jobs"]]


@pytest.mark.parametrize("taken", [False, True])
@pytest.mark.slow
def test_the_nightly_export_is_a_job_that_writes_the_folder_or_says_why_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, taken: bool
) -> None:
    monkeypatch.setattr(jobs, "MISSED_SECONDS", 0.5)  # it never ran: it is made up for after the start
    folder = tmp_path / "state" / "site"
    if taken:
        folder.mkdir(parents=True)
        (folder / "index.html").write_text("my website")
    with running(tmp_path, configured(free_port(), 'export = "site"')) as daemon:
        job: dict[str, Any] = {"last_seconds": None}
        for _ in range(100):
            (job,) = (job for job in daemon.call("GET", "/v1/admin/servers").body["jobs"] if job["name"] == "export")
            if job["last_seconds"] is not None:
                break
            time.sleep(0.1)
        assert job["last_seconds"] is not None
        assert ("somebody else's" in (job["last_error"] or ""), (folder / "players.html").exists()) == (
            taken,
            not taken,
        )
