"""`equipoise page`: how to open the page in a browser, here and from another machine."""

from __future__ import annotations

import getpass
import ipaddress
import os
import socket
from urllib.parse import urlsplit

import click

from equipoise.cli.client import Client, configured_names, json_option, listening_url, print_json, remote
from equipoise.cli.options import examples
from equipoise.cli.output import local_minute

SSH_PORT = 22


@click.command(epilog=examples("equipoise page", "equipoise page --url https://balance.example.org"))
@remote
@json_option
def page(client: Client, *, as_json: bool) -> None:
    """How to open the page in a browser: its address, and a link that logs in.

    The link is good once, for ten minutes. It logs in as the token that this command line has.
    """
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
