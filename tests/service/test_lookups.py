"""Commands that ask: what players and admins are shown, and what the audit notes."""

from __future__ import annotations

from equipoise.core import effects as f
from equipoise.core import events as e
from equipoise.core.model import Mode, RoundId, Side
from equipoise.core.phrases import Phrase, Text
from tests.hosts import Rig, played, player, roster, round_of

FOUR = roster([1, 2], [3, 4])
SIX = roster([1, 2, 3], [4, 5, 6])
STRANGER = 99


async def asked(rig: Rig, *words: str, by: int | None = 1, admin: bool = False) -> list[tuple[Phrase, tuple[str, ...]]]:
    """The lines that a command typed in the game is answered with."""
    caller = None if by is None else player(by)
    reply = await rig.post(e.Commanded(0.0, words, caller, admin=admin))
    (tell,) = [order for order in reply.orders if isinstance(order, f.Tell)]
    assert tell.player == caller
    return shown(tell.lines)


def shown(lines: tuple[Text, ...]) -> list[tuple[Phrase, tuple[str, ...]]]:
    return [(line.phrase, line.args) for line in lines]


@played
async def test_a_shadow_rating_is_shown_to_admins_only(rig: Rig) -> None:
    await rig.hello(FOUR)

    mine = await asked(rig, "rating")
    admins = await rig.host.command(("rating", player(1)), "test")

    assert mine == [(Phrase.RATING_SHADOW, (f"@{player(1)}", "50"))]
    assert shown(admins.lines) == [(Phrase.RATING_ADMIN, (f"@{player(1)}", "1000", "0", "50"))]


@played(params={"shadow_rounds": 1})
async def test_the_sums_of_the_teams_are_shown_once_three_players_of_each_side_are_visible(rig: Rig) -> None:
    await rig.hello(SIX, Mode.KOTH)
    none_visible = await asked(rig, "teams")
    await rig.play("r1", roster([1, 2, 3], [4, 5]), Side.A, Mode.KOTH)
    await rig.post(e.RosterSeen(0.0, SIX))
    all_but_one = await asked(rig, "teams")
    admins = await asked(rig, "teams", admin=True)
    await rig.play("r2", SIX, None, Mode.KOTH)
    all_visible = await asked(rig, "teams")

    assert [phrase for phrase, _ in none_visible] == [Phrase.TEAMS_CHANCE]
    assert [phrase for phrase, _ in all_but_one] == [Phrase.TEAMS_CHANCE]
    assert [phrase for phrase, _ in admins] == [Phrase.TEAMS, Phrase.TEAMS_CHANCE]
    ratings = [rig.pool.summary(player(number)).rating for number in range(1, 7)]
    teams, (phrase, (side, chance)) = all_visible
    sums = (f"{sum(ratings[:3]):.0f}", f"{sum(ratings[3:]):.0f}")
    assert teams == (Phrase.TEAMS, ("RED", sums[0], "BLU", sums[1]))
    assert (phrase, side) == (Phrase.TEAMS_CHANCE, "RED")
    assert 50 < int(chance) < 100


@played
async def test_teams_with_an_empty_side_have_no_chance_to_show(rig: Rig) -> None:
    await rig.hello(roster([1, 2], []))

    assert await asked(rig, "teams") == [(Phrase.NOTHING_TO_BALANCE, ())]


@played(params={"shadow_rounds": 1})
async def test_the_leaderboard_and_a_players_place_on_it(rig: Rig) -> None:
    await rig.hello(FOUR, Mode.KOTH)
    empty = await asked(rig, "top")
    unranked = await asked(rig, "rank")
    await rig.play("r1", roster([1], [3]), Side.A, Mode.KOTH)
    winner, loser = (f"{rig.pool.summary(player(number)).rating:.0f}" for number in (1, 3))

    assert empty == [(Phrase.TOP_EMPTY, ())]
    assert unranked == [(Phrase.RANK_NONE, (f"@{player(1)}",))]
    assert await asked(rig, "top") == [
        (Phrase.TOP_LINE, ("1", f"@{player(1)}", winner)),
        (Phrase.TOP_LINE, ("2", f"@{player(3)}", loser)),
    ]
    assert await asked(rig, "rank") == [(Phrase.RANK, (f"@{player(1)}", "1", "2", winner, "1-0-0"))]
    assert await asked(rig, "rank", player(3)) == [(Phrase.RANK, (f"@{player(3)}", "2", "2", loser, "0-0-1"))]
    assert await asked(rig, "rating", player(3)) == [(Phrase.RATING, (f"@{player(3)}", loser, "1"))]


@played
async def test_the_console_must_name_the_player_it_asks_for(rig: Rig) -> None:
    await rig.hello(FOUR)

    assert await asked(rig, "rating", by=None, admin=True) == [(Phrase.UNKNOWN_PLAYER, ("?",))]
    assert await asked(rig, "rank", "gabe", by=None, admin=True) == [(Phrase.UNKNOWN_PLAYER, ("gabe",))]


