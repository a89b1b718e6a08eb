"""The record: rounds, how fair a pool's last weeks and its maps were, decisions, the audit, and whether all is well."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, structs

from equipoise.errors import ScriptError
from equipoise.page.pictures import calibration, histogram
from equipoise.page.visits import Elsewhere, Pages, Shown, Visit, attempted
from equipoise.store.listings import Played
from equipoise.web.administration import Reasons, show_audit, show_decisions, show_findings
from equipoise.web.evenness import EVEN, Recent, Weeks, list_maps, show_evenness, show_map
from equipoise.web.pools import show_pools
from equipoise.web.rounds import HistoryFilter, Report, Void, list_rounds, show_round, void_round
from equipoise.web.routes import ADMINS, LARGEST, READERS, Ask, Paged
from equipoise.web.servers import Some, show_servers

SPANS = ((24.0, "a day"), (168.0, "a week"), (720.0, "a month"))
"""Hours back from now that the list offers, in words."""
BEFORE, BEHIND = 180.0, 60.0
"""Seconds before a round went live and after its end, in which decisions are about it."""

pages = Pages()


class HistoryAsked(HistoryFilter, frozen=True):
    """Rounds, as people ask for them."""

    hours: Annotated[float, Meta(gt=0, le=1e6)] | None = None
    """Nothing older than this many hours."""


@pages.add("GET", "/rounds", READERS, query=HistoryAsked, public=True)
async def show_rounds(visit: Visit) -> Shown:
    """Stored rounds, newest first, of one server, map or player, or of all."""
    query: HistoryAsked = visit.query
    pool = query.pool or (min(visit.services.pools) if query.player else None)
    answer = await visit.ask(list_rounds, structs.replace(visit.since_hours(), pool=pool))
    values = {"found": answer, "asked": query, "servers": sorted(visit.services.hosts), "spans": SPANS}
    return Shown("rounds.html", "Rounds", values)


@pages.add("GET", "/rounds/{server}/{round}", READERS, public=True)
async def show_one_round(visit: Visit) -> Shown:
    """A round: its sides, what was expected of it, and what it did to everybody."""
    answer = await visit.ask(show_round)
    its = answer.round
    decisions = None
    if not visit.public and its.server in visit.services.hosts:
        since, until = its.started_at - BEFORE, its.started_at + its.seconds + BEHIND
        decisions = await show_decisions(visit.request(Reasons(server=its.server, since=since, until=until)))
    values = {"found": answer, "its": its, "sides": _sides(answer), "decisions": decisions}
    return Shown("round.html", f"{its.map} on {its.server}", values)


def _by_rating(player: Played) -> tuple[bool, float, str]:
    """Return the place in a table: by rating, and behind all others those whose rating is not public."""
    is_public = player.after is not None
    return (not is_public, -(player.after if player.before is None else player.before) if is_public else 0.0, player.id)


def _sides(report: Report) -> list[dict[str, object]]:
    """Return both sides: who was rated on it, and who else stood there when the round went live."""
    lineups = [frozenset(lineup) for lineup in report.lineup]
    ids = {player.id for player in report.players}
    return [
        {
            "which": which,
            "word": report.round.sides[place],
            "players": sorted((player for player in report.players if player.side.value == which), key=_by_rating),
            "late": ids - lineups[place],
            "others": [player for player in report.lineup[place] if player not in ids],
        }
        for place, which in enumerate("ab")
    ]


class VoidAsked(Ask, frozen=True):
    """Taking a round out of the ratings, to be shown before it is done."""

    reason: Annotated[str, Meta(max_length=200)] = ""
    """Why, in words, for the audit."""


class VoidConfirmed(VoidAsked, frozen=True, kw_only=True):
    """The form by which it is done."""

    last_edit: Annotated[int, Meta(ge=0, le=LARGEST)]
    """The pool's, as the effect was shown."""


@pages.add("GET", "/rounds/{server}/{round}/{edit:void|restore}", ADMINS, query=VoidAsked)
async def show_void(visit: Visit) -> Shown:
    """The effect of taking a round out of the ratings, or of putting it back."""
    return await _effect(visit, visit.query.reason)


@pages.add("POST", "/rounds/{server}/{round}/{edit:void|restore}", ADMINS)
async def make_void(visit: Visit) -> Shown | Elsewhere:
    """Take a round out of the ratings or put it back, if the effect still is the one that was shown."""
    form = visit.fields(VoidConfirmed)
    body = Void(reason=form.reason, undo=visit.path["edit"] == "restore", last_edit=form.last_edit)
    _, stale = await attempted(void_round(visit.request(body=body)), "changed")
    if stale:
        return await _effect(visit, form.reason, stale)
    return Elsewhere(visit.link("rounds", visit.path["server"], visit.path["round"]))


