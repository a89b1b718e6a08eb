"""What anybody may read: answers of routes without what is an admin's, without ratings that are not shown yet, and
without numbers from which one of these could be computed.

The fields that are public are named here, struct by struct: what a route says beside them stays inside. Ratings are
whole points and chances whole percents, and a chance is said where enough people play on each side.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from functools import reduce
from operator import or_
from types import EllipsisType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec.structs import force_setattr, replace

from equipoise.core.model import Outlook, PlayerId
from equipoise.service.boards import Progress
from equipoise.service.status import ServerStatus
from equipoise.store.listings import Played
from equipoise.store.notes import Chance, Decision
from equipoise.store.pool_file import Standing
from equipoise.web import administration, evenness, players, pools, rosters, rounds, servers
from equipoise.web.routes import Ok, Services

FEWEST = 3
"""With fewer on a side, a chance would give hidden ratings away: `!teams` says no sums then either."""
FEWEST_ROUNDS = 10
"""With fewer, a mean of chances would say one of them."""
DECIDED = frozenset({"scramble", "duel", "equal_sides", "shuffle", "too_uneven", "alone", "pending", "cancel"}) | {
    *("dropped", "move", "place", "kept", "vote", "choice", "unrated")
}
"""Kinds of decisions that the players of a server are told of in its chat."""

T = TypeVar("T")

PARTS: dict[Any, type[msgspec.Struct]] = {}
"""What is public of each struct that has something else too."""


def _part(
    whole: type,
    fields: str,
    *,
    points: str = "",
    chances: str = "",
    null: str = "",
    unless: Callable[[Any], bool] = lambda _: True,
    last: Callable[[Any], None] = lambda _: None,
) -> None:
    """Make a struct of these fields the public part of a whole one.

    Points are rounded to whole ones, chances to percents; the fields of `null` are null unless that is so; `last` may
    change the rest.
    """

    def keep_inside(self: msgspec.Struct) -> None:
        if not unless(self):
            for name in null.split():
                force_setattr(self, name, None)
        for names, digits in ((points, 0), (chances, 2)):
            for name in names.split():
                value = getattr(self, name)
                force_setattr(self, name, None if value is None else round(value, digits) + 0.0)
        last(self)

    hints = get_type_hints(whole, include_extras=True)
    kinds = {name: _public(hints[name]) for name in fields.split()}
    PARTS[whole] = msgspec.defstruct(
        whole.__name__,
        [(name, kind | None if name in null.split() else kind) for name, kind in kinds.items()],
        bases=(Ok,) if issubclass(whole, Ok) else None,
        namespace={"__post_init__": keep_inside},
        module=__name__,
        frozen=True,
        kw_only=True,
    )


def _public(kind: Any) -> Any:
    """Return a type with the public parts in the place of what has them."""
    parts = get_args(kind)
    if kind in PARTS or not parts or isinstance(kind, EllipsisType):
        return PARTS.get(kind, kind)
    public = tuple(map(_public, parts))
    return reduce(or_, public) if get_origin(kind) in (Union, UnionType) else get_origin(kind)[public]


def _filter(field: str, shown: Callable[[Any], bool]) -> Callable[[Any], None]:
    return lambda self: force_setattr(self, field, tuple(filter(shown, getattr(self, field))))


def _many_play(sides: Any) -> bool:
    return bool(min(sides.players_a, sides.players_b) >= FEWEST)


# Game servers.

_part(Outlook, "chance low high", chances="chance low high")
_part(
    ServerStatus,
    "server pool lost map mode sides round pending players_a players_b waiting outlook balanced_by",
    null="outlook",
    unless=_many_play,
)
_part(servers.Servers, "servers")
_part(
    rosters.PlayerHere,
    "id name side waiting rating visible rounds change skill commander locked moved benched",
    points="rating change skill",
    null="rating change skill",
    unless=lambda self: self.visible,
)
_part(rosters.RosterFound, "server sides session live_seconds due results players bots bench turns")
_part(Chance, "at chance low high players_a players_b cause", chances="chance low high")
_part(administration.Chances, "server sides chances", last=_filter("chances", _many_play))


def _told(line: Any) -> None:
    """Leave of a decision's detail who goes where, without hidden players, and the chance where it is said."""
    if (detail := line.detail) is None:
        return
    details = {name: detail[name] for name in ("side", "cause") if name in detail}
    if "players" in detail:
        details["players"] = [player for player in detail["players"] if player != "hidden"]
    if "split" in detail:
        split = detail["split"]
        details["split"] = {place: [player for player in ids if player != "hidden"] for place, ids in split.items()}
        if min(len(split["a"]), len(split["b"])) >= FEWEST and detail.get("after") is not None:
            details["before"] = None if detail["before"] is None else round(detail["before"], 2)
            details["after"] = round(detail["after"], 2)
    force_setattr(line, "detail", details)


_part(Decision, "server at kind reason detail number", last=_told)
_part(administration.Decisions, "decisions names sides", last=_filter("decisions", lambda line: line.kind in DECIDED))

# Players.

