"""Where game servers are reached: keys rcon, rcon_password_file and query of [server.X]."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from equipoise import config
from equipoise.config.differences import printed
from equipoise.errors import ConfigError
from tests.test_config import SMALL, load

PASSWORD = "correct horse"
NAME = config.ServerId("arena-1")


def server(folder: Path, keys: str, password: str = PASSWORD, **environ: str) -> config.Server:
    (folder / "rcon").write_text(password)
    return load(folder, SMALL.replace("[token", f"{keys}\n[token"), **environ).servers[NAME]


def test_a_tf2_server_is_queried_at_the_address_of_its_rcon_and_the_password_is_not_shown(tmp_path: Path) -> None:
    keys = "rcon = 'localhost:27015'\nrcon_password_file = 'rcon'"
    read = server(tmp_path, keys, PASSWORD + "\n")
    here = ("127.0.0.1", 27015)
    assert read.rcon is not None
    assert (read.rcon.address, read.rcon.password, read.query) == (here, PASSWORD, here)
    lines = "\n".join(printed(load(tmp_path, SMALL.replace("[token", f"{keys}\nquery = '[::1]:27016'\n[token"))))
    table = tomllib.loads(lines)["server"]["arena-1"]
    assert (table["rcon"], table["rcon_password_file"], table["query"]) == ("127.0.0.1:27015", "(read)", "[::1]:27016")
    assert PASSWORD not in f"{read!r} {lines}"


@pytest.mark.parametrize(
    ("keys", "query"),
    [
        ("", None),
        ("query = '127.0.0.1:27016'", ("127.0.0.1", 27016)),
        ("query = '[::1]:27016'", ("::1", 27016)),
        ("game = 'ns2'\nquery = '10.0.0.1:27016'", ("10.0.0.1", 27016)),
        ("rcon = '127.0.0.1:1'\nrcon_password_file = 'rcon'\nquery = ''", None),
    ],
)
def test_a_server_is_queried_where_the_configuration_says(
    keys: str, query: tuple[str, int] | None, tmp_path: Path
) -> None:
    assert server(tmp_path, keys).query == query


def test_an_ns2_server_is_reached_by_its_web_admin_and_queried_nowhere_unless_the_key_says_where(
    tmp_path: Path,
) -> None:
    keys = "game = 'ns2'\nrcon = '127.0.0.1:8080'\nrcon_user = 'me'\nrcon_password_file = 'rcon'"
    read = server(tmp_path, keys)
    assert read.rcon == config.Rcon(("127.0.0.1", 8080), PASSWORD, "me")
    assert read.query is None
    assert server(tmp_path, f"{keys}\nquery = '127.0.0.1:27016'").query == ("127.0.0.1", 27016)
    lines = list(printed(load(tmp_path, SMALL.replace("[token", f"{keys}\n[token"))))
    assert tomllib.loads("\n".join(lines))["server"]["arena-1"]["rcon_user"] == "me"


def test_systemd_hands_the_password_over(tmp_path: Path) -> None:
    credentials = tmp_path / "credentials"
    credentials.mkdir()
    (credentials / "secrets_arena-1.rcon").write_text("from systemd")
    keys = "rcon = '127.0.0.1:1'\nrcon_password_file = 'secrets/arena-1.rcon'"
    read = server(tmp_path, keys, CREDENTIALS_DIRECTORY=str(credentials))
    assert read.rcon is not None
    assert read.rcon.password == "from systemd"
    loaded = config.load(
        tmp_path / "config.toml",
        {"CREDENTIALS_DIRECTORY": str(credentials)},
        passed={"secrets/arena-1.rcon": "corrected\n", "secrets/arena-2.rcon": "another's"},
    )
    rcon = loaded.servers[NAME].rcon
    assert rcon is not None
    assert rcon.password == "corrected", "what root read is newer"


@pytest.mark.parametrize(
    ("keys", "password", "key"),
    [
        ("rcon = 'game.example.org:27015'\nrcon_password_file = 'rcon'", PASSWORD, "rcon"),
        ("rcon = '127.0.0.1'\nrcon_password_file = 'rcon'", PASSWORD, "rcon"),
        ("rcon = '127.0.0.1:0'\nrcon_password_file = 'rcon'", PASSWORD, "rcon"),
        ("rcon = '127.0.0.1:65536'\nrcon_password_file = 'rcon'", PASSWORD, "rcon"),
        ("rcon = '::1'\nrcon_password_file = 'rcon'", PASSWORD, "rcon"),
        ("rcon = 27015", PASSWORD, "rcon"),
        ("rcon = '127.0.0.1:27015'", PASSWORD, "rcon_password_file"),
        ("rcon_password_file = 'rcon'", PASSWORD, "rcon_password_file"),
        ("rcon = '127.0.0.1:27015'\nrcon_password_file = 'gone'", PASSWORD, "rcon_password_file"),
        ("rcon = '127.0.0.1:27015'\nrcon_password_file = 'rcon'", "", "rcon_password_file"),
        ("rcon = '127.0.0.1:27015'\nrcon_password_file = 'rcon'", "battery\nstaple", "rcon_password_file"),
        ("game = 'ns2'\nrcon = '127.0.0.1:8080'\nrcon_password_file = 'rcon'", PASSWORD, "rcon_user"),
        (
            "game = 'ns2'\nrcon = '127.0.0.1:8080'\nrcon_user = 'a:b'\nrcon_password_file = 'rcon'",
            PASSWORD,
            "rcon_user",
        ),
        ("game = 'ns2'\nrcon = '127.0.0.1:8080'\nrcon_user = 'me'", PASSWORD, "rcon_password_file"),
        ("game = 'ns2'\nrcon_user = 'me'", PASSWORD, "rcon_user"),
        ("rcon = '127.0.0.1:27015'\nrcon_user = 'me'\nrcon_password_file = 'rcon'", PASSWORD, "rcon_user"),
        ("query = 'localhost'", PASSWORD, "query"),
    ],
)
def test_a_wrong_key_is_named_and_the_password_is_not_shown(keys: str, password: str, key: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refusal:
        server(tmp_path, keys, password)
    assert f"$.server.arena-1.{key}: " in str(refusal.value)
    assert "staple" not in str(refusal.value)
