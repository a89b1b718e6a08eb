"""Clients that other people's generators make from /openapi.json talk to a real daemon."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from equipoise.web.openapi import TABLE, document
from tests.programs import npm_package
from tests.web.daemon import SECRETS, Daemon, running

PLAYS = """
import sys
from client import AuthenticatedClient
from client.api.players import show_player
from client.api.rounds import take_round
from client.api.splits import find_splits
from client.models import PlayerFound, Refusal, Submission, Receipt, SplitsAsked, SplitsFound

url, secret, token = sys.argv[1:]
script = AuthenticatedClient(base_url=url, token=secret)
ids = [str(76561197960265729 + number) for number in range(4)]
round = {
    "round": "1-1", "session": "1", "map": "koth_viaduct", "game": "tf2", "facts": {"game_type": 2, "koth": True},
    "started_at": 1763622040.0, "seconds": 95.0, "winner": "red", "captures": {"red": 1},
    "lineup": [{"id": id, "side": ("red", "blu")[n % 2]} for n, id in enumerate(ids)],
    "players": [
        {"id": id, "side": ("red", "blu")[n % 2], "seconds": {("red", "blu")[n % 2]: 95.0}, "fought": True}
        for n, id in enumerate(ids)
    ],
}
receipt = take_round.sync(client=script, body=Submission.from_dict({"server": "arena-1", "round": round}))
assert isinstance(receipt, Receipt), receipt
assert receipt.status == "stored" and receipt.win_probability == 0.5 and len(receipt.players) == 4, receipt

found = find_splits.sync(client=script, body=SplitsAsked(ids=ids))
assert isinstance(found, SplitsFound), found
assert [split.k for split in found.splits] == [2] and found.splits[0].difference == 0, found

admin = AuthenticatedClient(base_url=url, token=token)
player = show_player.sync(ids[0], client=admin)
assert isinstance(player, PlayerFound) and player.player.rounds == 1, player
refused = show_player.sync("nobody", client=admin)
assert isinstance(refused, Refusal) and refused.error.code, refused
print("played")
"""


@pytest.mark.world
def test_a_client_of_openapi_python_client_plays_a_round_and_asks_for_a_split(tmp_path: Path) -> None:
    text, made = tmp_path / "openapi.json", tmp_path / "client"
    text.write_bytes(document(TABLE))
    generator = Path(sys.executable).with_name("openapi-python-client")
    path = f"{generator.parent}:{os.environ['PATH']}"  # it formats what it wrote
    said = subprocess.run(
        [generator, "generate", "--path", text, "--output-path", made, "--meta", "none"],
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": path},
    )
    assert said.returncode == 0, said.stdout + said.stderr
    # It knows no JSON Lines; everything else is in the client.
    warned = re.findall(r"^WARNING parsing (\w+ \S+)", said.stdout + said.stderr, re.MULTILINE)
    assert warned == ["GET /v1/admin/pools/{pool}/export"]
    assert {file.stem for file in made.glob("api/*/*.py")} - {"__init__"} == {route.handler.__name__ for route in TABLE}
    daemon: Daemon
    with running(tmp_path) as daemon:
        address = f"http://{daemon.host}:{daemon.port}"
        played = subprocess.run(
            [sys.executable, "-c", PLAYS, address, SECRETS["arena-1"], SECRETS["owner"]],
            capture_output=True,
            text=True,
            cwd=tmp_path,
        )
    assert played.stdout == "played\n", played.stderr


@pytest.mark.world
def test_openapi_typescript_makes_types_that_compile(tmp_path: Path) -> None:
    programs = Path(npm_package("openapi-typescript")).parent / ".bin"
    (tmp_path / "openapi.json").write_bytes(document(TABLE))
    for command in (
        [programs / "openapi-typescript", "openapi.json", "-o", "api.ts"],
        [programs / "tsc", "--noEmit", "--strict", "api.ts"],
    ):
        said = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
        assert said.returncode == 0, said.stdout + said.stderr
    made = (tmp_path / "api.ts").read_text()
    assert json.dumps("scrambled_alone") in made
