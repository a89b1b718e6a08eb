"""Configured machines for pools to move between, and the commands in this process, which has imported everything."""

from __future__ import annotations

import asyncio
import hashlib
import json
import subprocess
from pathlib import Path

import msgspec
from click.testing import CliRunner

from equipoise import config
from equipoise.cli import main
from tests.cli.house import House
from tests.pools import fill, some_rounds
from tests.store.samples import opened


def a_machine(folder: Path, settings: str = 'system = "synelo"') -> House:
    """What `init` wrote, with a store that a daemon opened once."""
    house = House.made(folder)
    house.edit(
        'system = "synelo"\n# The largest team size; over several servers the median of theirs.\nk_max = 12', settings
    )
    house.state.mkdir(mode=0o700)
    asyncio.run(_opened_once(house.state / config.STORE))
    return house


async def _opened_once(path: Path) -> None:
    async with opened(path):
        pass


def with_a_past(house: House, rounds: int = 40, system: str = "synelo", **params: object) -> House:
    """Rounds that its daemon recorded."""
    asyncio.run(fill(house.state, list(some_rounds(rounds)), system, **params))
    return house


def pool(house: House, *words: str | Path, answer: str = "") -> subprocess.CompletedProcess[str]:
    """`equipoise pool …` beside a daemon that is down."""
    arguments = ("pool", words[0], "--config", house.config, *words[1:])
    done = CliRunner().invoke(main, [str(each) for each in arguments], input=answer, env={"EQUIPOISE_URL": None})
    assert done.exception is None or isinstance(done.exception, SystemExit), done.output
    return subprocess.CompletedProcess("pool", done.exit_code, done.stdout, done.stderr)


def exported(house: House, *words: str | Path) -> bytes:
    """The pool as a file."""
    file = house.folder / "exported.jsonl"
    done = pool(house, "export", words[0] if words else "main", file)
    assert done.returncode == 0, done.stderr
    text = file.read_bytes()
    file.unlink()
    return text


def sealed(changed: bytes) -> bytes:
    """An export that was changed, with the end that it must have."""
    first, *lines, _ = changed.splitlines(keepends=True)
    digest = hashlib.sha256(b"".join(lines if b'"version":1}' in first else (first, *lines))).hexdigest()
    return b"".join((first, *lines, b'{"kind":"end","lines":%d,"sha256":"%s"}\n' % (len(lines), digest.encode())))


def grown(export: bytes, rounds: int) -> bytes:
    """The export of a pool that played its first rated round again and again."""
    lines = [json.loads(line) for line in export.splitlines()]
    model = next(line for line in lines if line["kind"] == "round" and line["participants"])
    kept = [line for line in lines if line["kind"] in ("equipoise", "pool", "player", "name")]
    kept[1] |= {"rounds": rounds, "edits": 0, "edited": 0, "voids": 0, "audit": 0}
    again = (model | {"number": number, "id": f"again-{number}"} for number in range(1, rounds + 1))
    return sealed(b"".join(msgspec.json.encode(line) + b"\n" for line in (*kept, *again, {"kind": "end"})))