@played
async def test_a_rating_that_was_set_by_a_player_is_reset_by_the_console(rig: Rig) -> None:
    await rig.hello(FOUR)

    done = await asked(rig, "set", player(2), "1700", admin=True)
    undone = await asked(rig, "reset", player(2), by=None, admin=True)
    audits = await rig.store.audits(10)

    assert done == [(Phrase.SET_DONE, (f"@{player(2)}", "1000", "1700"))]
    assert undone == [(Phrase.SET_DONE, (f"@{player(2)}", "1700", "1000"))]
    assert [(entry.action, entry.who) for entry in audits] == [
        ("reset", "script:arena-1"),
        ("set", f"script:arena-1 player:{player(1)}"),
    ]


@played
async def test_what_an_admin_orders_in_the_game_is_in_the_audit_once(rig: Rig) -> None:
    await rig.hello(FOUR)

    for words, by, admin in (
        (("scramble", "next"), player(1), True),
        (("shuffle", "next"), player(1), True),
        (("off",), None, True),
        (("on",), player(2), False),
        (("status",), player(1), True),
    ):
        await rig.post(e.Commanded(0.0, words, by, admin=admin))
    await rig.host.command(("on",), "token:owner")  # which `web.servers` writes down
    rig.host.write_down()

    assert [(each.who, each.action, each.target, each.after) for each in await rig.store.audits(10)] == [
        ("script:arena-1", "command", "arena-1", "off"),
        (f"script:arena-1 player:{player(1)}", "command", "arena-1", "shuffle next"),
        (f"script:arena-1 player:{player(1)}", "command", "arena-1", "scramble next"),
    ]


@played
async def test_a_player_has_one_rating_however_their_id_is_spelt(rig: Rig) -> None:
    await rig.hello(FOUR)
    steam_id = player(1)
    arabic = steam_id.translate({ord("0") + digit: ord("٠") + digit for digit in range(10)})

    for spelt in (f"00{steam_id}", arabic):
        await asked(rig, "set", spelt, "1700", admin=True)

    assert [audit.target for audit in await rig.store.audits(10)] == [steam_id, steam_id]


@played
async def test_a_rating_that_is_no_number_or_of_nobody_who_was_seen_is_not_set(rig: Rig) -> None:
    await rig.hello(FOUR)
    reason, steam_id = "a rating is a whole number of at most six digits", player(1)

    for words, typed in (
        *((("set", steam_id, *typed.split()), f", not {typed}") for typed in ("-5", "1000000", "1e999", "1 500", "x")),
        (("set", steam_id), ""),
    ):
        assert await asked(rig, *words, admin=True) == [(Phrase.FAILED, (reason + typed,))]
    for words in (("set", "x", "-5"), ("set", player(STRANGER), "1700"), ("reset", player(STRANGER))):
        ((phrase, _),) = await asked(rig, *words, admin=True)
        assert phrase is Phrase.UNKNOWN_PLAYER
    assert await rig.store.audits(10) == []


@played
async def test_why_shows_the_last_decisions_with_their_reasons(rig: Rig) -> None:
    await rig.hello(FOUR)
    nothing = await asked(rig, "why", admin=True)
    await rig.post(e.RoundLive(0.0, RoundId("r1"), FOUR))
    reply = await rig.post(
        e.RoundEnded(0.0, round_of("r1", FOUR, Side.A)), e.Commanded(0.0, ("why",), player(1), admin=True)
    )

    (tell,) = [order for order in reply.orders if isinstance(order, f.Tell)]
    assert nothing == [(Phrase.WHY_NONE, ())]
    assert shown(tell.lines) == [(Phrase.WHY_LINE, ("pending", "round 2 is always balanced"))]


@played
async def test_the_status_names_mode_round_streak_what_is_pending_and_the_last_scramble(rig: Rig) -> None:
    await rig.hello(FOUR)
    first = await asked(rig, "status", admin=True)
    await rig.play("r1", FOUR, Side.A)
    pending = await asked(rig, "status", admin=True)
    reply = await rig.post(e.RoundStarted(0.0, FOUR))
    (assign,) = [order for order in reply.orders if isinstance(order, f.Assign)]
    await rig.post(e.OrderDone(0.0, assign.order))
    rig.clock.now += 120
    scrambled = await asked(rig, "status", admin=True)
    await rig.host.command(("off",), "test")
    off = await asked(rig, "status", admin=True)

    assert first == [(Phrase.STATUS, ("arena", "1", "0", "-", "-"))]
    assert pending == [(Phrase.STATUS, ("arena", "1", "1", "round 2 is always balanced", "-"))]
    assert scrambled == [(Phrase.STATUS, ("arena", "2", "0", "-", "2 min"))]
    assert off == [(Phrase.STATUS_OFF, ())]
