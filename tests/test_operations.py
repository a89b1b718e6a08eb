"""The documents for operators name every command, every exit code and every metric."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import click

from equipoise.cli import main
from tests.game.query_server import SIMPLE, info
from tests.web.daemon import ALONE, CONFIG, running
from tests.web.test_batches import ROSTER, batch, ended
from tests.wire.samples import HELLO

DOCS = Path(__file__).parents[1] / "docs"


def first_cells(document: str, head: str) -> set[str]:
    """What is named in the first columns of the tables with this head."""
    tables = [text.split("\n\n")[0] for text in (DOCS / document).read_text().split(f"\n| {head} |")[1:]]
    return {row.split("|")[1].strip().strip("`") for table in tables for row in table.splitlines()[2:]}


def commands() -> Iterator[str]:
    context = click.Context(main)
    for name in main.list_commands(context):
        command = main.get_command(context, name)
        inner = command.commands.items() if isinstance(command, click.Group) else ()
        yield from (f"{name} {one}" for one, each in inner if not each.hidden) if inner else (name,)


def test_every_command_is_described() -> None:
    assert first_cells("commands.md", "command") == set(commands())


def test_every_exit_code_is_described() -> None:
    assert first_cells("commands.md", "exit code") == set(re.findall(r"\b(\d+) ", main.epilog or ""))


def metrics_of_a_server_with_rcon_and_a2s(folder: Path) -> str:
    (folder / "rcon").write_text("secret")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as game_server:
        game_server.bind(("127.0.0.1", 0))
        game_server.settimeout(60)
        query = f"query = '127.0.0.1:{game_server.getsockname()[1]}'"
        keys = f"rcon = '127.0.0.1:1'\nrcon_password_file = 'rcon'\n{query}\n[server.ns2-1]"
        balanced = CONFIG.replace(ALONE, "balance = 'trueskill'")
        with running(folder, balanced.replace("[server.ns2-1]", keys)) as daemon:
            daemon.post(batch(1, HELLO, ROSTER, ended(1)))
            daemon.post(batch(2, {"kind": "of another version"}))
            game_server.sendto(SIMPLE + info(), game_server.recvfrom(1500)[1])
            while "equipoise_query_players" not in (text := daemon.call("GET", "/metrics").raw.decode()):
                time.sleep(0.01)
    return text


def test_every_metric_is_described(tmp_path: Path) -> None:
    text = metrics_of_a_server_with_rcon_and_a2s(tmp_path)
    families = set(re.findall(r"^# TYPE (equipoise_\w+?) (?:counter|gauge|histogram)$", text, re.MULTILINE))
    created = {name for name in families if name.endswith("_created")}
    assert first_cells("metrics.md", "metric") == families - created
