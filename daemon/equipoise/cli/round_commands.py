"""Rounds that are stored, rounds taken out of the ratings, and maps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from equipoise.cli import Group
from equipoise.cli.client import (
    Client,
    Command,
    limited,
    listing,
    one_pool,
    pages,
    players,
    pool_option,
    print_json,
    remote,
    servers,
    since_time,
)
from equipoise.cli.options import confirm, dry_run_option, examples, wide_option, yes_option
from equipoise.cli.output import (
    NAME,
    Column,
    counted,
    field,
    local_time,
    moment,
    print_items,
    print_legend,
    print_note,
    without_server,
)
from equipoise.cli.player_commands import REPLAY_SECONDS, refuse_silence, show_replay
from equipoise.core.wording import chance, percent, side_word

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
@listing
@pool_option
@limited(DEFAULT)
@click.option("--server", shell_complete=servers, help="Only rounds of this server.")
@click.option("--player", metavar="ID", shell_complete=players, help="Only rounds that this player was rated for.")
def list_rounds(client: Client, as_json: bool, as_csv: bool, **asked: Any) -> None:
    """Rounds, newest first: who won, and what was expected."""
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
    a, b = answer["captures"]
    captures = (
        f" Captures: {side_word(shown['sides'], 'a')} {a}, {side_word(shown['sides'], 'b')} {b}." if a or b else ""
    )
    times = f"Started {local_time(shown['started_at'])}, lasted {minutes(shown['seconds'])}"
    print_note(f"{times}. {result(shown)}.{captures}")
    print_note(_expected(shown))
    if answer["pruned"]:
        print_note("Its participants were deleted for their age (retention.rounds_days).")
    click.echo()
    players = [
        player | {"sides": shown["sides"], "name": answer["names"].get(player["id"])} for player in _people(answer)
    ]
    print_items(players, PLAYERS, as_csv=False, empty="Its players are not known any more.")


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
    field("PLAYER", "id", goes=3),
    field("NAME", "name", least=NAME),
    Column("MINUTES", _played_minutes, goes=2),
    Column("K/D/A", _done, goes=1),
    Column("LADDER POINTS", lambda one: "not rated" if one["before"] is None else ratings(one)),
)
COLUMNS = (
    moment("TIME", "started_at"),
    field("SERVER", "server", goes=4),
    field("ROUND", "round", goes=5),
    field("MAP", "map", least=10),
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


# Maps: how long their rounds are, who wins on which side, and how even they begin.


def last_rounds(command: Command) -> Command:
    """Give a command the options that say which rounds it looks at."""
    what = "How many of the pool's last rounds to look at."
    command = click.option(
        "--rounds", type=click.IntRange(1, 100_000), default=10_000, show_default=True, metavar="N", help=what
    )(command)
    return click.option(
        "--since", type=since_time, metavar="TIME", help="Only rounds since 30m, 2h, 3d, 1w, or a date."
    )(command)


@click.group(cls=Group)
def map() -> None:
    """Maps: how long their rounds are, who wins on which side, and how even they begin."""


@map.command(
    "list", epilog=examples("equipoise map list --since 4w", "equipoise map list --pool main --csv > maps.csv")
)
@listing
@pool_option
@last_rounds
def list_maps(client: Client, pool: str | None, *, as_json: bool, as_csv: bool, **rounds: Any) -> None:
    """The maps that the last rated rounds were played on, those with the most rounds first."""
    answer = client.get("pools", one_pool(client, pool), "maps", **rounds)
    if print_json(answer, as_json):
        return
    columns = (MAP, MODE, *FIGURES)
    shown = print_items(answer["maps"], columns, as_csv=as_csv, empty="No round was rated.")
    print_legend(shown)


@map.command("show", epilog=examples("equipoise map show koth_harvest_final"))
@remote
@wide_option
@pool_option
@last_rounds
@click.argument("name", metavar="MAP")
def show_map(client: Client, pool: str | None, name: str, *, as_json: bool, **rounds: Any) -> None:
    """One map: who wins on which side, beside what was expected, in all and on each server."""
    answer = client.get("pools", one_pool(client, pool), "maps", name, **rounds)
    if print_json(answer, as_json):
        return
    whole = answer["map"]
    a, b = (side_word(whole["sides"], side) for side in "ab")
    click.echo(f"{whole['map']} ({whole['mode']}), pool {answer['pool']}: {counted(whole['rounds'], 'rated round')}.")
    click.echo(
        f"{a} won {whole['wins_a']:,}, {b} {whole['wins_b']:,}, nobody {whole['stalemates']:,}; "
        f"{a} scored {percent(score(whole))} and was expected to score {percent(whole['expected_a'])}."
    )
    click.echo()
    rows = [row | {"sides": whole["sides"]} for row in answer["servers"]]
    print_legend(print_items(rows, (SERVER, *FIGURES), as_csv=False, empty=""))


def score(figures: Mapping[str, Any]) -> float:
    """The part of the points that side A took: a stalemate is half a point for each.

    >>> score({"wins_a": 5, "wins_b": 3, "stalemates": 2, "rounds": 10})
    0.6
    """
    return float((figures["wins_a"] + figures["stalemates"] / 2) / figures["rounds"])


def _score(figures: Mapping[str, Any]) -> str:
    return f"{side_word(figures['sides'], 'a')} {percent(score(figures))}"


MAP, MODE, SERVER = field("MAP", "map", least=10), field("MODE", "mode", goes=2), field("SERVER", "server")
FIGURES = (
    field("ROUNDS", "rounds", "{:,}".format, right=True),
    Column(
        "MINUTES",
        lambda row: minutes(row["seconds"]),
        lambda row: f"{row['seconds'] / 60:.2f}",
        right=True,
        goes=4,
        legend="the mean length of a round",
    ),
    Column("SCORE", _score, score, legend="what the first side won, a stalemate as a half"),
    field("EXPECTED", "expected_a", percent, right=True, legend="its chance before the rounds, on average"),
    field("EVEN", "even", percent, right=True, legend="rounds that began with a chance of 40 to 60 %"),
    field(
        "NEW TEAMS",
        "new_teams",
        "{:,}".format,
        right=True,
        goes=3,
        legend="scrambles and shuffles, as far back as the decision log goes",
    ),
    moment("LAST", "last_played", goes=1),
)
