"""Batches as the scripts of one commit sent them, for every later daemon to take.

`python -m tests.web.recorded COMMIT` records those of the scripts here: it plays the sessions of both scripts, the
tests `test_sessions_*`, and keeps the daemons' batches of as few of them as show all that was sent.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

TESTS = Path(__file__).parents[1]
SCRIPTS = {"tf2": TESTS / "sourcemod", "ns2": TESTS / "ns2mod"}
VARIABLE = "EQUIPOISE_RECORD"
"""The folder in which a daemon of the tests keeps what is posted to it."""
WORDS = {"kind", "game", "phase", "side", "role", "winner", "inactive_reason", "unranked", "reason", "words"}
"""Fields whose values differ by what happened."""


def file_of(game: str) -> Path:
    return TESTS / "data" / f"wire_{game}.json.gz"


def sessions(game: str) -> dict[str, list[str]]:
    """The bodies that each session posted, in their order; as JSON, also where a script sends forms."""
    found: dict[str, list[str]] = json.loads(gzip.decompress(file_of(game).read_bytes()))["sessions"]
    return found


def record(folder: Path, log: Path) -> None:
    """Have the daemon of this process, which writes that log, write down every batch that it reads, by the test."""
    from equipoise.web import requests
    from equipoise.wire import batches

    parts = log.parent.parts
    name = "-".join(parts[next(n for n, part in enumerate(parts) if part.startswith("test_")) :])
    decode = requests.decode_as

    def decoded(body: bytes, kind: type[Any]) -> Any:
        if kind is batches.Batch:
            with (folder / name).open("ab") as file:
                file.write(body + b"\n")
        return decode(body, kind)

    requests.decode_as = decoded  # type: ignore[assignment]


def shown(value: Any, path: str = "") -> Iterator[str]:
    """What a part of a batch shows of the wire: its fields, and words that differ by what happened."""
    if isinstance(value, dict):
        if "kind" in value:
            path = value["kind"]
        if "facts" in value:
            yield f"{path} {json.dumps(value['facts'], sort_keys=True)}"
        for key, each in value.items():
            yield from shown(each, f"{path}.{key}")
    elif isinstance(value, list):
        yield from (one for each in value or [None] for one in shown(each, f"{path}[]"))
    else:
        word = value if path.rpartition(".")[2].removesuffix("[]") in WORDS else bool(value)
        yield f"{path}={word}"


def few(recorded: dict[str, list[str]]) -> dict[str, list[str]]:
    """The sessions that are chosen one by one, each for what it shows beyond the others, by its length."""
    new = {name: {one for body in bodies for one in shown(json.loads(body))} for name, bodies in recorded.items()}
    chosen: dict[str, list[str]] = {}
    while any(new.values()):
        best = max(new, key=lambda name: len(new[name]) / sum(map(len, recorded[name])))
        chosen[best], seen = recorded[best], new[best]
        new = {name: more - seen for name, more in new.items()}
    return chosen


def main(commit: str) -> None:
    for game, tests in SCRIPTS.items():
        with TemporaryDirectory() as folder:
            played = [
                sys.executable,
                "-m",
                "pytest",
                "-q",
                "-n",
                "0",
                *map(str, sorted(tests.glob("test_sessions_*.py"))),
            ]
            subprocess.run(played, check=True, env=os.environ | {VARIABLE: folder})
            recorded = {file.name: file.read_text("utf-8").splitlines() for file in sorted(Path(folder).iterdir())}
        text = json.dumps({"recorded by": __spec__.name, "scripts of commit": commit, "sessions": few(recorded)})
        file_of(game).write_bytes(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    main(sys.argv[1])
