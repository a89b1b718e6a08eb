"""`equipoise page`: how to open the page in a browser, here and from another machine; the public pages as files."""

from __future__ import annotations

import getpass
import ipaddress
import os
import socket
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import click

from equipoise.cli.client import Client, configured_names, json_option, listening_url, print_json, remote
from equipoise.cli.options import FAILED, examples, stop
from equipoise.cli.output import local_minute, progress
from equipoise.files import Folder

SSH_PORT = 22


@click.command(epilog=examples("equipoise page", "equipoise page --export /var/www/balance"))
@click.option(
    "--export", "folder", type=click.Path(path_type=Path, file_okay=False), help="Write the public pages here."
)
@click.option("--pool", help="Write those of this pool only.")
@remote
@json_option
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
