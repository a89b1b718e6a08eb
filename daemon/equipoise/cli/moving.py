"""`equipoise pool export` and `pool import`: a whole pool as a file, and first ratings from elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

import click

from equipoise.cli.options import PRIVATE, config_option, stop
from equipoise.cli.remote import token_option, url_option
from equipoise.errors import ConfigError, FileError, RatingError, ScriptError, StoreError

EXPORT_EXAMPLES = """\b
Examples:
  equipoise pool export main main.jsonl
  equipoise pool export main - | zstd > main.jsonl.zst
"""
IMPORT_EXAMPLES = """\b
Examples:
  equipoise pool import main.jsonl
"""


@click.command("export", epilog=EXPORT_EXAMPLES)
@config_option
@url_option
@token_option
@click.argument("name", metavar="[POOL]", default="main")
@click.argument("target", metavar="[FILE]", type=click.Path(path_type=Path), default=Path("-"))
def export_pool(path: Path, name: str, target: Path, url: str | None, token: str | None) -> None:
    """Write a whole pool as JSON Lines into FILE, which must not exist, or `-` for standard output.

    The running daemon answers with the pool as it is at one moment, and goes on serving. If none runs, the store is
    read directly. docs/moving.md has the format.
    """
    from equipoise.cli.exporting import export

    os.umask(PRIVATE)
    try:
        export(path, name, target, url, token)
    except (ConfigError, StoreError) as error:
        stop(error)


@click.command("import", epilog=IMPORT_EXAMPLES)
@config_option
@click.option("--pool", "name", help="The pool to fill. [default: the exported pool's name]")
@click.argument("source", metavar="FILE", type=click.Path(path_type=Path, exists=True, dir_okay=False))
def import_pool(path: Path, name: str | None, source: Path) -> None:
    """Fill an empty pool from FILE, which `pool export` wrote.

    The daemon must be stopped. Everything is imported, or nothing. Importing the same file again changes nothing.
    """
    from equipoise.cli.importing import import_export

    os.umask(PRIVATE)
    try:
        import_export(path, name, source)
    except FileError as error:
        stop(f"{source}: {error}; nothing was imported")
    except (ConfigError, RatingError, ScriptError, StoreError) as error:
        stop(error)
