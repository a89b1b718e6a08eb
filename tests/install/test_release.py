"""Versions that come from git, and releases that are the same wherever they are built."""

from __future__ import annotations

import hashlib
import os
import runpy
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

from equipoise.install.game_folders import plugin_version
from tests.walk.wheels import tag

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "hatch_build.py"
STEPS = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())["jobs"]["release"]["steps"]


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    run = subprocess.run(["git", "-C", str(folder), *who, *words], capture_output=True, text=True, check=True)
    return run.stdout.strip()


def version(folder: Path) -> str:
    found: str = runpy.run_path(str(folder / BUILD.name))["version"]()
    return found


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository of one commit."""
    for path in (BUILD, ROOT / ".gitattributes"):
        shutil.copy(path, tmp_path)
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "The first")
    return tmp_path


def archive(project: Path, commit: str, folder: Path) -> Path:
    """The source as a forge offers it for a commit: without git."""
    folder.mkdir()
    source = subprocess.run(["git", "-C", project, "archive", commit], capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", folder], input=source, check=True)
    return folder


def test_the_version_is_the_tags_and_between_two_of_them_that_of_the_release_to_come(project: Path) -> None:
    commit = git(project, "rev-parse", "--short=7", "HEAD")
    assert version(project) == f"0.2.0.dev1+g{commit}"
    git(project, "tag", "v0.3.9")
    assert version(project) == "0.3.9"
    git(project, "commit", "--quiet", "--allow-empty", "-m", "The second")
    assert version(project) == f"0.3.10.dev1+g{git(project, 'rev-parse', '--short=7', 'HEAD')}"
    git(project, "tag", "v1.0-rc")
    with pytest.raises(ValueError, match=r"the tag v1\.0-rc-0-g\w+ is no version: a release's is v1\.2\.3"):
        version(project)


def test_an_archive_of_source_knows_where_it_was_made(project: Path, tmp_path: Path) -> None:
    git(project, "tag", "v0.3.9")
    git(project, "commit", "--quiet", "--allow-empty", "-m", "The second")
    assert version(archive(project, "v0.3.9", tmp_path / "released")) == "0.3.9"
    assert version(archive(project, "HEAD", tmp_path / "later")).startswith("0.3.10.dev1+g")
    shutil.rmtree(project / ".git")
    assert version(project) == "0.2.0.dev0"


@pytest.fixture(scope="module")
def tagged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This commit as a release, in a clone."""
    clone = tmp_path_factory.mktemp("tagged") / "equipoise"
    tag(clone, "9.8.7")
    return clone


@pytest.fixture(scope="module")
def built(tagged: Path) -> Path:
    """The files that the steps of the workflow build; each step ends well."""
    ours = "PYTHON", "VIRTUAL_ENV", "MAKE", "ARGS"
    own = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    for step in STEPS:
        if "run" in step and step["name"] != "publish":
            command = ["bash", "-e", "-o", "pipefail", "-c", step["run"]]
            environ = own | {"GITHUB_REF_NAME": "v9.8.7"}
            run = subprocess.run(command, cwd=tagged, env=environ, capture_output=True, text=True, check=False)
            assert run.returncode == 0, f"{step['name']}: {run.stdout[-2000:]}{run.stderr[-2000:]}"
    return tagged / "dist"


@pytest.mark.world
def test_the_steps_of_the_workflow_build_a_release_and_publish_all_of_it(built: Path, tagged: Path) -> None:
    files = {path.name for path in built.iterdir()}
    assert files == {
        "NOTES.md",
        "SHA256SUMS",
        "constraints.txt",
        "equipoise-9.8.7-py3-none-any.whl",
        "equipoise-9.8.7.tar.gz",
        "equipoise-ns2-9.8.7.zip",
        "equipoise-sourcemod-9.8.7.zip",
        "install.sh",
    }
    (publish,) = (step["run"] for step in STEPS if step.get("name") == "publish")
    patterns = [word for word in publish.split() if word.startswith("dist/")]
    published = {path.name for pattern in patterns for path in tagged.glob(pattern)}
    assert published == files
    assert "The daemon: rates rounds" in (built / "NOTES.md").read_text()


@pytest.mark.world
def test_plugin_and_mod_say_the_version_of_the_release(built: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(built / "equipoise-9.8.7-py3-none-any.whl") as wheel:
        carried = wheel.read("equipoise/assets/sourcemod/equipoise.smx")
        mods = [wheel.read(name).decode() for name in wheel.namelist() if name.endswith("equipoise/server.lua")]
    with zipfile.ZipFile(built / "equipoise-sourcemod-9.8.7.zip") as plugin:
        assert plugin.read("addons/sourcemod/plugins/equipoise.smx") == carried
        again = plugin.read("addons/sourcemod/scripting/include/equipoise_version.inc").decode()
    assert again == '#define PLUGIN_VERSION "9.8.7"\n'
    assert plugin_version(carried) == "9.8.7"
    with zipfile.ZipFile(built / "equipoise-ns2-9.8.7.zip") as mod:
        mods += [mod.read(name).decode() for name in mod.namelist() if name.endswith("equipoise/server.lua")]
    assert ['local kVersion = "9.8.7"' in text for text in mods] == [True, True]


@pytest.mark.world
def test_another_machine_builds_the_same_bytes_at_another_time(built: Path, tagged: Path, tmp_path: Path) -> None:
    clone = tmp_path / "elsewhere"
    subprocess.run(["git", "clone", "--quiet", tagged, clone], check=True)
    command = [sys.executable, "release.py", "--tag", "v9.8.7", "--output", str(tmp_path / "out")]
    environ = os.environ | {"TZ": "Asia/Tokyo"}
    subprocess.run(command, cwd=clone, env=environ, check=True, capture_output=True, umask=0o077)
    assert (tmp_path / "out/SHA256SUMS").read_text() == (built / "SHA256SUMS").read_text()
    sums = dict(line.split("  ")[::-1] for line in (built / "SHA256SUMS").read_text().splitlines())
    files = [path for path in built.iterdir() if path.name != "SHA256SUMS"]
    assert sums == {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.parametrize(
    ("wheels", "said"),
    [
        ((), "there is no equipoise-*.whl beside it"),
        (("1.0.0", "1.0.1"), "several wheels beside it: leave the one to install (equipoise-1.0.0-py3-none-any.whl "),
    ],
)
def test_the_installation_refuses_what_it_cannot_install_before_it_does_anything(
    wheels: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    shutil.copy(ROOT / "install.sh", tmp_path)
    for version in wheels:
        (tmp_path / f"equipoise-{version}-py3-none-any.whl").touch()
    done = subprocess.run(["sh", tmp_path / "install.sh"], cwd="/", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, said in done.stderr) == (2, "", True), done.stderr


@pytest.mark.world
def test_a_release_says_what_is_missing(tagged: Path, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", tagged, clone], check=True)
    git(clone, "commit", "--quiet", "--allow-empty", "-m", "One more")

    def said(*words: str) -> str:
        command = [sys.executable, "release.py", *words]
        run = subprocess.run(command, cwd=clone, capture_output=True, text=True, check=False)
        assert run.returncode == 1
        return run.stderr

    assert said() == (
        "this commit has no tag of a version: git tag v0.2.0, then make release; or ARGS='--tag v0.2.0'\n"
    )
    assert said("--tag", "v1.0.0") == "there is no tag v1.0.0; git tag --list names those that there are\n"
    git(clone, "tag", "v9.9.0")
    assert said().startswith("CHANGELOG.md says nothing of 9.9.0: write `## [9.9.0] - DATE` below `## [Unreleased]`")
    assert not (clone / "dist").exists()
