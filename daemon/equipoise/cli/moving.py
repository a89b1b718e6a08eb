"""`equipoise pool export` and `pool import`: a whole pool as a file, and first ratings from elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

import click

from equipoise.cli.options import FAILED, PRIVATE, config_option, examples, stop, yes_option
from equipoise.cli.remote import token_option, url_option
from equipoise.errors import ConfigError, FileError, RatingError, ScriptError, StoreError, StoreRefused

EXPORT_EXAMPLES = examples(
    "equipoise pool export main main.jsonl",
    "equipoise pool export main - | zstd > main.jsonl.zst",
)
IMPORT_EXAMPLES = examples(
    "equipoise pool import main.jsonl",
    "equipoise pool import --ratings skills.csv",
    "equipoise pool import --hlstatsx hlstatsx.sql --game-code tf",
    "equipoise pool import --hlstatsx players.csv --hlstatsx ids.csv --yes",
)

_file = click.Path(path_type=Path, exists=True, dir_okay=False, readable=True)


@click.command("export", epilog=EXPORT_EXAMPLES)
@config_option
@url_option
@token_option
@click.argument("name", metavar="[POOL]", required=False)
@click.argument("target", metavar="[FILE]", type=click.Path(path_type=Path), default=Path("-"))
def export_pool(path: Path, name: str | None, target: Path, url: str | None, token: str | None) -> None:
    """Write a whole pool as JSON Lines into FILE, which must not exist, or `-` for standard output.

    POOL may be left out where there is only one pool, and both.

    The running daemon answers with the pool as it is at one moment, and goes on serving. If none runs, the store is
    read directly. docs/moving.md has the format.
    """
    from equipoise.cli.exporting import export

    os.umask(PRIVATE)
    try:
        export(path, name, target, url, token)
    except (ConfigError, StoreRefused) as error:
        stop(error)
    except StoreError as error:
        stop(f"{error}; nothing was exported", FAILED)


@click.command("import", epilog=IMPORT_EXAMPLES)
@config_option
@click.option("--pool", "name", help="The pool. [default: that of the export; else the only one]")
@click.option("--ratings", "table", type=_file, help="First ratings from CSV: id,rating[,rounds].")
@click.option("--hlstatsx", type=_file, multiple=True, help="A dump of HLstatsX:CE's database, or its tables as CSV.")
@click.option("--game-code", "game", default="tf", show_default=True, help="HLstatsX:CE's name of the game.")
@click.option(
    "--spread",
    type=click.FloatRange(min=0, min_open=True),
    help="Standard deviation of ratings from HLstatsX:CE. [default: 200 points, or half of a newcomer's uncertainty]",
)
@click.option("--overwrite", is_flag=True, help="Also players who have rated rounds.")
@yes_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON; first ratings are written only with --yes.")
@click.argument("source", metavar="[FILE]", type=_file, required=False)
def import_pool(
    path: Path,
    name: str | None,
    source: Path | None,
    table: Path | None,
    hlstatsx: tuple[Path, ...],
    game: str,
    spread: float | None,
    overwrite: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Fill an empty pool from FILE, which `pool export` wrote; or give players first ratings from elsewhere.

    The daemon must be stopped. Everything is imported, or nothing. First ratings are shown before they are written, and
    only players without rated rounds get one. HLstatsX:CE counts kills, so only the order that its skill makes is taken
    over, spread around a newcomer's rating. docs/moving.md has the details.
    """
    if sum((source is not None, table is not None, bool(hlstatsx))) != 1:
        raise click.UsageError("Give one of FILE, --ratings and --hlstatsx.")
    if source and overwrite:
        raise click.UsageError("--overwrite is for --ratings and --hlstatsx: a pool that FILE fills is empty.")
    if spread and not hlstatsx:
        raise click.UsageError("--spread is for --hlstatsx.")
    os.umask(PRIVATE)
    how = {"overwrite": overwrite, "yes": yes, "as_json": as_json}
    try:
        if source is not None:
            from equipoise.cli.importing import import_export

            import_export(path, name, source, as_json=as_json)
            return
        from equipoise.cli import first_ratings

        if table is not None:
            first_ratings.import_table(path, name, table, **how)
        else:
            first_ratings.import_hlstatsx(path, name, hlstatsx, game=game, spread=spread, **how)
    except FileError as error:
        stop(f"{error.file or source or table or hlstatsx[-1]}: {error}; nothing was imported")
    except (ConfigError, RatingError, ScriptError, StoreRefused) as error:
        stop(error)
    except StoreError as error:
        stop(f"{error}; nothing was imported", FAILED)
