"""How the plugin talks: retries, the ring, refusals, garbled answers, and what it leaves behind."""

import json

import pytest

from tests.sourcemod.answerer import (
    REPORTED,
    Daemon,
    Json,
    begin,
    complaints,
    crowd,
    go_live,
    ids,
    in_freeze,
    play_round,
    poll,
    rounds_of_all,
    seat,
    seconds_of_play,
    settle,
)
from tests.sourcemod.rig import Game, Plugin, play
from tests.sourcemod.rig.game.facts import BLU, RED, Reason, State


def test_it_polls_when_the_daemon_said_and_at_once_after_a_nudge(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    daemon.sticky["next"] = 3.0
    game.start_map("koth_harvest_final")
    seconds_of_play(game, 13)
    assert 4 <= len(daemon.batches) <= 6
    assert daemon.batches[-1]["events"] == []
    daemon.sticky["next"] = 60.0
    poll(game)
    posted = len(daemon.batches)
    poll(game)
    assert len(daemon.batches) == posted + 1


def test_one_batch_is_in_flight_at_a_time(game: Game, daemon: Daemon, koth: Plugin) -> None:
    game.sm.http.held = True
    for n in range(5):
        game.connect(f"P{n}")
        game.advance(0.1)
    assert len(game.sm.http.flying) == 1
    game.sm.http.held = False
    settle(game)
    assert [batch["seq"] for batch in daemon.batches] == [1, 2, 3]
    assert len(daemon.events("player_joined")) == 5


def test_no_answer_is_retried_once_as_it_was_and_then_given_up_and_silence_is_logged_once_and_so_is_its_end(
    game: Game, daemon: Daemon, koth: Plugin
) -> None:
    game.sm.http.offline = True
    sent = game.sm.http.sent
    sent.clear()
    game.connect("Ann")
    game.advance(4)
    assert len(sent) == 2
    assert sent[0].body == sent[1].body
    game.advance(10)
    last = json.loads(sent[-1].body)
    assert last["seq"] > json.loads(sent[0].body)["seq"]
    assert [event["kind"] for event in last["events"]] == ["hello", "roster"]
    game.advance(46)
    (complaint,) = complaints(game)
    assert "does not answer" in complaint
    game.sm.http.offline = False
    seconds_of_play(game, 12)
    assert [text for _, text in game.sm.log.messages] == ["The daemon answers again."]


def test_a_daemon_that_comes_back_in_the_freeze_time_can_still_act(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    begin(game, "arena_well", 2, 2)
    game.sm.http.offline = True
    play.wipe_out(game, RED)
    game.until(lambda: game.rounds.state is State.PREROUND)
    game.advance(2)
    game.sm.http.offline = False
    daemon.forget()
    game.until(lambda: daemon.batches, within=6)
    assert game.rounds.state is State.PREROUND
    assert daemon.kinds() == ["hello", "round_ended", "round_started", "roster"]


def test_a_flood_gives_way_to_a_fresh_roster(game: Game, daemon: Daemon, koth: Plugin) -> None:
    ann = seat(game, "Ann", "red")
    ann.flags = 1 << 1  # an admin is heard every time
    settle(game)
    daemon.forget()
    game.sm.http.held = True
    for _ in range(250):
        game.say(ann, "!top")
    game.advance(0.1)
    game.sm.http.held = False
    settle(game)
    assert all(len(batch["events"]) <= 256 for batch in daemon.batches)
    assert {"hello", "roster", "command"} <= set(daemon.kinds())


@pytest.mark.parametrize("in_flight", [False, True])
def test_an_answer_that_never_comes_is_not_waited_for_and_a_late_one_is_ignored(
    game: Game, daemon: Daemon, koth: Plugin, *, in_flight: bool
) -> None:
    """Also when it comes before the answer to the batch that is under way."""
    ann = seat(game, "Ann", "red")
    settle(game)
    daemon.order("tell", id=str(ann.steamid), lines=[{"phrase": "Equipoise_TopEmpty", "args": []}])
    game.rcon("equipoise_poll")
    game.frame()  # the request starts
    late = game.sm.http.flying.pop()
    late.answer.result()  # the order is in this answer, not in that to a later poll
    seconds_of_play(game, 20)
    polls = len(daemon.batches)
    if in_flight:
        game.rcon("equipoise_poll")
        game.frame()
        assert game.sm.http.flying
    game.sm.http.flying.append(late)
    seconds_of_play(game, 10)
    assert len(daemon.batches) > polls > 2
    assert not [line for line in ann.chat if "Nobody is ranked yet" in line]


@pytest.mark.parametrize(("status", "code"), [(401, "credentials"), (429, "throttled")])
def test_a_wrong_secret_is_said_once_with_what_to_do(
    game: Game, daemon: Daemon, plugin: Plugin, status: int, code: str
) -> None:
    daemon.always = daemon.refuse(status, code)
    game.start_map("koth_harvest_final")
    for n in range(4):
        game.add(f"P{n}", "red" if n % 2 else "blue")
    seconds_of_play(game, 200)
    (complaint,) = complaints(game)
    assert str(status) in complaint
    assert "equipoise_secret" in complaint
    assert "equipoise.cfg" in complaint
    assert len(daemon.batches) < 12
    assert all(player.team in (2, 3) for player in game.humans())
    daemon.always = None
    play_round(game)
    seconds_of_play(game, 35)
    assert len(rounds_of_all(daemon)) >= 1


def test_without_a_secret_nothing_is_posted_and_one_error_is_logged(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    (game.sm.root.parent.parent / "cfg" / "sourcemod" / "equipoise.cfg").write_text('equipoise_secret ""\n')
    game.start_map("koth_harvest_final")
    ann = game.add("Ann", "red")
    seconds_of_play(game, 30)
    assert not daemon.batches
    assert ann.team == RED
    (complaint,) = complaints(game)
    assert "equipoise_secret" in complaint


def test_half_an_answer_is_no_answer_and_is_asked_for_again_after_a_second(
    game: Game, daemon: Daemon, plugin: Plugin
) -> None:
    """Its status is 200 all the same."""
    begin(game, "koth_harvest_final", 1, 1)
    daemon.forget()
    daemon.cut = 1
    game.rounds.win(RED, Reason.POINTS_CAPTURED)
    game.advance(REPORTED)
    game.settle()
    assert len(daemon.batches) == 1
    game.advance(2.2)  # due after a second, which a timer of one second finds out
    game.settle()
    assert [batch["seq"] for batch in daemon.batches] == [daemon.batches[0]["seq"]] * 2
    assert complaints(game) == []
    seconds_of_play(game, 12)
    assert len(rounds_of_all(daemon)) == 2  # the same batch, twice
    daemon.cut = 3
    seconds_of_play(game, 15)
    assert daemon.cut == 0
    assert not game.sm.log.take_faults()
    (complaint,) = complaints(game)
    assert "does not answer" in complaint


@pytest.mark.parametrize(
    "body", [b"", b"<html>nginx</html>", b'{"ok": true, "orders": [{"kind": "as', b"\xff\xfe", b"[" * 500]
)
def test_garbled_answers_are_no_answers(game: Game, daemon: Daemon, plugin: Plugin, body: bytes) -> None:
    begin(game, "koth_harvest_final", 1, 1)
    daemon.always = (200, body)
    game.rounds.win(RED, Reason.POINTS_CAPTURED)
    seconds_of_play(game, 130)
    faults = game.sm.log.take_faults()
    assert 1 <= len(faults) <= 6
    assert all("Invalid JSON" in fault for fault in faults)
    assert game.add("New", "red").team in (RED, BLU)
    daemon.always = None
    daemon.forget()
    seconds_of_play(game, 35)
    assert rounds_of_all(daemon)


@pytest.mark.parametrize(
    "fields",
    [
        {"orders": "all of them", "rounds": [], "players": {}, "due_if": 7, "want": "hello", "cache": 1},
        {"orders": [1, None, "x", [], {}], "players": [3, {}], "due_if": [None, {}], "want": [1]},
        {"orders": [{"kind": "assign"}, {"kind": "move"}, {"kind": "place"}, {"kind": "lock"}, {"kind": "say"}]},
        {"orders": [{"kind": "tell", "id": 5, "lines": {}}, {"kind": "unlock", "ids": 1}, {"kind": "dance"}]},
        {"cache": {"ids": [1, 2], "splits": [3]}, "next": "soon", "enabled": None, "pending": "yes"},
        {"cache": None, "next": -5, "orders": None, "rounds": None, "players": None, "due_if": None, "want": None},
    ],
)
def test_a_reply_of_wrong_types_does_no_harm(game: Game, daemon: Daemon, plugin: Plugin, fields: Json) -> None:
    _red, _ = begin(game, "koth_harvest_final", 2, 2)
    sides = {player.name: player.team for player in game.humans()}
    daemon.once = fields
    poll(game)
    assert {player.name: player.team for player in game.humans()} == sides
    posted = len(daemon.batches)
    seconds_of_play(game, 12)
    assert len(daemon.batches) > posted


def test_a_refused_event_is_dropped_and_the_rest_sent_again_in_their_order(
    game: Game, daemon: Daemon, koth: Plugin
) -> None:
    daemon.raw.append(daemon.refuse(422, "schema", "$.events[1].name"))
    first, _, third, fourth = (game.connect(name) for name in ("First", "Bad", "Third", "Fourth"))
    settle(game)
    refused, again = daemon.batches[-2:]
    assert [event["kind"] for event in refused["events"]] == ["player_joined"] * 4
    assert [event["id"] for event in again["events"]] == [str(player.steamid) for player in (first, third, fourth)]
    assert again["seq"] == refused["seq"] + 1
    assert "$.events[1].name" in complaints(game)[0]


def test_events_that_a_map_left_unsent_are_not_sent_on_the_next(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    begin(game, "cp_gorge", 2, 2)
    game.sm.http.offline = True
    game.rounds.win(RED, Reason.DEFENDED)
    in_freeze(game)
    game.advance(6)  # it was tried
    game.start_map("koth_harvest_final")
    game.sm.http.offline = False
    daemon.forget()
    seconds_of_play(game, 8)
    assert {"hello", "round_ended", "roster"} <= set(daemon.kinds())
    assert "sides_switched" not in daemon.kinds()


def test_what_is_wanted_is_sent_a_name_that_is_no_utf8_goes_without_and_no_redirect_is_followed(
    game: Game, daemon: Daemon, koth: Plugin
) -> None:
    daemon.forget()
    daemon.once["want"] = ["hello", "roster"]
    poll(game)
    assert daemon.kinds() == ["hello", "roster"]
    game.connect("cut off \udce2\udc82")
    settle(game)
    assert "name" not in daemon.events("player_joined")[0]
    assert {sent.request.max_redirects for sent in game.sm.http.sent} == {0}


def test_an_evening_leaves_no_handles_behind(game: Game, daemon: Daemon, plugin: Plugin, koth: Plugin) -> None:
    """`sm_dump_handles` shows the same counts after rounds, joins, votes, menus, commands, orders and silence."""
    red, blu = crowd(game, 3, 3)
    play_round(game)
    game.sm.admin_menu.load()
    admin = red[0]
    admin.flags = 1 << 14
    text = {"phrase": "Equipoise_ReasonStreak", "args": ["3"]}
    daemon.answers["command"] = lambda event: [{"kind": "tell", "id": event["by"], "lines": [text, text]}]

    def everything(number: int) -> None:
        in_freeze(game)
        daemon.order("assign", order="a", reason=text, red=ids(blu), blu=ids(red), bench=[], moment="freeze")
        daemon.order("say", text=text)
        daemon.order("lock", id=ids(red)[0], side="red", seconds=60.0)
        daemon.order("unlock", ids=ids(red))
        daemon.once |= {"due_if": ["red"], "players": [{"id": ids(red)[0], "rating": 1.0, "rounds": 1}]}
        daemon.once["cache"] = {"ids": ids(red + blu), "splits": ["ABABAB"]}
        game.rcon("equipoise_poll")
        go_live(game)
        daemon.order("move", order="m", reason=text, id=ids(red)[0], side="red", deadline=1.0)
        daemon.order("move", order="c", reason=text, id=ids(red)[1], side="red", deadline=9.0)
        daemon.order("cancel", order="c")
        game.rcon("equipoise_poll")
        seconds_of_play(game, 2)
        for name, voters in (("ends", red[:number]), ("is withdrawn", red[:1])):
            daemon.order("vote", order=name, seconds=5.0, text={"phrase": "Equipoise_VoteQuestionNow", "args": []})
            poll(game)
            for player in voters:
                game.sm.menus.choose(player, "Yes")
            daemon.order("cancel", order="is withdrawn")
            seconds_of_play(game, 8)
        guest = seat(game, f"Guest{number}", "blue")
        game.say(guest, "!rating")
        game.say(guest, "!scramble")
        game.command(admin, "sm_eq_why")
        settle(game)
        game.command(admin, "menuselect 1")
        game.command(admin, "sm_admin")
        game.sm.menus.choose(admin, "Equipoise")
        game.sm.menus.choose(admin, "Scramble now")
        game.rcon("mp_autoteambalance 1")
        game.sm.http.offline = True
        again = game.reconnect(guest)
        game.advance(40)
        game.sm.http.offline = False
        seconds_of_play(game, 15)
        game.leave(again)
        play_round(game)

    everything(0)
    before = game.sm.handles.live(plugin)
    for number in (1, 3):
        everything(number)
        assert game.sm.handles.live(plugin) == before


def test_an_answer_that_comes_after_the_map_changed_orders_nothing(game: Game, daemon: Daemon, koth: Plugin) -> None:
    ann = seat(game, "Ann", "red")
    settle(game)
    daemon.order("place", id=str(ann.steamid), side="red", reason={"phrase": "Equipoise_ReasonReturn", "args": []})
    game.sm.http.held = True
    game.rcon("equipoise_poll")
    game.frame()
    game.start_map("mvm_coaltown")
    game.sm.http.held = False
    settle(game)
    assert ann.team == 0


def test_a_start_that_was_overtaken_by_the_rounds_end_is_made_up_for_by_a_roster(
    game: Game, daemon: Daemon, plugin: Plugin
) -> None:
    """Its roster counted as reported, and is not sent: who became ready meanwhile would never be heard of."""
    game.start_map("arena_well")
    _, blu = crowd(game, 2, 2)
    late = game.connect("Late")
    game.join(late, "red")
    in_freeze(game)
    ends = float(game.rules.props["m_flStateTransitionTime"])  # type: ignore[arg-type]
    game.until(lambda: game.map_time > ends - 0.2, within=20)
    game.sm.http.held = True
    game.rcon("equipoise_poll")
    game.frame()
    game.command(late, "joinclass scout")
    for player in blu:
        game.leave(player)
    game.until(lambda: game.rounds.state is State.TEAM_WIN, within=10)
    game.advance(REPORTED)
    game.sm.http.held = False
    settle(game)
    settle(game)
    assert not daemon.events("round_live")
    (line,) = [line for line in daemon.events("roster")[-1]["players"] if line["id"] == str(late.steamid)]
    assert line.get("ready", True)
