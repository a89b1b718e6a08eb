"""The plugin alone: it finds out that a scramble is due, applies the cached split, and reports it later."""

import random

import pytest

from equipoise.core.fallback import from_cache
from equipoise.core.model import PlayerId, Side, Split, SplitCache
from tests.sourcemod.answerer import (
    Daemon,
    Json,
    begin,
    crowd,
    ids,
    play_round,
    poll,
    seat,
    seconds_of_play,
    settle,
    win,
)
from tests.sourcemod.orders import assign
from tests.sourcemod.rig import Game, Player, Plugin, play
from tests.sourcemod.rig.game.facts import BLU, RED, SPECTATOR, Reason, State

GENERIC = 1 << 1
"""The flag b of SourceMod."""


def cache(players: list[Player], *splits: str) -> Json:
    """A cache for these players, strongest first."""
    return {"ids": ids(players), "splits": list(splits)}


def prepare(
    game: Game, daemon: Daemon, due_if: list[str], splits: tuple[str, ...] = ("AB-BA-", "ABABAB")
) -> list[Player]:
    """A running round of three against three; the daemon has said what would be due, and gave splits."""
    red, blu = begin(game, "koth_harvest_final", 3, 3)
    daemon.once = {"due_if": due_if, "cache": cache(red + blu, *splits)}
    poll(game)
    return red + blu


def scrambled(players: list[Player]) -> bool:
    """Whether the players are on the sides that the cache of `prepare` gives them."""
    return [p.team for p in players] == [RED, BLU, RED, BLU, RED, BLU]


def to_the_next_round(game: Game) -> None:
    """Past the bonus time, into the freeze time, and as long as patience lasts."""
    game.until(lambda: game.rounds.state is State.PREROUND, within=60)
    game.advance(2.5)


def win_in_silence(game: Game) -> None:
    """RED wins, and from now on the daemon does not answer."""
    game.sm.http.offline = True
    if game.mode.arena:
        play.wipe_out(game, BLU)
    else:
        game.rounds.win(RED, Reason.POINTS_CAPTURED)


def won_in_silence(game: Game) -> None:
    """RED wins, and the daemon does not answer up to the next round."""
    win_in_silence(game)
    to_the_next_round(game)


@pytest.mark.parametrize(
    ("due_if", "winner", "captures", "due"),
    [
        (["red"], RED, 0, True),
        (["red"], BLU, 0, False),
        (["blu"], BLU, 2, True),
        (["none"], 0, 0, True),
        (["red", "blu"], 0, 0, False),
        (["red:0"], RED, 0, True),
        (["red:0"], RED, 1, False),
        (["red:0"], BLU, 0, False),
        (["any"], 0, 3, True),
        ([], RED, 0, False),
    ],
)
def test_an_unanswered_round_end_is_compared_with_what_would_be_due(
    game: Game, daemon: Daemon, plugin: Plugin, due_if: list[str], winner: int, captures: int, due: bool
) -> None:
    players = prepare(game, daemon, due_if)
    game.sm.http.offline = True
    for _ in range(captures):
        play.capture(game, BLU if winner == RED else RED, 0)
    game.rounds.win(winner, Reason.POINTS_CAPTURED)
    to_the_next_round(game)
    assert scrambled(players) == due


def test_the_cached_split_is_applied_unharmed_and_reported_later_and_an_order_after_it_comes_too_late(
    game: Game, daemon: Daemon, plugin: Plugin
) -> None:
    players = prepare(game, daemon, ["red"])
    win_in_silence(game)
    game.until(lambda: game.rounds.state is State.PREROUND, within=60)
    assert scrambled(players)
    assert all(p.alive and not p.misplaced and p.deaths == 0 for p in players)
    daemon.forget()
    game.sm.http.offline = False
    assign(game, daemon, players[:3], players[3:])
    assert daemon.results() == {"a-1": "alone"}
    assert scrambled(players)
    seconds_of_play(game, 8)
    (event,) = daemon.events("scrambled_alone")
    assert (event["red"], event["blu"], event["bench"]) == (ids(players[0::2]), ids(players[1::2]), [])
    assert daemon.kinds().index("round_ended") < daemon.kinds().index("scrambled_alone")


