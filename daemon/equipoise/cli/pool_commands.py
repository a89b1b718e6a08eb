"""Commands on whole pools: some ask the running daemon; others need it stopped, and open the store themselves."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from equipoise.cli import Group
from equipoise.cli.client import (
    REFUSED,
    Client,
    listing,
    one_pool,
    players,
    pool_option,
    pool_options,
    pools,
    print_json,
    remote,
    token_option,
    url_option,
)
from equipoise.cli.histories import pool_history_options, reports_errors
from equipoise.cli.options import FAILED, PRIVATE, config_option, dry_run_option, examples, stop, yes_option
from equipoise.cli.output import (
    NAME,
    counted,
    field,
    json_text,
    local_time,
    moment,
    print_items,
    print_note,
    print_table,
    progress,
)
from equipoise.cli.sharing import join, leave, share, upgrade
from equipoise.core.model import Mode
from equipoise.core.wording import interval, percent
from equipoise.errors import ConfigError, FileError, RatingError, ScriptError, SpillError, StoreError, StoreRefused
from equipoise.lab.svg import printable

if TYPE_CHECKING:
    from equipoise.config import Pool
    from equipoise.ratings.history import History
    from equipoise.ratings.trueskill2.params import TrueSkill2Params


@click.group(cls=Group)
def pool() -> None:
    """Rating populations."""


for command in (share, join, leave, upgrade):
    pool.add_command(command)


@pool.command("fit-theta", epilog=examples("equipoise pool fit-theta --pool main"))
@remote
@pool_options
def fit_theta(client: Client, name: str, as_json: bool) -> None:
    """Fit the scale of the logistic to a pool's stored rounds.

    The result is proposed if it is at least two standard errors from the present scale. Exit code 1: none is proposed.
    """
    answer = client.get("pools", name, "theta")
    if print_json(answer, as_json):
        return
    fit = answer["fit"]
    if fit is None and answer["missing"]:
        stop(f"{answer['rounds']} rounds are stored; {answer['missing']} more are needed", REFUSED)
    if fit is None:
        stop("no scale fits: favourites won no more often than others, or always", REFUSED)
    click.echo(f"theta     {fit['theta']:.0f} ± {fit['error']:.0f} fits {answer['rounds']:,} rounds best")
    click.echo(f"          {answer['theta']:.0f} is the present value")
    click.echo(f"log loss  {fit['log_loss_before']:.4f} → {fit['log_loss']:.4f}")
    if answer["missing"]:
        from equipoise.web.predictions import MOST

        # A fit looks at MOST rounds: more than that would not help.
        more = f"about {answer['missing']:,} more rounds would tell them apart"
        why = more if answer["missing"] < MOST else "they are practically equal"
        stop(f"not proposed: less than two standard errors apart; {why}", REFUSED)
    click.echo(f"\n[pool.{answer['pool']}]\ntheta = {fit['theta']:.1f}\n")
    click.echo(f"Ratings depend on it: `equipoise pool recompute --pool {name}` computes them again.")


@pool.command(epilog=examples("equipoise pool recompute --system trueskill --set shadow_rounds=30"))
@config_option
@pool_options
@click.option("--system", help="The new rating system, at its defaults. [default: as configured]")
@click.option("--set", "pairs", multiple=True, metavar="KEY=VALUE", help="A parameter; may be repeated.")
@click.option("--without-pruned-rounds", "from_rest", is_flag=True, help="Go on although old rounds were deleted.")
@yes_option
@click.option("--json", "as_json", is_flag=True, help="Print the difference as JSON; written only with --yes.")
def recompute(
    path: Path, name: str | None, system: str | None, pairs: Sequence[str], from_rest: bool, yes: bool, as_json: bool
) -> None:
    """Rate a pool's stored rounds again, with another system or other parameters.

    The daemon must be stopped. The change in prediction quality is shown first; the old ratings stay until you agree.
    """
    import asyncio

    from equipoise.cli.recomputing import Recomputing

    os.umask(PRIVATE)
    try:
        work = Recomputing.of(path, name, system, pairs, from_rest=from_rest)
        asyncio.run(work.run(yes=yes, as_json=as_json))
    except (ConfigError, RatingError, ScriptError, SpillError, StoreError) as error:
        stop(error)


_BY = {"squad": "squad", "experience": "rounds before", "last": "last outcome"}


@pool.command(epilog=examples("equipoise pool quality", "equipoise pool quality --pool main --json"))
@remote
@pool_options
def quality(client: Client, name: str, as_json: bool) -> None:
    """How well a pool's predictions hold, over its last 500 rounds.

    Also for groups of players: by squad size, rounds played and last outcome. A difference above 0 says that the sides
    of these players scored more than predicted.
    """
    answer = client.get("pools", name, "quality")
    if print_json(answer, as_json):
        return
    crowd, measures = answer["players"], answer["quality"]
    _show_typical(answer["typical"])
    click.echo(f"{crowd['count']} players: {crowd['visible']} shown, {crowd['shadow']} shadow, {crowd['stale']} stale.")
    if measures is None:
        click.echo("No rounds have been rated yet.")
        return
    balance = answer["balance"]
    teams = measures if balance is None else balance["quality"]
    for measure in ("brier", "log_loss"):
        _say(measure.replace("_", " "), f"{teams[measure]['value']:.4f}")
    _say("calibration", f"{teams['calibration_error']:.4f} off on average, over {teams['rounds']} rounds")
    if balance is not None:
        less = balance["difference"]["log_loss"]  # so much less is this one's than that of the system that is shown
        error = "" if less["error"] is None else f" ± {less['error']:.4f}"
        worse = f"{-less['value']:+.4f}{error} against what was said"
        _say("as shown", f"log loss {measures['log_loss']['value']:.4f}, {worse}, over {measures['rounds']} rounds")
    if answer["suggested_theta"] is not None:
        _say("theta", f"{answer['suggested_theta']:.0f} would have predicted best")
    sizes = answer["team_sizes"]
    if sizes is not None and (better := sizes["suggested_k_max"]) is not None:
        _say(
            "k_max",
            f"the teams need {better}; it is {sizes['k_max']}. `pool recompute --set k_max={better}` shows more",
        )
    _show_spread(answer["learnt_spread"], answer["spread"])
    if (calibration := answer["calibration"]) is not None:
        taught = (
            f"{_described(calibration)}, on {local_time(calibration['at'])[:10]} by {calibration['rounds']:,} rounds"
        )
        _say("calibrated", taught)
    for mode_scores in answer["scores"]:
        _show_scores(mode_scores)
    if answer["groups"]:
        click.echo("" if balance is None else "\nBy the ratings that are shown:")
        _show_groups(answer["groups"])


@pool.command(epilog=examples("equipoise pool calibrate --dry-run", "equipoise pool calibrate --pool main --json"))
@remote
@pool_options
@dry_run_option
def calibrate(client: Client, name: str, dry_run: bool, as_json: bool) -> None:
    """Calibrate what is said of chances by a pool's own results.

    Fitted to the last 5,000 rounds: a factor of the log-odds, and what sides and maps are worth. It is used if the last
    30 % of them are predicted better by a fit to those before, by two standard errors: better than without one, and
    than by the present one. The present one ends if predictions as they are have become better than it. The daemon
    does it once a week. Ratings do not change. Exit code 1: it is not better.
    """
    answer = client.send("POST", "pools", name, "calibrate", body={"dry_run": dry_run})
    fit = answer["found"]
    if not print_json(answer, as_json):
        if fit is None:
            stop("too few rounds, or favourites lose: 300 rounds are needed", REFUSED)
        _show_calibration(fit, answer["present"])
    if fit is None or not fit["better"]:
        stop("it is not better by two standard errors: what is said stays as it is", REFUSED)
    if not as_json:
        click.echo("\nA dry run: nothing was changed." if dry_run else "\nThis is said from now on.")


def _show_calibration(found: dict[str, Any], present: dict[str, Any] | None) -> None:
    unseen = "of rounds that it had not seen"
    if found["better"] and not found["error"]:
        _say("calibrated", f"no longer: predictions as they are fit the last of {found['rounds']:,} rounds better")
    else:
        _say("calibrated", f"{_described(found)}, by {found['rounds']:,} rounds")
        for name, worth in sorted(found["maps"].items(), key=lambda item: -abs(item[1])):
            _say("", f"{name} {worth:+.2f}")
        _say("log loss", f"{-found['gain']:+.4f} ± {found['error']:.4f} against none, {unseen}")
    if present is not None:
        _say("", f"{-found['gain_on_present']:+.4f} ± {found['error_on_present']:.4f} against the present one")


def _described(calibration: dict[str, Any]) -> str:
    """The factor of log-odds, what sides are worth, and how many maps."""
    sides = ", ".join(f"{side} {worth:+.2f}" for side, worth in sorted(calibration["sides"].items()))
    maps = f", {counted(len(calibration['maps']), 'map')}" if calibration["maps"] else ""
    return f"temperature {calibration['temperature']:.2f}{', ' if sides else ''}{sides}{maps}"


def _show_spread(learnt: dict[str, Any] | None, found: dict[str, Any] | None) -> None:
    """Print what the rounds have taught of how far skills differ, and what they say now."""
    if learnt is not None:
        taught = f"{learnt['spread']:.3g} ± {learnt['error']:.2g}, learnt on {local_time(learnt['at'])[:10]}"
        _say("spread", f"{taught} by {learnt['rounds']:,} rounds; it began at {learnt['configured']:.3g}")
    if found is not None and not found["missing"]:
        fits = f"{found['spread']:.3g} ± {found['error']:.2g} fits best; it is {found['present']:.3g}"
        _say("spread", f"{fits}; the daemon learns it at night, once a week at most")


def _show_typical(typical: dict[str, Any] | None) -> None:
    """How even rounds are, in sentences."""
    if typical is not None:
        random = "" if typical["random"] is None else f" Random teams: {100 * typical['random']:.0f} %."
        click.echo(f"A typical round: the stronger side has {100 * typical['favourite']:.0f} %.{random}")
        click.echo(f"Within 45 to 55 %: {100 * typical['even']:.0f} % of the rounds.\n")


def _say(what: str, text: str) -> None:
    print_note(text, f"{what:<12}")


def _show_scores(found: dict[str, Any]) -> None:
    """Print what own scores count for in one mode."""
    mode, rounds = found["mode"] or "every mode", counted(found["rounds"], "round")
    use = "are used" if found["used"] else "are not used: they do not predict results better than wins alone"
    _say("own scores", f"in {mode} {use} ({found['gain']:+.1f} nats over {rounds})")
    if not found["used"]:
        return
    weights = (
        f"{feature['feature']} {feature['weight']:+.3f} ± {feature['deviation']:.3f}" for feature in found["weights"]
    )
    _say("", ", ".join(weights))
    offset = "" if found["offset"] is None else f", lasting offsets {found['offset']:.2f} log-odds"
    _say("", f"one round's score correlates {found['correlation']:.2f} with skill{offset}")


def _show_groups(groups: list[dict[str, Any]]) -> None:
    rows = []
    for group in groups:
        less = group["difference"]
        means = percent(group["predicted"], 1), percent(group["scored"], 1)
        error = "" if less["error"] is None else f" ± {percent(less['error'], 1)}"
        difference = f"{'+' if less['value'] >= 0 else ''}{percent(less['value'], 1)}{error}"
        rows.append(
            (_BY[group["by"]], group["name"], f"{group['rounds']:,}", f"{group['players']:,}", *means, difference)
        )
    print_table(("BY", "GROUP", "ROUNDS", "PLAYERS", "PREDICTED", "SCORED", "DIFFERENCE"), rows, texts=2)


AGAINST = "vs"
MODES = [mode.value for mode in Mode]


@pool.command(
    epilog=examples(
        "equipoise pool evenness gaben robin vs STEAM_0:0:11101 76561197960287931",
        "equipoise pool evenness gaben vs robin --mode arena --json",
    )
)
@remote
@pool_option
@click.option(
    "--mode", type=click.Choice(MODES), metavar="MODE", help="The kind of map, for rating systems that know it."
)
@click.option("--map", "map_name", default="", help="The map's name, for rating systems that know maps.")
@click.argument("named", nargs=-1, required=True, metavar="PLAYER... vs PLAYER...", shell_complete=players)
def evenness(
    client: Client, named: tuple[str, ...], pool: str | None, mode: str | None, map_name: str, as_json: bool
) -> None:
    """How even two sides are known to be: players by id or last name, the two sides parted by the word vs.

    The evenness is 1 for sides that are known to be even, and 0 for a match that is decided. Where TrueSkill makes the
    teams, its own match quality is shown too.
    """
    a, b = _sides(named)
    answer = client.send(
        "POST", "pools", one_pool(client, pool), "match", body={"a": a, "b": b, "mode": mode, "map": map_name}
    )
    if print_json(answer, as_json):
        return
    for side in ("a", "b"):
        click.echo(f"Side {side.upper()}   {', '.join(_who(player) for player in answer[side])}")
    click.echo(f"Chance   {percent(answer['win_probability'])}{interval(answer)} for side A to win")
    click.echo(f"Evenness {answer['evenness']:.2f}")
    if answer["trueskill_quality"] is not None:
        click.echo(f"TrueSkill's match quality {answer['trueskill_quality']:.2f}")


def _sides(players: Sequence[str]) -> tuple[list[str], list[str]]:
    if list(players).count(AGAINST) != 1:
        raise click.UsageError(f"write the players of one side, the word {AGAINST}, and those of the other side")
    middle = players.index(AGAINST)
    a, b = list(players[:middle]), list(players[middle + 1 :])
    if not (a and b):
        raise click.UsageError(f"there are players on one side of {AGAINST} only")
    return a, b


def _who(player: dict[str, Any]) -> str:
    return printable(player["name"] or player["id"])


POLL_SECONDS = 0.5
SLOW_POLLS = 6
"""After so many a refit says what may take the time."""


@pool.group(cls=Group)
def season() -> None:
    """Seasons: the leaderboard as it stood when each began. Ratings go on."""


@season.command("start", epilog=examples('equipoise pool season start "Winter 2026"'))
@remote
@pool_option
@click.argument("name")
def start_season(client: Client, name: str, pool: str | None, as_json: bool) -> None:
    """Begin the season NAME: keep the leaderboard of this moment under it. Nobody's rating changes."""
    answer = client.send("POST", "pools", one_pool(client, pool), "seasons", body={"name": name})
    if not print_json(answer, as_json):
        kept = next(row for row in answer["seasons"] if row["name"] == name)
        click.echo(f"{printable(name)} has begun; {counted(kept['players'], 'player')} of the leaderboard are kept.")


