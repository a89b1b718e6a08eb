"""A game server that compares every line that its players read with what happened.

What happened it knows by docs/protocol.md, docs/rules.md and what operators read of the server.

A line that no method here checks is an error: `said_…` and `told_…` are named by the keys of the phrases.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from tests.daemons import RealDaemon
from tests.document_client import MAPS, PHRASES, Json, Player, Script

NAMES = {"red": "RED", "blu": "BLU", "none": "-"}
EVEN = (0.45, 0.55)
"""Win probabilities at which teams are called balanced."""
FAIR = (0.42, 0.58)
"""`scramble.fair_band`."""
STREAK, ROUNDS = 3, 2
"""The triggers of arena, and of payload."""
LOCK_SECONDS = 180.0
FEW = 6
"""So many players have few splits to choose from; of so many a side a due scramble moves two each way."""
GIVEN_UP = 0.02
"""Unevenness that a due scramble gives up to move two each way."""
TRIED = 40
FEWEST = 4
"""`scramble.min_players`."""

Where = dict[str, str]


def english(text: Json) -> str:
    """A text in English, by the document's table alone; ids of players stay ids."""
    line = PHRASES[text["phrase"]]
    for number, arg in enumerate(text["args"], 1):
        line = line.replace(f"{{{number}}}", english(arg) if isinstance(arg, dict) else arg.removeprefix("@"))
    return line