def test_after_a_silence_what_happened_between_two_rounds_is_told_between_them(
    game: Game, daemon: Daemon, plugin: Plugin
) -> None:
    prepare(game, daemon, ["red"])
    won_in_silence(game)
    for _ in range(5):
        play_round(game)
    daemon.forget()
    game.sm.http.offline = False
    seconds_of_play(game, 12)
    told = [kind for kind in daemon.kinds() if kind in ("round_ended", "scrambled_alone")]
    assert told == ["round_ended", "scrambled_alone", *["round_ended"] * 5]


NO_CAPTURE = {"phrase": "Equipoise_ReasonNoCapture", "args": []}


@pytest.mark.parametrize("reloaded", [False, True], ids=["", "after a reload"])
@pytest.mark.parametrize(
    ("told", "why"),
    [
        ({"pending": True, "reason": NO_CAPTURE}, "the losing side captured nothing"),
        ({"due_if": ["red"], "reason": None}, "the last round's result"),
    ],
    ids=["the daemon said why", "found out here"],
)
def test_players_read_once_why_there_are_new_teams(
    game: Game, daemon: Daemon, plugin: Plugin, told: Json, why: str, reloaded: bool
) -> None:
    players = prepare(game, daemon, [])
    daemon.once = told
    poll(game)
    win_in_silence(game)
    game.advance(0.5)
    if reloaded:
        game.reload(plugin)
    before = [len(player.chat) for player in players]
    to_the_next_round(game)
    assert scrambled(players)
    read = [player.chat[count:] for player, count in zip(players, before, strict=True)]
    assert read == [[f"\x04[Equipoise]\x01 New teams ({why}). Their win chance is not known."]] * 6


