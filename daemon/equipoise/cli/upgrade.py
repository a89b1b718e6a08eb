"""`equipoise upgrade`: backup, program, unit, daemon, plugins, doctor; and one command back.

Each step is noted before it begins, so that the command, called again after a kill or a power loss, goes on with it.
Every step may be done twice. The program that runs is replaced in the middle: the new one takes over from there, by
what was noted. The note stands beside the configuration, where the daemon's user may not write: it says what pip is to
install.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import click

import equipoise
from equipoise.cli.client import configured_url, listening_url
from equipoise.cli.options import FAILED, PRIVATE, config_option, confirm, dry_run_option, examples, stop, yes_option
from equipoise.cli.output import counted, json_text
from equipoise.config import STORE, Config, load
from equipoise.errors import ConfigError, StoreError, StoreRefused
from equipoise.files import existing, make_private_directory
from equipoise.install import file_changes, game_folders, unit
from equipoise.install.file_changes import Changes
from equipoise.install.game_folders import PLUGIN, GameFolder, inspect, plugin_version, write_mod
from equipoise.install.program import Program, again, installed, wheel_version
from equipoise.store.backups import Restoring, back_up
from equipoise.store.connection import reading
from equipoise.store.notes import Audit
from equipoise.versions import order

FOLDER = "upgrade"
"""In the state directory: the backup, and the rounds of a way back."""
NOTED = "upgrade.json"
"""Beside the configuration."""
ON = ("backup", "program", "daemon", "plugins", "doctor")
BACK = ("plugins", "store", "program", "daemon")
DONE = "done"
APPLIED_SECONDS = 60
"""Until the daemon has stored the rounds that it found in the rings."""


@dataclass(frozen=True, slots=True)
class Noted:
    """An upgrade as it is noted, or one that is done."""

    step: str
    back: bool
    old: str
    """The version before; "" where it is not known."""
    new: str
    source: str | None
    """The argument of pip; None: the program was replaced before, in another way."""
    backup: str | None = None
    """The store from before."""
    kept: str | None = None
    """On the way back the store that was replaced."""

    @property
    def open(self) -> bool:
        """Whether something is left to do."""
        return self.step != DONE


class Machine:
    """The parts of an installation that an upgrade is about."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.config: Config = load(path, os.environ)
        self.state = Path(os.path.realpath(self.config.directory))
        self.store = self.state / STORE
        self.folder = self.state / FOLDER
        self.version = equipoise.__version__
        self.running = _running(listening_url(path) or configured_url(path))
        """The version of the daemon; None where none answers."""

    @property
    def has_unit(self) -> bool:
        """Whether the daemon is a unit that `init --systemd` has written."""
        return self.path.parent == unit.MACHINE and unit.is_ours() and unit.booted()

    def noted(self) -> Noted | None:
        """Return what the last upgrade has noted; None: there was none."""
        try:
            values = json.loads(self._noted.read_text("utf-8"))
            return Noted(**{name: values[name] for name in Noted.__dataclass_fields__ if name in values})
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError) as error:
            stop(f"{self._noted}: {error}: use sudo, or remove it where no upgrade is under way")

    def note(self, noted: Noted) -> Noted:
        """Write down what is done next."""
        changes = Changes(self.path.parent)
        changes.write(self._noted, json_text(asdict(noted)).encode(), 0o600)
        with changes.applied():
            pass
        return noted

    @property
    def _noted(self) -> Path:
        return self.path.parent / NOTED

    def plugins(self) -> dict[str, Path]:
        """Return the folder `tf/` of each TF2 server of the configuration; those that nobody noted are searched for."""
        notes = game_folders.remembered(self.path.parent)
        games = {str(name): server for name, server in self.config.servers.items() if server.game == "tf2"}
        places = {name: Path(notes[name]["tf"]) for name in games if "tf" in notes.get(name, {})}
        unknown = {name: server.digest.hex() for name, server in games.items() if name not in places}
        return places | (dict(game_folders.search(unknown)) if unknown else {})

    def mods(self) -> dict[str, Path]:
        """Return the folders into which the NS2 mod was written."""
        notes = game_folders.remembered(self.path.parent)
        return {name: Path(places["mod"]) for name, places in notes.items() if "mod" in places}


