"""The systemd unit: written with the path of the command that runs, started, and removed.

What an operator changes stands in drop-ins of their own (`systemctl edit equipoise`), so that the unit can be replaced
by that of another version.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from equipoise.errors import ConfigError
from equipoise.install import file_changes
from equipoise.install.file_changes import Changes

MACHINE = Path("/etc/equipoise")
"""The folder of the configuration that the unit reads."""
STATE = Path("/var/lib/private/equipoise")
"""The place where systemd keeps the `StateDirectory` of a dynamic user."""
UNITS = Path("/etc/systemd/system")
UNIT = UNITS / "equipoise.service"
DROP_IN = UNITS / "equipoise.service.d" / "configured.conf"
_COMMAND = "/usr/local/bin/equipoise "
"""The start of the command in the unit of the repository."""
_WRITTEN = "# Written by `equipoise init --systemd`. Changes belong into a drop-in: `systemctl edit equipoise`.\n"
_HIDDEN = "/home", "/root", "/run/user", "/tmp", "/var/tmp"
"""Places that the unit cannot see: `ProtectHome`, `PrivateTmp`."""
_REPAIR = "PIPX_HOME=/opt/pipx PIPX_BIN_DIR=/usr/local/bin pipx install equipoise"
_PORT, _CONNECTIONS = 27500, 4032
"""Values that the unit allows without a drop-in."""
_SECONDS = 120
"""More than the unit's `TimeoutStartSec` and `TimeoutStopSec` together."""


class StartFailed(Exception):
    """systemd could not start the unit, or not stop it; the text says why."""


def booted() -> bool:
    """Return whether systemd runs here, as sd_booted(3) finds out."""
    return Path("/run/systemd/system").is_dir()


def is_ours() -> bool:
    """Return whether there is a unit that `init --systemd` has written."""
    try:
        return UNIT.read_text("utf-8", "replace").startswith(_WRITTEN)
    except OSError:
        return False


@dataclass(frozen=True, slots=True)
class Needs:
    """The needs of a configuration beside what every unit has."""

    port: int
    """The key `web.port`."""
    connections: int
    """The key `web.max_connections`."""
    outward: bool
    """A webhook or a database is on another machine, perhaps: the unit lets the daemon reach this one alone."""


def is_open() -> bool:
    """Return whether a drop-in of ours or of the operator lets the daemon reach other machines."""
    texts = [path.read_text("utf-8", "replace") for path in DROP_IN.parent.glob("*.conf")]
    return any(line.strip() == "IPAddressAllow=any" for text in texts for line in text.splitlines())


def differs(needs: Needs) -> bool:
    """Return whether the unit is not what this version would write."""
    texts = {DROP_IN: ""} | files(command(), needs)
    return any((path.read_text("utf-8") if path.exists() else "") != text for path, text in texts.items())


def check_machine(directory: Path) -> None:
    """Raise ConfigError where no unit can be written: no systemd, no rights, a configuration that it does not read."""
    if not booted():
        raise ConfigError("systemd does not run on this machine; without it, `equipoise serve` runs the daemon")
    if os.geteuid() != 0:
        raise ConfigError("only root can write a systemd unit; use sudo")
    if directory.absolute() != MACHINE:
        raise ConfigError(f"the unit reads the configuration in {MACHINE}, not in {directory}")
    if UNIT.exists() and not is_ours():
        raise ConfigError(
            "this unit was not written by `equipoise init --systemd`; move your changes to a drop-in "
            "(`systemctl edit equipoise`) and remove it",
            file=UNIT,
        )


def command() -> str:
    """Return the command that runs now, for `ExecStart=`; ConfigError where the unit could not start it."""
    script, python = Path(sys.argv[0]).absolute(), Path(sys.executable)
    check_seen(script, script.resolve(), python, python.resolve(), Path(__file__))
    text = str(script) if script.name == "equipoise" else f"{python} -m equipoise"
    if not re.fullmatch(r"[\w./@+-]+( -m equipoise)?", text):
        raise ConfigError(f"systemd would read the path of this command in another way: {text}")
    return text


def check_seen(*paths: Path) -> None:
    """Raise ConfigError where the unit does not see one of these paths, with the command that repairs it."""
    for path in paths:
        for hidden in _HIDDEN:
            if path.is_relative_to(hidden):
                raise ConfigError(
                    f"the service does not see what is in {hidden}. Install it with: {_REPAIR}", file=path
                )


def files(command: str, needs: Needs) -> dict[Path, str]:
    """Return the unit for a command, with the drop-in that a configuration needs."""
    unit = (file_changes.folder() / "systemd" / UNIT.name).read_text("utf-8")
    assert f"ExecStart={_COMMAND}" in unit
    # The first line marks the unit as ours: only such a one is ever replaced or removed.
    texts = {UNIT: _WRITTEN + unit.replace(_COMMAND, f"{command} ")}
    lines = [f"SocketBindAllow=tcp:{needs.port}"] if needs.port != _PORT else []
    lines += [f"LimitNOFILE={needs.connections + 64}"] if needs.connections > _CONNECTIONS else []
    lines += ["IPAddressAllow=any"] if needs.outward else []
    if lines:
        texts[DROP_IN] = "\n".join(
            ["# Written by `equipoise init --systemd` from config.toml.", "[Service]", *lines, ""]
        )
    return texts


def write(command: str, needs: Needs) -> None:
    """Write the unit in place of an older one."""
    changes = Changes(UNITS)
    # Planned first: where one is needed still, the line below plans it again.
    changes.remove(DROP_IN)
    for path, text in files(command, needs).items():
        changes.write(path, text.encode())
    with changes.applied():
        pass


def start() -> None:
    """Enable the unit that is written, start it anew, and wait until the daemon is ready."""
    systemctl("daemon-reload")
    systemctl("enable", "--quiet", UNIT.name)
    try:
        systemctl("restart", UNIT.name)
    except StartFailed as error:
        journal = ["journalctl", "-u", UNIT.name, "-n", "5", "-o", "cat", "--no-pager"]
        lines = subprocess.run(journal, capture_output=True, text=True, timeout=_SECONDS, check=False).stdout.strip()
        raise StartFailed(f"{error}\n{lines}") from None


def remove(*, purge: bool = False) -> list[Path]:
    """Stop and remove the unit; return the files that were removed. `purge`: with the drop-ins of its operator."""
    if not UNIT.exists():
        raise ConfigError("there is no unit to remove", file=UNIT)
    systemctl("disable", "--now", "--quiet", UNIT.name)
    drop_ins = DROP_IN.parent.glob("*") if purge else (DROP_IN,)
    paths = [path for path in (UNIT, *drop_ins) if path.exists()]
    for path in paths:
        path.unlink()
    if DROP_IN.parent.is_dir() and not any(DROP_IN.parent.iterdir()):
        DROP_IN.parent.rmdir()
    # systemd still knows the unit that was removed.
    systemctl("daemon-reload")
    with suppress(StartFailed):  # it has not failed, so that nothing is left to forget
        systemctl("reset-failed", UNIT.name)
    return paths


def systemctl(*words: str) -> None:
    """Run systemctl; StartFailed with what it said."""
    try:
        run = subprocess.run(
            ["systemctl", *words],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
            env=os.environ | {"LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StartFailed(f"systemctl {words[0]}: {error}") from None
    if run.returncode:
        raise StartFailed(f"systemctl {' '.join(words)}: {run.stderr.strip() or run.returncode}")
