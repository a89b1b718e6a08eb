"""Rounds that are stored, and rounds taken out of the ratings."""

from __future__ import annotations

from typing import Any

import click

from equipoise.cli import Group
from equipoise.cli.client import (
    Client,
    json_option,
    limited,
    list_options,
    one_format,
    pages,
    players,
    pool_option,
    print_json,
    remote,
    servers,
)
from equipoise.cli.options import dry_run_option, examples, wide_option, yes_option
from equipoise.cli.output import (
    NAME,
    Column,
    iso_time,
    local_minute,
    local_time,
    print_items,
    print_note,
    without_server,
)
from equipoise.cli.player_commands import REPLAY_SECONDS, confirm, refuse_silence, show_replay
from equipoise.core.wording import chance, side_word

DEFAULT = 20


@click.group(cls=Group)
def round() -> None:
    """Rounds that are stored."""


@round.command(
    "list",
    epilog=examples(
        "equipoise round list --server arena-1 --since 2h", "equipoise round list --player gaben --csv > rounds.csv"
    ),
)
@remote
@json_option
@list_options
@pool_option
@limited(DEFAULT)
@click.option("--server", shell_complete=servers, help="Only rounds of this server.")
@click.option("--player", metavar="ID", shell_complete=players, help="Only rounds that this player was rated for.")
def list_rounds(client: Client, as_json: bool, as_csv: bool, **asked: Any) -> None:
    """Rounds, newest first: who won, and what was expected."""
    one_format(as_json=as_json, as_csv=as_csv)
    answer = pages(client, "rounds", key="rounds", default=DEFAULT, **asked)
    if print_json(answer, as_json):
        return
    chosen = any(asked[name] for name in ("server", "player", "since"))
    empty = "No round fits." if chosen else "No round is stored yet: the first one comes with the end of a round."
    columns = without_server(COLUMNS, asked["server"], as_csv=as_csv)
    print_items(answer["rounds"], columns, as_csv=as_csv, empty=empty)


@round.command(
    "show",
    epilog=examples("equipoise round show arena-1 1763622000123-4"),
)
@remote
@json_option
@wide_option
@click.argument("server", shell_complete=servers)
@click.argument("round_id", metavar="ROUND")
def show_round(client: Client, server: str, round_id: str, as_json: bool) -> None:
    """One round: its sides, the ratings of its players before and after, and what was expected.

    `equipoise round list` shows the ids of rounds.
    """
    answer = client.get("rounds", server, round_id)
    if print_json(answer, as_json):
        return
    shown = answer["round"]
    print_note(f"Round {shown['round']} on {shown['server']}: {shown['map']} ({shown['mode']}), pool {shown['pool']}.")
    print_note(f"Started {local_time(shown['started_at'])}, lasted {minutes(shown['seconds'])}. {_result(answer)}")
    print_note(_expected(shown))
    if answer["pruned"]:
        print_note("Its participants were deleted for their age (retention.rounds_days).")
    click.echo()
    players = [
        player | {"sides": shown["sides"], "name": answer["names"].get(player["id"])} for player in _people(answer)
    ]
    print_items(players, PLAYERS, as_csv=False, empty="Its players are not known any more.")


def _result(answer: dict[str, Any]) -> str:
    shown, (a, b) = answer["round"], answer["captures"]
    captures = f" Captures: {side_word(shown['sides'], 'a')} {a}, {side_word(shown['sides'], 'b')} {b}."
    return f"{result(shown)}.{captures if a or b else ''}"


def result(shown: dict[str, Any]) -> str:
    """The side that won in the game's word, or that none did."""
    return f"{side_word(shown['sides'], shown['winner'])} won" if shown["winner"] else "stalemate"


def _expected(shown: dict[str, Any]) -> str:
    if shown["win_probability"] is None:
        return f"Not rated: {shown['unrated'] or 'no reason is stored'}."
    favourite = chance(shown["sides"], shown["win_probability"])
    return "The sides were even." if favourite == "even" else f"Favourite: {favourite}."


