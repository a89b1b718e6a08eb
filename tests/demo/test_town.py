"""A town of game servers that go on until Ctrl-C, started as on the command line."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest
from click.testing import CliRunner

from equipoise.cli import main
from tests.demo.test_demo import command, environment


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], IO[str], str]]:
    """The process, its output after its head, and the login link that stands in its first line."""
    with subprocess.Popen(
        command("--serve", *options),
        env=environment(folder, PYTHONUNBUFFERED="1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as demo:
        try:
            assert demo.stdout is not None
            first = demo.stdout.readline()
            link = re.fullmatch(r"The page, while this runs: (http://127\.0\.0\.1:\d+/login\?link=\S+)\n", first)
            assert link, first
            assert re.fullmatch(
                r"Ctrl-C ends the evening. Another link: equipoise page -c \S+\n", demo.stdout.readline()
            )
            yield demo, demo.stdout, link[1]
        finally:
            demo.kill()


def answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=20) as response:
            return b"Log in" in response.read()
    except OSError:
        return False


@pytest.mark.world
def test_three_servers_play_until_ctrl_c_and_leave_nothing(tmp_path: Path) -> None:
    with serving(tmp_path, "--servers", "3", "--speed", "10") as (demo, output, link):
        assert answers(link)
        said = [next(output) for _ in range(12)]
        assert all(
            re.fullmatch(r"\S+, round \d+ on \S+: (RED|BLU|Marines|Aliens) won\n|.*: a draw\n", line) for line in said
        )
        assert {line.partition(",")[0] for line in said} == {"arena-1", "payload-1", "ns2-1"}
        demo.send_signal(signal.SIGINT)
        closing = output.read()
        assert demo.wait(30) == 0, closing
    played = re.search(r"rounds +(\d+) +(\d+) stored and rated", closing)
    assert played, closing
    assert played[1] == played[2]
    assert not answers(link)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.world
def test_a_kept_town_of_one_game_has_people_by_the_names_that_they_have(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    with serving(tmp_path, "--servers", "2", "--game", "ns2", "--speed", "10", "--keep", str(kept)) as (demo, _, link):
        token = (kept / "owner.token").read_text().strip()
        address = f"{link.partition('/login')[0]}/v1/admin/pools/ns2/players?text=script"
        request = urllib.request.Request(address, headers={"Authorization": f"Bearer {token}"})
        names: list[str] = []
        end = time.monotonic() + 60
        while not names and time.monotonic() < end:
            with urllib.request.urlopen(request, timeout=20) as response:
                names = [player["name"] for player in json.load(response)["players"]]
            time.sleep(0.2)
        assert names == ["<script>alert(1)</script>"]
        demo.send_signal(signal.SIGTERM)
        assert demo.wait(30) == 0


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        (("--servers", "3"), "add --serve"),
        (("--serve", "--rounds", "9"), "leave out --rounds or --serve"),
        (("--serve", "--players", "9"), "leave out --players or --serve"),
        (("--serve", "--speed", "0"), "say --speed 1"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options: tuple[str, ...], advice: str) -> None:
    refused = CliRunner().invoke(main, ["demo", *options])
    assert (refused.exit_code, advice in refused.stderr) == (2, True)
