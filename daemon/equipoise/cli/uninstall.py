"""`equipoise uninstall`: removes what commands have made on this machine, and says what is left."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import click

from equipoise.cli import completion
from equipoise.cli.options import FAILED, MACHINE, config_option, confirm, dry_run_option, examples, stop, yes_option
from equipoise.cli.output import counted
from equipoise.cli.upgrade import NOTED
from equipoise.errors import ConfigError
from equipoise.install import file_changes, game_folders, unit
from equipoise.install.file_changes import Changes, as_owner
from equipoise.install.game_folders import CFG, CONFIG, OUTPUT, PLUGIN, SETTINGS
from equipoise.install.program import installed

STATE = Path("/var/lib/equipoise"), Path("/var/lib/private/equipoise")
CACHE = Path("/var/cache/equipoise"), Path("/var/cache/private/equipoise")
"""Of the unit: the link, and the place that it leads to."""


@click.command(epilog=examples("equipoise uninstall --dry-run", "equipoise uninstall", "equipoise uninstall --purge"))
@config_option
@click.option("--purge", is_flag=True, help="Remove configuration, secrets, ratings and backups too.")
@dry_run_option
@yes_option
def uninstall(path: Path, purge: bool, dry_run: bool, yes: bool) -> None:
    """Remove the unit, the plugins and mods, the completion of the shells, and the version that is kept.

    Configuration and ratings stay, and are named, unless --purge is given. The program itself is removed by what has
    installed it: the last line is that command.
    """
    path = path.absolute()
    try:
        memory = game_folders.remembered(path.parent)
        machine = path.parent == MACHINE
        shells = [
            *completion.installed(completion.own()),
            *(completion.installed(completion.SYSTEM) if machine else ()),
        ]
        files = [*_of_servers(memory, purge=purge), *shells, path.with_name(NOTED)]
        trees = dict(_own(path) if purge else ())
        with suppress(ConfigError):  # a program that cannot be replaced has kept none
            trees = {installed().kept: True} | trees
        has_unit = machine and unit.UNIT.exists()
        if has_unit:
            unit.check_machine(path.parent)
        files = [file for file in files if os.path.lexists(file)]
        trees = {tree: wholly for tree, wholly in trees.items() if os.path.lexists(tree)}
        if locks := [str(place) for place in (*files, *trees) if not os.access(place.parent, os.W_OK)]:
            raise ConfigError(f"this user may not remove {', '.join(locks)}; nothing was changed: use sudo")
        for line in (*([unit.UNIT] if has_unit else []), *_listed(memory, files), *trees):
            click.echo(f"  {line}")
        if dry_run:
            return
        confirm("Remove all of this?" if purge else "Remove this? Configuration and ratings stay.", yes=yes)
        if has_unit:
            unit.remove(purge=purge)
        _remove(memory, files)
        for tree, wholly in trees.items():
            _remove_tree(tree, wholly=wholly)
        _say_what_is_left(path, purge=purge)
    except unit.StartFailed as error:
        stop(error, FAILED)
    except ConfigError as error:
        stop(error)


def _listed(remembered: game_folders.Folders, files: list[Path]) -> Iterator[str]:
    """A line for the files of each folder of a game server, and one for every other file."""
    for root in dict.fromkeys(place for places in remembered.values() for place in places.values()):
        if own := [file for file in files if file.is_relative_to(root)]:
            yield f"{root}: {counted(len(own), 'file')}"
            files = [file for file in files if file not in own]
    yield from map(str, files)


def _of_servers(remembered: game_folders.Folders, *, purge: bool) -> Iterator[Path]:
    """Return the files in folders of game servers. Settings with a secret stay with the configuration that knows it."""
    for places in remembered.values():
        if "tf" in places:
            tf = Path(places["tf"])
            yield tf / PLUGIN
            texts = tf / "addons/sourcemod"
            yield from (texts / place for place in file_changes.plugin_texts())
            if purge:
                yield tf / CFG
        if "mod" in places:
            mod = Path(places["mod"])
            yield from (mod / place for place in file_changes.mod() if Path(place) != SETTINGS)
        if "ns2_config" in places and purge:
            yield Path(places["ns2_config"]) / CONFIG


def _own(config: Path) -> Iterator[tuple[Path, bool]]:
    """Configuration, state and cache. False: a folder that may hold something of others, and goes if it is empty."""
    from equipoise.config import STORE, load

    if config.parent == MACHINE:
        yield from ((place, True) for place in (*STATE, *CACHE, MACHINE))
    with suppress(ConfigError):  # one that is wrong is removed all the same
        state = load(config, os.environ).directory
        # A state directory of the operator's own may hold other things: only what the daemon made there goes.
        if state not in STATE:
            for pattern in (f"{STORE}*", "*.ring*", "logins.*", "notices.*", "backups", "upgrade"):
                yield from ((place, True) for place in state.glob(pattern))
            yield state, False
    if config.parent != MACHINE:
        names = config.name, "owner.token", "servers.d", "secrets", game_folders.FILE
        yield from ((config.with_name(name), True) for name in names)
        yield config.parent, False


def _remove_tree(place: Path, *, wholly: bool) -> None:
    if place.is_symlink() or not place.is_dir():
        place.unlink()
    elif wholly:
        shutil.rmtree(place)
    else:
        with suppress(OSError):
            place.rmdir()


def _remove(remembered: game_folders.Folders, files: list[Path]) -> None:
    """Remove files as the owners of the game servers' folders, and folders of one language that are empty then."""
    roots = [Path(place) for places in remembered.values() for place in places.values()]
    for root in roots:
        changes = Changes(root)
        own = [file for file in files if file.is_relative_to(root)]
        for file in own:
            changes.remove(file)
        with changes.applied():
            pass
        # Deepest folders first (`reverse`): one that holds another is not empty before that.
        with as_owner(root):
            for folder in sorted({folder for file in own for folder in file.parents}, reverse=True):
                if folder.parent.name == "translations" or folder.is_relative_to(root / OUTPUT):
                    with suppress(OSError):  # something of others is in it
                        folder.rmdir()
    for file in files:
        if not any(file.is_relative_to(root) for root in roots):
            file.unlink(missing_ok=True)
            if file.name != NOTED:
                with suppress(OSError):  # so it is with the folders of the shells
                    file.parent.rmdir()
                    file.parent.parent.rmdir()


def _say_what_is_left(config: Path, *, purge: bool) -> None:
    if not purge:
        from equipoise.config import load

        click.echo(f"The configuration stays in {config.parent}, the ratings in {load(config, os.environ).directory}.")
    click.echo("A game server that runs has the plugin loaded until `sm plugins unload equipoise` or its next start.")
    click.echo(f"The program is left: {_last_command()}")


def _last_command() -> str:
    try:
        program = installed()
    except ConfigError:
        return "pip uninstall equipoise"
    command = shutil.which("equipoise")
    if program.pipx:
        home = program.folder.parent.parent
        place = Path(command).parent if command else "/usr/local/bin"
        return f"PIPX_HOME={home} PIPX_BIN_DIR={place} pipx uninstall equipoise"
    return f"rm -r {program.folder}" + (f" {command}" if command and Path(command).is_symlink() else "")
