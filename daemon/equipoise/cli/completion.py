"""The files by which bash, zsh and fish complete commands: written by `init`, and found again to be removed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import click
from click.shell_completion import ShellComplete, get_completion_class

from equipoise.install.file_changes import Changes

VARIABLE = "_EQUIPOISE_COMPLETE"
"""Set by the shell's script: the command then prints completions, and does nothing else."""
Shell = Literal["bash", "zsh", "fish"]
Places = Mapping[Shell, Path]
SYSTEM: Places = {
    "bash": Path("/usr/local/share/bash-completion/completions/equipoise"),
    "zsh": Path("/usr/local/share/zsh/site-functions/_equipoise"),
    "fish": Path("/etc/fish/completions/equipoise.fish"),
}
"""Files for all users, in the folders for what no package of the system brings."""


def own() -> Places:
    """Return the user's files."""
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    config = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return {
        "bash": data / "bash-completion" / "completions" / "equipoise",
        "zsh": data / "zsh" / "site-functions" / "_equipoise",
        "fish": config / "fish" / "completions" / "equipoise.fish",
    }


def script(shell: Shell) -> str:
    """Return what the shell has to source."""
    kind = get_completion_class(shell)
    assert kind is not None
    # Not the class's own `source`: for bash that starts a shell, to ask for its version.
    return ShellComplete.source(kind(click.Command("equipoise"), {}, "equipoise", VARIABLE)) + "\n"


def install(places: Places, folder: Path) -> list[str]:
    """Write the files, all of them below a folder, as its owner; return what to say of them.

    A file that is not ours stays; in a folder that is not there nothing is written. ConfigError: one cannot be written.
    """
    if not folder.is_dir():
        return []
    changes = Changes(folder)
    for shell, path in places.items():
        if not path.exists() or _is_ours(path):
            changes.write(path, script(shell).encode())
    with changes.applied():
        written = changes.written()
    if not written:
        return []
    lines = ["Tab completes commands in new shells, by these files:", *(f"  {path}" for path in written)]
    zsh = own()["zsh"]
    if zsh in written and os.environ.get("SHELL", "").endswith("/zsh"):
        lines.append(f"zsh needs a line in ~/.zshrc, above compinit: fpath+=({zsh.parent})")
    return lines


def installed(places: Places) -> list[Path]:
    """Return those of the files that are there and were written by `install`."""
    return [path for path in places.values() if _is_ours(path)]


def _is_ours(path: Path) -> bool:
    try:
        return VARIABLE in path.read_text("utf-8", "replace")
    except OSError:
        return False


@click.command(hidden=True)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: Shell) -> None:
    """Print what SHELL has to source: the command of before, for one release."""
    click.echo("`equipoise completion` is now `equipoise init --completion`, which installs it.", err=True)
    click.echo(script(shell), nl=False)