def method(key: str) -> str:
    """`Equipoise_ScramblePending` as `scramble_pending`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", key.removeprefix("Equipoise_")).lower()


def percent(chance: float | None) -> str:
    """As players read it; it is not known while a side is empty."""
    return "?" if chance is None else f"{100 * chance:.0f}"


def part(fraction: float, whole: int) -> int:
    """The least number that is this fraction of the whole."""
    return max(1, math.ceil(fraction * whole - 1e-9))


@dataclass
class Teams:
    """Teams that an order made: where all stood before it, and where they stood when it was carried out."""

    order: Json
    before: Where
    after: Where

    @property
    def crossed(self) -> set[str]:
        """The players whom it put on the other side."""
        here = {id for id, side in self.before.items() if side != "none" and self.after[id] != "none"}
        return {id for id in here if self.before[id] != self.after[id]}

    @property
    def moved(self) -> set[str]:
        """The same with those who came from the bench or went there."""
        return {id for id, side in self.before.items() if self.after[id] != side}

    @property
    def mixed(self) -> bool:
        """From six a side on two players at least went each way, and not all did; of fewer nothing is asked."""
        stood = [side for id, side in self.before.items() if side != "none" != self.after[id]]
        ways = Counter(self.after[id] for id in self.crossed)
        return min(stood.count(side) for side in ("red", "blu")) < FEW or (
            min(ways["red"], ways["blu"]) >= 2 and ways.total() < len(stood)
        )

    def sizes(self) -> Counter[str]:
        return Counter(self.after.values())


class Witness(Script):
    """What was said is compared as it is read; `self.promised` is the reason of the scramble that is due."""

    def __init__(self, daemon: RealDaemon, server: str, secret: str, mode: str, size: int, seed: int = 0) -> None:
        super().__init__(daemon, server, secret, mode, size, seed)
        self.maps = 0
        self.teams: Teams | None = None
        self.chance_said: tuple[str, Where] | None = None
        """The last chance that all players read, and the sides that it was said of."""
        self.preview: tuple[Where, Where, str] | None = None
        """Sides, where a dry run would put players, and the chance it said."""
        self.answers: dict[str, Json] = {}
        """The last `place` of each player."""
        self.forget_map()

    def forget_map(self) -> None:
        """A new map is a new session."""
        self.completed = self.since_scramble = self.streak = 0
        self.streak_side: str | None = None
        self.shutout = False
        """The side that had to capture something in the last round captured nothing, and lost."""
        self.promised: str | None = None
        self.waiting_over = self.vote_passed = self.admin_asked = self.voted = self.at_once = False
        self.voices: set[str] = set()
        self.result = (0, 0)
        """Votes for and against, of the last vote."""
        self.locks: dict[str, str] = {}
        self.benched: Counter[str] = Counter()

    # What there is to compare with.

    def where(self) -> Where:
        return {each.id: each.side for each in self.players.values()}

    def status(self) -> Json:
        found: Json = self.admin(f"servers/{self.server}")["server"]
        return found

    def chance(self) -> str:
        """Win chance of RED in per cent, of the teams as they stand: what operators read."""
        return percent(self.status()["win_probability"])

    def eligible(self) -> list[Player]:
        return [each for each in self.players.values() if each.side != "none" or each.waiting]

    def decision(self, kind: str, order: str | None) -> Json:
        """The newest line of this kind in the decision log."""
        (line, *_) = (one for one in self.decisions() if one["kind"] == kind)
        assert line["order"] == order, line
        return dict(line)

    # What is said.

    def post(self) -> None:
        super().post()
        assert self.reply["pending"] == (self.promised is not None), (self.promised, self.reply)
        if self.reply["pending"]:
            assert english(self.reply["reason"]) == self.promised

    def do_say(self, order: Json) -> None:
        self.checked("said", order["text"])

    def do_tell(self, order: Json) -> None:
        super().do_tell(order)
        for line in order["lines"]:
            self.checked("told", line, order["id"])
        if order["lines"][0]["phrase"].startswith("Equipoise_DryRun"):
            self.dry_run(order["lines"])

    def checked(self, how: str, text: Json, *more: Any) -> None:
        name = f"{how}_{method(text['phrase'])}"
        assert hasattr(self, name), f"nobody compares this line with what happened: {english(text)}"
        getattr(self, name)(*more, *(self.without_part(how, arg) for arg in text["args"]))

    def without_part(self, how: str, arg: Any) -> Any:
        """A chance alone, where a line says its part of the map, too: that can be seen, and the rest is the teams'."""
        if not isinstance(arg, dict) or arg["phrase"] != "Equipoise_OfTheMap":
            return arg
        chance, of_map = arg["args"]
        if how == "told":  # perhaps of sides that are only proposed
            return chance
        outlook = self.status()["outlook"]
        assert chance == percent(outlook["chance"])
        assert int(of_map) == round(100 * (outlook["chance"] - outlook["of_teams"]))
        assert abs(int(of_map)) >= 2
        self.heard.append("a part of the map")
        return chance

    # New teams.

    def do_assign(self, order: Json) -> None:
        before = self.where()
        super().do_assign(order)
        if self.events[-1]["kind"] == "order_failed":
            self.heard.append("an order that failed")
            return
        self.teams = Teams(order, before, self.where())
        assert self.teams.moved, f"an order that moves nobody: {order}"
        named = {*order["red"], *order["blu"], *order["bench"]}
        assert named == {each.id for each in self.eligible()}
        getattr(self, f"made_{order['purpose']}")(self.teams, english(order["reason"]))

    def made_scramble(self, teams: Teams, reason: str) -> None:
        assert reason == self.promised
        sizes = teams.sizes()
        assert abs(sizes["red"] - sizes["blu"]) < 2
        if not self.held():
            assert teams.mixed or not self.mixes_as_well(teams), (sizes, teams.crossed)
        if self.preview is not None:
            was, then, _ = self.preview
            assert was != teams.before or then == {id: teams.after[id] for id in teams.moved}

    def mixes_as_well(self, teams: Teams) -> bool:
        """Of some splits that move two each way from where all stood one is about as even."""
        playing = {id for id, side in teams.after.items() if side != "none"}
        begin = {id: teams.before[id] if teams.before[id] != "none" else teams.after[id] for id in playing}
        stood = [[id for id, where in begin.items() if where == side] for side in self.sides]
        if abs(len(stood[0]) - len(stood[1])) > 1:
            return False
        least = self.evenness(*(set(teams.order[side]) for side in self.sides)) - 2 * GIVEN_UP
        for _ in range(TRIED):
            red, blu = (set(self._luck.sample(ids, 2)) for ids in stood)
            if self.evenness({*stood[0]} - red | blu, {*stood[1]} - blu | red) >= least:
                return True
        return False

    def evenness(self, red: set[str], blu: set[str]) -> float:
        """How even these sides are known to be, from 0 to 1."""
        sides = {"a": sorted(red), "b": sorted(blu)}
        return float(self.admin(f"pools/{self.server}/match", sides)["evenness"])

    def made_duel(self, teams: Teams, reason: str) -> None:
        """Of the two closest ratings; all others wait."""
        assert self.mode == "arena"
        assert (self.completed, reason) == (0, PHRASES["Equipoise_ReasonDuel"])
        assert [teams.sizes()[side] for side in self.sides] == [1, 1]
        skills = {one["id"]: one["skill"] for one in self.known()}
        ranked = sorted(skills[id] for id in teams.after)
        closest = min(after - before for before, after in itertools.pairwise(ranked))
        one, other = (skills[id] for id, side in teams.after.items() if side != "none")
        assert abs(one - other) <= closest + 1e-6

    def known(self) -> list[Json]:
        """The players of the pool who are here."""
        found = [self.admin(f"players/{id}?pool={self.server}") for id in self.players]
        return [one["player"] for one in found]

    def made_equal_sides(self, teams: Teams, reason: str) -> None:
        assert self.mode == "arena"
        assert reason == PHRASES["Equipoise_ReasonEqualSides"]
        before, sizes = Counter(teams.before.values()), teams.sizes()
        assert before["none"] or before["red"] != before["blu"], "nobody waited, and the sides were equal"
        assert (sizes["red"], sizes["blu"], sizes["none"]) == (len(teams.after) // 2,) * 2 + (len(teams.after) % 2,)

    def made_too_uneven(self, teams: Teams, reason: str) -> None:
        """One or two pairs change places, of sides that stay as large; no scramble is due that could be carried out."""
        assert reason == PHRASES["Equipoise_ReasonTooUneven"]
        assert self.completed > 0
        assert self.promised is None or len(self.eligible()) < FEWEST
        ways = Counter(teams.after[id] for id in teams.crossed)
        assert teams.moved == teams.crossed
        assert abs(teams.sizes()["red"] - teams.sizes()["blu"]) < 2
        assert ways["red"] == ways["blu"] in (1, 2)

    def said_too_uneven_two(self, side: str, chance: str, *names: str) -> None:
        """Who was ahead, and who changed side, for a gain that is worth it; they alone are locked."""
        teams = self.teams
        assert teams is not None
        assert teams.order["purpose"] == "too_uneven"
        assert self.where() == teams.after, "these are not the teams that were ordered"
        assert {name.removeprefix("@") for name in names} == teams.crossed
        line = self.decision("too_uneven", teams.order["order"])
        before, after = line["detail"]["before"], line["detail"]["after"]
        assert (side, chance) == (("RED", percent(before)) if before > 0.5 else ("BLU", percent(1 - before)))
        assert not FAIR[0] <= before <= FAIR[1]
        gained = abs(before - 0.5) - abs(after - 0.5)
        assert EVEN[0] <= after <= EVEN[1] or gained >= 0.03 * len(names) / 2, (before, after, teams.sizes())
        held = {one["id"]: one["side"] for one in self.reply["orders"] if one["kind"] == "lock"}
        assert held == {id: teams.after[id] for id in teams.crossed}

    said_too_uneven_four = said_too_uneven_two

    def said_scrambled(self, side: str, chance: str, reason: Json) -> None:
        self.new_teams(side, chance, reason, None)

    def said_scrambled_uneven(self, side: str, chance: str, reason: Json, cause: Json) -> None:
        self.new_teams(side, chance, reason, cause)

    def new_teams(self, side: str, chance: str, reason: Json, cause: Json | None) -> None:
        """All read what the new teams' chance is, why they were made, and why they are no better."""
        teams, outlook = self.teams, self.status()["outlook"]
        assert teams is not None
        assert teams.order["purpose"] == "scramble"
        assert self.where() == teams.after, "these are not the teams that were ordered"
        assert english(reason) == english(teams.order["reason"]) == self.promised
        assert (side, chance) == ("RED", percent(outlook["chance"]))
        assert (cause is None) == (EVEN[0] <= outlook["of_teams"] <= EVEN[1])
        if cause is not None:
            self.causes(cause["phrase"], outlook["of_teams"])
        line = self.decision("scramble", teams.order["order"])
        assert (line["reason"], percent(line["detail"]["after"])) == (self.promised, chance)
        assert line["detail"].get("cause") == (cause and english(cause))
        assert {where: set(ids) for where, ids in line["detail"]["split"].items()} == {
            "a": set(teams.order["red"]), "b": set(teams.order["blu"]), "bench": set(teams.order["bench"]),
        }  # fmt: skip
        assert set(line["detail"]["players"]) == teams.moved
        held = {one["id"]: one["side"] for one in self.reply["orders"] if one["kind"] == "lock"}
        assert held == {id: where for id, where in teams.after.items() if where != "none"}
        if self.preview is not None and self.preview[0] == teams.before:
            assert chance == self.preview[2]
            self.heard.append("a preview that came true")
        self.chance_said = chance, teams.after
        self.scrambled()

    def said_shuffle_needless(self, side: str, chance: str, cause: Json) -> None:
        """Nobody was moved, and nobody is locked."""
        assert "assign" not in [order["kind"] for order in self.reply["orders"]]
        assert "lock" not in [order["kind"] for order in self.reply["orders"]]
        outlook = self.status()["outlook"]
        assert (side, chance) == ("RED", percent(outlook["chance"]))
        self.causes(cause["phrase"], outlook["of_teams"])
        self.teams = Teams({"purpose": "scramble"}, self.where(), self.where())
        self.chance_said = chance, self.teams.after
        small = min(len(self.on(one)) for one in self.sides) < FEW
        assert small or self.held()
        self.scrambled()

    def few(self) -> bool:
        return len(self.eligible()) <= FEW

    def causes(self, cause: str, chance: float) -> None:
        """The cause that is said holds."""
        ahead, behind = self.sides if chance > 0.5 else self.sides[::-1]
        more = len(self.on(ahead)) > len(self.on(behind))
        even = EVEN[0] <= chance <= EVEN[1]
        if cause == "Equipoise_CauseStar":
            skills = {one["id"]: one["skill"] for one in self.known() if self.players[one["id"]].side != "none"}
            assert self.players[max(skills, key=lambda id: skills[id])].side == ahead
        holds = {
            "Equipoise_CauseEven": even,
            "Equipoise_CauseHeadCount": not even and more,
            "Equipoise_CauseStar": not even and not more,
            "Equipoise_CauseHeld": not even and not more and self.held(),
            "Equipoise_CauseFew": not even and not more and not self.held() and self.few(),
            "Equipoise_CauseRules": not even and not more and not self.held() and not self.few(),
        }
        assert holds[cause], (cause, chance, self.where())

    def held(self) -> list[str]:
        return [each.id for each in self.players.values() if each.flags.get("held")]

    def said_held_duel(self, who: str) -> None:
        """Those who duel are where they were: one by name, several by number."""
        held = self.held()
        assert who == (f"@{held[0]}" if len(held) == 1 else str(len(held)))
        if "assign" in [line["kind"] for line in self.reply["orders"]]:
            return
        assert self.teams is None or not self.teams.moved & {*held}

    def scrambled(self) -> None:
        """What was due is done."""
        self.since_scramble = self.streak = 0
        self.streak_side = self.promised = self.preview = None
        self.waiting_over = self.vote_passed = self.admin_asked = False
        self.voices.clear()

    def told_benched(self, id: str) -> None:
        teams = self.teams
        assert teams is not None
        assert self.players[id].side == teams.after[id] == "none"
        # Who waited comes in before all others: turns are among those who played.
        equal = teams.order["purpose"] == "equal_sides"
        turns = [one for one in teams.after if not equal or teams.before[one] != "none"]
        assert self.benched[id] == min(self.benched[one] for one in turns), (id, self.benched, turns)

    def told_duel_wait(self, id: str) -> None:
        assert self.mode == "arena"
        assert self.players[id].side == "none"

    # What is due.

    def said_scramble_pending(self, reason: Json) -> None:
        # What was to be done at once waits for the next round start if the script could not do it.
        waits = (self.admin_asked or self.vote_passed) and self.heard.count("an order that failed") > 0
        assert self.promised is None or (waits and self.promised == english(reason)), self.promised
        self.promised = english(reason)
        holds = {
            "Equipoise_ReasonStreak": self.mode == "arena" and self.streak >= STREAK,
            "Equipoise_ReasonRoundTwo": self.mode == "arena" and self.completed == 1,
            "Equipoise_ReasonNoCapture": self.mode != "arena" and self.shutout,
            "Equipoise_ReasonRounds": self.mode == "payload" and self.since_scramble >= ROUNDS,
            "Equipoise_ReasonWaitingEnded": self.waiting_over,
            "Equipoise_ReasonVote": self.vote_passed,
            "Equipoise_ReasonAdmin": self.admin_asked,
        }
        assert holds[reason["phrase"]], (self.promised, vars(self))
        numbers = {"Equipoise_ReasonStreak": self.streak, "Equipoise_ReasonRounds": self.since_scramble}
        assert reason["args"] == [str(number) for key, number in numbers.items() if key == reason["phrase"]]

    def said_scramble_waits(self, reason: Json, players: str) -> None:
        assert len(self.eligible()) < int(players) == FEWEST
        self.said_scramble_pending(reason)

    def told_scramble_pending(self, id: str, reason: Json) -> None:
        assert english(reason) == self.promised

    def due(self) -> bool:
        """A round's end has made a scramble due, by docs/protocol.md's table of modes."""
        if self.mode == "arena":
            return self.completed == 1 or self.streak >= STREAK
        return self.shutout or (self.mode == "payload" and self.since_scramble >= ROUNDS)

    def end_round(self, winner: int | None, captures: tuple[int, int]) -> None:
        assert winner is not None
        side, due_before, due_if = self.sides[winner], self.promised, self.reply["due_if"]
        lost = captures[1 - winner]
        self.completed, self.since_scramble = self.completed + 1, self.since_scramble + 1
        self.streak = self.streak + 1 if side == self.streak_side else 1
        self.streak_side = side
        self.shutout = lost == 0 and self.mode != "arena" and (self.mode == "koth" or side == "red")
        foreseen = bool({side, "any", f"{side}:{lost}"} & set(due_if))
        lineup = {one["id"]: one["side"] for one in self.lineup}
        super().end_round(winner, captures)
        if self.due() and self.promised is None:  # the reply left after a second, and the rest comes with the next poll
            self.post()
        assert (self.promised is not None) == (due_before is not None or self.due())
        assert due_before is not None or foreseen == self.due()
        self.remembered(lineup)

    def remembered(self, lineup: Where) -> None:
        """The stored round says the chance that was said of the same teams."""
        stored = self.admin(f"rounds/{self.server}/{self.boot}-{self.number}")
        assert [set(side) for side in stored["lineup"]] == [
            {id for id, where in lineup.items() if where == side} for side in self.sides
        ]
        if self.chance_said is not None:
            chance, where = self.chance_said
            if {id: side for id, side in where.items() if side != "none"} == lineup:
                self.heard.append("a round of the teams that were announced")
                assert percent(stored["round"]["win_probability"]) == chance
        self.chance_said = None

    def said_scramble_cancelled(self) -> None:
        assert self.promised is not None
        assert self.admin_asked
        self.promised, self.streak, self.streak_side = None, 0, None
        self.admin_asked = False

    # The vote.

    def do_vote(self, order: Json) -> None:
        assert len(self.voices) >= part(0.3, len(self.eligible()))
        assert order["fraction"] == 0.6
        self.at_once = order["text"]["phrase"] == "Equipoise_VoteQuestionNow"
        assert self.at_once is (self.mode != "arena"), "it comes in the first seconds of a round"
        super().do_vote(order)

    def said_vote_voice(self, who: str, have: str, need: str) -> None:
        self.voices.add(who.removeprefix("@"))
        assert (have, need) == (str(len(self.voices)), str(part(0.3, len(self.eligible()))))

    def said_vote_passed(self, yes: str, of: str) -> None:
        self.vote_over(yes, of)
        assert int(yes) >= part(0.6, int(of))
        self.vote_passed = True
        if self.at_once:
            self.promised = "the players voted for it"

    def said_vote_failed(self, yes: str, of: str, needed: str) -> None:
        self.vote_over(yes, of)
        assert int(yes) < int(needed) == part(0.6, int(of))

    def vote_over(self, yes: str, of: str) -> None:
        assert (int(yes), int(of)) == (self.result[0], sum(self.result))
        self.voted = True
        self.voices.clear()

    def told_vote_even_interval(self, id: str, side: str, *chances: str) -> None:
        outlook = self.status()["outlook"]
        assert (side, chances) == ("RED", _interval(outlook))
        assert FAIR[0] <= outlook["of_teams"] <= FAIR[1]
        assert outlook["unevenness_of_teams"] <= (FAIR[1] - FAIR[0]) / 2
        assert self.streak < 2

    def told_vote_cooldown(self, id: str) -> None:
        assert self.voted

    def told_vote_already_due(self, id: str) -> None:
        assert self.promised is not None

    # Players who ask for a side, and who are moved.

    def do_place(self, order: Json) -> None:
        player, red, blu = self.players[order["id"]], *(len(self.on(side)) for side in self.sides)
        size = {"red": red, "blu": blu, "none": 0}
        here, there = player.side, order["side"]
        other = {"red": "blu", "blu": "red", "none": "none"}
        args, lock = order["reason"]["args"], self.locks.get(player.id)
        holds = {
            "Equipoise_ReasonJoinSmaller": size[there] < size[other[there]],
            "Equipoise_ReasonJoinWeaker": size[here if here != "none" else there] - size[other[there]] in (0, 1),
            "Equipoise_ReasonReturn": there == lock,
            "Equipoise_ReasonAllowed": size[there] - (here == there) <= size[other[there]],
            "Equipoise_ReasonWaits": there == "none" and self.mode == "arena" and self.phase in ("freeze", "running"),
            "Equipoise_RefusedLocked": here == there == lock and args and 0 < int(args[0]) <= LOCK_SECONDS,
            "Equipoise_RefusedLockedScramble": here == there == lock and self.mode == "arena",
            "Equipoise_RefusedGap": here == there and args == [str(size[here] - 1), str(size[other[here]] + 1)],
            "Equipoise_RefusedSwitch": here == there and size[here] - size[other[here]] == 1,
        }
        assert holds[order["reason"]["phrase"]], (order, size, here, lock)
        self.answers[player.id] = order
        super().do_place(order)

    def do_lock(self, order: Json) -> None:
        assert self.players[order["id"]].side == order["side"], "locked to a side that they are not on"
        assert order["seconds"] == (0 if self.mode == "arena" else LOCK_SECONDS) or order["seconds"] < LOCK_SECONDS
        self.locks[order["id"]] = order["side"]

    def do_unlock(self, order: Json) -> None:
        for id in order["ids"]:
            self.locks.pop(id, None)

    def do_move(self, order: Json) -> None:
        sizes = {side: len(self.on(side)) for side in self.sides}
        here = self.players[order["id"]].side
        assert order["side"] != here
        said = {"phrase": "Equipoise_ReasonGap", "args": [str(sizes[here]), str(sizes[order["side"]])]}
        assert order["reason"] == said, (order, sizes)
        assert sizes[here] - sizes[order["side"]] >= 2
        super().do_move(order)

    # Answers to commands.

    def dry_run(self, lines: list[Json]) -> None:
        """Who would move, and the chance before and after: as the admin interface says it, and as it is then done."""
        first, *moves = lines
        count, side, before, after, *_ = (arg["args"][0] if isinstance(arg, dict) else arg for arg in first["args"])
        then = {player.removeprefix("@"): where for player, where in (line["args"] for line in moves)}
        assert (int(count), side, before) == (len(then), "RED", self.chance())
        assert all(NAMES[self.players[id].side] != where for id, where in then.items())
        back = {name: where for where, name in NAMES.items()}
        asked = self.admin(f"servers/{self.server}/scramble", {"dry_run": True})["proposal"]
        assert {one["id"]: NAMES[one["side"]] for one in asked["moves"]} == then
        assert (percent(asked["before"]), percent(asked["after"])) == (before, after)
        self.preview = self.where(), {id: back[where] for id, where in then.items()}, after

    def told_dry_run_interval(self, id: str, *args: str) -> None:
        """`dry_run` has all its lines."""

    def told_dry_run_line(self, id: str, *args: str) -> None:
        """As above."""

    def told_teams_chance_interval(self, id: str, side: str, *chances: str) -> None:
        assert (side, chances) == ("RED", _interval(self.status()["outlook"]))

    def told_teams(self, id: str, red: str, sum_red: str, blu: str, sum_blu: str) -> None:
        assert (red, blu) == ("RED", "BLU")
        skills = {one["id"]: one["skill"] for one in self.known()}
        sums = [sum(skills[each.id] for each in self.on(side)) for side in self.sides]
        assert (sum_red, sum_blu) == (f"{sums[0]:.0f}", f"{sums[1]:.0f}")

    def told_status(self, id: str, mode: str, number: str, streak: str, pending: str, last: str) -> None:
        assert (mode, int(streak), pending) == (self.mode, self.streak, self.promised or "-")
        assert int(number) == self.completed + (self.phase != "over")

    def told_why_line(self, id: str, kind: str, reason: str) -> None:
        assert (kind, reason) in [(one["kind"].replace("_", " "), one["reason"]) for one in self.decisions()]

    # What people do.

    def commands(self, *words: str, admin: bool = True) -> None:
        by = next(iter(self.players)) if admin else words[-1]
        self.happens("command", words=list(words if admin else words[:-1]), by=by, admin=admin)
        self.post()

    def goes_live(self) -> None:
        if self.mode == "arena":
            self.benched.update(each.id for each in self.eligible() if each.side == "none")
        super().goes_live()

    def begins_map(self, *, waiting: bool = True) -> None:
        """The next map: a new session, with Waiting For Players where the game has it."""
        dropped = self.promised is not None
        self.forget_map()
        self.maps += 1
        self.session, self.phase, self.teams, self.preview = f"{self.boot}-{self.maps}", "idle", None, None
        self.map = f"{MAPS[self.mode][0]}_{self.maps}"
        self.hello(waiting=waiting and self.mode != "arena")
        self.roster()
        self.post()
        if dropped:
            assert self.decisions()[0]["kind"] == "dropped"

    def waiting_ends(self) -> None:
        self.waiting_over = True
        self.happens("waiting_ended")
        self.post()
        assert self.promised == PHRASES["Equipoise_ReasonWaitingEnded"]

    def arrives(self, player: Player) -> None:
        """A regular connects and asks for any side."""
        player.left, player.joined, player.side, player.waiting = False, self.now, "none", False
        self.players[player.id] = player
        self.happens("player_joined", id=player.id, name=f"player {player.id[-4:]}")
        self.asks(player, "any")

    def asks(self, player: Player, side: str) -> Json:
        """A player asks for a side and is held until the answer comes."""
        self.answers.pop(player.id, None)
        self.happens("side_wanted", id=player.id, side=side)
        for _ in self.polls():
            if player.id in self.answers:
                return self.answers[player.id]
        raise AssertionError(f"no answer for {player.id}: {self.reply}")

    def switches_sides(self) -> None:
        """The game swaps the sides; locks and wins follow the group."""
        other = dict(zip(self.sides, reversed(self.sides), strict=True))
        for each in self.players.values():
            each.side = other.get(each.side, each.side)
        self.locks = {id: other[side] for id, side in self.locks.items()}
        self.streak_side = self.streak_side and other[self.streak_side]
        self.chance_said = None
        self.happens("sides_switched")
        self.roster()


def _interval(outlook: Json) -> tuple[str, ...]:
    return tuple(percent(outlook[end]) for end in ("chance", "low", "high"))