PLAYER = "id name rating rounds visible stale last_played skill skill_by interval record skills"
OF_SHOWN: Mapping[str, Any] = {
    "points": "rating skill",
    "null": "rating skill skill_by interval skills",
    "unless": lambda self: self.visible,
}
_part(players.Interval, "low high", points="low high")
_part(players.PlayerSeen, PLAYER, **OF_SHOWN)
_part(players.PlayerFound, "pool player place length")
# The order of those whose rating is not shown would say it.
_part(players.PlayersFound, "pool players", last=_filter("players", lambda player: player.visible))
# Of whom had no place, the rating may not have been shown.
_part(Progress, "gained place", points="gained", null="gained", unless=lambda self: self.place is not None)
_part(players.Leader, f"{PLAYER} place week month", **OF_SHOWN)
_part(players.Top, "pool players length before after shadow_rounds shadow stale")
_part(Standing, "place player name rating rounds wins draws losses leaves", points="rating")
_part(pools.SeasonBoard, "pool season players")

# Rounds.


def _unsaid(listing: Any) -> None:
    if listing.void:  # an admin's reason stays inside
        force_setattr(listing, "unrated", "taken out of the ratings")


_part(
    rounds.Listing,
    "round server pool map mode sides at started_at seconds winner players_a players_b win_probability predicted_by "
    "unrated void",
    chances="win_probability",
    null="win_probability predicted_by",
    unless=_many_play,
    last=_unsaid,
)
_part(rounds.Rounds, "rounds before")
_part(
    Played,
    "id side seconds_a seconds_b quit before after score rounds visible spans counts",
    points="before after",
    null="before after",
    unless=lambda self: self.visible,
)
_part(rounds.Report, "round captures pruned lineup players names")
_part(rounds.Appearance, "round played")
# What admins do is not public.
_part(rounds.History, "pool player name rounds edits before", last=_filter("edits", lambda _: False))
_part(rounds.CurvePoint, "at rating low high edit visible", points="rating low high")
_part(
    rounds.Curve,
    "pool player name rounds points",
    last=_filter("points", lambda point: point.visible and point.edit is None),
)

# Maps and pools.

FIGURES = "rounds seconds wins_a wins_b stalemates expected_a even new_teams last_played"
OF_MANY: Mapping[str, Any] = {
    "chances": "expected_a even",
    "null": "expected_a even",
    "unless": lambda self: self.rounds >= FEWEST_ROUNDS,
}
_part(evenness.MapSeen, f"map mode sides {FIGURES}", **OF_MANY)
_part(evenness.ServerOnMap, f"server {FIGURES}", **OF_MANY)
_part(evenness.Maps, "pool rounds maps")
_part(evenness.MapFound, "pool map servers")


def _calibrated(figures: Any) -> None:
    bins = (line for line in figures.calibration if line.rounds >= FEWEST_ROUNDS)
    bars = tuple(dataclasses.replace(line, predicted=round(line.predicted, 2)) for line in bins)
    force_setattr(figures, "calibration", bars)


_part(
    evenness.FairFigures,
    "even favourite_won favourite_expected moved moved_an_hour lopsided began calibration brier",
    chances="even favourite_won favourite_expected brier",
    last=_calibrated,
)
_part(
    evenness.Fairness,
    "pool days rounds servers sides balanced_by players figures",
    null="figures",
    unless=lambda self: self.rounds >= FEWEST_ROUNDS,
)

WHOLE = frozenset({rounds.Mates, pools.PoolsFound, pools.SeasonsFound})
"""Answers that are public as they are."""


def public_type(answer: Any) -> Any:
    """Return the type of what is public of answers of a type; KeyError: nothing is."""
    return answer if answer in WHOLE else PARTS[answer]


def published(answer: T, services: Services) -> T:
    """Return the public part of an answer. It has the names of the whole one, and fewer of them."""
    public: Any = msgspec.convert(answer, public_type(type(answer)), from_attributes=True)
    match answer:
        case rosters.RosterFound():
            shadow = _shadow(services, services.host(public.server).pool.name)
            players = (replace(player, change=None) if player.rounds <= shadow else player for player in public.players)
            # By rating, where that is shown: the order of the others would say theirs.
            order = sorted(players, key=lambda player: (player.rating is None, -(player.rating or 0.0), player.id))
            public = replace(public, players=tuple(order))
        case rounds.Report():
            shadow = _shadow(services, public.round.pool)
            public = replace(public, players=tuple(_since(player, shadow) for player in public.players))
        case rounds.History():
            shadow = _shadow(services, public.pool)
            shown = (replace(entry, played=_since(entry.played, shadow)) for entry in public.rounds)
            public = replace(public, rounds=tuple(shown))
    return public  # type: ignore[no-any-return]


def _since(played: Any, shadow: float) -> Any:
    """Return what a round did to a player, without their rating before it was shown, which is after so many rounds."""
    return replace(played, before=None) if played.rounds <= shadow else played


def _shadow(services: Services, pool: str) -> float:
    """Return the rounds until a rating is shown; without the pool nobody knows."""
    return services.pools[pool].summary(PlayerId("0")).missing if pool in services.pools else float("inf")
