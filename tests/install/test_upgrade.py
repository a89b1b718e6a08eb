"""`equipoise upgrade`: from one release to the next, killed at any moment, and back without losing a round.

Two releases are built from this tree. The later one has one step more in its store, so that the earlier one cannot read
what it wrote. The daemon runs without systemd here; `make walk` does the same with the unit.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from equipoise.install.game_folders import CFG, PLUGIN, plugin_version
from equipoise.web.logins import FILE
from equipoise.webhooks import FILE as MESSAGES
from tests.cli.house import UNPRIVILEGED
from tests.daemons import address_of
from tests.game.rcon_servers import PASSWORD
from tests.install.game_server import everything, game_server
from tests.install.test_adding_rcon import console
from tests.install.test_wheel import build

pytestmark = pytest.mark.world
ROOT = Path(__file__).parents[2]
OLD, NEW = "8.0.0", "9.0.0"
STEP = 'Migration("0099-weather", statements=("ALTER TABLE rounds ADD COLUMN weather TEXT",)),\n)\n"""Every step'
PLAYER = "76561197960287930"
PLAY = ROOT / "tests" / "walk" / "play.py"


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The releases by version."""
    sdist, _ = build("sdist", ROOT, tmp_path_factory.mktemp("sdist"))
    wheels = {}
    for version in (OLD, NEW):
        folder = tmp_path_factory.mktemp("tree")
        subprocess.run(["tar", "-xf", sdist, "-C", folder], check=True)
        (tree,) = folder.iterdir()
        change(tree / "PKG-INFO", r"(?m)^Version: .*", f"Version: {version}")
        if version == NEW:
            change(tree / "daemon/equipoise/store/migrations.py", r'\)\n"""Every step', f"    {STEP}")
        wheels[version], _ = build("wheel", tree, tmp_path_factory.mktemp("wheel"))
    return wheels


def change(file: Path, pattern: str, text: str) -> None:
    changed, count = re.subn(pattern, text, file.read_text(), count=1)
    assert count == 1
    file.write_text(changed)


@dataclass
class Machine:
    """An installation in a folder of its own, as `python3 -m venv` and `init --tf` make one."""

    folder: Path

    @classmethod
    def made(cls, folder: Path, wheel: Path) -> Machine:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
        (site,) = folder.glob("venv/lib/python*/site-packages")
        # Other packages, and pip, come from here: they take 345 MB.
        (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
        pip = [sys.executable, "-m", "pip", "--python", folder / "venv/bin/python"]
        subprocess.run([*pip, "install", "-q", "--no-deps", "--ignore-installed", "--no-index", wheel], check=True)
        machine = cls(folder)
        game_server(folder)
        machine.run("init", str(folder / "etc"), "--server", "arena-1", "--tf", str(machine.tf), "--yes")
        text = machine.config.read_text()
        machine.config.write_text(text.replace("port = 27500", f'port = 0\n\n[store]\ndirectory = "{folder}/state"'))
        return machine

    @property
    def config(self) -> Path:
        return self.folder / "etc/config.toml"

    @property
    def tf(self) -> Path:
        return self.folder / "tf"

    @property
    def environ(self) -> dict[str, str]:
        plain = {"PIP_NO_DEPS": "1", "PIP_NO_INDEX": "1", "HOME": str(self.folder)}
        return plain | {"PATH": f"{self.folder}/venv/bin:{os.environ['PATH']}", "EQUIPOISE_CONFIG": str(self.config)}

    def start(self, *words: str) -> subprocess.Popen[str]:
        command = [self.folder / "venv/bin/equipoise", *words]
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self.environ, cwd=self.folder
        )

    def run(self, *words: str, code: int = 0) -> str:
        process = self.start(*words)
        said, _ = process.communicate(timeout=300)
        assert process.returncode == code, said
        return said

    @contextmanager
    def serving(self) -> Iterator[None]:
        """The daemon of the version that is installed."""
        log = self.folder / "log"
        with log.open("wb") as file:
            command = [self.folder / "venv/bin/equipoise", "serve"]
            process = subprocess.Popen(command, stderr=file, env=self.environ)
        try:
            port = address_of(process, log).rpartition(":")[2]
            change(self.config, r"port = \d+", f"port = {port}")
            change(self.tf / CFG, r'equipoise_url "[^"]*"', f'equipoise_url "http://127.0.0.1:{port}"')
            yield
        finally:
            process.terminate()
            process.wait(60)

    def play(self, rounds: int) -> None:
        command = [sys.executable, PLAY, self.tf / CFG, str(rounds)]
        subprocess.run(command, env=self.environ, check=True, stdout=subprocess.DEVNULL)

    def found(self, columns: str, which: str) -> list[Any]:
        """These columns of rounds in its store."""
        with closing(sqlite3.connect(self.folder / "state/equipoise.db")) as db:
            return db.execute(f"SELECT {columns} FROM rounds {which}").fetchall()

    def rounds(self) -> set[tuple[str, str]]:
        """Server and id of those that are rated."""
        return set(self.found("server, id", "WHERE prediction IS NOT NULL"))

    @property
    def plugin(self) -> str | None:
        return plugin_version((self.tf / PLUGIN).read_bytes())

    @property
    def noted(self) -> dict[str, str]:
        try:
            noted: dict[str, str] = json.loads((self.folder / "etc/upgrade.json").read_text())
        except FileNotFoundError:
            return {}
        return noted

    def is_all(self, version: str) -> bool:
        return (self.run("--version").split()[-1], self.plugin) == (version, version)


