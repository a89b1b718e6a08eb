"""The story of an NS2 evening, and its numbers: people who come and go, votes, a secret choice, a killed daemon.

Everything here is decided by the seed and by what the daemon answers; a seed plays the same evening again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from statistics import fmean
from typing import Any, ClassVar

from equipoise.core.model import Mode, PlayerId, RoundId, Side
from equipoise.demo.daemon import Client
from equipoise.demo.evening import READ, crash, pace, pause, revive
from equipoise.demo.ns2_evening import ADVANTAGES, SERVER, SIDES, NS2Evening
from equipoise.demo.record import EveningSummary, Figure, Steps, percent, shared_numbers
from equipoise.lab.simulation.game_server import Map

LATECOMERS = 2
"""People who are not there at the start."""
AWAY = 20
"""Rounds after which players who left are back."""
MAPS = tuple(ADVANTAGES)


class Incident(Enum):
    """Incidents of the rounds, in this order, and when: as a fraction of the rounds."""

    LATE_JOIN = 0.05
    NEEDLESS_VOTE = 0.1
    LEAVE = 0.15
    NEW_COMMANDER = 0.2
    RETURN = 0.25
    ABORT_AND_CHOICE = 0.3
    SWITCH = 0.4
    KILL = 0.5
    VOTE = 0.6
    SECOND_LATE_JOIN = 0.65
    DRAW = 0.7


class NS2Story:
    """Plays an NS2 evening from the first player to the last round."""

    def __init__(self, evening: NS2Evening) -> None:
        self._evening = evening
        everybody = list(evening.people)
        self._coming = everybody[-LATECOMERS:]
        self._first = everybody[:-LATECOMERS]
        self._gone: dict[PlayerId, int] = {}
        """Players who left and come back, by the round in which they left."""
        self._left = list(Incident)
        self._middle: dict[Incident, Callable[[], Awaitable[object]]] = {
            Incident.LATE_JOIN: self._late_join,
            Incident.SECOND_LATE_JOIN: self._late_join,
            Incident.RETURN: self._return,
            Incident.NEEDLESS_VOTE: self._ask_for_a_vote,
            Incident.LEAVE: self._leave_somebody,
            Incident.NEW_COMMANDER: self._new_commander,
            Incident.SWITCH: self._switch,
            Incident.VOTE: self._walk_out_and_vote,
        }

    async def play(self) -> None:
        """Play the whole evening. PeerError when the daemon refuses something, or is not there when it should be."""
        evening = self._evening
        for player in self._first:
            evening.game.connect(player)
        evening.report("map", f"{len(self._first)} players on {evening.game.map.name}, everybody rated 1000")
        await evening.sync()
        while evening.number < evening.rounds:
            await self._next_map()
            await self._round()

    async def _round(self) -> None:
        evening = self._evening
        evening.number += 1
        due = self._due() if evening.up else []
        self._come_back()
        await evening.gather()
        await self._pause()
        if Incident.ABORT_AND_CHOICE in due:
            await self._abort_and_choose()
        await evening.start()
        await self._pause()
        for incident in due:
            if incident in self._middle:
                evening.game.pass_time(20)
                await self._middle[incident]()
                await pause(evening, READ)
        if Incident.KILL in due:
            await crash(evening)
        await evening.finish(drawn=Incident.DRAW in due)
        await self._pause()
        if not evening.up and Incident.KILL not in due:
            await revive(evening, "the mod's outbox")
        await evening.to_ready_room()

    def _due(self) -> list[Incident]:
        """The incidents of this round. The round of the kill has no other, and those after it wait for the daemon."""
        number, rounds = self._evening.number, self._evening.rounds
        due = [incident for incident in self._left if number >= max(2, incident.value * rounds)]
        if Incident.KILL in due:
            due = [Incident.KILL] if due[0] is Incident.KILL else due[: due.index(Incident.KILL)]
        self._left = [incident for incident in self._left if incident not in due]
        return due

    async def _pause(self) -> None:
        await pause(self._evening, pace(self._evening))

    async def _next_map(self) -> None:
        """Each third of the evening is played on a map of its own."""
        evening = self._evening
        # Asked before the next round is counted: so a map's first round is already played on it.
        name = MAPS[min(len(MAPS) - 1, evening.number * len(MAPS) // evening.rounds)]
        if name != evening.game.map.name:
            evening.game.change_map(Map(name, Mode.NS2))
            evening.script.introduce()
            evening.report("map", f"Next map: {name}")
            await evening.sync()

    # People.

    async def _late_join(self) -> None:
        if self._coming:
            await self._join(self._coming.pop(0), "connects in the middle of the round")

    async def _return(self) -> None:
        if self._gone:
            player = next(iter(self._gone))
            del self._gone[player]
            await self._join(player, "is back, with the same rating as before,")

    def _come_back(self) -> None:
        """Between two rounds players are back who have been away for some."""
        evening = self._evening
        for player in [player for player, left in self._gone.items() if left < evening.number - AWAY]:
            del self._gone[player]
            evening.game.connect(player)
            evening.report("people", f"{evening.name(player)} is back in the ready room")

    async def _join(self, player: PlayerId, text: str) -> None:
        evening = self._evening
        evening.game.connect(player)
        evening.game.want(player, evening.people[player].prefers)
        await evening.sync()
        side = evening.game.clients[player].side
        evening.report(
            "people", f"{evening.name(player)} {text} and plays for the {SIDES[side] if side else 'ready room'}"
        )

    def _leave(self, player: PlayerId, text: str) -> None:
        evening = self._evening
        evening.game.disconnect(player)
        self._gone[player] = evening.number
        evening.report("people", f"{evening.name(player)} {text}")

    def _field(self, side: Side) -> list[PlayerId]:
        """The players on a side without its commander."""
        commander = self._evening.game.commander(side)
        return [player for player in self._evening.game.on(side) if player != commander]

    async def _leave_somebody(self) -> None:
        evening = self._evening
        evening.game.pass_time(200)
        side = max(Side, key=lambda side: len(evening.game.on(side)))
        player = evening.rng.choice(self._field(side))
        self._leave(player, f"leaves the {SIDES[side]} in the middle of the round: rated for the time that they played")
        await evening.sync()

    async def _new_commander(self) -> None:
        evening = self._evening
        evening.game.pass_time(200)
        side = evening.rng.choice(list(Side))
        before, after = evening.game.commander(side), evening.rng.choice(self._field(side))
        evening.game.take_chair(after)
        await evening.sync()
        old = f"{evening.name(before)} leaves the chair of" if before else "No player commands"
        evening.report(
            "people", f"{old} the {SIDES[side]}, {evening.name(after)} takes it: each is rated for both roles"
        )

    async def _switch(self) -> None:
        """A player asks for the other side."""
        evening = self._evening
        side = evening.rng.choice(list(Side))
        evening.game.want(evening.rng.choice(self._field(side)), side.other)
        await evening.sync()

    # Votes and choices.

    async def _ask_for_a_vote(self) -> None:
        """One player wants a shuffle, and reads what the daemon says of that."""
        evening = self._evening
        player = evening.rng.choice(self._field(Side.A))
        answer, _ = await evening.vote(player)
        evening.report("move", f"{evening.name(player)} types “!eq vote” and reads: {answer}")

    async def _vote(self) -> None:
        """Players ask for a shuffle, one after the other, until there are enough; then the round starts again."""
        evening = self._evening
        restarts, answer = evening.tally.restarted, ""
        evening.report("move", "The others type “!eq vote”, one after the other")
        for player in [*evening.game.on(Side.A), *evening.game.on(Side.B)]:
            answer, outcome = await evening.vote(player)
            if outcome:
                break
        if evening.tally.restarted == restarts:
            evening.report("move", f"The last one reads: {answer}")
        else:
            evening.report("trouble", f"Round {evening.number} starts again: what was played of it is not rated")
            await pause(evening, READ)
            await evening.start()

    async def _walk_out_and_vote(self) -> None:
        """Two of the better players of the weaker side leave early, and the others vote."""
        evening = self._evening
        chance = evening.teams().chance
        side = Side.A if chance is not None and chance < 0.5 else Side.B
        best = sorted(self._field(side), key=evening.rating)[-2:]
        for player in best:
            self._leave(player, f"leaves the {SIDES[side]} in the second minute")
        await evening.sync()
        await self._vote()

    async def _abort_and_choose(self) -> None:
        """The start is given up, and an admin opens a secret team choice."""
        evening = self._evening
        await evening.pregame()
        commander = evening.game.commander(Side.A)
        assert commander is not None, "without commanders no round starts"
        evening.game.leave_chair(commander)
        evening.game.abort()
        await evening.sync()
        evening.report("trouble", f"{evening.name(commander)} leaves the chair in PreGame: the start is aborted")
        evening.report("people", "An admin opens a secret team choice: Marines, Aliens or Random?")
        await pause(evening, READ)
        await evening.choose()
        await pause(evening, READ)


PAGE = 100
"""Rounds or decisions that are asked for at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NS2Summary(EveningSummary):
    """An NS2 evening in numbers; who leads random teams is one who likes to."""

    steps: ClassVar[Steps] = (
        ("equipoise init --game ns2", "write a configuration and the settings of the mod"),
        ("ns2mod/README.md", "the mod: what it needs, how it reaches a server, what is not known"),
        ("equipoise doctor", "look for what is wrong, and what to do"),
        ("docs/ratings/ns2.md", "how skill is estimated"),
    )
    drawn: int
    restarted: int
    """Rounds that a vote began again."""
    shuffles: int
    shuffled_alone: int
    """Shuffles by the mod from its cache, counted in the daemon's log."""
    uneven_rounds: float
    """Part of the rounds that began, by the daemon's chance, outside of 40 to 60 %."""
    uneven_for_chairs: float
    """The part of the rounds before which the daemon said so, and that the commanders' chairs are why."""
    asked_to_command: int
    """Times that a player was asked to take the other chair, as the best match; in the demo half of them do."""
    moves_per_shuffle: float
    """Players who changed side; those who were placed from the ready room did not."""
    wishes: int
    wishes_honoured: float
    """Part of the wishes for a side that came true at the start of the round; half would by chance."""
    choices: int
    choices_honoured: float
    """Part of the sides named in secret team choices whose player got them."""
    commander_correlation: float
    """As `rank_correlation`, which is of the averages of both sides, of skill as a commander: of those who have
    commanded."""
    prediction_error: float
    """Mean distance of the predicted win probability from the true one, over the second half of the rounds."""

    def rows(self) -> list[Figure]:
        """Return what was played, how even the teams were, and how well skills were found."""
        before, after = percent(self.favourite_before), percent(self.favourite_after)
        late, alone = self.rounds_delivered_late, self.shuffled_alone
        requests = f"of the rounds are outside by that; asked to command: {self.asked_to_command}"
        begun = f"{self.stored} stored; {self.drawn} drawn, {self.restarted} begun again"
        chosen = f"of {self.wishes}; of {self.choices} secret choices {percent(self.choices_honoured)}"
        return [
            (
                "stronger side, truly",
                percent(self.stronger_side),
                f"chance to win; in random teams {percent(self.random_teams)}",
            ),
            ("rounds", f"{self.rounds}", begun),
            ("began outside 40 to 60 %", percent(self.uneven_rounds), "of the rounds"),
            ("shuffles", f"{self.shuffles}", f"favourite's chance {before} before, {after} after"),
            ("chairs too far apart", percent(self.uneven_for_chairs), requests),
            ("moves per shuffle", f"{self.moves_per_shuffle:.1f}", f"{self.moved} players changed side"),
            ("moved in a round", f"{self.moved_in_rounds}", f"switches refused: {self.refused_switches}"),
            ("wishes honoured", percent(self.wishes_honoured), chosen),
            (
                "ratings and true skill",
                f"{self.rank_correlation:.2f}",
                f"Spearman's ρ, 1 is true; commanders {self.commander_correlation:.2f}",
            ),
            ("predictions, off by", f"{100 * self.prediction_error:.1f} %", "from the true chance, on average"),
            ("favourites won", f"{self.favourites_won:g}", f"{self.favourites_expected:.1f} predicted"),
            (
                "restarts survived",
                f"{self.restarts_survived}",
                f"rounds delivered late: {late}, alone: {alone}",
            ),
        ]


