"""Puts into the wheel what an operator needs beside the daemon: unit, plugin, mod, reference of the configuration.

An editable installation finds all of it in its checkout, and builds plugin and mod when they are asked for
(`equipoise.install.assets`).
"""

from __future__ import annotations

import runpy
import shutil
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


class Assets(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the files, the NS2 mod, and the plugin where SourceMod's compiler runs."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build plugin and mod, and name all files to the builder."""
        if version == "editable":
            return
        root = Path(self.root)
        build_data["force_include"].update({str(root / name): f"{ASSETS}/{name}" for name in FILES})
        self._folder = tempfile.mkdtemp()
        mod = runpy.run_path(str(root / "ns2mod" / "build.py"))["build"](Path(self._folder))
        build_data["force_include"][str(mod)] = f"{ASSETS}/ns2mod"
        plugin = Path(self._folder) / "equipoise.smx"
        sourcemod = runpy.run_path(str(root / "sourcemod" / "build.py"))
        try:
            sourcemod["compile_plugin"](plugin)
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