def _running(url: str) -> str | None:
    # Without the machine's proxy, which would be asked for an address of this machine.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{url}/healthz", timeout=10) as answer:
            return str(json.load(answer)["version"])
    except urllib.error.HTTPError as error:  # a store in trouble is said with the version, too
        with suppress(ValueError, KeyError):
            return str(json.load(error)["version"])
    except (OSError, ValueError, KeyError):
        pass
    return None


def _format(store: Path) -> int:
    """Return the number of a store's format; 0 where there is no store."""
    if not store.exists():
        return 0
    with closing(reading(store)) as db:
        return int(db.execute("PRAGMA user_version").fetchone()[0])


@click.command(
    epilog=examples(
        "equipoise upgrade ./equipoise-0.3.0-py3-none-any.whl",
        "equipoise upgrade equipoise==0.3.0",
        "equipoise upgrade --dry-run ./equipoise-0.3.0-py3-none-any.whl",
        "equipoise upgrade --back",
    )
)
@config_option
@click.argument("source", metavar="[FILE]", required=False)
@click.option("--back", is_flag=True, help="Go back to the version before; FILE: its wheel, where it is not kept.")
@dry_run_option
@yes_option
def upgrade(path: Path, source: str | None, back: bool, dry_run: bool, yes: bool) -> None:
    """Upgrade everything to the release in FILE: program, daemon, unit, plugins.

    FILE is a release's wheel, the folder of a checkout, or a name for pip such as equipoise==0.3.0. Without FILE
    everything else follows the program that runs, where it was replaced in another way; and an upgrade that was
    interrupted goes on. A backup of the store comes first, and the version before is kept for --back.

    --back loses no round: where the version before cannot read the store any more, it gets the backup and the rounds
    since then, which it rates itself.
    """
    os.umask(PRIVATE)
    try:
        steps = _steps(Machine(path), source, back=back, dry_run=dry_run)
        if steps is not None:
            _take(steps, dry_run=dry_run, yes=yes)
    except ConfigError as error:
        stop(error)
    except (StoreError, unit.StartFailed) as error:
        stop(
            f"{error}\nWhen that is mended, `equipoise upgrade` goes on, and `equipoise upgrade --back` goes back",
            FAILED,
        )


def _steps(machine: Machine, source: str | None, *, back: bool, dry_run: bool) -> _Steps | None:
    """Return what is to be done, or is left of what was interrupted; None: nothing is, which is said."""
    notes = machine.noted()
    if notes is not None and notes.open and (notes.back or not back):
        if source is not None and not notes.back:
            stop(f"the upgrade to {notes.new} is unfinished: `equipoise upgrade` goes on, --back goes back", FAILED)
        return _BackSteps(machine, notes, source) if notes.back else _OnSteps(machine, notes)
    if back:
        return _BackSteps(machine, _way_back(machine, notes, source, dry_run=dry_run), source)
    steps = _way_on(machine, source)
    if steps is None:
        click.echo(f"Everything is version {machine.version}. A newer release: equipoise upgrade FILE")
    return steps


def _take(steps: _Steps, *, dry_run: bool, yes: bool) -> None:
    try:
        # The version before has shown the list and hands over here.
        if dry_run or not steps.handed_over:
            steps.refuse()
            for line in steps.plan():
                click.echo(line)
            if dry_run:
                return
            before = steps.machine.noted()
            begun = before is not None and before.open and before.back
            if steps.noted.back:
                confirm("Go back?", yes=begun or yes)
        steps.run()
    finally:
        steps.drop()