@pytest.fixture
def machine(wheels: dict[str, Path], tmp_path: Path) -> Machine:
    return Machine.made(tmp_path, wheels[OLD])


def test_an_upgrade_is_one_command_and_so_is_the_way_back_and_no_round_is_lost(
    machine: Machine, wheels: dict[str, Path]
) -> None:
    with machine.serving():
        machine.play(3)
        plan = machine.run("upgrade", "--dry-run", str(wheels[NEW]))
        assert machine.is_all(OLD)
        assert not machine.noted
        said = machine.run("upgrade", str(wheels[NEW]))
        assert said.startswith(plan)
        assert "3 rounds, checked" in said
        assert f"The daemon runs as {OLD} until you start it again." in said
        assert machine.is_all(NEW)
        machine.play(2)  # after the backup, by the daemon from before
    with machine.serving():
        machine.play(2)
        (void,) = machine.found("server, id", "ORDER BY number DESC LIMIT 1")
        machine.run("round", "void", *void, "--yes")
        machine.run("player", "set", PLAYER, "1500", "--yes")
        assert f"Everything is version {NEW}." in machine.run("upgrade")
        assert "its store is to be replaced: stop it" in machine.run("upgrade", "--back", "--yes", code=2)
        assert machine.is_all(NEW)
    before = machine.rounds()
    assert len(before) == 7 - 1
    said = machine.run("upgrade", "--back", "--yes")
    assert "4 rounds since then will be rated" in said
    assert "Not carried over: 2 edits, which are in " in said
    assert machine.is_all(OLD)
    with machine.serving():
        machine.play(2)
    assert machine.rounds() > before
    assert len(machine.rounds()) == 9 - 1
    assert machine.found("server, id, unrated", "WHERE prediction IS NULL") == [(*void, "void")]
    machine.run("upgrade", str(wheels[NEW]))
    assert machine.is_all(NEW)
    with machine.serving():
        assert len(machine.rounds()) == 9 - 1


def test_where_the_store_is_the_same_the_version_before_goes_on_with_it(
    machine: Machine, wheels: dict[str, Path]
) -> None:
    machine.run("upgrade", str(wheels[NEW]))
    with machine.serving():
        machine.play(2)
    with closing(sqlite3.connect(machine.folder / "state/equipoise.db")) as db:
        db.execute("ALTER TABLE rounds DROP COLUMN weather")
        steps = db.execute("PRAGMA user_version").fetchone()[0]
        db.execute(f"PRAGMA user_version = {steps - 1}")
        db.commit()
    assert "the rounds since then" not in machine.run("upgrade", "--back", "--yes")
    assert machine.is_all(OLD)
    assert not list(machine.folder.glob("state/*before-restore*"))
    with machine.serving():
        assert len(machine.rounds()) == 2


@pytest.mark.parametrize("step", ["backup", "program", "daemon", "plugins", "doctor"])
def test_an_upgrade_that_is_killed_goes_on(machine: Machine, wheels: dict[str, Path], step: str) -> None:
    with machine.serving():
        machine.play(2)
        kill_at(machine, step, "upgrade", str(wheels[NEW]))
        machine.run("upgrade", *([] if machine.noted["step"] != "done" else ["--dry-run"]))
        assert machine.is_all(NEW)
    with machine.serving():
        assert len(machine.rounds()) == 2