def _people(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """Who was rated, then who only stood on a side when it went live."""
    participants = {row["id"] for row in answer["players"]}
    others = [
        {"id": player, "side": side, "before": None}
        for side, players in zip("ab", answer["lineup"], strict=True)
        for player in players
        if player not in participants
    ]
    return sorted([*answer["players"], *others], key=lambda row: (row["side"], row["before"] is None))


def minutes(seconds: float) -> str:
    """A length in minutes and seconds.

    >>> minutes(95)
    '1:35'
    """
    whole = int(seconds + 0.5)
    return f"{whole // 60}:{whole % 60:02}"


def ratings(played: dict[str, Any]) -> str:
    """A rating before and after, with the difference."""
    before, after = played["before"], played["after"]
    return f"{before:.5g} → {after:.5g} ({after - before:+.3g})"


def prediction(shown: dict[str, Any]) -> str:
    """Which side was to win, or why the round was not rated."""
    if shown["win_probability"] is None:
        return f"not rated: {shown['unrated'] or '-'}"
    return chance(shown["sides"], shown["win_probability"])


def _played_minutes(one: dict[str, Any]) -> str:
    if one["before"] is None:
        return "-"
    chair = sum(span["end"] - span["start"] for span in one["spans"] if span["role"] == "commander")
    command = f", chair {minutes(chair)}" if chair else ""
    left = ", left" if one["quit"] else ""
    return f"{minutes(one['seconds_a'] + one['seconds_b'])}{command}{left}"


def _done(one: dict[str, Any]) -> str:
    """Kills, deaths and assists, where they are known."""
    counts = one.get("counts")
    return "-" if counts is None else f"{counts['kills']}/{counts['deaths']}/{counts['assists']}"


PLAYERS = (
    Column("SIDE", lambda one: side_word(one["sides"], one["side"])),
    Column("PLAYER", lambda one: one["id"], goes=3),
    Column("NAME", lambda one: one["name"] or "-", least=NAME),
    Column("MINUTES", _played_minutes, goes=2),
    Column("K/D/A", _done, goes=1),
    Column("LADDER POINTS", lambda one: "not rated" if one["before"] is None else ratings(one)),
)
COLUMNS = (
    Column("TIME", lambda each: local_minute(each["started_at"]), lambda each: iso_time(each["started_at"])),
    Column("SERVER", lambda each: each["server"], goes=4),
    Column("ROUND", lambda each: each["round"], goes=5),
    Column("MAP", lambda each: each["map"], least=10),
    Column("MINUTES", lambda each: minutes(each["seconds"]), lambda each: f"{each['seconds'] / 60:.2f}", goes=2),
    Column("PLAYERS", lambda each: f"{each['players_a']} : {each['players_b']}", goes=1),
    Column("EXPECTED", prediction, lambda each: each["win_probability"], least=10, goes=3),
    Column("RESULT", result),
)


LONGEST_REASON = 200


def _short(_: click.Context, __: click.Parameter, reason: str) -> str:
    if len(reason) > LONGEST_REASON:
        raise click.BadParameter(f"it has {len(reason)} characters, {LONGEST_REASON} fit")
    return reason


@round.command(
    "void",
    epilog=examples(
        'equipoise round void arena-1 1763622000123-7 --reason "a cheater" --dry-run',
        "equipoise round void arena-1 1763622000123-7 --undo",
    ),
)
@remote
@json_option
@dry_run_option
@yes_option
@click.option("--reason", default="", callback=_short, help="Why; the audit keeps it.")
@click.option("--undo", is_flag=True, help="Put a void round back.")
@click.argument("server", shell_complete=servers)
@click.argument("round_id", metavar="ROUND")
def void_round(
    client: Client, server: str, round_id: str, reason: str, *, undo: bool, dry_run: bool, yes: bool, as_json: bool
) -> None:
    """Take a round out of the ratings.

    All that was played since is rated again without it. Rounds that end meanwhile wait, and are rated afterwards. The
    round stays stored. `equipoise round list` shows the ids of rounds.
    """
    # JSON is for programs, which nobody can ask: without `--yes` they get the trial.
    dry_run = dry_run or (as_json and not yes)
    if not dry_run:
        refuse_silence(yes=yes)

    def void(*, trial: bool) -> Any:
        body = {"reason": reason, "undo": undo, "dry_run": trial}
        return client.send("POST", "rounds", server, round_id, "void", body=body, wait=REPLAY_SECONDS)

    if dry_run or not yes:
        trial_run = void(trial=True)
        if dry_run and print_json(trial_run, as_json):
            return
        show_replay(trial_run["replay"])
        if dry_run:
            return
        confirm("Put the round back?" if undo else "Take the round out of the ratings?")
    done = void(trial=False)
    if not print_json(done, as_json):
        if yes:
            show_replay(done["replay"])
        click.echo(f"Round {round_id} of {server} is {'rated' if undo else 'void'}.")