def _way_on(machine: Machine, source: str | None) -> _OnSteps | None:
    """Return the upgrade that is to be done; None: everything is of this version."""
    if source is not None:
        source = _absolute(source)
        new = wheel_version(source) or ""
        present, next_version = order(machine.version), order(new)
        if new == machine.version:
            source = None
        elif present and next_version and next_version < present:
            raise ConfigError(f"{new} is older than {machine.version}, which runs: `equipoise upgrade --back`")
        elif source.endswith(".whl") and not Path(source).is_file():
            raise ConfigError("no such file", file=source)
        else:
            return _OnSteps(machine, Noted(ON[0], False, machine.version, new, source))
    steps = _OnSteps(machine, Noted(ON[0], False, machine.running or "", machine.version, None))
    return steps if steps.needed() else None


def _way_back(machine: Machine, last: Noted | None, source: str | None, *, dry_run: bool) -> Noted:
    """Return the way back from the last upgrade; ConfigError where no version is there to go back to."""
    if last is not None and last.open and not last.back and last.old == machine.version:
        if not dry_run:
            machine.note(replace(last, step=DONE))
        stop(f"nothing was changed yet: the program is {last.old}", FAILED)
    program = installed()
    if source is not None:
        source = _absolute(source)
        old = wheel_version(source) or ""
    else:
        old = program.version(program.kept) or ""
        if not old:
            raise ConfigError("the version before is not kept: name its wheel, `equipoise upgrade --back FILE`")
    before, present = order(old), order(machine.version)
    if before and present and before > present:
        raise ConfigError(f"{old} is newer than {machine.version}, which runs: `equipoise upgrade FILE`")
    return Noted(BACK[0], True, old, machine.version, source, last.backup if last else None)


class _Steps:
    """Steps of one way, in order."""

    NAMES: tuple[str, ...]

    def __init__(self, machine: Machine, noted: Noted) -> None:
        self.machine, self.noted = machine, noted
        self.plugins = machine.plugins()

    def _do(self) -> dict[str, Callable[[], None]]:
        raise NotImplementedError

    def plan(self) -> Iterator[str]:
        """Return the lines that say what is left to do."""
        raise NotImplementedError

    @property
    def handed_over(self) -> bool:
        """Whether another program has come as far as this one."""
        return not self.noted.back and self.noted.step == "program" and self.noted.new == self.machine.version

    def run(self) -> None:
        """Do what is left, each step noted before."""
        for name in self.NAMES[self.NAMES.index(self.noted.step) :]:
            # Before the step: after a kill it is done again, which each of them allows.
            self.noted = self.machine.note(replace(self.noted, step=name))
            self._do()[name]()
        self.noted = self.machine.note(replace(self.noted, step=DONE))

    def refuse(self) -> None:
        """ConfigError with everything that this user may not change; nothing has happened then."""
        locks = [str(place) for place in self._places() if not os.access(existing(place), os.W_OK)]
        if self.machine.has_unit and os.geteuid() != 0:
            locks.append(str(unit.UNIT))
        if self.machine.has_unit:
            unit.command()
        if locks:
            raise ConfigError(f"this user may not change {', '.join(locks)}; nothing was changed: use sudo")

    def drop(self) -> None:
        """Remove what was only tried."""

    def _places(self) -> Iterator[Path]:
        yield self.machine.path.parent
        yield self.machine.state
        yield from (tf / PLUGIN.parent for tf in self.plugins.values())

    def _check_configuration(self, program: Program, folder: Path) -> None:
        """ConfigError where the version that is to take over would not start."""
        words = ["-m", "equipoise", "check-config", "--config", str(self.machine.path)]
        run = subprocess.run([program.python(folder), *words], capture_output=True, text=True, check=False)
        if run.returncode:
            complaint = run.stderr.strip()
            raise ConfigError(f"the other version refuses the configuration; the program is as it was: {complaint}")

    def _write_plugins(self, plugin: bytes, texts: dict[str, bytes]) -> None:
        """Put a plugin where another version is, and have it loaded."""
        from equipoise.cli.server_commands import Daemon

        for name, tf in self.plugins.items():
            folder = inspect(tf, name, None)
            if folder.plugin is None:
                click.echo(f"{name}: no plugin is in {tf}: equipoise server update {name} --tf {tf}")
                continue
            with folder.install(plugin, texts).applied():
                self._remember(name, tf)
            click.echo(f"{name}: its plugin is {plugin_version(plugin)} in {tf}.")
            server = next(server for key, server in self.machine.config.servers.items() if key == name)
            command = folder.command()
            if server.rcon is None:
                click.echo(f"{name}: loaded when the game server starts next, or by {command}")
                continue
            for line in Daemon(self.machine.path, None, None).console(name, command):
                click.echo(line)

    def _remember(self, name: str, tf: Path) -> None:
        changes = Changes(self.machine.path.parent)
        game_folders.remember(changes, name, tf=tf)
        with changes.applied():
            pass