@season.command("list", epilog=examples("equipoise pool season list"))
@listing
@pool_option
def list_seasons(client: Client, pool: str | None, as_json: bool, as_csv: bool) -> None:
    """The seasons of a pool, the newest first."""
    answer = client.get("pools", one_pool(client, pool), "seasons")
    if not print_json(answer, as_json):
        print_items(answer["seasons"], SEASONS, as_csv=as_csv, empty="No season has begun: `pool season start NAME`.")


@season.command("show", epilog=examples('equipoise pool season show "Winter 2026" --csv > winter.csv'))
@listing
@pool_option
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True, metavar="N", help="How many.")
@click.argument("name")
def show_season(client: Client, name: str, pool: str | None, as_json: bool, as_csv: bool, limit: int) -> None:
    """The leaderboard with which the season NAME began, without players who are hidden now."""
    answer = client.get("pools", one_pool(client, pool), "seasons", name, limit=limit)
    if not print_json(answer, as_json):
        print_items(answer["players"], STANDINGS, as_csv=as_csv, empty="All who were on it are hidden now.")


SEASONS = (
    field("SEASON", "name", least=NAME),
    moment("BEGAN", "at"),
    field("PLAYERS", "players", right=True),
)
STANDINGS = (
    field("RANK", "place", right=True),
    field("PLAYER", "player"),
    field("NAME", "name", least=NAME),
    field("LADDER POINTS", "rating", "{:g}".format, right=True),
    *(field(key.upper(), key, right=True) for key in ("rounds", "wins", "draws", "losses", "leaves")),
)