async def summarise_ns2(evening: NS2Evening, client: Client) -> NS2Summary:
    """Query the daemon, and add what only the simulation knows. PeerError when the daemon does not answer."""
    record, tally = evening.record, evening.tally
    log = await _all(client, f"/v1/admin/decisions?server={SERVER}&limit={PAGE}", "decisions")
    rounds = await _all(client, f"/v1/admin/rounds?limit={PAGE}", "rounds")
    shuffles = [entry["detail"] for entry in log if entry["kind"] == "shuffle" and entry["detail"]["after"] is not None]
    chairs = sum(
        "commanders' chairs" in detail.get("cause", "") and not 0.4 <= detail["after"] <= 0.6
        for detail in shuffles
        if "likely" not in detail
    )
    uneven = [line for line in record.rounds if not 0.4 <= line.predicted <= 0.6]
    return NS2Summary(
        **await shared_numbers(record, evening.script.stored, client, log, "shuffle"),
        drawn=tally.drawn,
        restarted=tally.restarted,
        shuffles=record.scrambles,
        shuffled_alone=sum(entry["kind"] == "alone" for entry in log),
        uneven_rounds=len(uneven) / max(1, len(record.rounds)),
        uneven_for_chairs=chairs / max(1, len(record.rounds)),
        asked_to_command=tally.asked,
        moves_per_shuffle=record.moved / max(1, record.scrambles),
        wishes=len(tally.wishes),
        wishes_honoured=_part(tally.wishes),
        choices=len(tally.chosen),
        choices_honoured=_part(tally.chosen),
        commander_correlation=evening.commanders_fidelity(),
        prediction_error=_error(rounds, dict(list(tally.true.items())[-record.half :])),
    )


async def _all(client: Client, path: str, key: str) -> list[Mapping[str, Any]]:
    """All pages of a list of the admin interface."""
    items: list[Mapping[str, Any]] = []
    before = ""
    while True:
        page = await client.ask(f"{path}{before}")
        items += page[key]
        if page["before"] is None:
            return items
        before = f"&before={page['before']}"


def _part(held: Sequence[bool]) -> float:
    return sum(held) / len(held) if held else 0.0


def _error(rounds: Sequence[Mapping[str, Any]], true: Mapping[RoundId, float]) -> float:
    """How far the daemon's forecasts, by the lineup, were off the truth, by who played when."""
    chances = {
        RoundId(entry["round"]): entry["win_probability"] for entry in rounds if entry["win_probability"] is not None
    }
    return fmean(abs(chances[round_id] - chance) for round_id, chance in true.items() if round_id in chances)
