"""Players of a pool: found, shown, and their ratings set, reset and restored."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import click

from equipoise.cli import Group
from equipoise.cli.client import (
    Client,
    Command,
    connected,
    limited,
    listing,
    one_pool,
    pages,
    players,
    pool_option,
    print_json,
    remote,
    servers,
)
from equipoise.cli.options import WRONG, confirm, dry_run_option, examples, one_line, stop, yes_option
from equipoise.cli.output import (
    NAME,
    Column,
    counted,
    field,
    local_time,
    moment,
    print_items,
    print_note,
    print_one,
    print_table,
    without_server,
)
from equipoise.core.wording import percent, side_word
from equipoise.lab.svg import printable

DEFAULT = 20
RESULTS = {1.0: "won", 0.5: "stalemate", 0.0: "lost"}


@click.group(cls=Group)
def player() -> None:
    """Players of a pool."""


def of_player(command: Command) -> Command:
    """Give a command the daemon's client, and the player whom it is about."""
    return remote(pool_option(click.argument("player_id", metavar="ID", shell_complete=players)(command)))


@player.command(
    "show",
    epilog=examples(
        "equipoise player show 76561197960287930",
        "equipoise player show STEAM_0:0:11101",
        "equipoise player show https://steamcommunity.com/profiles/76561197960287930",
        "equipoise player show gaben",
    ),
)
@of_player
def show_player(client: Client, player_id: str, pool: str | None, as_json: bool) -> None:
    """Show a player: by SteamID64, STEAM_0:1:…, [U:1:…], profile address, or a name that only one player has."""
    answer = client.get("players", player_id, pool=pool)
    if not print_json(answer, as_json):
        person = answer["player"]
        print_one(person, _columns([person]))
        if by := person["skill_by"]:
            # What the system that makes the teams knows stands apart from the ladder: its points are others.
            ends = "" if person["interval"] is None else f", with 80 % within {_interval(person)}"
            print_note(f"Teams are made by {by}, with points of its own: {person['skill']:.0f}{ends}.")
        if skills := person["skills"]:
            click.echo()
            print_items(list(_by_side(skills)), SKILLS, as_csv=False, empty="")


@player.command(
    "history",
    epilog=examples(
        "equipoise player history gaben --since 1w", "equipoise player history STEAM_0:0:11101 --csv > rounds.csv"
    ),
)
@listing
@pool_option
@limited(DEFAULT)
@click.option("--server", shell_complete=servers, help="Only rounds of this server.")
@click.argument("player_id", metavar="ID", shell_complete=players)
def player_history(client: Client, player_id: str, as_json: bool, as_csv: bool, **asked: Any) -> None:
    """The rated rounds of a player, newest first, with the rating before and after each."""
    answer = pages(client, "players", player_id, "rounds", key="rounds", default=DEFAULT, **asked)
    if print_json(answer, as_json):
        return
    who = answer["name"] or answer["player"]
    rounds = [item["round"] | item["played"] | {"mine": _mine(item)} for item in answer["rounds"]]
    items = sorted([*rounds, *map(_as_round, answer["edits"])], key=lambda item: item["at"], reverse=True)
    since = f" since {local_time(asked['since'])}" if asked["since"] else ""
    empty = f"No rated round of {who}{since}."
    print_items(items, without_server(HISTORY, asked["server"], as_csv=as_csv), as_csv=as_csv, empty=empty)


def _mine(each: dict[str, Any]) -> float:
    """The win probability of the player's side, as players heard it."""
    of_a: float = each["round"]["win_probability"]
    return of_a if each["played"]["side"] == "a" else 1.0 - of_a


def _as_round(edit: dict[str, Any]) -> dict[str, Any]:
    """An edit in the columns of rounds."""
    what = f"{edit['action']} by {edit['who']}{', undone' if edit['undone'] else ''}"
    before = edit["after"] if edit["before"] is None else edit["before"]
    blank = dict.fromkeys(("server", "map", "side", "mine"), None) | {"sides": ("", "")}
    return edit | blank | {"started_at": edit["at"], "score": None, "round": what, "before": before}


def _change(played: dict[str, Any]) -> float:
    change: float = played["after"] - played["before"]
    return change


HISTORY = (
    moment("TIME", "started_at"),
    field("SERVER", "server", goes=3),
    field("MAP", "map", least=10),
    Column("SIDE", lambda each: side_word(each["sides"], each["side"])),
    field("EXPECTED", "mine", percent, right=True, goes=2),
    Column("RESULT", lambda each: RESULTS.get(each["score"], "-")),
    field("BEFORE", "before", "{:g}".format, right=True, goes=1),
    field("AFTER", "after", "{:g}".format, right=True),
    Column("CHANGE", lambda each: f"{_change(each):+g}", _change, right=True),
    field("ROUND OR EDIT", "round", least=17),
)


