"""`equipoise doctor` finds each trouble that is made for it, says where, and ends with 1."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import time
import urllib.error
from pathlib import Path
from typing import Any

import pytest

import equipoise
from tests.cli.house import House, post, run, serving
from tests.wire.samples import HELLO, ROUND, posted

OURS = {**HELLO, "plugin": equipoise.__version__}


def looked(house: House, address: str = "127.0.0.1:9") -> dict[str, list[str]]:
    """What was found, by level: `where: what`."""
    result = run("doctor", "--json", "--config", house.config, "--url", f"http://{address}")
    assert result.stderr == ""
    said = json.loads(result.stdout)
    found: dict[str, list[str]] = {"good": [], "note": [], "bad": []}
    for each in said["findings"]:
        found[each["level"]].append(f"{each['where']}: {each['what']}")
        assert each["level"] == "good" or each["advice"] or each["level"] == "note", each
    assert said["ok"] == (not found["bad"])
    assert result.returncode == (1 if found["bad"] else 0)
    return found


def called(address: str, house: House, *events: dict[str, Any], **fields: Any) -> None:
    post(address, house.secret, posted(*events, **{"seq": 1, **fields}))


def test_nothing_is_bad_where_the_plugin_of_the_daemons_version_calls(house: House) -> None:
    with serving(house) as (_, address):
        called(address, house, OURS)
        found = looked(house, address)
    assert found["bad"] == []
    assert f"daemon: version {equipoise.__version__} answers" in found["good"]
    assert f"arena-1: {equipoise.__version__} calls" in found["good"]
    assert f"{house.state / 'equipoise.db'}: the store is whole" in found["good"]


def test_it_is_read_by_people_too(house: House) -> None:
    with serving(house) as (_, address):
        result = run("doctor", "--config", house.config, "--url", f"http://{address}")
    assert "bad   arena-1: its script was never heard of\n      load the plugin" in result.stdout
    assert result.stdout.splitlines()[-1].endswith(", 1 bad.")


def test_a_server_whose_script_was_never_heard_is_bad(house: House) -> None:
    with serving(house) as (_, address):
        assert looked(house, address)["bad"] == ["arena-1: its script was never heard of"]


@pytest.mark.parametrize(("plugin", "order"), [("0.0.9", "older"), ("9.0", "newer")])
def test_a_plugin_of_another_version_is_bad(house: House, plugin: str, order: str) -> None:
    with serving(house) as (_, address):
        called(address, house, {**HELLO, "plugin": plugin})
        what = f"arena-1: its plugin {plugin} is {order} than the daemon's {equipoise.__version__}"
        assert looked(house, address)["bad"] == [what]


def test_a_wrong_secret_and_a_wrong_name_are_found_for_an_hour(house: House) -> None:
    with serving(house) as (_, address):
        called(address, house, OURS)
        for secret, name in (("wrong", "arena-1"), ("wrong", "arena-1"), (house.secret, "arena-l")):
            with pytest.raises(urllib.error.HTTPError):
                post(address, secret, posted(server=name, seq=2))
        assert looked(house, address)["bad"] == [
            "requests: a script called as 'arena-l', which is not its name, from 127.0.0.1, 1 times in the last hour",
            "arena-1: a wrong secret was tried as 'arena-1' from 127.0.0.1, 2 times in the last hour",
        ]


def test_a_server_that_stands_aside_or_is_switched_off_is_noted(house: House) -> None:
    with serving(house) as (_, address):
        called(address, house, {**OURS, "inactive_reason": "mvm"})
        off = run("server", "off", "arena-1", "--config", house.config, "--url", f"http://{address}")
        assert off.returncode == 0, off.stderr
        found = looked(house, address)
    assert found["bad"] == []
    notes = [note for note in found["note"] if note.startswith("arena-1")]
    assert notes == ["arena-1: it stands aside: mvm", "arena-1: an admin has switched Equipoise off"]


def test_a_script_whose_clock_is_an_hour_behind_is_bad(house: House) -> None:
    with serving(house) as (_, address):
        began = time.time() - 3600 - ROUND["seconds"]
        called(address, house, OURS, {**ROUND, "started_at": began})
        (bad,) = looked(house, address)["bad"]
    assert bad.startswith("arena-1: its clock is 3,")
    assert bad.endswith(" s behind this machine's")


def test_a_round_that_waited_says_nothing_of_the_clock(house: House) -> None:
    with serving(house) as (_, address):
        queued = {**ROUND, "started_at": time.time() - 3600, "at": 100.0}
        called(address, house, OURS, queued, at=3700.0)
        assert looked(house, address)["bad"] == []


def test_a_port_that_another_program_has_is_named_with_the_program(house: House) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        house.edit("port = 0", f"port = {port}")
        other.listen()
        address = f"127.0.0.1:{port}"
        result = run("doctor", "--json", "--config", house.config, "--url", "http://127.0.0.1:9")
    (bad,) = [each for each in json.loads(result.stdout)["findings"] if each["level"] == "bad"]
    assert bad["where"] == address
    assert f"(process {os.getpid()}) listens, and does not answer as a daemon" in bad["what"]


def test_a_daemon_that_is_not_there_is_bad_and_the_rest_is_looked_at(house: House) -> None:
    house.edit("port = 0", "port = 9")
    found = looked(house)
    assert found["bad"] == ["127.0.0.1:9: no daemon listens"]
    assert any(line.startswith("clock: ") for line in found["good"])


def test_a_wrong_configuration_names_file_and_key(house: House) -> None:
    with serving(house) as (_, address):
        called(address, house, OURS)
        house.edit("k_max = 12", "k_mux = 12")
        (bad,) = looked(house, address)["bad"]
    assert f"{house.config}: $.pool.main.k_mux: " in bad


def test_a_secret_that_others_can_read_is_bad(house: House) -> None:
    token = house.folder / "owner.token"
    with serving(house) as (_, address):
        called(address, house, OURS)
        token.chmod(0o644)
        assert looked(house, address)["bad"] == [f"{token}: other users can read this secret"]


def test_a_damaged_store_is_bad_also_while_the_daemon_is_down(house: House) -> None:
    with serving(house) as (_, address):
        called(address, house, OURS, ROUND)
    store = house.state / "equipoise.db"
    damage(store)
    bad = looked(house)["bad"]
    assert any(line.startswith(f"{store}: ") for line in bad), bad


def damage(store: Path) -> None:
    """Overwrite the last page, after the log was written into the file."""
    sqlite3.connect(store).execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray(store.read_bytes())
    for page in range(2, len(content) // 4096):
        content[page * 4096 : page * 4096 + 64] = b"\xff" * 64
    store.write_bytes(content)
