"""An NS2 evening in numbers: what the daemon predicted, what was true, and what its shuffles cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from equipoise.core.model import RoundId
from equipoise.demo.client import Client
from equipoise.demo.closing import Row, Steps, Summary, favourites
from equipoise.demo.daemon import POOL
from equipoise.demo.ns2.evening import SERVER, NS2Evening
from equipoise.demo.words import percent

PAGE = 100
"""Rounds or decisions that are asked for at once."""


@dataclass(frozen=True, slots=True)
class NS2Summary(Summary):
    """An evening in numbers; those of the daemon come from its admin interface. The fields are those of `--json`."""

    rounds: int
    stored: int
    """Rounds that the daemon reported as stored, those that began again among them."""
    drawn: int
    restarted: int
    """Rounds that a vote began again."""
    shuffles: int
    shuffled_alone: int
    """Of them, by the mod from its cache, by the daemon's log."""
    favourite_before: float
    """Win probability of the favourite before a shuffle, the mean over the daemon's log."""
    favourite_after: float
    moved: int
    moves_per_shuffle: float
    """Players who changed side; those who were placed from the ready room did not."""
    moved_in_rounds: int
    refused_switches: int
    wishes: int
    wishes_honoured: float
    """Part of the wishes for a side that came true at the start of the round; half would by chance."""
    choices: int
    choices_honoured: float
    """Likewise of the sides that were named in secret team choices."""
    rank_correlation: float
    """Spearman's ρ of ratings and true skill, averages of both sides."""
    commander_correlation: float
    """The same of skill as a commander, of those who have commanded."""
    prediction_error: float
    """Mean distance of the predicted win probability from the true one, over the second half of the rounds."""
    stronger_side: float
    """True win probability of the stronger side, the mean over the second half of the rounds; 0.5 is even."""
    random_teams: float
    """The same, had the same people been on random teams under the same commanders."""
    favourites_expected: float
    favourites_won: float
    """A draw is half a win."""
    brier: float
    restarts_survived: int
    rounds_delivered_late: int

    def rows(self) -> list[Row]:
        """What the evening played, how even its teams were, and how well skills were found."""
        before, after = percent(self.favourite_before), percent(self.favourite_after)
        late, alone = self.rounds_delivered_late, self.shuffled_alone
        begun = f"{self.stored} stored; {self.drawn} drawn, {self.restarted} begun again"
        chosen = f"of {self.wishes}; of {self.choices} secret choices {percent(self.choices_honoured)}"
        return [
            (
                "stronger side, truly",
                percent(self.stronger_side),
                f"chance to win; in random teams {percent(self.random_teams)}",
            ),
            ("rounds", f"{self.rounds}", begun),
            ("shuffles", f"{self.shuffles}", f"favourite's chance {before} before, {after} after"),
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

    @property
    def steps(self) -> Steps:
        """What sets up an NS2 server, and where to read on."""
        return (
            ("equipoise init --game ns2", "write a configuration and the settings of the mod"),
            ("ns2mod/README.md", "the mod: what it needs, how it reaches a server, what is not known"),
            ("equipoise doctor", "look for what is wrong, and what to do"),
            ("docs/ratings/ns2.md", "how skill is estimated"),
        )


async def summarise(evening: NS2Evening, client: Client) -> NS2Summary:
    """Query the daemon, and add what only the simulation knows. PeerError when the daemon does not answer."""
    record, tally = evening.record, evening.tally
    quality = (await client.ask(f"/v1/admin/pools/{POOL}/quality"))["quality"]
    log = await _all(client, f"/v1/admin/decisions?server={SERVER}&limit={PAGE}", "decisions")
    rounds = await _all(client, f"/v1/admin/rounds?limit={PAGE}", "rounds")
    before, after = favourites(log, "shuffle")
    expected, won = record.expected()
    half = (len(record.rounds) + 1) // 2
    stronger, random = record.evenness(half)
    return NS2Summary(
        rounds=len(record.rounds),
        stored=evening.script.stored,
        drawn=tally.drawn,
        restarted=tally.restarted,
        shuffles=record.scrambles,
        shuffled_alone=sum(one["kind"] == "alone" for one in log),
        favourite_before=before,
        favourite_after=after,
        moved=record.moved,
        moves_per_shuffle=record.moved / max(1, record.scrambles),
        moved_in_rounds=record.gaps,
        refused_switches=record.refused,
        wishes=len(tally.wishes),
        wishes_honoured=_part(tally.wishes),
        choices=len(tally.chosen),
        choices_honoured=_part(tally.chosen),
        rank_correlation=record.fidelity[-1],
        commander_correlation=evening.commanders_fidelity(),
        prediction_error=_error(rounds, dict(list(tally.true.items())[-half:])),
        stronger_side=stronger,
        random_teams=random,
        favourites_expected=expected,
        favourites_won=won,
        brier=quality["brier"]["value"],
        restarts_survived=record.restarts,
        rounds_delivered_late=record.delivered,
    )


async def _all(client: Client, path: str, key: str) -> list[Mapping[str, Any]]:
    """All pages of a list of the admin interface."""
    found: list[Mapping[str, Any]] = []
    before = ""
    while True:
        page = await client.ask(f"{path}{before}")
        found += page[key]
        if page["before"] is None:
            return found
        before = f"&before={page['before']}"


def _part(held: Sequence[bool]) -> float:
    return sum(held) / len(held) if held else 0.0


def _error(rounds: Sequence[Mapping[str, Any]], true: Mapping[RoundId, float]) -> float:
    """How far predictions were off: those that the daemon rated the rounds by, from who played when."""
    predicted = {RoundId(one["round"]): one["win_probability"] for one in rounds if one["win_probability"] is not None}
    return fmean(abs(predicted[id] - chance) for id, chance in true.items() if id in predicted)