def _by_side(skills: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The skills as lines, each with its name."""
    first, *_ = skills["sides"]
    yield {"name": "both sides", **skills["average"]}
    yield from ({"name": side, **skill} for side, skill in skills["sides"].items())
    yield {"name": f"offset ({first})", **skills["offset"]}
    yield {"name": "commander", **skills["commander"]}


@player.command("top", epilog=examples("equipoise player top --limit 100 --csv > leaderboard.csv"))
@listing
@pool_option
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, metavar="N", help="How many.")
def top_players(client: Client, pool: str | None, limit: int, as_json: bool, as_csv: bool) -> None:
    """The leaderboard: players whose ratings are shown, and who played in the last weeks."""
    answer = client.get("pools", one_pool(client, pool), "top", limit=limit)
    if not print_json(answer, as_json):
        _print_players(answer["players"], as_csv=as_csv, empty=_nobody(answer), ranked=True)


def _nobody(answer: dict[str, Any]) -> str:
    """Why a leaderboard is empty, and until when."""
    rounds, shadow, stale = answer["shadow_rounds"], answer["shadow"], answer["stale"]
    if shadow:
        return f"Nobody has {rounds} rounds yet; {shadow} are in their first {rounds}. A rating is shown after them."
    if stale:
        return f"All {counted(stale, 'player')} with a rating that is shown played too long ago (pool.stale_days)."
    return f"No round has been rated yet. A rating is shown after {counted(rounds, 'round')}."


@player.command("find", epilog=examples("equipoise player find bob", "equipoise player find 7656119796028"))
@listing
@pool_option
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, metavar="N", help="How many.")
@click.argument("text")
def find_players(client: Client, text: str, pool: str | None, limit: int, as_json: bool, as_csv: bool) -> None:
    """Find rated players by an id, or by a part of their SteamID64 or of their last name."""
    answer = client.get("pools", one_pool(client, pool), "players", text=text, limit=limit)
    if not print_json(answer, as_json):
        empty = f"No rated player's id or last name contains {printable(text)}."
        _print_players(answer["players"], as_csv=as_csv, empty=empty)


def _shown(each: dict[str, Any]) -> str:
    return "hidden" if each["hidden"] else "stale" if each["stale"] else "yes" if each["visible"] else "no"


def _interval(each: dict[str, Any]) -> str:
    """The interval that the skill lies in with 80 %."""
    interval = each["interval"]
    return "-" if interval is None else f"{interval['low']:.0f} to {interval['high']:.0f}"


def _own(each: dict[str, Any], key: str) -> Any:
    """Return what is known of the rating itself: nothing, where the skill is another system's, in points of its own."""
    return None if each["skill_by"] else each[key]


def _record(each: dict[str, Any]) -> str:
    record = each["record"]
    return "-" if record is None else f"{record['wins']}-{record['draws']}-{record['losses']}"


SKILLS = (
    field("SKILL", "name"),
    field("POINTS", "value", "{:.0f}".format, right=True),
    field("DEVIATION", "deviation", "± {:.0f}".format, right=True),
)
_PLAYER = (
    field("PLAYER", "id"),
    field("NAME", "name", least=NAME),
    field("LADDER POINTS", "rating", "{:g}".format, right=True),
)
_PLAYED = (Column("SHOWN", _shown, goes=2), moment("LAST PLAYED", "last_played", goes=3))
_INTERVAL = Column("SKILL, 80 %", _interval, right=True)
_ROUNDS = field("ROUNDS", "rounds", right=True)
_RECORD = (
    Column("WON-DRAWN-LOST", _record, right=True, goes=4),
    Column("LEFT", lambda each: "-" if each["record"] is None else each["record"]["leaves"], right=True, goes=1),
)


def _value(key: str, inner: str) -> Callable[[dict[str, Any]], object]:
    """A number in an object that may be missing."""
    return lambda each: each[key] and each[key][inner]


def _end(which: str) -> Callable[[dict[str, Any]], object]:
    """An end of the rating's interval."""
    return lambda each: _own(each, "interval") and each["interval"][which]


_FOR_PROGRAMS = (
    *_PLAYER[:2],
    field("RATING", "rating"),
    Column("DEVIATION", lambda each: _own(each, "deviation")),
    Column("LOW", _end("low")),
    Column("HIGH", _end("high")),
    _ROUNDS,
    *(Column(key.upper(), _value("record", key)) for key in ("wins", "draws", "losses", "leaves")),
    *_PLAYED,
)


def _print_players(players: Sequence[dict[str, Any]], *, as_csv: bool, empty: str, ranked: bool = False) -> None:
    """Print players as a table; of the leaderboard with their places."""
    items = [player | {"rank": place} for place, player in enumerate(players, 1)]
    rank = [field("RANK", "rank", right=True)] if ranked else []
    print_items(items, _FOR_PROGRAMS if as_csv else [*rank, *_columns(players)], as_csv=as_csv, empty=empty)


def _columns(players: Sequence[dict[str, Any]]) -> list[Column]:
    """The columns for people, with the interval where it is that of the rating."""
    columns = [_INTERVAL] if any(_own(player, "interval") for player in players) else []
    return [*_PLAYER, *columns, _ROUNDS, *_RECORD, *_PLAYED]


REPLAY_SECONDS = 3600.0
"""A replay of a large pool takes minutes."""
MOST_SHOWN = 20
"""Players of a replay that are shown."""


@player.command("set", epilog=examples("equipoise player set 76561197960287930 1500"))
@of_player
@yes_option
@click.option("--new", is_flag=True, help="The player may be one who was never seen here.")
@click.argument("rating", type=float)
def set_player(
    client: Client, player_id: str, rating: float, pool: str | None, *, new: bool, yes: bool, as_json: bool
) -> None:
    """Give a player a rating; their rounds stay."""
    refuse_silence(yes=yes)
    if not yes:
        _show_edit(f"{player_id}: a new player" if new else _seen(client, player_id, pool), f"rating {rating:g}")
        confirm("Set the rating?")
    body = {"rating": rating, "new": new}
    _report(client.send("PUT", "players", player_id, body=body, pool=pool), as_json=as_json)


@player.command("reset", epilog=examples("equipoise player reset 76561197960287930"))
@of_player
@yes_option
def reset_player(client: Client, player_id: str, pool: str | None, *, yes: bool, as_json: bool) -> None:
    """Make a player a newcomer again: their rating and their rounds are forgotten."""
    refuse_silence(yes=yes)
    if not yes:
        _show_edit(_seen(client, player_id, pool), "a newcomer")
        confirm("Forget the rating?")
    _report(client.send("DELETE", "players", player_id, pool=pool), as_json=as_json)


@player.command("undo", epilog=examples("equipoise player undo 76561197960287930 --dry-run"))
@of_player
@dry_run_option
@yes_option
def undo_edit(client: Client, player_id: str, pool: str | None, *, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Take back the last set, reset or import of a player; a second undo applies it again.

    What was played since is rated again, so other players change a little too.
    """
    # As `round void`: a program gets the trial.
    dry_run = dry_run or (as_json and not yes)
    if not dry_run:
        refuse_silence(yes=yes)

    def undo(*, trial: bool) -> Any:
        return client.send(
            "POST", "players", player_id, "undo", body={"dry_run": trial}, wait=REPLAY_SECONDS, pool=pool
        )

    if dry_run or not yes:
        trial_run = undo(trial=True)
        if dry_run and print_json(trial_run, as_json):
            return
        _say_undone(trial_run)
        show_replay(trial_run["replay"])
        if dry_run:
            return
        confirm("Apply it again?" if trial_run["again"] else "Take it back?")
    done = undo(trial=False)
    if not print_json(done, as_json):
        if yes:
            _say_undone(done)
            show_replay(done["replay"])
        click.echo("It is applied again." if done["again"] else "It is taken back.")


@player.command("hide", epilog=examples("equipoise player hide 76561197960287930"))
@of_player
def hide_player(client: Client, player_id: str, pool: str | None, *, as_json: bool) -> None:
    """Show a player nowhere but to admins: no leaderboard, no list of others has them. Their rounds are rated."""
    _hide(client, player_id, pool, hide=True, as_json=as_json)


@player.command("unhide", epilog=examples("equipoise player unhide 76561197960287930"))
@of_player
def unhide_player(client: Client, player_id: str, pool: str | None, *, as_json: bool) -> None:
    """Show a hidden player again, also one who hid with the chat command `hide`."""
    _hide(client, player_id, pool, hide=False, as_json=as_json)


def _hide(client: Client, player_id: str, pool: str | None, *, hide: bool, as_json: bool) -> None:
    answer = client.send("POST", "players", player_id, "hide", body={"hidden": hide}, pool=pool)
    if not print_json(answer, as_json):
        person = answer["player"]
        what = "is shown to admins alone" if hide else "is shown again"
        click.echo(one_line(f"{person['id']} {person['name'] or '-'} {what}."))


@player.command("export", epilog=examples("equipoise player export 76561197960287930 > gaben.json"))
@connected
@pool_option
@click.argument("player_id", metavar="ID", shell_complete=players)
def export_player(client: Client, player_id: str, pool: str | None) -> None:
    """Print all that is stored about a person, in all pools, as JSON, without the ids of others."""
    print_json(client.get("players", player_id, "export", pool=pool), as_json=True)


@player.command(
    "forget",
    epilog=examples("equipoise player forget 76561197960287930 --dry-run", "equipoise player forget gaben --yes"),
)
@of_player
@dry_run_option
@yes_option
def forget_player(client: Client, player_id: str, pool: str | None, *, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Forget a person, in all pools: a stand-in without a name takes their place, and nobody's rating changes.

    It cannot be undone. The whole store is written anew, which takes as long as a backup; rounds that end meanwhile
    wait. Backups and exports that still name them are listed: they are yours to delete.
    """
    dry_run = dry_run or (as_json and not yes)
    if not dry_run:
        refuse_silence(yes=yes)

    def forget(*, trial: bool, seen: str | None = None) -> Any:
        body = {"dry_run": trial, "seen": seen}
        return client.send("POST", "players", player_id, "forget", body=body, wait=REPLAY_SECONDS, pool=pool)

    seen = None
    if dry_run or not yes:
        trial_run = forget(trial=True)
        if dry_run and print_json(trial_run, as_json):
            return
        click.echo(one_line(f"{trial_run['player']} {trial_run['name'] or '-'} would be forgotten, for good."))
        if dry_run:
            _show_copies(trial_run)
            return
        confirm("Forget them?")
        seen = trial_run["seen"]
    done = forget(trial=False, seen=seen)
    if not print_json(done, as_json):
        click.echo(f"Forgotten. {done['stand_in']} stands in their place.")
        _show_copies(done)


def _show_copies(answer: dict[str, Any]) -> None:
    """Print what a forgetting does not reach."""
    files = [(local_time(copy["at"]), one_line(copy["file"])) for copy in answer["copies"]]
    exports = answer["exports"]
    files += [(local_time(copy["at"]), one_line(f"{copy['target']}, by {copy['who']}")) for copy in exports]
    if files:
        click.echo("They are still in these, which are yours to delete:")
        print_table(("MADE", "WHAT"), files)


def refuse_silence(*, yes: bool) -> None:
    """End a command that would have to ask where nobody can answer."""
    if not yes and not sys.stdin.isatty():
        stop("this asks first, which needs a terminal: use --yes", WRONG)


def show_replay(replay: dict[str, Any]) -> None:
    """Who changes, or changed, by how much."""
    changes = replay["changes"]
    again = f"Rounds rated again: {replay['rounds']:,}; edits applied again: {replay['edits']:,}"
    click.echo(f"{again}; players who change: {len(changes):,}.")
    if replay["refitted"]:
        click.echo("A refit made the ratings since then: they stay until the next one, which takes it into account.")
    if replay["lost_edits"]:
        edits = counted(replay["lost_edits"], "change by an admin", "changes by admins")
        click.echo(f"Lost, because no state was stored: {edits} since then.")
    if changes:
        print_table(("PLAYER", "NAME", "RATING", "CHANGE", "ROUNDS"), (_row(change) for change in changes[:MOST_SHOWN]))
    if len(changes) > MOST_SHOWN:
        click.echo(f"… and {len(changes) - MOST_SHOWN:,} more; --json lists all.")


def _row(each: dict[str, Any]) -> tuple[object, ...]:
    rounds = f"{each['rounds_before']} → {each['rounds_after']}"
    before, after = each["before"], each["after"]
    return (
        each["id"],
        each["name"] or "-",
        f"{before:g} → {after:g}",
        f"{after - before:+.4g}",
        rounds if each["rounds_before"] != each["rounds_after"] else each["rounds_after"],
    )


def _say_undone(found: dict[str, Any]) -> None:
    edit = found["edit"]
    which = "The edit that was taken back" if found["again"] else "The last edit"
    before = "new" if edit["before"] is None else f"{edit['before']:g}"
    what = f"{edit['action']} by {edit['who']} at {local_time(edit['at'])} ({before} → {edit['after']:g})"
    click.echo(one_line(f"{which}: {what}"))


def _seen(client: Client, player_id: str, pool: str | None) -> str:
    player = client.get("players", player_id, pool=pool)["player"]
    return one_line(f"{player['id']} {player['name'] or '-'}: {_numbers(player)}")


def _show_edit(before: str, after: str) -> None:
    click.echo(f"{before} → {after}", err=True)


def _report(answer: dict[str, Any], *, as_json: bool) -> None:
    if not print_json(answer, as_json):
        before, after = answer["before"], answer["player"]
        click.echo(one_line(f"{after['id']} {after['name'] or '-'}: {_numbers(before)} → {_numbers(after)}"))


def _numbers(player: dict[str, Any]) -> str:
    return f"rating {player['rating']:g} after {counted(player['rounds'], 'round')}"