def test_of_a_cached_split_that_moves_nobody_players_read_nothing(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    players = prepare(game, daemon, ["red"], splits=("AAABBB",))
    win_in_silence(game)
    game.advance(0.5)
    before = [len(player.chat) for player in players]
    to_the_next_round(game)
    assert [len(player.chat) for player in players] == before
    game.sm.http.offline = False
    seconds_of_play(game, 8)
    assert len(daemon.events("scrambled_alone")) == 1


def test_new_teams_are_free_of_old_locks(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    players = prepare(game, daemon, ["red"])
    daemon.once["due_if"] = ["red"]
    daemon.order("lock", id=ids(players)[1], side="red", seconds=0.0)
    poll(game)
    won_in_silence(game)
    assert scrambled(players)
    game.leave(players[0])
    game.join(players[1], "spectate")
    game.advance(2.5)  # one jointeam in two seconds
    game.join(players[1], "blue")
    assert players[1].team == BLU


def test_a_daemon_that_dies_between_round_end_and_round_start_is_not_waited_for(
    game: Game, daemon: Daemon, plugin: Plugin
) -> None:
    players = prepare(game, daemon, [])
    daemon.sticky["pending"] = True
    win(game)
    game.until(lambda: game.rounds.state is State.PREROUND, within=60)
    game.sm.http.held = True
    game.advance(1.5)
    assert not scrambled(players)
    game.advance(1)
    assert game.rounds.state is State.PREROUND
    assert scrambled(players)


def test_an_answer_from_before_the_round_end_knows_nothing_of_it(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    players = prepare(game, daemon, ["red"])
    game.sm.http.held = True
    game.rcon("equipoise_poll")
    game.frame()
    game.rounds.win(RED, Reason.POINTS_CAPTURED)
    game.sm.http.offline = True
    game.sm.http.held = False
    to_the_next_round(game)
    assert scrambled(players)


def test_while_the_daemon_answers_it_decides(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    players = prepare(game, daemon, ["red"])
    daemon.sticky["pending"] = True
    win(game)
    game.until(lambda: game.rounds.state is State.PREROUND)
    seconds_of_play(game, 4)
    assert [p.team for p in players] == [RED] * 3 + [BLU] * 3
    assert not daemon.events("scrambled_alone")


def test_an_answer_to_the_round_end_overrules_what_was_found_out_alone(
    game: Game, daemon: Daemon, plugin: Plugin
) -> None:
    players = prepare(game, daemon, ["red"])
    win(game)
    game.sm.http.offline = True
    to_the_next_round(game)
    assert not scrambled(players)


def test_without_a_cache_it_stays_due_and_is_carried_out_when_there_is_one(
    game: Game, daemon: Daemon, plugin: Plugin
) -> None:
    red, blu = begin(game, "koth_harvest_final", 3, 3)
    daemon.sticky["pending"] = True
    win(game)
    game.sm.http.offline = True
    to_the_next_round(game)
    assert [p.team for p in red + blu] == [RED] * 3 + [BLU] * 3
    game.sm.http.offline = False
    daemon.once["cache"] = cache(red + blu, "ABABAB")
    play.go_live(game)
    seconds_of_play(game, 7)
    won_in_silence(game)
    assert scrambled(red + blu)


@pytest.mark.parametrize("answered", [False, True])
def test_the_end_of_waiting_is_due_unless_the_daemon_knows_better(
    game: Game, daemon: Daemon, plugin: Plugin, answered: bool
) -> None:
    players = prepare(game, daemon, [])
    game.sm.http.offline = not answered
    game.start_map("cp_gorge")
    game.advance(2)  # a silence is noticed
    settle(game)
    for n, player in enumerate(players):
        game.join(player, "red" if n < 3 else "blue")
        settle(game)
        game.command(player, "joinclass soldier")
    game.sm.http.offline = True
    in_freeze_alone(game)
    assert scrambled(players)
    assert all("New teams (Waiting For Players is over)" in player.chat[-1] for player in players)
    game.sm.http.offline = False
    seconds_of_play(game, 8)
    assert not daemon.events("hello")[-1]["due"]


def test_who_was_never_answered_takes_arenas_second_round_as_due(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    players = prepare(game, daemon, [])
    game.sm.http.offline = True
    game.start_map("arena_well")
    for n, player in enumerate(players):
        game.join(player, "red" if n < 3 else "blue", "soldier")
    in_freeze_alone(game)
    assert not scrambled(players)
    play.go_live(game)
    won_in_silence(game)
    assert scrambled(players)
    assert all("New teams (round 2 is always balanced)" in player.chat[-1] for player in players)


def test_an_end_of_waiting_that_was_neither_told_nor_acted_on_is_owed(
    game: Game, daemon: Daemon, plugin: Plugin
) -> None:
    game.start_map("cp_gorge")
    crowd(game, 2, 2)
    game.sm.http.offline = True
    in_freeze_alone(game)
    game.advance(8)
    game.sm.http.offline = False
    daemon.forget()
    seconds_of_play(game, 8)
    assert [hello["due"] for hello in daemon.events("hello")] == [True]
    daemon.once["want"] = ["hello"]
    poll(game)
    assert not daemon.events("hello")[-1]["due"]


def in_freeze_alone(game: Game) -> None:
    """The first freeze time after waiting, while the daemon does not answer."""
    game.until(lambda: game.rounds.state is State.PREROUND and not game.rounds.waiting, within=200)
    game.advance(0.1)


def test_in_silence_arenas_waiting_play_from_the_next_round(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    begin(game, "arena_well", 2, 1)
    game.sm.http.offline = True
    joiner = game.connect("New")
    game.join(joiner, "red")
    game.advance(3)
    assert joiner.team == SPECTATOR
    joiner.choose("heavyweapons")
    won_in_silence(game)
    assert (joiner.team, joiner.alive) == (BLU, True)


@pytest.mark.parametrize("enabled", [True, False], ids=["another plugin forbids it", "switched off"])
def test_in_silence_too_teams_are_left_alone_where_somebody_wants_that(
    game: Game, daemon: Daemon, plugin: Plugin, *, enabled: bool
) -> None:
    if enabled:
        game.sm.listen("Equipoise_OnAssign", lambda *values: 3)
    players = prepare(game, daemon, ["red"])
    daemon.once = {"enabled": enabled, "due_if": ["red"]}
    poll(game)
    won_in_silence(game)
    assert not scrambled(players)


def random_cache(choice: random.Random, players: list[Player], *, bench: bool) -> SplitCache:
    """Splits of every size for these players, in a random order of strength."""
    order = [PlayerId(player) for player in ids(players)]
    choice.shuffle(order)
    sizes = [(k, k) for k in range(2, len(order) // 2 + 1)]
    if len(order) % 2 and not bench:
        sizes[-1] = (len(order) // 2 + 1, len(order) // 2)
    splits = []
    for a, b in sizes:
        seats = choice.sample(order, a + b)
        splits.append(Split(tuple(seats[:a]), tuple(seats[a:]), tuple(p for p in order if p not in seats)))
    return SplitCache(tuple(order), tuple(splits))


def on_the_wire(cache: SplitCache) -> Json:
    """A cache as the protocol writes it."""
    letter = {Side.A: "A", Side.B: "B", None: "-"}
    return {
        "ids": list(cache.ids),
        "splits": ["".join(letter[split.side_of(player)] for player in cache.ids) for split in cache.splits],
    }


def sides_of(game: Game) -> dict[int, set[str]]:
    """Who is on each side, and who watches."""
    return {side: {str(p.steamid) for p in game.humans() if p.team == side} for side in (RED, BLU, SPECTATOR)}


@pytest.mark.parametrize("map_name", ["koth_harvest_final", "arena_well"])
@pytest.mark.parametrize("seed", range(6))
def test_it_fits_a_cache_as_the_daemon_would(
    game: Game, daemon: Daemon, plugin: Plugin, map_name: str, seed: int
) -> None:
    choice = random.Random(seed)
    red, blu = begin(game, map_name, choice.randint(3, 5), choice.randint(3, 5))
    kept = random_cache(choice, red + blu, bench=game.mode.arena)
    daemon.once["cache"], daemon.sticky["due_if"] = on_the_wire(kept), ["any"]
    poll(game)
    for player in choice.sample(red[1:] + blu[1:], choice.randint(0, 2)):
        game.leave(player)
    strangers = [seat(game, f"Stranger {n}", choice.choice(["red", "blue"])) for n in range(choice.randint(0, 2))]
    for stranger in strangers:
        stranger.choose("scout")
    present = [PlayerId(str(p.steamid)) for p in game.humans()]
    won_in_silence(game)
    expected = from_cache(kept, present, bench=game.mode.arena)
    assert expected is not None
    assert sides_of(game) == {RED: set(expected.a), BLU: set(expected.b), SPECTATOR: set(expected.bench)}


@pytest.mark.parametrize("map_name", ["koth_harvest_final", "arena_well"])
@pytest.mark.parametrize("seed", [3, 10, 13, 18])  # two are held, or three; for those of the last no split fits
def test_who_is_held_or_immune_stays_by_the_daemons_own_law(
    game: Game, daemon: Daemon, plugin: Plugin, map_name: str, seed: int
) -> None:
    chance = random.Random(seed)
    red, blu = begin(game, map_name, 4, 4)
    kept = random_cache(chance, red + blu, bench=game.mode.arena)
    daemon.once = {"due_if": ["any"], "cache": on_the_wire(kept)}
    poll(game)
    win_in_silence(game)
    held = chance.sample(red + blu, chance.randint(1, 3))
    game.sm.overrides["sm_eq_immune_scramble"] = GENERIC
    for n, player in enumerate(held):
        if n % 2 and not game.mode.arena:
            player.flags = GENERIC
        else:
            player.duel = True  # begun in the bonus time
    before = sides_of(game)
    lead = sum(1 if player.team == RED else -1 for player in held)
    to_the_next_round(game)
    others = [PlayerId(one) for one in kept.ids if one not in ids(held)]
    expected = from_cache(kept, others, bench=game.mode.arena, lead=lead)
    after = sides_of(game)
    for side, seats in ((RED, expected and expected.a), (BLU, expected and expected.b)):
        stayed = before[side] & set(ids(held))
        assert after[side] == (before[side] if seats is None else stayed | set(seats))
    assert all(player.duel or player.flags for player in held)
    assert [len(game.teams.members(side)) for side in (RED, BLU)] == [4, 4]
