"""What completes `equipoise …` in a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from equipoise.cli.options import examples, stop

VARIABLE = "_EQUIPOISE_COMPLETE"
"""Set by the shell's script: the command then prints completions, and does nothing else."""


@click.command(
    epilog=examples(
        "equipoise completion bash > /etc/bash_completion.d/equipoise",
        "source <(equipoise completion zsh)",
        "equipoise completion fish > ~/.config/fish/completions/equipoise.fish",
    )
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print what SHELL has to source so that Tab completes commands and options."""
    kind = get_completion_class(shell)
    if kind is None:
        stop(f"{shell} is not known")
    click.echo(kind(context.find_root().command, {}, "equipoise", VARIABLE).source())
