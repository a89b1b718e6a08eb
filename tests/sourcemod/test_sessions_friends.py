"""Friends and swaps: what players type and press, what the real daemon makes of it, and that every line is true."""

from __future__ import annotations

import itertools
import re

from tests.sourcemod.rig.game import play
from tests.sourcemod.rig.game.facts import BLU, RED
from tests.sourcemod.rig.game.players import Player
from tests.sourcemod.sessions import Evening, NewEvening

PARTED = re.compile(r"To keep the teams even, you and (\w+) are on different sides this time\.")
CHANCE = re.compile(r"Win chance of RED: (\d+) %")


def say(evening: Evening, player: Player, text: str) -> None:
    evening.game.say(player, text)
    evening.wait(1.0)


def by_name(evening: Evening, name: str) -> Player:
    return next(player for player in evening.game.humans() if player.name == name)


def befriend(evening: Evening, *names: str) -> None:
    """Each invites the next by name; these accept by the menu."""
    for one, two in itertools.pairwise(names):
        say(evening, by_name(evening, one), f"!buddy {two}")
        friend = by_name(evening, two)
        evening.game.say(friend, "!eq")
        evening.game.sm.menus.choose(friend, "Friends")
        evening.game.sm.menus.choose(friend, f"Accept: {one}")
        evening.wait(1.0)
        assert any(f"You and {one} are friends" in line for line in friend.chat)


def started(new_evening: NewEvening, count: int) -> Evening:
    evening = new_evening("koth_harvest_final")
    for number in range(count):
        evening.seat(f"P{number:02}")
    evening.freeze()
    return evening


def apart(evening: Evening, *groups: tuple[str, ...]) -> set[tuple[str, str]]:
    """Friends on different sides, each pair both ways."""
    sides = {player.name: player.team for player in evening.game.humans()}
    pairs = itertools.chain.from_iterable(itertools.permutations(group, 2) for group in groups)
    return {(one, two) for one, two in pairs if {sides[one], sides[two]} == {RED, BLU}}


class Lines:
    """What each player has read since the last look."""

    def __init__(self, evening: Evening) -> None:
        self.evening = evening
        self.seen = {player: len(player.chat) for player in evening.game.humans()}

    def new(self) -> dict[str, list[str]]:
        return {player.name: player.chat[count:] for player, count in self.seen.items()}

    def parted(self) -> set[tuple[str, str]]:
        """Who read of whom."""
        return {
            (name, found[1]) for name, lines in self.new().items() for line in lines if (found := PARTED.search(line))
        }

    def chance(self) -> int:
        """The chance that all players read, the same for all."""
        (chance,) = {int(found[1]) for lines in self.new().values() for line in lines if (found := CHANCE.search(line))}
        return chance


def test_an_evening_of_friends_in_which_every_line_is_true(new_evening: NewEvening) -> None:
    """Six rounds of twelve: a group of three and a pair; a friendship ends, and four stars are parted."""
    evening = started(new_evening, 12)
    trio, pair = ("P00", "P01", "P02"), ("P10", "P11")
    befriend(evening, *trio)
    befriend(evening, *pair)
    evening.rate(**{f"P{n:02}": 800.0 + 100 * n for n in range(12)})
    say(evening, by_name(evening, "P00"), "!eq friend")
    assert {"P01 plays with you.", "P02 plays with you."} <= {
        line.split("\x01 ")[1] for line in by_name(evening, "P00").chat[-3:]
    }
    groups = [trio, pair]
    for number in range(6):
        evening.live()
        if number == 4:
            groups.append(("P06", "P07", "P08", "P09"))
            befriend(evening, *groups[-1])
            evening.rate(**dict.fromkeys(groups[-1], 6000.0))
        evening.win((RED, BLU)[number % 2])
        if number == 3:
            say(evening, by_name(evening, "P11"), "!buddy none")
            groups.remove(pair)
            assert "P11 has left your group." in by_name(evening, "P10").chat[-1]
        evening.game.rcon("sm_eq_scramble next")
        evening.wait(0.5)
        lines = Lines(evening)
        evening.freeze()
        after = evening.decisions("scramble")[-1]["detail"]["after"]
        assert lines.chance() == round(100 * after)
        assert evening.sizes() == [6, 6]
        assert lines.parted() == apart(evening, *groups)
        if number < 4:
            assert lines.parted() == set(), "twelve have even teams with these together"
            assert 0.45 <= after <= 0.55
    assert apart(evening, groups[-1]), "four stars on one side would decide the round"


def test_two_agree_and_swap_and_why_tells_it(new_evening: NewEvening) -> None:
    evening = started(new_evening, 8)
    evening.live()
    one, two = (evening.game.teams.members(side)[0] for side in (RED, BLU))
    mate = evening.game.teams.members(RED)[1]
    say(evening, one, f"!swap {mate.name}")
    assert "Two players on different sides can swap." in one.chat[-1]
    say(evening, one, f"!swap {two.name}")
    assert f"{one.name} wants to swap sides with you" in two.chat[-1]
    say(evening, two, f"!eq swap {one.name}")
    play.kill(evening.game, None, one)
    evening.wait(1.0)
    assert (one.team, two.team) == (BLU, BLU), "the first is dead, the second alive"
    evening.wait(11.0)
    assert (one.team, two.team) == (BLU, RED)
    names = {f"{one.name} and {two.name}", f"{two.name} and {one.name}"}
    for player in evening.game.humans():
        assert any(f"{both} have swapped sides." in line for line in player.chat for both in names)
    assert evening.sizes() == [4, 4]
    decisions = evening.decisions("move", "failed", "kept")
    assert [(entry["kind"], entry["reason"]) for entry in decisions] == [
        ("move", "two players agreed to swap sides")
    ] * 2
    evening.game.join(one, "red")
    evening.wait(1.0)
    assert one.team == BLU, "locked as after a switch"