class _OnSteps(_Steps):
    NAMES = ON

    def _do(self) -> dict[str, Callable[[], None]]:
        return {
            "backup": self._backup,
            "program": self._program,
            "daemon": self._daemon,
            "plugins": self._plugins,
            "doctor": self._doctor,
        }

    def _old_plugins(self) -> dict[str, GameFolder]:
        plugin = file_changes.plugin() if self.plugins else b""
        states = {name: inspect(tf, name, plugin_version(plugin)) for name, tf in self.plugins.items()}
        return {name: folder for name, folder in states.items() if folder.plugin != plugin_version(plugin)}

    def needed(self) -> bool:
        """Whether something is not of the program's version."""
        machine = self.machine
        behind = machine.running not in (None, machine.version) or bool(self._old_plugins())
        return behind or (machine.has_unit and self._unit_differs())

    def _unit_differs(self) -> bool:
        from equipoise.cli.starting import needs

        return unit.differs(needs(self.machine.config))

    def plan(self) -> Iterator[str]:
        """Return a line for each step of an upgrade that is left."""
        notes, machine = self.noted, self.machine
        yield f"Equipoise {notes.old or 'of an older version'} -> {notes.new or notes.source}"
        left = ON[ON.index(notes.step) :]
        if "backup" in left:
            yield f"  backup   {self._backup_file()}"
        if "program" in left and notes.source is not None:
            program = installed()
            yield f"  program  {program.folder}, from {notes.source}; {notes.old} is kept as {program.kept}"
        if "daemon" in left:
            yield (
                f"  daemon   {unit.UNIT} is written anew, and the daemon started again"
                if machine.has_unit
                else "  daemon   no unit of ours is here: start the daemon again yourself"
            )
        for name, server in machine.config.servers.items():
            if "plugins" not in left or server.game != "tf2":
                continue
            how = "loaded again by RCON" if server.rcon else "loaded at the game server's next start"
            yield (
                f"  plugin   {name}: {self.plugins[name]}, {how}"
                if name in self.plugins
                else f"  plugin   {name}: where? `equipoise server update {name} --tf DIR` writes it, and remembers DIR"
            )
        yield from (f"  mod      {name}: {place}; publish it" for name, place in machine.mods().items())
        yield "  doctor"

    def _places(self) -> Iterator[Path]:
        yield from super()._places()
        if self.noted.source is not None and self.noted.step in ("backup", "program"):
            yield installed().kept.parent

    def _backup_file(self) -> Path:
        return self.machine.folder / f"equipoise-{self.noted.old or 'before'}.db"

    def _backup(self) -> None:
        if not self.machine.store.exists():
            return
        make_private_directory(self.machine.folder)
        file = self._backup_file()
        file.unlink(missing_ok=True)  # of this version's last upgrade, or of a run that was killed
        copy = back_up(self.machine.store, file)
        for older in self.machine.folder.glob("equipoise-*.db"):
            if older != file:
                older.unlink()
        self.noted = self.machine.note(replace(self.noted, backup=copy.file))
        click.echo(f"{copy.file}: {counted(copy.rounds, 'round')}, checked.")

    def _program(self) -> None:
        if self.noted.source is None or self.noted.new == self.machine.version:
            return
        program = installed()
        program.install_beside(self.noted.source)
        program.keep()
        new = program.version(program.kept)
        if new is None:
            raise ConfigError(f"what pip installed from {self.noted.source} does not run; nothing was changed")
        self._check_configuration(program, program.kept)
        self.machine.note(replace(self.noted, new=new))
        click.echo(f"{program.folder}: {self.machine.version} -> {new}")
        sys.stdout.flush()
        words = again("upgrade", "--config", str(self.machine.path))
        program.exchange()
        os.execv(words[0], words)  # whatever is imported from here on would be the new version's

    def _daemon(self) -> None:
        from equipoise.cli.starting import start_unit

        if self.machine.has_unit:
            if self.machine.running != self.machine.version or self._unit_differs():
                start_unit(self.machine.path, unit.command())
        elif self.machine.running not in (None, self.machine.version):
            click.echo(f"The daemon runs as {self.machine.running} until you start it again.")

    def _plugins(self) -> None:
        old = self._old_plugins()
        self.plugins = {name: folder.path for name, folder in old.items()}
        if old:
            self._write_plugins(file_changes.plugin(), file_changes.plugin_texts())
        for name, place in self.machine.mods().items():
            with write_mod(place).applied():
                click.echo(f"{name}: the mod is {self.machine.version} in {place}: publish it with the Launch Pad.")

    def _doctor(self) -> None:
        sys.stdout.flush()
        subprocess.run(again("doctor", "--config", str(self.machine.path)), check=False)