@pool.command(epilog=examples("equipoise pool refit main --dry-run"))
@remote
@pool_options
@dry_run_option
def refit(client: Client, name: str, dry_run: bool, as_json: bool) -> None:
    """Estimate all ratings of a pool anew, from all of its rounds at once.

    For pools of ns2, trueskill2 and trueskill_through_time. The daemon does it every night. The game goes on
    meanwhile; Ctrl-C ends the command, not the refit. Exit code 1: the ratings are as they were.
    """
    answer = client.send("POST", "pools", name, "refit", body={"dry_run": dry_run})
    polls = 0
    while (state := answer["refit"])["running_since"] is not None:
        if (polls := polls + 1) == SLOW_POLLS:
            click.echo("equipoise: fitting; the first one after an installation compiles up to 15 s, once", err=True)
        time.sleep(POLL_SECONDS)
        answer = client.get("pools", name, "refit")
    if state["error"] is not None:
        stop(state["error"], REFUSED)
    if not print_json(answer, as_json):
        _show_refit(state)


def _show_refit(found: dict[str, Any]) -> None:
    sizes, result = found["fitted"], found["result"]
    done = "would get new ratings" if found["dry_run"] else "got new ratings"
    rounds = f"{counted(sizes['rounds'], 'round')} in {counted(sizes['iterations'], 'iteration')}"
    click.echo(
        f"{counted(result['players'], 'player')} {done}, fitted to {rounds}; "
        f"{counted(result['rounds'], 'round')} came meanwhile."
    )
    rows = ((shift["id"], f"{shift['before']:,.1f}", f"{shift['after']:,.1f}") for shift in result["shifts"])
    print_table(("PLAYER", "BEFORE", "AFTER"), rows, texts=1)


