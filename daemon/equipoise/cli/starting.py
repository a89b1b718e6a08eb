"""The systemd unit of a configuration: what it needs, and the start of its daemon."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from equipoise.cli.options import FAILED, stop
from equipoise.install import file_changes

if TYPE_CHECKING:
    from equipoise.config import Config
    from equipoise.install.unit import Needs


def start_unit(config: Path, command: str) -> None:
    """Write the unit in place of an older one, and start the daemon anew."""
    from equipoise.config import load
    from equipoise.install import unit

    read = load(config, {})
    # Before the start: the daemon would take the default of new pools for a pool that has played without it.
    for line in keep_as_before(read):
        click.echo(line)
    unit.write(command, needs(read))
    click.echo(f"Wrote {unit.UNIT}. Starting the daemon …")
    if read.web.allow_remote:
        click.echo(
            f"The unit lets in this machine alone: {file_changes.folder() / 'systemd' / 'remote.conf'} opens it."
        )
    try:
        unit.start()
    except unit.StartFailed as error:
        stop(error, FAILED)
    click.echo(
        "The daemon runs, and is ready. `equipoise status` shows the game servers, `equipoise page` how to "
        "open their page in a browser."
    )


def needs(config: Config) -> Needs:
    """Return what a configuration needs of the unit."""
    from equipoise.install.unit import Needs

    outward = bool(config.webhooks) or any(pool.database for pool in config.pools.values())
    return Needs(config.web.port, config.web.max_connections, outward)


def keep_as_before(config: Config) -> Iterator[str]:
    """Write how teams are made into the tables of pools that have played before there was a default; what was done."""
    from equipoise.config import STORE
    from equipoise.install.configuration import with_balance
    from equipoise.install.file_changes import Changes
    from equipoise.store.measurements import plays_alone_in

    for pool in config.pools.values():
        if not pool.balance_left_open or not plays_alone_in(config.directory / STORE, pool.name):
            continue
        line = f'balance = "{pool.system}" in [pool.{pool.name}]'
        text = with_balance(config.path.read_text("utf-8"), pool.name, pool.system)
        if text is None:
            yield f"Write {line} of {config.path}: its teams are made as before, by the ratings that players see."
            continue
        changes = Changes(config.path.parent)
        changes.write(config.path, text.encode(), config.path.stat().st_mode & 0o777)
        with changes.applied():
            pass
        yield f"Wrote {line}: its teams are made as before. `equipoise doctor` says what new pools have."
