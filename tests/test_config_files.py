"""The files of the configuration: which are read, how secrets are found, and how a wrong one is refused."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from equipoise import config
from equipoise.config.sources import read_sources
from equipoise.core.rules import ScrambleRules
from equipoise.errors import ConfigError
from tests.cli.house import EQUIPOISE, UNPRIVILEGED
from tests.test_config import DIGEST, SMALL, load, message, write

LATE = """
import sys
from pathlib import Path
from equipoise.config.sources import Secrets
late = []
print(Secrets(Path(sys.argv[1]), "/nowhere", late).password("secrets/a.rcon", "$.server.a.rcon_password_file"), late)
Secrets(Path(sys.argv[1]), "/nowhere").password("secrets/a.rcon", "$.server.a.rcon_password_file")
"""


@pytest.mark.slow
def test_a_password_that_only_root_reads_waits_for_the_next_start_of_the_unit(tmp_path: Path) -> None:
    (tmp_path / "secrets").mkdir(mode=0)
    tmp_path.chmod(0o755)
    command = [sys.executable, "-S", UNPRIVILEGED, sys.executable, "-c", LATE, tmp_path]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.stdout == (
        "None ['$.server.a.rcon_password_file: systemd hands secrets/a.rcon over when the unit starts']\n"
    )
    assert "secrets/a.rcon: Permission denied; systemd hands credentials over" in ended.stderr


@pytest.mark.slow
def test_a_file_that_is_closed_to_the_daemons_user_is_named_with_the_mode_that_it_needs(tmp_path: Path) -> None:
    file = write_server(tmp_path, "dustbowl.toml", DUSTBOWL)
    write(tmp_path, SMALL)
    check = [sys.executable, "-S", UNPRIVILEGED, EQUIPOISE, "check-config", "--config", tmp_path / "config.toml"]
    for closed in (file, file.parent, tmp_path / "config.toml"):
        mode = closed.stat().st_mode
        closed.chmod(0)
        refused = subprocess.run(check, capture_output=True, text=True, timeout=60, check=False)
        closed.chmod(mode)
        advice = "Permission denied; the daemon's user must be able to read it: chmod a+rX"
        assert (refused.returncode, refused.stderr) == (2, f"equipoise: {closed}: {advice}\n")


DUSTBOWL = f"[server.dustbowl]\nsecret_sha256 = '{'ab' * 32}'\n"


def write_server(folder: Path, name: str, text: str) -> Path:
    """A file in servers.d."""
    (folder / "servers.d").mkdir(exist_ok=True)
    path = folder / "servers.d" / name
    path.write_text(text)
    return path


def test_a_missing_file_and_a_file_that_is_not_toml_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="equipoise init"):
        config.load(tmp_path / "gone.toml", {})
    for text in ("[web", "a = " + "[" * 10_000):
        with pytest.raises(ConfigError, match="not valid TOML"):
            load(tmp_path, text)


def test_a_secret_itself_is_refused_where_its_hash_belongs_and_is_not_shown(tmp_path: Path) -> None:
    write(tmp_path, SMALL)
    (tmp_path / "owner.sha256").write_text("hunter2")
    with pytest.raises(ConfigError, match=r"secret_file: expected a SHA-256") as refusal:
        config.load(tmp_path / "config.toml", {})
    assert "hunter2" not in str(refusal.value)
    assert "hunter2" not in message(tmp_path, SMALL + "[token.two]\nrole = 'viewer'\nsecret_sha256 = 'hunter2'")


def test_a_secrets_hash_may_stand_in_the_configuration_itself(tmp_path: Path) -> None:
    read = load(tmp_path, SMALL.replace('secret_file = "owner.sha256"', f"secret_sha256 = '{DIGEST[::-1].upper()}'"))
    assert read.tokens["owner"].digest.hex() == DIGEST[::-1]


def test_credentials_of_systemd_come_before_files_beside_the_configuration(tmp_path: Path) -> None:
    credentials = tmp_path / "credentials"
    credentials.mkdir()
    environ = {"CREDENTIALS_DIRECTORY": str(credentials)}
    (credentials / "owner.sha256").write_text("00" * 32)
    read = load(tmp_path, SMALL, **environ)
    assert read.tokens["owner"].digest == bytes(32)
    assert read.servers[config.ServerId("arena-1")].digest == hashlib.sha256(b"secret").digest()
    # Of a folder of secrets under names with the folder's.
    text = SMALL.replace('"owner.sha256"', '"secrets/owner.sha256"')
    (credentials / "owner.sha256").rename(credentials / "secrets_owner.sha256")
    assert load(tmp_path, text, **environ).tokens["owner"].digest == bytes(32)
    (credentials / "secrets_owner.sha256").unlink()
    with pytest.raises(ConfigError, match=r"secrets/owner\.sha256: .*systemd hands .* restart it"):
        load(tmp_path, text, **environ)


def test_servers_stand_in_the_file_or_beside_it_in_one_of_their_own(tmp_path: Path) -> None:
    file = write_server(
        tmp_path, "dustbowl.toml", DUSTBOWL + "silence_seconds = 20\n[server.dustbowl.scramble]\nmin_players = 7"
    )
    read = load(tmp_path, SMALL + "[scramble]\ntolerance = 0.5")
    assert {name: server.file for name, server in read.servers.items()} == {
        "arena-1": tmp_path / "config.toml",
        "dustbowl": file,
    }
    rules = read.servers[config.ServerId("dustbowl")].rules
    assert (rules.silence_seconds, rules.scramble) == (20, ScrambleRules(7, 0.5))


def test_what_editors_and_packages_leave_beside_a_servers_file_is_not_read(tmp_path: Path) -> None:
    for name in ("dustbowl.toml~", ".dustbowl.toml.swp", ".dustbowl.toml", "#dustbowl.toml#", "dustbowl.toml.dpkg-old"):
        write_server(tmp_path, name, "no TOML")
    assert list(load(tmp_path, SMALL).servers) == ["arena-1"]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("dustbowl.toml", "", "the file is empty; is it being written?"),
        ("dustbowl.toml", "# soon", "there is no [server.dustbowl]; is the file being written?"),
        ("dustbowl.toml", DUSTBOWL[:-5], "not valid TOML: "),
        ("dustbowl.toml", DUSTBOWL + "[web]\nport = 1", "$.web: this file holds [server.dustbowl] and nothing else"),
        ("badlands.toml", DUSTBOWL, "$.server.dustbowl: a file of servers.d has its server's name: [server.badlands]"),
        ("dustbowl.toml", "server = 3", "$.server: expected a table"),
        ("dustbowl.toml", "server.dustbowl = 3", "$.server.dustbowl: expected a table"),
        ("dustbowl.toml", DUSTBOWL + "game = 'hl3'", "$.server.dustbowl.game: there is tf2, ns2"),
        (
            "dustbowl.toml",
            DUSTBOWL.replace("ab" * 32, DIGEST),
            "$.server.dustbowl: the same secret as $.server.arena-1",
        ),
        ("a b.toml", DUSTBOWL.replace("dustbowl", "'a b'"), '$.server."a b": a name is up to 64'),
        (
            "arena-1.toml",
            DUSTBOWL.replace("dustbowl", "arena-1"),
            "$.server.arena-1: it is in {folder}/config.toml too: remove one of them",
        ),
    ],
)
def test_a_servers_file_that_is_wrong_is_named(tmp_path: Path, name: str, text: str, said: str) -> None:
    file = write_server(tmp_path, name, text)
    with pytest.raises(ConfigError) as refusal:
        load(tmp_path, SMALL)
    assert str(refusal.value).startswith(f"{file}: {said.format(folder=tmp_path)}")


def test_a_servers_file_that_is_removed_while_the_folder_is_read_is_not_missed(tmp_path: Path) -> None:
    """`server remove` and a reload may meet: then the server is there or not, and nothing is refused."""
    main, folder = write(tmp_path, SMALL), tmp_path / "servers.d"
    folder.mkdir()
    over = threading.Event()

    def come_and_go() -> None:
        while not over.is_set():
            for name in "bcdefgh":
                (folder / f"{name}.toml").write_text(f'[server.{name}]\nsecret_sha256 = "{DIGEST}"\n')
            for name in "bcdefgh":
                (folder / f"{name}.toml").unlink()

    with ThreadPoolExecutor(1) as threads:
        coming = threads.submit(come_and_go)
        refused = [said for said in (message_or_none(main) for _ in range(300)) if said and "No such file" in said]
        over.set()
        coming.result()
    assert not refused


def message_or_none(main: Path) -> str | None:
    """What is refused of a configuration, if anything: a file that is being written may be empty."""
    try:
        read_sources(main)
    except ConfigError as error:
        return str(error)
    return None


def test_a_pipe_a_device_and_a_huge_file_are_refused_at_once(tmp_path: Path) -> None:
    write(tmp_path, SMALL)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "huge").write_bytes(b"#" * (2 << 20))
    for file, why in (("pipe", "regular"), ("/dev/zero", "regular"), ("huge", "more than"), (".", "directory")):
        with pytest.raises(ConfigError, match=why):
            config.load(tmp_path / file, {})
        assert why in message(tmp_path, SMALL.replace("owner.sha256", file))
