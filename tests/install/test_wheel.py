"""What the wheel carries, built from the sdist as a package index would have it."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from equipoise.install.game_folders import plugin_version

pytestmark = pytest.mark.world
ROOT = Path(__file__).parents[2]


def build(target: str, checkout: Path, folder: Path, **environ: str) -> tuple[Path, str]:
    """A wheel or an sdist of a checkout, and what the build said."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    run = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False, env=os.environ | environ)
    assert run.returncode == 0, run.stderr
    (built,) = folder.iterdir()
    return built, run.stdout + run.stderr


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist, unpacked where nothing else of the checkout is."""
    sdist, _ = build("sdist", ROOT, tmp_path_factory.mktemp("sdist"))
    folder = tmp_path_factory.mktemp("unpacked")
    subprocess.run(["tar", "-xf", sdist, "-C", folder], check=True)
    (checkout,) = folder.iterdir()
    return checkout


@pytest.fixture(scope="module")
def wheel(unpacked: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    built, said = build("wheel", unpacked, tmp_path_factory.mktemp("wheel"))
    assert "WITHOUT" not in said
    return built


def build_mod(folder: Path, version: str) -> Path:
    """The NS2 mod's folder as `make plugin` writes it."""
    command = [sys.executable, str(ROOT / "ns2mod" / "build.py"), "--output", str(folder / "mod"), "--release", version]
    subprocess.run(command, check=True, capture_output=True)
    (built,) = (path for path in (folder / "mod").iterdir() if path.is_dir())
    return built


def test_the_wheel_carries_what_an_operator_needs_and_names_both_licences(wheel: Path, tmp_path: Path) -> None:
    version = wheel.name.split("-")[1]
    with zipfile.ZipFile(wheel) as archive:
        carried = {name: archive.read(name) for name in archive.namelist()}
    assets = {name.removeprefix("equipoise/assets/"): data for name, data in carried.items() if "/assets/" in name}
    needed = ["config.example.toml", *(f"systemd/{path.name}" for path in (ROOT / "systemd").iterdir())]
    sources = [
        path
        for folder in ("scripting", "translations")
        for path in (ROOT / "sourcemod" / folder).rglob("*")
        if path.is_file()
    ]
    needed += ["sourcemod/LICENSE", "sourcemod/README.md", *(path.relative_to(ROOT).as_posix() for path in sources)]
    assert {name: assets.pop(name) for name in needed} == {name: (ROOT / name).read_bytes() for name in needed}
    mod = {name: assets.pop(name) for name in list(assets) if name.startswith("ns2mod/")}
    built = build_mod(tmp_path, version)
    assert mod == {
        f"ns2mod/{path.relative_to(built)}": path.read_bytes() for path in built.rglob("*") if path.is_file()
    }
    assert list(assets) == ["sourcemod/equipoise.smx"]
    assert plugin_version(assets["sourcemod/equipoise.smx"]) == version
    (metadata,) = (data.decode() for name, data in carried.items() if name.endswith(".dist-info/METADATA"))
    assert "License-Expression: MIT AND GPL-3.0-or-later" in metadata
    assert "License-File: sourcemod/LICENSE" in metadata


def test_where_the_compiler_does_not_run_the_wheel_is_built_without_the_plugin_and_says_so(
    unpacked: Path, tmp_path: Path
) -> None:
    """A compiler that cannot be executed stands for a machine of another kind: the kernel answers both with ENOEXEC."""
    broken = tmp_path / "packages" / "smx"
    (broken / "spcomp").mkdir(parents=True)
    (broken / "include").mkdir()
    for name in ("__init__.py", "include/core.inc", "include/sourcemod.inc"):
        (broken / name).touch()
    (broken / "spcomp" / "spcomp.elf64").write_bytes(b"\x7fELF of another machine")
    (broken / "spcomp" / "spcomp.elf64").chmod(0o755)
    built, said = build("wheel", unpacked, tmp_path / "wheel", PYTHONPATH=str(broken.parent))
    assert "WITHOUT the SourceMod plugin" in said
    assert "Exec format error" in said
    with zipfile.ZipFile(built) as archive:
        names = archive.namelist()
    assert "equipoise/assets/sourcemod/equipoise.smx" not in names
    assert "equipoise/assets/systemd/equipoise.service" in names
