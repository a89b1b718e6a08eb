"""`equipoise pool quality`: how well a pool predicts, for whom, and what else its last rounds say."""

from __future__ import annotations

from typing import Any

import click

from equipoise.cli.client import REFUSED, Client
from equipoise.cli.options import dry_run_option, examples, stop
from equipoise.cli.remote import json_option, pool_options, print_json, remote
from equipoise.cli.tables import print_table
from equipoise.cli.words import counted, local_time

_BY = {"squad": "squad", "experience": "rounds before", "last": "last outcome"}


@click.command(epilog=examples("equipoise pool quality", "equipoise pool quality --pool main --json"))
@remote
@json_option
@pool_options
def quality(client: Client, name: str, as_json: bool) -> None:
    """How well a pool's predictions hold, over its last 500 rounds.

    Also for groups of players: by squad size, rounds played and last outcome. A difference above 0 says that the sides
    of these players scored more than predicted.
    """
    answer = client.get("pools", name, "quality")
    if print_json(answer, as_json):
        return
    crowd, measured = answer["players"], answer["quality"]
    _show_typical(answer["typical"])
    click.echo(f"{crowd['count']} players: {crowd['visible']} shown, {crowd['shadow']} shadow, {crowd['stale']} stale.")
    if measured is None:
        click.echo("No rounds have been rated yet.")
        return
    balance = answer["balance"]
    made = measured if balance is None else balance["quality"]
    for measure in ("brier", "log_loss"):
        _say(measure.replace("_", " "), f"{made[measure]['value']:.4f}")
    _say("calibration", f"{made['calibration_error']:.4f} off on average, over {made['rounds']} rounds")
    if balance is not None:
        _show_shown(measured, balance["difference"]["log_loss"])
    if answer["suggested_theta"] is not None:
        _say("theta", f"{answer['suggested_theta']:.0f} would have predicted best")
    sizes = answer["team_sizes"]
    if sizes is not None and (better := sizes["suggested_k_max"]) is not None:
        _say(
            "k_max",
            f"{better} suits the teams; it is {sizes['k_max']}. `pool recompute --set k_max={better}` shows more",
        )
    _show_spread(answer["learnt_spread"], answer["spread"])
    if (calibration := answer["calibration"]) is not None:
        taught = (
            f"{_described(calibration)}, on {local_time(calibration['at'])[:10]} by {calibration['rounds']:,} rounds"
        )
        _say("calibrated", taught)
    for each in answer["scores"]:
        _show_scores(each)
    if answer["groups"]:
        click.echo("" if balance is None else "\nBy the ratings that are shown:")
        _show_groups(answer["groups"])


@click.command(epilog=examples("equipoise pool calibrate --dry-run", "equipoise pool calibrate --pool main --json"))
@remote
@json_option
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
    found = answer["found"]
    if not print_json(answer, as_json):
        if found is None:
            stop("too few rounds, or favourites lose: 300 rounds are needed", REFUSED)
        _show_calibration(found, answer["present"])
    if found is None or not found["better"]:
        stop("it is not better by two standard errors: what is said stays as it is", REFUSED)
    if not as_json:
        click.echo("\nA dry run: nothing was changed." if dry_run else "\nThis is said from now on.")


def _show_calibration(found: dict[str, Any], present: dict[str, Any] | None) -> None:
    unseen = "of rounds that it had not seen"
    if found["better"] and not found["error"]:
        _say("calibrated", f"no longer: predictions as they are fit the last of {found['rounds']:,} rounds better")
    else:
        _say("calibrated", f"{_described(found)}, by {found['rounds']:,} rounds")
        for map, worth in sorted(found["maps"].items(), key=lambda one: -abs(one[1])):
            _say("", f"{map} {worth:+.2f}")
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
        _say("spread", f"{fits}. `pool fit-spread` says more")


def _show_typical(typical: dict[str, Any] | None) -> None:
    """How even rounds are, in sentences."""
    if typical is not None:
        random = "" if typical["random"] is None else f" Random teams: {100 * typical['random']:.0f} %."
        click.echo(f"A typical round: the stronger side has {100 * typical['favourite']:.0f} %.{random}")
        click.echo(f"Within 45 to 55 %: {100 * typical['even']:.0f} % of the rounds.\n")


def _say(what: str, text: str) -> None:
    click.echo(f"{what:<12}{text}")


def _show_shown(measured: dict[str, Any], less: dict[str, Any]) -> None:
    """The system that is shown, beside what was said of the rounds; `less`: how much less this one's log loss is."""
    error = "" if less["error"] is None else f" ± {less['error']:.4f}"
    worse = f"{-less['value']:+.4f}{error} against what was said"
    _say("as shown", f"log loss {measured['log_loss']['value']:.4f}, {worse}, over {measured['rounds']} rounds")


def _show_scores(found: dict[str, Any]) -> None:
    """What own scores count for in one mode."""
    mode, rounds = found["mode"] or "every mode", counted(found["rounds"], "round")
    use = "are used" if found["used"] else "are not used: they do not predict results better than wins alone"
    _say("own scores", f"in {mode} {use} ({found['gain']:+.1f} nats over {rounds})")
    if not found["used"]:
        return
    weights = (f"{one['feature']} {one['weight']:+.3f} ± {one['deviation']:.3f}" for one in found["weights"])
    _say("", ", ".join(weights))
    offset = "" if found["offset"] is None else f", lasting offsets {found['offset']:.2f} log-odds"
    _say("", f"one round's score correlates {found['correlation']:.2f} with skill{offset}")


def _show_groups(groups: list[dict[str, Any]]) -> None:
    rows = []
    for each in groups:
        less = each["difference"]
        error = "" if less["error"] is None else f" ± {less['error']:.1%}"
        means = f"{each['predicted']:.1%}", f"{each['scored']:.1%}", f"{less['value']:+.1%}{error}"
        rows.append((_BY[each["by"]], each["name"], f"{each['rounds']:,}", f"{each['players']:,}", *means))
    print_table(("BY", "GROUP", "ROUNDS", "PLAYERS", "PREDICTED", "SCORED", "DIFFERENCE"), rows, texts=2)