@pytest.mark.parametrize("step", ["plugins", "store", "program", "daemon"])
def test_a_way_back_that_is_killed_goes_on(machine: Machine, wheels: dict[str, Path], step: str) -> None:
    with machine.serving():
        machine.play(2)
    machine.run("upgrade", str(wheels[NEW]))
    with machine.serving():
        machine.play(3)
    kill_at(machine, step, "upgrade", "--back", "--yes")
    if machine.noted["step"] != "done":
        machine.run("upgrade")
    assert machine.is_all(OLD)
    with machine.serving():
        assert len(machine.rounds()) == 5


def test_an_upgrade_that_is_killed_can_go_back(machine: Machine, wheels: dict[str, Path]) -> None:
    kill_at(machine, "program", "upgrade", str(wheels[NEW]))  # pip takes a second
    assert "nothing was changed yet" in machine.run("upgrade", "--back", "--yes", code=1)
    kill_at(machine, "plugins", "upgrade", str(wheels[NEW]))
    machine.run("upgrade", "--back", "--yes")
    assert machine.is_all(OLD)


def test_a_dry_run_and_a_no_change_nothing(machine: Machine, wheels: dict[str, Path]) -> None:
    def there() -> dict[str, tuple[int, bytes | None]]:
        return {name: file for name, file in everything(machine.folder).items() if "__pycache__" not in name}

    def tried(code: int, *words: str) -> str:
        before = there()
        said = machine.run("upgrade", *words, code=code)
        changed = {name for name, _ in before.items() ^ there().items()}
        assert (words, changed) == (words, set())
        return said

    machine.run("upgrade", str(wheels[NEW]))
    back = ("--back", str(wheels[OLD]))
    for kept in (True, False):
        if not kept:
            shutil.rmtree(machine.folder / "venv-before")
        assert f"Equipoise {NEW} -> {OLD}\n" in tried(0, *back, "--dry-run")
        assert "Nothing was changed" in tried(1, *back)
    change(machine.config, r"k_max = 12", "k_mox = 12")
    tried(2, *back, "--dry-run")
    change(machine.config, r"k_mox = 12", "k_max = 12")
    # Killed behind the exchange of the programs, or before it.
    noted = machine.folder / "etc/upgrade.json"
    for step in ({"step": "program", "old": OLD, "new": NEW}, {"step": "program", "old": NEW, "new": "9.1.0"}):
        noted.write_text(json.dumps({"back": False, "source": str(wheels[NEW]), **step}))
        assert f"Equipoise {step['old']} -> {step['new']}\n" in tried(0, "--dry-run")
    assert "nothing was changed yet" in tried(1, "--back", "--dry-run")
    noted.unlink()
    machine.run("upgrade", *back, "--yes")
    assert machine.is_all(OLD)


def kill_at(machine: Machine, step: str, *words: str) -> None:
    """SIGKILL once a step is noted; where it comes too late, the command has done everything."""
    process = machine.start(*words)
    while process.poll() is None and machine.noted.get("step") != step:
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.communicate()


def test_what_does_not_fit_is_refused_before_anything_happens(machine: Machine, wheels: dict[str, Path]) -> None:
    before = everything(machine.folder)
    assert "the version before is not kept" in machine.run("upgrade", "--back", "--yes", code=2)
    assert "no such file" in machine.run("upgrade", "equipoise-9.9.9-py3-none-any.whl", code=2)
    older = machine.folder / wheels[OLD].name.replace(OLD, "0.1.0")
    shutil.copy(wheels[OLD], older)
    assert f"0.1.0 is older than {OLD}, which runs" in machine.run("upgrade", str(older), code=2)
    older.unlink()
    assert everything(machine.folder) == before
    broken = machine.folder / wheels[NEW].name
    broken.write_bytes(b"no wheel")
    assert "pip cannot install" in machine.run("upgrade", str(broken), code=2)
    assert machine.is_all(OLD)
    assert not (machine.folder / "venv-before.unfinished").exists()


def test_who_may_not_change_something_is_told_all_of_it_before_anything_happens(
    machine: Machine, wheels: dict[str, Path]
) -> None:
    closed = [machine.folder, machine.tf / PLUGIN.parent]
    for folder in closed:
        folder.chmod(0o555)
    command = [sys.executable, "-S", UNPRIVILEGED, machine.folder / "venv/bin/equipoise", "upgrade", wheels[NEW]]
    run = subprocess.run(command, capture_output=True, text=True, env=machine.environ, check=False)
    for folder in closed:
        folder.chmod(0o755)
    assert run.returncode == 2
    assert f"may not change {machine.folder}/state, {closed[1]}, {machine.folder}; nothing was changed" in run.stderr
    assert not machine.noted


