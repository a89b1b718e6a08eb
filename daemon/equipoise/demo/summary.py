"""A TF2 evening in numbers."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean

from equipoise.demo.arena_evening import SERVER
from equipoise.demo.client import Client
from equipoise.demo.closing import DECISIONS, Row, Steps, Summary, favourites
from equipoise.demo.daemon import POOL
from equipoise.demo.record import Record
from equipoise.demo.words import percent


@dataclass(frozen=True, slots=True)
class EveningSummary(Summary):
    """The evening in numbers; those of the daemon come from its admin interface. The fields are those of `--json`."""

    rounds: int
    stored: int
    """Rounds that the daemon reported as stored."""
    scrambles: int
    scrambled_alone: int
    """Of them, by the plugin from its cache, by the daemon's log."""
    favourite_before: float
    """Win probability of the favourite before a scramble, the mean over the daemon's log."""
    favourite_after: float
    moved: int
    benched: int
    moved_in_rounds: int
    refused_switches: int
    rank_correlation: float
    """Spearman's ρ of ratings and true skill."""
    stronger_side: float
    """True win probability of the stronger side, the mean over the second half of the rounds; 0.5 is even."""
    by_ratings_alone: float
    """The same, had the same people been split anew in every round by the ratings that they are shown."""
    random_teams: float
    """The same, had the same people been on random teams."""
    favourites_expected: float
    favourites_won: int
    brier: float
    restarts_survived: int
    rounds_delivered_late: int

    def rows(self) -> list[Row]:
        """What the evening played, how even its teams were, and how well ratings were found."""
        before, after = percent(self.favourite_before), percent(self.favourite_after)
        by_ratings, random = percent(self.by_ratings_alone), percent(self.random_teams)
        late, alone = self.rounds_delivered_late, self.scrambled_alone
        return [
            (
                "stronger side, truly",
                percent(self.stronger_side),
                f"chance to win; in random teams {random}, by ratings alone {by_ratings}",
            ),
            ("rounds", f"{self.rounds}", f"{self.stored} stored and rated"),
            ("scrambles", f"{self.scrambles}", f"favourite's chance {before} before, {after} after"),
            ("moved by scrambles", f"{self.moved}", "players who changed sides"),
            ("moved in a round", f"{self.moved_in_rounds}", f"switches refused: {self.refused_switches}"),
            ("ratings and true skill", f"{self.rank_correlation:.2f}", "Spearman's ρ; 1 is the true order"),
            ("favourites won", f"{self.favourites_won}", f"{self.favourites_expected:.1f} predicted"),
            (
                "restarts survived",
                f"{self.restarts_survived}",
                f"rounds delivered late: {late}, scrambled alone: {alone}",
            ),
        ]

    @property
    def steps(self) -> Steps:
        """What sets up a TF2 server, and where to read on."""
        return (
            ("equipoise init", "write a configuration, install the plugin into tf/"),
            ("equipoise init --systemd", "start the daemon too, now and at every boot"),
            ("equipoise doctor", "look for what is wrong, and what to do"),
            ("docs/", "the rules, the protocol, the ratings, operations"),
        )


async def summarise(record: Record, stored: int, client: Client) -> EveningSummary:
    """Query the daemon, and add what only the simulation knows. PeerError when the daemon does not answer."""
    quality = (await client.ask(f"/v1/admin/pools/{POOL}/quality"))["quality"]
    log = (await client.ask(f"/v1/admin/decisions?server={SERVER}&limit={DECISIONS}"))["decisions"]
    before, after = favourites(log, "scramble")
    expected, won = record.expected()
    half = (len(record.rounds) + 1) // 2
    stronger, random = record.evenness(half)
    return EveningSummary(
        rounds=len(record.rounds),
        stored=stored,
        scrambles=record.scrambles,
        scrambled_alone=sum(one["kind"] == "alone" for one in log),
        favourite_before=before,
        favourite_after=after,
        moved=record.moved,
        benched=record.benched,
        moved_in_rounds=record.gaps,
        refused_switches=record.refused,
        rank_correlation=record.fidelity[-1],
        stronger_side=stronger,
        by_ratings_alone=fmean(record.by_ratings[-half:]),
        random_teams=random,
        favourites_expected=expected,
        favourites_won=round(won),
        brier=quality["brier"]["value"],
        restarts_survived=record.restarts,
        rounds_delivered_late=record.delivered,
    )
