"""The whole suite on a bare machine: git, make and Python of Debian, as root and as a user."""

from __future__ import annotations

import subprocess

from tests.walk.blocks import ROOT
from tests.walk.machine import Machine, WalkError
from tests.walk.transcript import Transcript

PACKAGES = "git make python3 python3-venv"
USERS = ("root", "plain")
SECONDS = 4 * 3600.0
"""For a machine with much else to do."""


def run_suite(machine: Machine, log: Transcript) -> bool:
    """Clone this checkout's last commit and run its suite; False where somebody's is red.

    Packages are installed before the boot, because the booted machine has no network.
    """
    machine.run(f"apt-get update -q && apt-get install -yq --no-install-recommends {PACKAGES}")
    machine.run("useradd --create-home --skel /root --shell /bin/bash plain")  # with root's settings of pip
    for user in USERS:
        clone = f"{_home(user)}/equipoise"
        subprocess.run(["git", "clone", "-q", ROOT, machine.root / clone.lstrip("/")], check=True)
        machine.run(f"chown -R {user}: {clone} && runuser -u {user} -- make -C {clone} .venv/.installed")
    machine.boot()
    try:
        green = {user: _green(machine, user, log) for user in USERS}
    finally:
        machine.stop()
    return all(green.values())


def _green(machine: Machine, user: str, log: Transcript) -> bool:
    log.say(f"make test rig world, as {user}")
    try:
        said = machine.run(f"runuser -l {user} -c 'make -C equipoise test rig world'", seconds=SECONDS)
    except WalkError as error:
        log.say(f"FAILED: {error}")
        return False
    for line in said.splitlines():
        if " passed" in line:
            log.say(line)
    return True


def _home(user: str) -> str:
    return "/root" if user == "root" else f"/home/{user}"
