"""Minimal Debian roots, made once and copied for every walk."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from tests.walk import host
from tests.walk.machine import Machine
from tests.walk.transcript import Transcript

RELEASES = {12: "bookworm", 13: "trixie"}
INCLUDED = "systemd,systemd-sysv,dbus,ca-certificates"


def machine(debian: int, cache: Path, transcript: Transcript) -> Machine:
    """An empty machine with this release; its root is made if it is not there."""
    folder = cache / f"debian{debian}"
    place = folder / "root"
    if not place.is_dir():
        transcript.say(f"debootstrap makes {place}")
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = folder / "unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        mirror = [where] if (where := host.mirror()) else []
        command = [
            "debootstrap",
            "--variant=minbase",
            f"--include={INCLUDED}",
            RELEASES[debian],
            str(unfinished),
            *mirror,
        ]
        with (folder / "debootstrap.log").open("w") as log:
            # Packages' scripts write into /tmp and expect no folder of this machine's user there.
            environ = {name: value for name, value in os.environ.items() if name != "TMPDIR"}
            subprocess.run(command, stdout=log, stderr=log, check=True, env=environ)
        unfinished.rename(place)
    host.copy_settings(place, RELEASES[debian])
    return Machine(folder, transcript)
