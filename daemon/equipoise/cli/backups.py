"""Backups of the store: make one beside the daemon or without it, and put one in the store's place."""

from __future__ import annotations

import os
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from equipoise.cli.client import print_json
from equipoise.cli.options import FAILED, PRIVATE, agreed, config_option, examples, say_opened, stop, yes_option
from equipoise.cli.output import counted, local_time
from equipoise.errors import ConfigError, StoreError, StoreRefused

if TYPE_CHECKING:
    from equipoise.store.backups import Restorable
    from equipoise.store.notes import Audit


@click.command(epilog=examples("equipoise backup", "equipoise backup /mnt/other-disk/before-upgrade.db"))
@config_option
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def backup(path: Path, file: Path | None, as_json: bool) -> None:
    """Copy the store to FILE, whether the daemon runs or not.

    The copy is checked before it gets its name. Without FILE it is put into the folder `backups` of the state
    directory, where the daemon puts its own; of all in that folder the newest are kept.
    """
    from equipoise.store.backups import back_up

    os.umask(PRIVATE)
    store = _store(path)
    say_opened(store)
    try:
        copy = back_up(store, _target(store, file))
    except StoreRefused as error:
        stop(error)
    except StoreError as error:
        stop(error, FAILED)
    if not print_json(asdict(copy), as_json):
        click.echo(f"{copy.file}: {counted(copy.rounds, 'round')}, {copy.bytes / 1e6:,.1f} MB, checked.")


@click.command(
    epilog=examples(
        "systemctl stop equipoise",
        "equipoise restore /var/lib/equipoise/backups/equipoise-20261122T033000Z.db",
        "systemctl start equipoise",
    )
)
@config_option
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Go on although the store has rounds that the backup lacks.")
@yes_option
@click.option("--json", "as_json", is_flag=True, help="Print what would be done as JSON; done only with --yes.")
def restore(path: Path, file: Path, force: bool, yes: bool, as_json: bool) -> None:
    """Put the backup FILE in the store's place; what it replaces is kept beside it.

    The daemon must be stopped. Rounds that wait in the rings' files stay, and are applied when it starts again.
    """
    from equipoise.store.backups import Restoring

    os.umask(PRIVATE)
    store, kept = _store(path), None
    say_opened(store)
    try:
        restoration = Restoring(store, file)
        with restoration.prepared() as contents:
            if not as_json:
                _show(file, contents)
            _refuse_loss(contents, force=force)
            if written := yes or (not as_json and agreed("Restore it?")):
                kept = restoration.put_in_place(_entry(file))
    except StoreRefused as error:
        stop(error)
    except StoreError as error:
        stop(error, FAILED)
    answer = asdict(contents) | {"restored": written, "kept": None if kept is None else str(kept)}
    if not print_json(answer, as_json):
        _report(kept) if written else stop("nothing was changed", FAILED)


def _show(file: Path, found: Restorable) -> None:
    click.echo(f"{file}: {counted(found.rounds, 'round')}, the last one stored at {local_time(found.newest)}.")
    if found.lost_rounds:
        click.echo(f"The store has {counted(found.lost_rounds, 'round')} that it lacks.")
    if found.waiting_files:
        click.echo(f"Rounds that wait in {', '.join(found.waiting_files)} are applied when the daemon starts.")


def _refuse_loss(found: Restorable, *, force: bool) -> None:
    if force or found.lost_rounds == 0:
        return
    if found.lost_rounds is None:
        why = "the store cannot be read, so the rounds that would be lost cannot be counted"
    else:
        why = f"{counted(found.lost_rounds, 'round')} would be lost"
    stop(f"{why}; --force restores all the same. Nothing was changed", FAILED)


def _entry(file: Path) -> Audit:
    from equipoise.store.notes import Audit

    return Audit(time.time(), "console", "restore", "store", "", str(file.absolute()))


def _report(kept: Path | None) -> None:
    click.echo(
        "Restored." if kept is None else f"Restored. What was there before is {kept}: remove it when all is well."
    )
    click.echo("Start the daemon again: systemctl start equipoise")


def _store(path: Path) -> Path:
    """The store's own file, also where the configured one is a link."""
    from equipoise.config import STORE, load

    try:
        return Path(os.path.realpath(load(path, os.environ).directory / STORE))
    except ConfigError as error:
        stop(error)


def _target(store: Path, file: Path | None) -> Path:
    from equipoise.service.copies import FOLDER, new_file

    if file is not None and not file.is_dir():
        return file
    directory = file or store.parent / FOLDER
    try:
        return new_file(directory, time.time())
    except OSError as error:
        stop(f"{directory}: {error.strerror}")
