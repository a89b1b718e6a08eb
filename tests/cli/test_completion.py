"""What `equipoise completion` prints, sourced by the shells themselves."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.house import EQUIPOISE, run
from tests.programs import installed

BASH = """
source {script}
COMP_WORDS=(equipoise {words}); COMP_CWORD={place}
_equipoise_completion equipoise
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
ZSH = """
autoload -U compinit && compinit -u
compadd() {{ print -rl -- "$@" }}
_describe() {{ print -rl -- "${{(@P)3}}" "${{(@P)2}}" }}
words=(equipoise {words}); CURRENT={place}+1
source {script}
_equipoise_completion
"""
FISH = """
source {script}
complete -C 'equipoise {words}'
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shell", "program"), [("bash", BASH), ("zsh", ZSH), ("fish", FISH)], ids=["bash", "zsh", "fish"]
)
@pytest.mark.parametrize(
    ("words", "place", "expected"),
    [("ro", 1, {"round"}), ("player h", 2, {"history"}), ("round list --si", 3, {"--since"}), ("st", 1, {"status"})],
)
def test_the_shell_completes_commands_and_options(
    tmp_path: Path, shell: str, program: str, words: str, place: int, expected: set[str]
) -> None:
    installed(shell)
    script = tmp_path / "equipoise"
    script.write_text(run("completion", shell).stdout)
    environ = {**os.environ, "PATH": f"{EQUIPOISE.parent}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    command = [shell, "-c", program.format(script=script, words=words, place=place)]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environ)
    found = {line.split()[0].split(":")[0] for line in shown.stdout.splitlines() if line.strip()}
    assert found & {"round", "history", "--since", "status", "rounds", "server", "serve"} == expected, shown


def test_a_shell_that_is_not_known_is_refused() -> None:
    refused = run("completion", "csh")
    assert refused.returncode == 2
    assert "bash" in refused.stderr
