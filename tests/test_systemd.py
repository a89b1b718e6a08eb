"""The unit: the same for all servers, and judged by systemd's own programs where the machine has them."""

from __future__ import annotations

import configparser
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.programs import installed

FOLDER = Path(__file__).parents[1] / "systemd"
UNIT = FOLDER / "equipoise.service"


def settings(section: str) -> list[str]:
    """The lines of a section, without comments."""
    text = UNIT.read_text().partition(f"[{section}]\n")[2].partition("\n[")[0]
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def test_the_unit_has_no_line_for_a_server() -> None:
    credentials = [line for line in settings("Service") if "Credential" in line]
    assert credentials == ["LoadCredential=secrets:/etc/equipoise/secrets", "SetCredential=secrets:none"]


def test_what_a_restart_cannot_mend_is_not_started_again() -> None:
    assert {"Restart=always", "RestartPreventExitStatus=2"} <= set(settings("Service"))


KEPT_FROM_THE_SYSTEM = """
from pathlib import Path
def resident():
    return int(Path("/proc/self/status").read_text().split("VmRSS:")[1].split()[0])
def matrix():
    return bytearray(2_000_000)
matrix()  # without the settings, blocks as large as one that was freed are kept by the process
before, later = resident(), []
for _ in range(8):
    used = matrix()
    later.append(bytearray(60_000))
    del used
print(resident() - before - 8 * 60)
"""


def test_the_memory_of_matrices_goes_back_to_the_system() -> None:
    """They are copied after each round where `joint` makes the teams."""
    given = dict(line.removeprefix("Environment=").split("=") for line in settings("Service") if "Environment" in line)
    said = subprocess.run([sys.executable, "-c", KEPT_FROM_THE_SYSTEM], env=given, capture_output=True, timeout=60)
    assert int(said.stdout) < 1000, "kB"


def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path) -> None:
    # What it starts is not installed here, and only its place differs.
    program = tmp_path / "equipoise"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text().replace("/usr/local/bin/equipoise", str(program)))
    said = subprocess.run([installed("systemd-analyze"), "verify", copy], capture_output=True, text=True, timeout=60)
    assert (said.returncode, said.stdout, said.stderr) == (0, "", "")


def test_the_unit_is_as_closed_as_the_design_asks() -> None:
    command = [installed("systemd-analyze"), "security", "--offline=true", "--no-pager", UNIT]
    said = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
    found = re.search(r"Overall exposure level for equipoise.service: ([\d.]+)", said)
    assert found is not None, said
    assert float(found[1]) <= 1.1


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.conf")), ids=lambda path: path.name)
def test_a_drop_in_can_be_read_and_names_its_place(path: Path) -> None:
    parser = configparser.ConfigParser(strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(path)
    assert parser.sections()[-1] == "Service"
    assert set(parser.sections()) <= {"Unit", "Service"}
    assert f"/etc/systemd/system/equipoise.service.d/{path.name}" in path.read_text()
