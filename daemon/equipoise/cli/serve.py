"""The daemon: run it, check its configuration, open its page or write the public one as files, back up its store."""

from __future__ import annotations

import getpass
import ipaddress
import os
import socket
import time
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from equipoise.cli.client import Client, configured_names, listening_url, print_json, remote
from equipoise.cli.options import FAILED, PRIVATE, WRONG, agreed, config_option, examples, say_opened, stop, yes_option
from equipoise.cli.output import counted, local_minute, local_time, progress
from equipoise.errors import (
    ConfigError,
    EquipoiseError,
    PortInUse,
    SpillError,
    StoreDamaged,
    StoreError,
    StoreInUse,
    StoreRefused,
)
from equipoise.files import Folder

if TYPE_CHECKING:
    from equipoise.store.backups import Restorable


@click.command(epilog=examples("equipoise serve --config /etc/equipoise/config.toml"))
@config_option
@click.option(
    "--new-store",
    is_flag=True,
    help="Begin without ratings where files show that a store is missing. For one start, when there is no backup.",
)
def serve(path: Path, new_store: bool) -> None:
    """Run the daemon until SIGTERM or Ctrl-C. When it cannot start, one line says why.

    Exit code 2: it needs you; 1: it may start when you try again, because a port or a disk is in use or full.
    """
    import asyncio
    import signal

    # numpy reads it when it is imported. Threads of its own would cost more than they gain at matrices of this size.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Until there is a handler: before that it would end the process.
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGHUP,))
    from equipoise import app
    from equipoise.config import STORE, load
    from equipoise.service import log_lines
    from equipoise.service.event_loop import Loop

    os.umask(PRIVATE)
    try:
        config = load(path, os.environ)
        log_lines.set_up(config.log.level, config.log.format)
        with asyncio.Runner(loop_factory=Loop) as runner:
            runner.run(app.serve(config, new_store=new_store))
    except StoreDamaged as error:
        stop(f"{config.directory / STORE}: {error}")
    except (ConfigError, StoreError, SpillError) as error:
        stop(error, FAILED if _heals(error) else WRONG)


def _heals(error: EquipoiseError) -> bool:
    """Whether another start may succeed without anybody's help: systemd tries again then, and not otherwise."""
    match error:
        case PortInUse() | StoreInUse():
            return True
        case ConfigError() | StoreRefused():
            return False
        case _:
            # A ring's file that may not be written stays so until somebody changes it.
            return not isinstance(error.__cause__, PermissionError)


@click.command("check-config", epilog=examples("equipoise check-config", "equipoise check-config --print"))
@config_option
@click.option("--print", "show", is_flag=True, help="Print the effective configuration, secrets left out.")
def check_config(path: Path, show: bool) -> None:
    """Check the configuration as the daemon reads it. Exit code 2: a key is wrong; its path is named."""
    from equipoise.config import load
    from equipoise.config.differences import printed

    try:
        config = load(path, os.environ)
    except ConfigError as error:
        stop(error)
    if show:
        for line in printed(config):
            click.echo(line)
    else:
        click.echo(f"{path}: valid. Servers: {len(config.servers)}, pools: {len(config.pools)}.")


# How to open the page in a browser, here and from another machine; the public pages as files.

SSH_PORT = 22


@click.command(epilog=examples("equipoise page", "equipoise page --export /var/www/balance"))
@click.option(
    "--export", "folder", type=click.Path(path_type=Path, file_okay=False), help="Write the public pages here."
)
@click.option("--pool", help="Write those of this pool only.")
@remote
def page(client: Client, folder: Path | None, pool: str | None, *, as_json: bool) -> None:
    """How to open the page in a browser: its address, and a link that logs in.

    The link is good once, for ten minutes. It logs in as the token that this command line has.

    With --export it writes the pages that anybody may read into a folder instead, as files of a website.
    """
    if folder is not None:
        written, stale = _write(client, folder, pool)
        if not print_json({"folder": str(folder), "written": written, "removed": stale}, as_json):
            gone = f" {stale} that are no more {'was' if stale == 1 else 'were'} removed." if stale else ""
            click.echo(f"{folder}: {written} files written.{gone}\nOpen {folder / 'index.html'}.")
        return
    if pool is not None:
        stop("--pool goes with --export: the page itself has all pools")
    answer = client.send("POST", "login")
    url = (client.config and listening_url(client.config)) or client.url
    address = url.rstrip("/") + answer["path"]
    # A daemon that was named by its address may be anywhere: the way to it is known to who named it.
    tunnel = _tunnel(url) if client.config else None
    if print_json({**answer, "address": address, "ssh": tunnel}, as_json):
        return
    click.echo(f"Open in a browser{' on this machine' if tunnel else ''}:\n\n  {address}\n")
    if tunnel:
        click.echo(f"On another machine, keep this running and open the same address:\n\n  {tunnel}\n")
    if client.config and (names := configured_names(client.config)):
        click.echo(f"Through your proxy, below the address that it has:\n\n  https://{names[0]}{answer['path']}\n")
    click.echo(f"The link logs in once, until {local_minute(answer['expires'])}.")


def _write(client: Client, folder: Path, pool: str | None) -> tuple[int, int]:
    """Write the public pages into a folder; return how many files, and how many were removed."""
    files, target = 0, Folder(folder)
    try:
        with closing(client.lines("export", pool=pool)) as lines, progress() as bar:
            for line in lines:
                if (names := line.get("files")) is not None:
                    files = len(names)
                    target.begin(names)
                    task = bar.add_task("pages", total=files)
                else:
                    target.write(line["file"], line["text"].encode())
                    bar.advance(task)
        return files, target.finish()
    except OSError as error:
        stop(f"{error.filename or folder}: {error.strerror or error}", FAILED)


def _tunnel(url: str) -> str:
    """Return the command by which another machine reaches the daemon's port here."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    machine, port = _machine()
    words = ["ssh", "-N", "-L", f"{parts.port}:{host}:{parts.port}", *(["-p", str(port)] if port != SSH_PORT else [])]
    return " ".join([*words, f"{os.environ.get('SUDO_USER') or getpass.getuser()}@{machine}"])


def _machine() -> tuple[str, int]:
    """Return how this machine is reached by SSH: as its user has just done, if that is not behind an address of a
    network of its own.
    """
    name, port = socket.gethostname(), SSH_PORT
    words = os.environ.get("SSH_CONNECTION", "").split()
    try:
        _, _, address, text = words
        port = int(text)
        if ipaddress.ip_address(address).is_global:
            name = address
    except ValueError:
        pass
    return name, port


# Backups of the store: make one beside the daemon or without it, and put one in the store's place.


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
    from equipoise.store.notes import Audit

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
                entry = Audit(time.time(), "console", "restore", "store", "", str(file.absolute()))
                kept = restoration.put_in_place(entry)
    except StoreRefused as error:
        stop(error)
    except StoreError as error:
        stop(error, FAILED)
    answer = asdict(contents) | {"restored": written, "kept": None if kept is None else str(kept)}
    if print_json(answer, as_json):
        return
    if not written:
        stop("nothing was changed", FAILED)
    click.echo(
        "Restored." if kept is None else f"Restored. What was there before is {kept}: remove it when all is well."
    )
    click.echo("Start the daemon again: systemctl start equipoise")


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
