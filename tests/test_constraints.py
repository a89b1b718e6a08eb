"""constraints.txt pins everything that the daemon needs, with hashes, within the ranges of pyproject.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import requires, version
from pathlib import Path

import pytest
from packaging.markers import Marker, default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name as canonical

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "constraints.txt").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PYTHONS = "3.11", "3.12", "3.13", "3.14"
MACHINES = "x86_64", "aarch64"


@dataclass(frozen=True)
class Pin:
    """A version of a package, on the Pythons and platforms that its marker names."""

    name: str
    version: str
    marker: Marker | None
    hashes: tuple[str, ...]

    def holds(self, environment: dict[str, str]) -> bool:
        return self.marker is None or self.marker.evaluate(environment)


def pins() -> Iterator[Pin]:
    for line in re.sub(r"\\\n *", "", TEXT).splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            words, *hashes = line.split(" --hash=")
            wanted = Requirement(words)
            (pinned,) = wanted.specifier
            assert pinned.operator == "==", line
            yield Pin(canonical(wanted.name), pinned.version, wanted.marker, tuple(each.strip() for each in hashes))


PINS = tuple(pins())


def environments() -> Iterator[dict[str, str]]:
    for python in PYTHONS:
        for machine in MACHINES:
            yield dict(default_environment()) | {
                "python_version": python,
                "python_full_version": f"{python}.0",
                "platform_machine": machine,
                "extra": "",
            }


def test_every_pin_has_hashes() -> None:
    assert len(PINS) > len(PROJECT["dependencies"])
    assert [pin.name for pin in PINS if not pin.hashes] == []
    assert {len(digest) for pin in PINS for digest in pin.hashes if digest.startswith("sha256:")} == {
        len("sha256:") + 64
    }


def test_no_address_of_an_index_is_in_it() -> None:
    assert re.findall(r"^ *-[^-].*|://|file:|--(?!hash=).*", TEXT, re.MULTILINE) == []


@pytest.mark.parametrize("environment", list(environments()), ids="{0[python_version]}-{0[platform_machine]}".format)
def test_every_dependency_has_one_version_within_its_range(environment: dict[str, str]) -> None:
    here = {pin.name: pin.version for pin in PINS if pin.holds(environment)}
    assert len(here) == sum(pin.holds(environment) for pin in PINS)
    for wanted in map(Requirement, PROJECT["dependencies"]):
        assert wanted.specifier.contains(here[canonical(wanted.name)]), str(wanted)


def test_everything_that_the_pinned_versions_need_is_pinned_too() -> None:
    """Of packages that are installed in the pinned version: of others it is not known what that version needs."""
    environment = dict(default_environment()) | {"extra": ""}
    here = {pin.name: pin.version for pin in PINS if pin.holds(environment)}
    missing, looked_at = [], 0
    for name, pinned in here.items():
        if version(name) != pinned:
            continue
        looked_at += 1
        for wanted in map(Requirement, requires(name) or ()):
            if wanted.marker is None or wanted.marker.evaluate(environment):
                found = here.get(canonical(wanted.name))
                if found is None or not wanted.specifier.contains(found):
                    missing.append(f"{name} needs {wanted}, pinned is {found}")
    assert missing == []
    assert looked_at > 0
