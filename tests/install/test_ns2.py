"""NS2 servers: their pool, the settings of the mod in their config directories, their secrets."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest

from tests.cli.house import House, ask, one_line, run, serving
from tests.install.game_server import everything

pytestmark = pytest.mark.slow

NO_DAEMON = ("--url", "http://127.0.0.1:1")
"""Another daemon of this machine may listen at the address of a new configuration."""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A config directory as the game leaves it at its first start."""
    made = tmp_path / "Natural Selection 2"
    made.mkdir()
    (made / "ServerConfig.json").write_text('{"settings": {"auto_team_balance": {"enabled": true}}}')
    return made


@pytest.fixture
def house(tmp_path: Path, directory: Path) -> House:
    """A configuration of one NS2 server, `ns2-1`, whose settings are in its config directory."""
    folder = tmp_path / "equipoise"
    made = run("init", folder, "--game", "ns2", "--ns2-config", directory)
    assert made.returncode == 0, made.stderr
    found = House(folder, settings(directory)["secret"])
    assert found.secret not in made.stdout
    found.edit("port = 27500", f'port = 0\n\n[store]\ndirectory = "{folder}/state"')
    return found


def settings(directory: Path) -> dict[str, str]:
    """What the mod reads there."""
    found: dict[str, str] = json.loads((directory / "Equipoise.json").read_text())
    return found


def hello(address: str, secret: str, name: str) -> bool:
    """Whether the daemon takes the mod's first post: a form, as the game sends it."""
    event = {"kind": "hello", "plugin": "0.1.0", "game": "ns2", "map": "ns2_veil", "session": "7-1", "phase": "idle"}
    batch = {"v": 1, "server": name, "boot": 7, "seq": 1, "at": 1.0, "events": [event]}
    form = urlencode({"secret": secret, "data": json.dumps(batch)}).encode()
    with urlopen(Request(f"http://{address}/v1/events", form)) as answer:
        return bool(json.load(answer)["ok"])


def test_a_new_configuration_for_ns2_rates_by_ns2_and_the_mods_settings_are_its_owners_alone(
    house: House, directory: Path
) -> None:
    assert tomllib.loads(house.config.read_text())["pool"]["main"] == {"system": "ns2", "commander_field_share": 0.25}
    assert settings(directory) == {"url": "http://127.0.0.1:27500", "server": "ns2-1", "secret": house.secret}
    assert (directory / "Equipoise.json").stat().st_mode & 0o777 == 0o600
    assert run("check-config", "--config", house.config).stdout.endswith("valid. Servers: 1, pools: 1.\n")


def test_an_ns2_server_is_added_gets_another_secret_and_is_removed_while_the_daemon_serves(
    house: House, tmp_path: Path
) -> None:
    second = tmp_path / "second"
    second.mkdir()
    (second / "MapCycle.json").write_text("{}")
    (second / "Equipoise.json").write_text('{"language": "de", "own": [1]}')
    with serving(house) as (_, address):
        added = ask(house, address, "server", "add", "ns2-2", "--game", "ns2", "--ns2-config", str(second))
        assert (added.returncode, added.stderr) == (0, "")
        assert settings(second).items() > {"language": "de", "own": [1], "url": f"http://{address}"}.items()
        assert hello(address, settings(second)["secret"], "ns2-2")
        before = settings(second)
        done = ask(house, address, "server", "secret", "ns2-2", "--rotate", "--ns2-config", str(second), "--json")
        assert json.loads(done.stdout)["secret"] is None
        assert {key for key in before if settings(second)[key] != before[key]} == {"secret"}
        assert hello(address, settings(second)["secret"], "ns2-2")
        removed = ask(house, address, "server", "remove", "ns2-2", "--yes")
        assert "MapCycle.json" in removed.stdout
        assert "sm plugins" not in removed.stdout


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ('{"server": "other"}', "this config directory belongs to the server other"),
        ("{", "not valid JSON, left as it is"),
        ("[]", "not a JSON object, left as it is"),
        (None, "not the config directory of an NS2 server"),
    ],
)
def test_a_directory_that_is_none_or_another_servers_is_refused_and_nothing_is_written(
    directory: Path, tmp_path: Path, content: str | None, why: str
) -> None:
    if content is None:
        (directory / "ServerConfig.json").unlink()
    else:
        (directory / "Equipoise.json").write_text(content)
    before = everything(tmp_path)
    refused = one_line(run("init", tmp_path / "new", "--game", "ns2", "--ns2-config", directory))
    assert why in refused
    assert str(directory) in refused
    assert everything(tmp_path) == before


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--game", "ns2", "--tf", "/srv/tf"), "--tf is for TF2's plugin, and the game of ns2-1 is ns2"),
        (("--ns2-config", "/srv"), "for the NS2 mod, and the game of arena-1 is tf2: --game ns2"),
        (("--game", "ns2", "--rcon", "127.0.0.1:1", "--rcon-password-file", "PASSWORD"), "needs its user: --rcon-user"),
        (
            ("--rcon", "127.0.0.1:1", "--rcon-user", "me", "--rcon-password-file", "PASSWORD"),
            "only NS2's web admin has",
        ),
    ],
)
def test_what_belongs_to_the_other_game_is_refused(tmp_path: Path, options: tuple[str, ...], why: str) -> None:
    (tmp_path / "password").write_text("s3cret")
    given = [str(tmp_path / "password") if each == "PASSWORD" else each for each in options]
    assert why in one_line(run("init", tmp_path / "new", *given))
    assert not (tmp_path / "new").exists()


