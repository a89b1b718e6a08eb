"""`equipoise backup` and `restore` as an operator uses them."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.cli.house import House, ask, post, run, serving
from tests.store.failing import locked
from tests.wire.samples import HELLO, RED, ROUND, posted

pytestmark = pytest.mark.slow


def played(house: House, address: str, *, seq: int = 1, **other: object) -> None:
    """A round of six players is stored."""
    assert list(post(address, house.secret, posted(HELLO, ROUND | other, seq=seq))["rounds"].values()) == ["stored"]


def test_a_backup_beside_the_daemon_brings_back_what_it_had(house: House, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    with serving(house) as (process, address):
        played(house, address)
        # Beside the daemon, and more comes then; the last round waits in the ring.
        made = run("backup", copy, "--config", house.config)
        assert made.stdout == f"{copy}: 1 round, {copy.stat().st_size / 1e6:.1f} MB, checked.\n", made.stderr
        played(house, address, seq=2, round="1-5")
        beside = run("restore", copy, "--config", house.config, "--yes", "--force")
        assert (beside.returncode, "has the store open" in beside.stderr) == (2, True)
        with locked(house.state / "equipoise.db"):
            answer = post(address, house.secret, posted(ROUND | {"round": "1-6"}, seq=3))
        assert answer["rounds"] == {"1-6": "kept"}
        process.send_signal(signal.SIGKILL)
        process.wait(60)
    refused = run("restore", copy, "--config", house.config, "--yes")
    assert refused.returncode == 1
    assert "1 round would be lost; --force restores all the same. Nothing was changed" in refused.stderr
    done = run("restore", copy, "--config", house.config, "--yes", "--force")
    assert "Rounds that wait in main.ring are applied when the daemon starts." in done.stdout, done.stderr
    assert list(house.state.glob("*before-restore*"))
    with serving(house) as (_, address):
        assert json.loads(ask(house, address, "player", "show", RED, "--json").stdout)["player"]["rounds"] == 2


def test_a_restore_asks_and_is_made_where_no_daemon_ever_ran(house: House, tmp_path: Path) -> None:
    with serving(house) as (_, address):
        played(house, address)
    run("backup", tmp_path / "copy.db", "--config", house.config)
    asked = run("restore", tmp_path / "copy.db", "--config", house.config)
    assert asked.returncode == 1
    assert "copy.db: 1 round, the last one stored at " in asked.stdout
    assert not list(house.state.glob("*before-restore*"))
    house.edit(f"{house.folder}/state", f"{house.folder}/new/state")
    done = run("restore", tmp_path / "copy.db", "--config", house.config, "--yes", "--json")
    answer = json.loads(done.stdout)
    assert (answer["restored"], answer["lost_rounds"], answer["kept"]) == (True, 0, None)
    assert (house.folder / "new" / "state").stat().st_mode & 0o777 == 0o700
    with serving(house) as (_, address):
        assert json.loads(ask(house, address, "player", "show", RED, "--json").stdout)["player"]["rounds"] == 1


def test_without_a_file_the_daemons_own_folder_is_used_also_while_it_is_down(house: House, tmp_path: Path) -> None:
    never = run("backup", tmp_path / "copy.db", "--config", house.config)
    assert (never.returncode, "there is no store" in never.stderr) == (2, True)
    assert not list(tmp_path.glob("copy*"))
    with serving(house) as (_, address):
        played(house, address)
    made = json.loads(run("backup", "--config", house.config, "--json").stdout)
    assert Path(made["file"]).parent == house.state / "backups"
    again = run("backup", made["file"], "--config", house.config)
    assert (again.returncode, again.stderr.splitlines()[-1]) == (
        2,
        f"equipoise: {made['file']}: it exists: name another file",
    )
