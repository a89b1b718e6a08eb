"""`equipoise doctor`: what is wrong with the daemon, this machine and the game servers, and what to do."""

from __future__ import annotations

import http.client
import json
import os
import platform
import sqlite3
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

import equipoise
from equipoise.cli.client import ANOTHER, configured_url
from equipoise.cli.options import FAILED, config_option, examples
from equipoise.cli.remote import json_option, print_json, token_option, url_option
from equipoise.cli.tables import print_note
from equipoise.config import STORE, Config, load
from equipoise.errors import ConfigError
from equipoise.service.diagnosis import DAEMON, Finding, of_disk

TIMEOUT_SECONDS = 15
EPILOG = examples("equipoise doctor", "equipoise doctor --json | jq '.findings[] | select(.bad)'")


@click.command(epilog=EPILOG)
@config_option
@url_option
@token_option
@json_option
def doctor(path: Path, url: str | None, token: str | None, as_json: bool) -> None:
    """Look for what is wrong: on this machine, in the daemon, on every game server. Exit code 1: something is.

    Game servers are asked by RCON and A2S where the configuration has their addresses. Without a running daemon it
    checks what it can. Run it with sudo where the daemon runs as a systemd unit.
    """
    findings = list(_findings(path, url, token))
    findings.sort(key=lambda finding: (not finding.bad, finding.about != DAEMON, finding.about))
    versions = {
        "equipoise": equipoise.__version__,
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
    }
    bad = sum(finding.bad for finding in findings)
    if not print_json({"versions": versions, "findings": [asdict(finding) for finding in findings]}, as_json):
        click.echo(", ".join(f"{name} {version}" for name, version in versions.items()))
        for finding in findings:
            click.echo()
            print_note(f"{finding.about}: {finding.what}", "bad   " if finding.bad else "note  ")
            print_note(finding.advice, "      ")
        click.echo(
            f"\n{bad or 'nothing'} to mend" + (f", {len(findings) - bad} to know" if len(findings) > bad else "")
        )
    if bad:
        raise SystemExit(FAILED)


def _findings(path: Path, url: str | None, token: str | None) -> Iterator[Finding]:
    config: Config | None = None
    try:
        config = load(path, os.environ)
    except ConfigError as error:
        yield Finding(
            True,
            DAEMON,
            f"the configuration is wrong: {error}",
            "correct the file; `equipoise check-config` reads it again",
        )
    for old in config.old_keys if config else ():
        yield Finding(False, DAEMON, old.what, old.advice)
    answer = _ask(url or configured_url(path), token or _token(path))
    if isinstance(answer, Finding):
        yield answer
    else:
        yield from (Finding(**each) for each in answer["findings"])
        if answer["version"] != equipoise.__version__:
            what = f"the daemon is version {answer['version']}, this command {equipoise.__version__}"
            yield Finding(True, DAEMON, what, "restart the daemon: systemctl restart equipoise")
    if config is not None and url is None:
        yield from _of_machine(config, None if isinstance(answer, Finding) else answer["uid"])


def _of_machine(config: Config, uid: int | None) -> Iterator[Finding]:
    """`uid`: the daemon's user; None while none answers."""
    from equipoise.cli import examining

    yield from examining.of_files(config, uid)
    yield from examining.of_store(config.directory / STORE)
    if uid is None:
        yield from examining.of_port(config.web.port)
        if config.directory.is_dir():
            yield from of_disk(config.directory)


def _token(config: Path) -> str:
    """The owner's; empty where it cannot be read, which the daemon then refuses."""
    try:
        return config.with_name("owner.token").read_text("utf-8").strip()
    except (OSError, ValueError):
        return ""


def _ask(url: str, token: str) -> Any:
    """The daemon's own findings, or the one that it does not tell them."""
    start = "start it: systemctl start equipoise, or equipoise serve; its log says why it does not"
    try:
        request = urllib.request.Request(f"{url}/v1/admin/doctor", headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
            answer = json.load(response)
    except urllib.error.HTTPError as error:
        if error.code not in (401, 403):
            return Finding(True, DAEMON, f"what answers at {url} is no daemon, or an older one ({error.code})", start)
        refused = "use sudo, or EQUIPOISE_TOKEN with a token of the role admin"
        return Finding(True, DAEMON, f"the daemon at {url} refuses the token", refused)
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        return Finding(True, DAEMON, f"no daemon answers at {url}: {reason}", start)
    except http.client.HTTPException:
        answer = None
    if not isinstance(answer, dict) or "findings" not in answer:
        return Finding(True, DAEMON, f"no daemon answers at {url}: {ANOTHER}", start)
    return answer
