"""The process that makes a backup: `python -m equipoise.store.sqlite STORE COPY`."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from equipoise.errors import StoreError
from equipoise.store.sqlite.backups import back_up
from equipoise.store.sqlite.process import give_way


def main(store: str, target: str) -> None:
    """Make the backup and print it as JSON; exit code 1 and one line on standard error when there is none."""
    give_way()
    try:
        made = back_up(Path(store), Path(target))
    except StoreError as error:
        sys.exit(str(error))
    sys.stdout.buffer.write(msgspec.json.encode(made))


main(*sys.argv[1:])