class _BackSteps(_Steps):
    NAMES = BACK

    def __init__(self, machine: Machine, noted: Noted, source: str | None) -> None:
        super().__init__(machine, noted)
        self.program: Program = installed()
        self._source = source
        self._other = self.program.kept
        """The version before; a draft until it is agreed to."""
        self._ahead = False

    def _do(self) -> dict[str, Callable[[], None]]:
        return {"plugins": self._plugins, "store": self._store, "program": self._program, "daemon": self._daemon}

    @property
    def _returned(self) -> bool:
        """Whether the version before is the one that runs already."""
        return self.noted.old == self.machine.version

    def refuse(self) -> None:
        super().refuse()
        if self._returned:
            return
        if self._source is not None:
            self._other = self.program.draft
            self.program.install_beside(self._source)
            self.noted = replace(self.noted, old=self.program.version(self._other) or self.noted.old)
        old = self.program.store_format(self._other)
        if old is None:
            raise ConfigError("it does not run: name the wheel of the version before, --back FILE", file=self._other)
        self._check_configuration(self.program, self._other)
        # `kept` is noted once the store was replaced: a second run must not replace it again.
        self._ahead = self.noted.kept is None and _format(self.machine.store) > old
        if self._ahead:
            if self.machine.running is not None and not self.machine.has_unit:
                raise ConfigError("the daemon runs, and its store is to be replaced: stop it. Nothing was changed")
            backup = self.noted.backup
            if backup is None or not Path(backup).is_file() or _format(Path(backup)) > old:
                self.noted = replace(self.noted, backup=self._older_backup(old))

    def run(self) -> None:
        """Go back, to the version that was tried."""
        if self._other != self.program.kept:
            self.program.keep()
        super().run()

    def drop(self) -> None:
        """Remove the version that was only tried."""
        self.program.drop()

    def _older_backup(self, most: int) -> str:
        """The newest nightly backup that the version before reads."""
        for file in sorted((self.machine.state / "backups").glob("*.db"), reverse=True):
            if _format(file) <= most:
                return str(file)
        raise ConfigError(
            "the version before cannot read the store, and no backup is old enough for it: its rounds have no way back"
        )

    def _places(self) -> Iterator[Path]:
        yield from super()._places()
        yield self.program.kept.parent

    def plan(self) -> Iterator[str]:
        """Return a line for each step of the way back that is left."""
        notes = self.noted
        yield f"Equipoise {notes.new} -> {notes.old}"
        left = BACK[BACK.index(notes.step) :]
        if "plugins" in left:
            yield from (f"  plugin   {name}: {tf}" for name, tf in self.plugins.items())
        if "store" in left and self._ahead:
            yield f"  store    {notes.backup}, and the rounds since then; what is there now is kept beside it"
        if "program" in left and not self._returned:
            yield f"  program  {self.program.folder}; {notes.new} is kept as {self.program.kept}"
        yield (
            "  daemon   the unit is written anew, and the daemon started again"
            if self.machine.has_unit
            else "  daemon   no unit of ours is here: start the daemon again yourself"
        )

    def _plugins(self) -> None:
        place = self.program.assets(self.program.folder if self._returned else self.program.kept)
        if place is None or not (place / "sourcemod/equipoise.smx").is_file():
            click.echo("The version before has no plugin with it: the plugins stay.")
            return
        self._write_plugins(file_changes.plugin(place), file_changes.plugin_texts(place))

    def _store(self) -> None:
        from equipoise.service.ring import carry, put_in_place

        machine, rings = self.machine, self.machine.folder / "rings"
        if self._ahead:
            assert self.noted.backup is not None
            if machine.has_unit:
                # The daemon holds the store's lock.
                unit.systemctl("stop", unit.UNIT.name)
            backup = Path(self.noted.backup)
            make_private_directory(machine.folder)
            if rings.exists():
                shutil.rmtree(rings)  # of a run that was killed
            make_private_directory(rings)
            restoration = Restoring(machine.store, backup)
            with restoration.prepared():
                since = carry(machine.store, backup, rings)
                entry = Audit(time.time(), "console", "restore", "store", "", str(backup))
                kept = restoration.put_in_place(entry)
            self.noted = machine.note(replace(self.noted, kept=str(kept)))
            click.echo(f"{backup.name} is the store again; {counted(since.rounds, 'round')} since then will be rated.")
            if since.edits:
                click.echo(f"Not carried over: {counted(since.edits, 'edit')}, which are in {kept}.")
        # Also where the store was replaced by a run that was killed before this line.
        if rings.is_dir():
            put_in_place(rings, machine.state)

    def _program(self) -> None:
        if self._returned:
            return
        if self.machine.has_unit:
            click.echo("If this is interrupted now, type: equipoise init --systemd")
        sys.stdout.flush()
        self.program.exchange()

    def _daemon(self) -> None:
        if self.machine.has_unit:
            run = subprocess.run(again("init", "--systemd"), check=False)
            if run.returncode:
                raise unit.StartFailed("the daemon of the version before did not start")
            if self.noted.kept is not None:
                self._count(Path(self.noted.kept))
        else:
            click.echo("Start the daemon again. What waits in the rings is rated then.")

    def _count(self, kept: Path) -> None:
        """See to it that every round is there again."""
        from equipoise.service.ring import missing

        end = time.monotonic() + APPLIED_SECONDS
        while (lost := missing(self.machine.store, kept)) and time.monotonic() < end:
            time.sleep(0.2)
        if lost:
            raise StoreRefused(
                f"{counted(lost, 'round')} of {kept} are not in the store of the version before: keep it"
            )
        click.echo("Every round is there again.")


def _absolute(source: str) -> str:
    """Return an argument of pip that holds in every folder: a path is made absolute, a name stays."""
    return str(Path(source).absolute()) if Path(source).exists() else source