def test_the_doctor_asks_an_operator_of_ns2_for_nothing_of_sourcemod(house: House) -> None:
    with serving(house) as (_, address):
        found = json.loads(ask(house, address, "doctor", "--json").stdout)["findings"]
    (silent,) = (each for each in found if each["about"] == "ns2-1")
    assert silent["what"].startswith("its script has not called yet")
    assert "on the game server's console: sv_eq_status." in silent["advice"]
    assert "compare url, server (ns2-1) and secret in its Equipoise.json" in silent["advice"]


def test_the_mod_is_written_to_be_published_and_updates_leave_its_item_and_drop_old_files(tmp_path: Path) -> None:
    assert run("init", tmp_path / "new", "--game", "ns2").returncode == 0
    config, mod = tmp_path / "new" / "config.toml", tmp_path / "mod"
    added = run("server", "add", "ns2-2", "--game", "ns2", "--mod", mod, "--config", config, *NO_DAEMON)
    assert (added.returncode, added.stderr) == (0, "")
    assert f"-game {mod}/output." in added.stdout
    assert "  ns2-2  " in added.stdout, "its secret is shown: it stands nowhere else"
    entry = (mod / "output/lua/entry/Equipoise.entry").read_text()
    assert "lua/equipoise/load.lua" in entry
    assert (mod / "output/lua/equipoise/load.lua").is_file()
    assert {path.name for path in mod.iterdir()} >= {"output", "mod.settings", "README.md"}
    secret = added.stdout.split("  ns2-2  ")[1].split()[0]
    assert not [path for path in mod.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]
    (mod / "output/lua/equipoise/gone.lua").write_text("-- of an older version")
    (mod / "mod.settings").write_text('publish_id = "123"')
    before = everything(mod)
    assert run("server", "update", "ns2-2", "--mod", mod, "--config", config).returncode == 0
    assert before.keys() - everything(mod).keys() == {"output/lua/equipoise/gone.lua"}
    assert (mod / "mod.settings").read_text() == 'publish_id = "123"'


def test_a_folder_of_something_else_is_no_place_for_the_mod(tmp_path: Path) -> None:
    assert run("init", tmp_path / "new", "--game", "ns2").returncode == 0
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("mine")
    before = everything(tmp_path)
    mod = ("--mod", tmp_path / "mine", "--config", tmp_path / "new" / "config.toml")
    assert "this folder is not empty, and not that of the mod" in one_line(run("server", "update", "ns2-1", *mod))
    assert "which folder?" in run("server", "update", "ns2-1", *mod[2:]).stderr
    assert everything(tmp_path) == before


def test_an_ns2_server_never_falls_into_the_pool_of_another_game(tmp_path: Path) -> None:
    assert run("init", tmp_path).returncode == 0
    add = ("server", "add", "ns2-1", "--game", "ns2", "--config", tmp_path / "config.toml", *NO_DAEMON)
    refused = one_line(run(*add))
    assert 'no pool rates by ns2: add [pool.ns2] with system = "ns2" to config.toml' in refused
    with (tmp_path / "config.toml").open("a") as file:
        file.write('\n[pool.ns2]\nsystem = "ns2"\n')
    assert run(*add).returncode == 0
    table = tomllib.loads((tmp_path / "servers.d" / "ns2-1.toml").read_text())["server"]["ns2-1"]
    assert (table["pool"], table["game"]) == ("ns2", "ns2")


def test_an_ns2_server_may_feed_a_pool_of_another_system_and_its_operator_reads_what_is_lost(tmp_path: Path) -> None:
    assert run("init", tmp_path).returncode == 0
    lost = "main rates by synelo, without sides and commanders"
    add = ("server", "add", "--game", "ns2", "--config", tmp_path / "config.toml", *NO_DAEMON)
    added = run(*add, "ns2-1", "--pool", "main")
    assert (added.returncode, added.stderr) == (0, "")
    assert lost in added.stdout
    assert 'For both add [pool.NAME] with system = "ns2" to config.toml' in added.stdout
    with (tmp_path / "config.toml").open("a") as file:
        file.write('\n[pool.ns2]\nsystem = "ns2"\n')
    for silent in (run(*add, "ns2-2", "--pool", "ns2"), run(*add[:2], "arena-2", "--pool", "main", *add[4:])):
        assert (silent.returncode, silent.stderr) == (0, "")
        assert "without sides" not in silent.stdout


def test_another_games_server_never_falls_into_the_pool_of_ns2(house: House) -> None:
    refused = one_line(run("server", "add", "arena-1", "--config", house.config))
    assert "every pool serves another game" in refused
    assert run("server", "add", "arena-1", "--pool", "main", "--config", house.config).returncode == 0
