"""Looks for what is wrong with an installation, and says what to do about it."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

import equipoise
from equipoise.cli.client import Client, Unreachable
from equipoise.cli.options import FAILED, Stopped, config_option
from equipoise.cli.output import json_text, progress
from equipoise.errors import ConfigError

if TYPE_CHECKING:
    from equipoise.config import Config
    from equipoise.doctor.finding import Finding, Findings

_COLOURS = {"good": "green", "note": "yellow", "bad": "red"}


@click.command()
@config_option
@click.option("--url", envvar="EQUIPOISE_URL", help="The daemon's address. [env: EQUIPOISE_URL; default: config]")
@click.option(
    "--token", envvar="EQUIPOISE_TOKEN", help="A token. [env: EQUIPOISE_TOKEN; default: owner.token beside it]"
)
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def doctor(path: Path, url: str | None, token: str | None, as_json: bool) -> None:
    """Look for what is wrong, on this machine and on every game server, and say what to do.

    Nothing is changed. Exit code 1: something is bad.

    \b
    Examples:
      sudo equipoise doctor
      equipoise doctor --json | jq '.findings[] | select(.level == "bad")'
    """
    findings = list(_look(path, url, token))
    bad = sum(finding.level == "bad" for finding in findings)
    if as_json:
        click.echo(json_text({"ok": not bad, "findings": [dataclasses.asdict(each) for each in findings]}))
    else:
        _print(findings)
        notes = sum(finding.level == "note" for finding in findings)
        click.echo(f"\n{len(findings) - bad - notes} good, {notes} to note, {bad} bad.")
    if bad:
        raise SystemExit(FAILED)


def _print(findings: Iterable[Finding]) -> None:
    for each in findings:
        click.echo(f"{click.style(f'{each.level:<4}', fg=_COLOURS[each.level], bold=True)}  {each.where}: {each.what}")
        if each.advice:
            click.echo(f"      {click.style(each.advice, dim=True)}")


def _look(path: Path, url: str | None, token: str | None) -> Findings:
    from equipoise.config import load
    from equipoise.doctor import files, machine
    from equipoise.doctor.finding import Finding

    config = None
    try:
        config = load(path, os.environ)
        yield Finding("good", str(path), f"valid; servers: {len(config.servers)}, pools: {len(config.pools)}")
    except ConfigError as error:
        yield Finding("bad", str(path), str(error), "a running daemon goes on with the configuration it has")
    yield from files.service_user(path)
    if config is not None:
        yield from files.rights(config)
        yield from files.disk(config)
        yield from _store(config)
    yield from machine.clock()
    yield from machine.cache(path)
    yield from _daemon(path, url, token, config)


def _store(config: Config) -> Findings:
    from equipoise.config import STORE
    from equipoise.doctor.finding import Finding
    from equipoise.store.sqlite.integrity import problems

    file = config.directory / STORE
    if not file.exists():
        yield Finding("note", str(file), "there is no store yet", "the daemon makes it at its first start")
        return
    with progress() as bar:
        bar.add_task("checking the store", total=None)
        try:
            found = problems(file)
        except OSError as error:
            yield Finding("note", str(file), f"cannot be read: {error.strerror}", "run this as root to check the store")
            return
    for problem in found:
        yield Finding("bad", str(file), problem, 'docs/operations.md: "The store is damaged or lost"')
    if not found:
        yield Finding("good", str(file), "the store is whole")


def _daemon(path: Path, url: str | None, token: str | None, config: Config | None) -> Findings:
    from equipoise.doctor import answers, machine
    from equipoise.doctor.finding import Finding

    try:
        client = Client.of(path, url, token)
        seen, refused = client.get("servers"), client.get("refused")
    except Unreachable as error:
        yield from machine.port(config) if config else [Finding("bad", "daemon", error.message)]
        return
    except Stopped as error:
        yield Finding("bad", "daemon", error.message)
        return
    yield from answers.version(seen["version"], equipoise.__version__)
    yield from answers.store(seen["store"], seen["waiting_rounds"])
    yield from answers.jobs(seen["jobs"])
    games = {name: server.game for name, server in config.servers.items()} if config else {}
    yield from answers.refusals(refused["refused"], [each["server"] for each in seen["servers"]])
    for each in seen["servers"]:
        yield from answers.server(each, games.get(each["server"]), equipoise.__version__)