LEAST_FOR_ESTIMATES = 500
"""Rounds that are needed."""
NOTHING = 1e-12


@pool.command(epilog=examples("equipoise pool estimate", "equipoise pool estimate --pool main --sweeps 200 --json"))
@reports_errors
@pool_history_options
@click.option("--sweeps", type=click.IntRange(1, 10_000), default=100, show_default=True, help="Steps of the climb.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def estimate(history: History | None, pool: Pool | None, sweeps: int, as_json: bool) -> None:
    """Estimate TrueSkill 2's parameters from a pool's stored rounds, or from a history in files.

    By maximum likelihood, with the steps of Rprop, from quits and squads where there are any, and from kills and deaths
    where these help to predict results. They are estimated from the first 70 % of the rounds, and proposed if they
    predict the others better than the present parameters and than a coin, by two standard errors. Prints the lines for
    the configuration. The daemon may run meanwhile. Exit code 1: there are too few rounds, or they do not.
    """
    rounds = 0 if history is None else len(history)
    if history is None or rounds < LEAST_FOR_ESTIMATES:
        lack = LEAST_FOR_ESTIMATES - rounds
        if not as_json:
            stop(f"{counted(rounds, 'round')}: too few, {lack} more are needed", REFUSED)
        none = dict.fromkeys(("estimated", "log_loss_before", "log_loss", "gain"))
        none |= {"unseen": 0, "better": False, "counts": False}
        click.echo(json_text({"pool": pool and pool.name, "rounds": rounds, "missing": lack, **none}))
        return
    from equipoise.lab import estimates
    from equipoise.ratings.quality import mean

    params = _trueskill2_params(pool)
    with progress() as bar:
        task = bar.add_task("estimating", total=sweeps * estimates.climbs(params, history))
        best, *others = estimates.estimates(params, history, sweeps, lambda: bar.advance(task))
    values, present = _rounded(best.values()), estimates.losses(params, history)
    gain, better = mean(present - best.losses), estimates.is_better(best, present)
    before = float(present.mean())
    if as_json:
        whole = {"pool": pool and pool.name, "rounds": rounds, "missing": 0, "estimated": values}
        losses = {"log_loss_before": before, "log_loss": best.log_loss, "gain": asdict(gain)}
        measures = {"unseen": len(present), "better": better, "counts": best.counted}
        click.echo(json_text({**whole, **losses, **measures}))
        return
    unseen = f"over the last {len(present):,} of {counted(rounds, 'round')}, which it has not seen"
    click.echo(f"log loss  {before:.4f} → {best.log_loss:.4f}, {unseen}")
    better_by = f"{gain.value:.4f} ± {gain.error or 0.0:.4f} better than the present parameters"
    click.echo(f"          {better_by}; a coin: {estimates.COIN:.4f}")
    for parameter in others:
        which = "without counts" if best.counted else "with counts, which are left out"
        click.echo(f"          {parameter.log_loss:.4f} {which}")
    if not better:
        stop(
            "not proposed: it is not better than the present parameters and than a coin by two standard errors", REFUSED
        )
    _propose_estimates(pool, values)


def _trueskill2_params(pool: Pool | None) -> TrueSkill2Params:
    """Return the parameters of a pool of trueskill2, else the defaults."""
    from equipoise import ratings

    own = pool.params if pool is not None and pool.system == "trueskill2" else {}
    params: TrueSkill2Params = ratings.create("trueskill2", **own).params
    return params


def _rounded(value: Any) -> Any:
    """Numbers with four digits, as the configuration holds them; what is practically 0 is off."""
    if isinstance(value, float):
        return float(f"{value:.4g}") if abs(value) > NOTHING else 0.0
    if isinstance(value, tuple | list):
        return [_rounded(item) for item in value]
    return {key: _rounded(item) for key, item in value.items()} if isinstance(value, Mapping) else value


def _propose_estimates(pool: Pool | None, values: dict[str, Any]) -> None:
    from equipoise.config import Pool
    from equipoise.config.differences import pool_table

    click.echo()
    target = pool or Pool("main", "trueskill2", {})
    kept = target.params if target.system == "trueskill2" else {}
    for line in pool_table(replace(target, system="trueskill2", params={**kept, **values})):
        click.echo(line)
    if pool is not None:
        recompute = f"equipoise pool recompute --pool {pool.name}"
        click.echo(f"\nRatings depend on them: `{recompute}` computes them again.")


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


@pool.command("export", epilog=EXPORT_EXAMPLES)
@config_option
@url_option
@token_option
@click.argument("name", metavar="[POOL]", required=False, shell_complete=pools)
@click.argument("target", metavar="[FILE]", type=click.Path(path_type=Path), default=Path("-"))
def export_pool(path: Path, name: str | None, target: Path, url: str | None, token: str | None) -> None:
    """Write a whole pool as JSON Lines into FILE, which must not exist, or `-` for standard output.

    POOL may be left out where there is only one pool, and both.

    The running daemon answers with the pool as it is at one moment, and goes on serving. If none runs, the store is
    read directly. docs/moving.md has the format.
    """
    from equipoise.cli.pool_files import export

    os.umask(PRIVATE)
    try:
        export(path, name, target, url, token)
    except (ConfigError, StoreRefused) as error:
        stop(error)
    except StoreError as error:
        stop(f"{error}; nothing was exported", FAILED)


@pool.command("import", epilog=IMPORT_EXAMPLES)
@config_option
@click.option("--pool", "name", shell_complete=pools, help="The pool. [default: that of the export; else the only one]")
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
    try:
        if source is not None:
            from equipoise.cli.pool_files import import_export

            import_export(path, name, source, as_json=as_json)
            return
        from equipoise.cli.pool_files import FirstRatings

        first = FirstRatings(path, name, overwrite=overwrite, yes=yes, as_json=as_json)
        if table is not None:
            first.table(table)
        else:
            first.hlstatsx(hlstatsx, game, spread)
    except FileError as error:
        stop(f"{error.file or source or table or hlstatsx[-1]}: {error}; nothing was imported")
    except (ConfigError, RatingError, ScriptError, StoreRefused) as error:
        stop(error)
    except StoreError as error:
        stop(f"{error}; nothing was imported", FAILED)
