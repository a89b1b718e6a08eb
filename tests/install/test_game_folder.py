"""The plugin in a game server's folder: what is found there, what is written, what is refused."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import struct
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import equipoise
from equipoise.errors import ConfigError
from equipoise.install import file_changes
from equipoise.install.game_folders import CFG, PLUGIN, inspect, plugin_version, search
from equipoise.install.server_files import Added, NewServer
from tests.daemons import write_new
from tests.install.game_server import binary, everything, game_server
from tests.sourcemod.rig import Game, compile_text

pytestmark = pytest.mark.slow

NAME = "arena-1"


def added(folder: Path, tf: Path, name: str = NAME) -> Added:
    """What `equipoise init` says after it has installed the plugin."""
    (server,) = write_new(folder / "equipoise", [NewServer(name, tf=tf)])
    return server


def refusal(folder: Path, tf: Path, name: str = NAME) -> str:
    """Why nothing was written."""
    before = everything(folder)
    with pytest.raises(ConfigError) as error:
        added(folder, tf, name)
    assert everything(folder) == before
    return str(error.value)


def settings(tf: Path) -> dict[str, str]:
    return dict(re.findall(r'^(equipoise_\w+) "(.*)"$', (tf / CFG).read_text(), re.MULTILINE))


def test_the_plugin_its_texts_and_its_settings_are_written(tmp_path: Path) -> None:
    tf = game_server(tmp_path)
    server = added(tmp_path, tf)
    assert plugin_version((tf / PLUGIN).read_bytes()) == plugin_version(file_changes.plugin())
    for name, text in file_changes.plugin_texts().items():
        assert (tf / "addons/sourcemod" / name).read_bytes() == text
    assert (tf / "addons/sourcemod/translations/de/equipoise.phrases.txt").is_file()
    assert (tf / "addons/sourcemod/scripting/include/equipoise.inc").is_file()
    assert settings(tf) == {
        "equipoise_url": "http://127.0.0.1:27500",
        "equipoise_server": NAME,
        "equipoise_secret": server.secret,
        "equipoise_chat_prefix": "[Equipoise]",
        "equipoise_words": "",
    }
    assert (tf / CFG).stat().st_mode & 0o777 == 0o600
    assert (tf / PLUGIN).stat().st_mode & 0o777 == 0o644
    said = "\n".join(server.lines())
    assert "SourceMod 1.12.0.7195 is there." in said
    assert "REST in Pawn 1.3.2 is there." in said
    assert server.command == "sm plugins load equipoise"
    assert server.secret not in said


def test_the_cfg_sets_what_sourcemod_would_write_so_that_it_is_never_written_anew(tmp_path: Path) -> None:
    tf = game_server(tmp_path)
    added(tmp_path, tf)
    game = Game(tmp_path / "other")
    game.load(tf / PLUGIN, translations=tf / "addons/sourcemod/translations")
    game.start_map("koth_harvest_final")
    written = (game.sm.root.parent.parent / CFG).read_text()
    game.close()
    assert set(settings(tf)) == set(re.findall(r"^(equipoise_\w+) ", written, re.MULTILINE))


def test_other_lines_of_a_cfg_stay_as_they_are(tmp_path: Path) -> None:
    tf = game_server(tmp_path)
    own = (
        b'// mine: \xe9\x85\r\nequipoise_words "rank=skill"\r\n"Equipoise_Secret" old // note\nequipoise_secret "older"'
    )
    (tf / CFG).write_bytes(own)
    (tf / CFG).chmod(0o644)
    server = added(tmp_path, tf)
    assert (tf / CFG).read_bytes() == (
        b'// mine: \xe9\x85\r\nequipoise_words "rank=skill"\r\n'
        + f'equipoise_secret "{server.secret}"\n'.encode()
        + b'equipoise_url "http://127.0.0.1:27500"\nequipoise_server "arena-1"\n'
    )
    assert (tf / CFG).stat().st_mode & 0o777 == 0o600


def test_a_64_bit_servers_binaries_are_found(tmp_path: Path) -> None:
    found = inspect(game_server(tmp_path, sourcemod="1.13.0.7210-dev", x64="x64"), NAME, "1.0")
    assert (found.sourcemod, found.ripext) == ("1.13.0.7210-dev", "1.3.2")


def test_what_the_plugin_misses_is_said(tmp_path: Path) -> None:
    def notes(number: int, sourcemod: str, ripext: str | None) -> str:
        return "\n".join(inspect(game_server(tmp_path / str(number), sourcemod, ripext), NAME, "1.0").notes())

    assert "rip.ext.so) is MISSING" in notes(1, "1.12.0.7195", None)
    assert "64 players at most" in notes(5, "1.11.0.6970", "1.3.2")
    assert "64 players" not in notes(6, "1.12.0.7195", "1.3.2")
    old = notes(2, "1.10.0.6545", "1.2.3")
    assert "needs SourceMod 1.11 or newer" in old
    assert "needs REST in Pawn 1.3.2 or newer" in old
    unknown = game_server(tmp_path / "3")
    for file in unknown.rglob("*.so"):
        binary(file, "\0nothing\0")
    assert "SourceMod of an unknown version" in "\n".join(inspect(unknown, NAME, "1.0").notes())


def test_an_older_plugin_is_replaced_and_a_newer_one_is_not(tmp_path: Path) -> None:
    def of_version(version: str) -> bytes:
        text = f'#include <sourcemod>\npublic Plugin myinfo = {{ name = "Equipoise", version = "{version}" }};'
        return compile_text(text, tmp_path, "other").read_bytes()

    tf = game_server(tmp_path / "server")
    (tf / PLUGIN).write_bytes(of_version("99.0"))
    assert "the plugin there is 99.0, newer than this Equipoise" in refusal(tmp_path, tf)
    (tf / PLUGIN).write_bytes(of_version("0.0.9"))
    server = added(tmp_path, tf)
    assert "in place of 0.0.9" in server.lines()[0]
    assert server.command == "sm plugins reload equipoise"
    assert plugin_version((tf / PLUGIN).read_bytes()) == plugin_version(file_changes.plugin())


def test_a_folder_that_is_no_game_servers_is_refused(tmp_path: Path) -> None:
    tf = game_server(tmp_path / "server")
    assert f"no gameinfo.txt; is it {tf}?" in refusal(tmp_path, tf.parent)
    assert "no gameinfo.txt" in refusal(tmp_path, tmp_path / "gone")
    assert "SourceMod is not installed" in refusal(
        tmp_path, game_server(tmp_path / "plain", sourcemod=None, ripext=None)
    )


def test_a_folder_of_another_game_is_refused_and_one_of_a_mod_of_tf2_is_not(tmp_path: Path) -> None:
    tf = game_server(tmp_path)
    gameinfo = '"GameInfo"\n{{\n\t"game"\t\t"{}" // x\n\tFileSystem\n\t{{\n\t\tSteamAppId\t\t\t\t{}\n\t}}\n}}\n'
    for game, app in (("Counter-Strike Source", 240), ("Half-Life 2 DM\x1b[2J", 320)):
        (tf / "gameinfo.txt").write_text(gameinfo.format(game, app))
        assert f"a folder of {game!r}, by its gameinfo.txt, and the plugin is for TF2's tf/" in refusal(tmp_path, tf)
    for number, (game, app) in enumerate((("Fair Fortress", 440), ("Team Fortress 2 Classic", 243750))):
        (tf / "gameinfo.txt").write_text(gameinfo.format(game, app))
        assert added(tmp_path / str(number), tf).command


def test_a_folder_of_another_server_is_refused(tmp_path: Path) -> None:
    tf = game_server(tmp_path)
    (tf / CFG).write_text('equipoise_server "dustbowl"\n')
    assert "this folder belongs to the server dustbowl" in refusal(tmp_path, tf)
    (tf / CFG).write_text('equipoise_server ""\nequipoise_server "arena-1" // mine\n')
    added(tmp_path, tf)


def test_what_cannot_be_written_leaves_everything_as_it_was(tmp_path: Path) -> None:
    """The last of the plugin's files is refused; all before it were written already."""
    tf = game_server(tmp_path)
    (tf / PLUGIN).write_bytes(b"damaged")
    shutil.rmtree(tf / "cfg/sourcemod")
    (tf / "cfg/sourcemod").write_text("a file in the place of a folder")
    assert "cfg/sourcemod" in refusal(tmp_path, tf)
    tf = game_server(tmp_path / "other")
    (tf / "addons/sourcemod/translations/ru/equipoise.phrases.txt/x").mkdir(parents=True)
    assert "equipoise.phrases.txt" in refusal(tmp_path, tf)


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user: sudo make test")


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that all users can reach, unlike pytest's."""
    folder = Path(tempfile.mkdtemp(dir="/var/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@as_root
def test_root_writes_as_the_owner_of_the_folder(open_folder: Path, tmp_path: Path) -> None:
    tf = game_server(open_folder)
    for path in (open_folder, tf, *tf.rglob("*")):
        os.chown(path, 4711, 4712)
    added(tmp_path, tf)
    assert {(path.stat().st_uid, path.stat().st_gid) for path in tf.rglob("*")} == {(4711, 4712)}
    assert (tmp_path / "equipoise" / "config.toml").stat().st_uid == 0


@as_root
def test_root_follows_no_link_that_the_owner_could_not(open_folder: Path, tmp_path: Path) -> None:
    secret = open_folder / "secret"
    secret.write_text("of root")
    secret.chmod(0o600)
    tf = game_server(open_folder / "server")
    (tf / CFG).symlink_to(secret)
    for path in (tf.parent, tf, *tf.rglob("*")):
        os.chown(path, 4711, 4712, follow_symlinks=False)
    assert "Permission denied" in refusal(tmp_path, tf)


@as_root
def test_a_part_that_the_owner_may_not_write_is_named(open_folder: Path, tmp_path: Path) -> None:
    tf = game_server(open_folder)
    for path in (open_folder, tf, *tf.rglob("*")):
        os.chown(path, 4711, 4712)
    os.chown(tf / "addons/sourcemod/plugins", 0, 0)
    line = refusal(tmp_path, tf)
    assert "addons/sourcemod/plugins/" in line
    assert f"Permission denied; it must belong to the owner of {tf}" in line


@pytest.mark.slow
def test_our_plugin_says_the_version_of_the_daemon() -> None:
    assert plugin_version(file_changes.plugin()) == equipoise.__version__


def test_any_plugin_is_read_compressed_or_not(tmp_path: Path) -> None:
    text = 'public Plugin myinfo = { name = "x", version = "2.10.1-é" };\nint g[5000] = {7, ...};\n#pragma unused g'
    packed = compile_text("#include <sourcemod>\n" + text, tmp_path, "one").read_bytes()
    header = list(struct.unpack_from("<IHBIIBII", packed))
    assert header[2] == 1
    start, header[2] = header[7], 0
    plain = struct.pack("<IHBIIBII", *header) + packed[24:start] + zlib.decompress(packed[start:])
    assert plugin_version(packed) == plugin_version(plain) == "2.10.1-é"


def test_a_plugin_that_says_no_version_has_none(tmp_path: Path) -> None:
    assert plugin_version(compile_text("public void OnX() {}", tmp_path, "one").read_bytes()) is None


@pytest.mark.slow
def test_a_damaged_plugin_has_no_version() -> None:
    whole = file_changes.plugin()
    damaged = [whole[:length] for length in range(0, len(whole), 997)]
    damaged += [whole[:place] + b"\xff" + whole[place + 1 :] for place in range(400)]
    assert {plugin_version(each) for each in damaged} <= {None, plugin_version(whole)}


def test_a_servers_folder_is_found_by_the_secret_in_its_cfg(tmp_path: Path) -> None:
    hashes = {name: hashlib.sha256(f"secret of {name}".encode()).hexdigest() for name in ("one", "two", "three")}
    for name, secret in (("one", "secret of one"), ("two", "another"), ("stranger", "secret of one")):
        tf = game_server(tmp_path / "steam/servers" / name)
        (tf / CFG).write_text(f'equipoise_server "{name}"\nequipoise_secret "{secret}"\n')
    assert dict(search(hashes, (tmp_path, tmp_path / "missing"))) == {"one": tmp_path / "steam/servers/one/tf"}