async def _effect(visit: Visit, reason: str, stale: ScriptError | None = None) -> Shown:
    restore = visit.path["edit"] == "restore"
    answer = await show_round(visit.request())
    effect = await void_round(visit.request(body=Void(reason=reason, undo=restore, dry_run=True)))
    words = "Put this round back into the ratings" if restore else "Take this round out of the ratings"
    values = {"words": words, "its": answer.round, "effect": effect, "reason": reason, "stale": stale}
    return Shown("void.html", f"{words}?", values, 200 if stale is None else stale.status)


# Is it fair: a pool's last weeks, and its maps.

WEEKS = ((7, "a week"), (28, "four weeks"), (91, "three months"), (365, "a year"))
"""Days that the page offers, in words."""


@pages.add("GET", "/pools", READERS, public=True)
async def choose_pool(visit: Visit) -> Shown | Elsewhere:
    """All pools; where there is only one, its own page."""
    lines = (await visit.ask(show_pools)).pools
    if len(lines) == 1:
        return Elsewhere(visit.link("pools", lines[0].pool))
    return Shown("pools.html", "Is it fair?", {"found": lines})


@pages.add("GET", "/pools/{pool}", READERS, query=Weeks, public=True)
async def show_fairness(visit: Visit) -> Shown:
    """How fair a pool's rounds of the last weeks were."""
    answer = await visit.ask(show_evenness, visit.query)
    figures = answer.figures
    drawn = figures and {
        "began": histogram(figures.began, EVEN, answer.sides[0]),
        "held": calibration(figures.calibration),
    }
    values = {"found": answer, "drawn": drawn, "spans": WEEKS, "even": EVEN}
    return Shown("fairness.html", f"Is it fair? {answer.pool}", values)


class MapsAsked(Recent, frozen=True):
    """A pool, and which of its last rounds are looked at."""

    pool: str | None = None


@pages.add("GET", "/maps", READERS, query=MapsAsked, public=True)
async def show_maps(visit: Visit) -> Shown:
    """The maps of a pool."""
    pool = visit.services.pool(visit.query.pool or min(visit.services.pools)).name
    answer = await visit.ask(list_maps, visit.query, pool=pool)
    return Shown("maps.html", "Maps", {"found": answer})


@pages.add("GET", "/maps/{pool}/{map}", READERS, query=Recent, public=True)
async def show_one_map(visit: Visit) -> Shown:
    """One map, on each server that played it."""
    answer = await visit.ask(show_map, visit.query)
    return Shown("map.html", answer.map.map, {"found": answer})


# The decision log, the audit, the doctor and the jobs.

LOG_SPANS = ((1.0, "the last hour"), (24.0, "a day"), (168.0, "a week"))
"""Hours back from now that the log offers, in words."""
LOG_LINES = 100


class LogAsked(Reasons, frozen=True):
    """Lines of the decision log, as people ask for them."""

    limit: Annotated[int, Meta(ge=1, le=1000)] = LOG_LINES
    """The most lines to show."""
    hours: Annotated[float, Meta(gt=0, le=1e6)] | None = None
    """Nothing older than this many hours."""


@pages.add("GET", "/decisions", READERS, query=LogAsked)
async def show_log(visit: Visit) -> Shown:
    """The decision log, newest first, of one server or of all, about one player or about all."""
    answer = await show_decisions(visit.request(visit.since_hours()))
    values = {"found": answer, "asked": visit.query, "servers": sorted(visit.services.hosts), "spans": LOG_SPANS}
    return Shown("decisions.html", "Decisions", values)


class AuditAsked(Paged, frozen=True):
    """Lines of the audit."""

    limit: Annotated[int, Meta(ge=1, le=1000)] = LOG_LINES
    """The most lines to show."""


@pages.add("GET", "/audit", READERS, query=AuditAsked)
async def show_changes(visit: Visit) -> Shown:
    """The audit: each change by an admin, with the values before and after, newest first."""
    return Shown("audit.html", "Audit", {"found": await show_audit(visit.request(visit.query))})


@pages.add("GET", "/health", READERS)
async def show_health(visit: Visit) -> Shown:
    """The doctor's findings, which only admins may ask for, and the jobs."""
    state = await show_servers(visit.request(Some()))
    doctor = await show_findings(visit.request()) if visit.admin else None
    return Shown("health.html", "Health", {"state": state, "doctor": doctor})