def test_a_configuration_that_the_new_version_refuses_leaves_the_old_one_in_place(
    machine: Machine, wheels: dict[str, Path]
) -> None:
    """The one of before knows no better here: the file is changed after it has read it."""
    process = machine.start("upgrade", str(wheels[NEW]))
    while process.poll() is None and machine.noted.get("step") != "program":
        time.sleep(0.001)
    change(machine.config, r"k_max = 12", "k_mox = 12")
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 2
    assert "the other version refuses the configuration; the program is as it was" in said
    assert "did you mean k_max?" in said
    change(machine.config, r"k_mox = 12", "k_max = 12")
    assert machine.is_all(OLD)
    machine.run("upgrade")
    assert machine.is_all(NEW)


def test_a_plugin_is_loaded_again_by_rcon(machine: Machine, wheels: dict[str, Path]) -> None:
    password = machine.folder / "password"
    password.write_text(f"{PASSWORD}\n")
    with console() as game, machine.serving():
        options = ("--rcon", game.address, "--rcon-password-file", str(password))
        machine.run("server", "add", "two", "--tf", str(game_server(machine.folder / "two")), *options)
        said = machine.run("upgrade", str(wheels[NEW]))
        assert "two: " + str(machine.folder / "two/tf") + ", loaded again by RCON" in said
        assert "sm plugins reload equipoise" in game.server.commands


def test_the_folder_of_the_mod_follows_and_is_emptied_by_its_removal(machine: Machine, wheels: dict[str, Path]) -> None:
    mod = machine.folder / "mod"
    machine.run("server", "add", "ns2-1", "--game", "ns2", "--mod", str(mod), "--pool", "main")
    old = everything(mod)
    said = machine.run("upgrade", str(wheels[NEW]))
    assert f"ns2-1: the mod is {NEW} in {mod}: publish it with the Launch Pad." in said
    assert everything(mod).keys() == old.keys()
    machine.run("uninstall", "--yes")
    assert set(everything(mod)) == {"mod.settings"}, "the number under which the operator has published it"


def test_what_was_made_is_removed_and_what_was_played_stays_unless_it_is_purged(machine: Machine) -> None:
    untouched = everything(game_server(machine.folder / "untouched"))
    with machine.serving():
        machine.play(2)
    for name in (FILE, MESSAGES):  # as after a login on the page, and a status message
        (machine.folder / "state" / name).write_text("{}")
    listed = machine.run("uninstall", "--dry-run")
    assert re.search(rf"  {re.escape(str(machine.tf))}: \d\d files\n", listed)
    assert machine.plugin == OLD
    assert "nobody answered" in machine.run("uninstall", code=1)
    said = machine.run("uninstall", "--yes")
    assert f"The configuration stays in {machine.folder}/etc, the ratings in {machine.folder}/state." in said
    assert f"The program is left: rm -r {machine.folder}/venv" in said
    cfg = {str(CFG)}
    assert {name for name in everything(machine.tf) if name not in cfg} == set(untouched)
    assert len(machine.rounds()) == 2
    machine.run("uninstall", "--purge", "--yes")
    assert set(everything(machine.tf)) == set(untouched)
    others = ("venv", "tf", "untouched", "log", ".cache")
    places = (path for path in machine.folder.iterdir() if path.name not in others)
    assert [file for place in places for file in (place, *place.rglob("*")) if file.is_file()] == []
    assert not (machine.folder / "etc").exists()
    assert not (machine.folder / "state").exists()


def test_a_server_whose_folder_nobody_noted_is_said(machine: Machine, wheels: dict[str, Path]) -> None:
    (machine.folder / "etc/folders.json").unlink()
    said = machine.run("upgrade", str(wheels[NEW]))
    assert "arena-1: where? `equipoise server update arena-1 --tf DIR` writes it, and remembers DIR" in said
    assert machine.plugin == OLD
    machine.run("server", "update", "arena-1", "--tf", str(machine.tf))
    assert machine.is_all(NEW)
    assert json.loads((machine.folder / "etc/folders.json").read_text()) == {"arena-1": {"tf": str(machine.tf)}}
