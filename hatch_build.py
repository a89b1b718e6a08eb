"""The version, and the files in the wheel that an operator needs beside the daemon: unit, plugin, mod, configuration.

An editable installation finds all of it in its checkout, and builds plugin and mod when they are asked for
(`equipoise.install.file_changes`).
"""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ASSETS = "equipoise/assets"
FILES = (
    "config.example.toml",
    "systemd",
    "sourcemod/LICENSE",
    "sourcemod/README.md",
    "sourcemod/scripting",
    "sourcemod/translations",
)
"""The plugin's source comes with the compiled plugin, as its licence asks."""


ROOT = Path(__file__).parent
FIRST = "0.2.0"
"""The version before which no release has a tag."""
ARCHIVED = "$Format:%(describe:tags=true,match=v[0-9]*)$"
"""Set by git in the archives of source that a forge offers (`.gitattributes`)."""


def version() -> str:
    """Return the version: a release's where its tag is, otherwise that of the release to come, with the commit.

    `v0.2.0` is 0.2.0, seventeen commits later it is 0.2.1.dev17+g1234567. Without git, in an archive of source, git has
    written down where it was made; in an sdist hatchling reads its PKG-INFO and does not ask.
    """
    if not (ROOT / ".git").exists():
        described = "" if ARCHIVED.startswith("$") else ARCHIVED
    elif not (described := _git("describe", "--tags", "--match", "v[0-9]*", "--long", "--abbrev=7")):
        # No release yet, or a clone of one commit.
        described = f"-{_git('rev-list', '--count', 'HEAD') or 0}-g{_git('rev-parse', '--short=7', 'HEAD') or 0}"
    parts = re.fullmatch(r"(?:v(\d+\.\d+\.)(\d+))?(?:-(\d+)-(g[0-9a-f]+))?", described)
    if parts is None:
        raise ValueError(f"the tag {described} is no version: a release's is v1.2.3")
    series, patch, distance, commit = parts.groups()
    if series and not int(distance or 0):
        return f"{series}{patch}"
    coming = f"{series}{int(patch) + 1}" if series else FIRST
    return f"{coming}.dev{distance or 0}{f'+{commit}' if commit else ''}"


def _git(*words: str) -> str:
    """Return what git says, empty where it refuses or is not there."""
    try:
        run = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return "" if run.returncode else run.stdout.strip()


class Assets(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the files, the NS2 mod, and the plugin where SourceMod's compiler runs."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build plugin and mod, and name all files to the builder."""
        if version == "editable":
            return
        root = Path(self.root)
        build_data["force_include"].update({str(root / name): f"{ASSETS}/{name}" for name in FILES})
        self._folder = tempfile.mkdtemp()
        release = self.metadata.version
        mod = runpy.run_path(str(root / "ns2mod" / "build.py"))["build"](Path(self._folder), release)
        build_data["force_include"][str(mod)] = f"{ASSETS}/ns2mod"
        plugin = Path(self._folder) / "equipoise.smx"
        sourcemod = runpy.run_path(str(root / "sourcemod" / "build.py"))
        try:
            sourcemod["compile_plugin"](plugin, release)
        except sourcemod["NoCompiler"] as error:
            self.app.display_warning(
                f"The wheel is built WITHOUT the SourceMod plugin: {error}. Everything else works; to have the plugin "
                f"too, build the wheel on x86-64, or copy equipoise.smx from there."
            )
        else:
            build_data["force_include"][str(plugin)] = f"{ASSETS}/sourcemod/equipoise.smx"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was built, which is in the wheel now."""
        if version != "editable":
            shutil.rmtree(self._folder)
