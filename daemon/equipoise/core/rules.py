"""Every number of the rules, and its range. The defaults are those of `docs/rules.md`; the configuration has others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from msgspec import Meta

from equipoise.core.model import Mode

Probability = Annotated[float, Meta(ge=0, le=1)]
Day = Annotated[float, Meta(ge=0, le=1440)]
"""Minutes."""
Hour = Annotated[float, Meta(ge=0, le=3600)]
"""Seconds."""
Rounds = Annotated[int, Meta(ge=0, le=100)]
Players = Annotated[int, Meta(ge=2, le=100)]

# How far Equipoise goes on a map, by its name: some maps get rules of their own from other plugins (a boss against all
# others, jump and trade maps). Their sides are not meant to be even, and the script leaves the game alone there.

Level = Literal["off", "rate", "balance"]
"""`off`: the script leaves the game alone; `rate`: rounds are rated and nothing is ordered; `balance`: everything."""

# Alphabetical, as the example of the configuration lists them.
_OTHER_GAME_MODES = (
    "achievement_ ba_ bhop_ deathrun_ dr_ duel_ idle_ jail_ jb_ jump_ mg_ mge_ ph_ slender_ surf_ tfdb_ tow_ tr_ "
    "trade_ vsh_ ze_ zf_ zi_"
)
DEFAULT_LEVELS: Mapping[str, Level] = dict.fromkeys(_OTHER_GAME_MODES.split(), "off")
"""By prefix: maps of other game modes. The configuration adds to them and overrides them."""


@dataclass(frozen=True, slots=True)
class MapLevel:
    """The level of one map, and why."""

    level: Level
    reason: str
    """The key that matched; empty when none did."""


def level_of(map_name: str, levels: Mapping[str, Level]) -> MapLevel:
    """The level of a map: that of the longest key that its name begins with; `balance` when none matches.

    A map of Steam's workshop goes by its own name, without the folder: `workshop/vsh_dust.ugc123` is `vsh_dust…`.
    Capitals do not count, because Windows servers find maps by any spelling.

    >>> level_of("vsh_dust_showdown", DEFAULT_LEVELS)
    MapLevel(level='off', reason='vsh_')
    >>> level_of("vsh_dust_showdown", {"vsh_": "off", "vsh_dust": "rate"})
    MapLevel(level='rate', reason='vsh_dust')
    """
    name = map_name.rpartition("/")[2].casefold()
    longest = ""
    for key in levels:
        if len(key) > len(longest) and name.startswith(key.casefold()):
            longest = key
    return MapLevel(levels[longest], longest) if longest else MapLevel("balance", "")


@dataclass(frozen=True, slots=True)
class ArenaRules:
    """Rules for arena maps, whose sides are made equal again before every round."""

    round_one: Literal["duel", "everyone"] = "duel"
    """Round 1 is a duel between the two closest ratings, or all players take part."""
    swaps: bool = True
    """Between scrambles, sides that are made equal also swap as few players as make them even; false, as SynElo's
    original rules have it: players come in from the bench and give way, and all others stay."""


@dataclass(frozen=True, slots=True)
class Triggers:
    """Triggers of a scramble in one mode; with the defaults there are none. A scramble begins both counts anew."""

    round_two: bool = False
    """Arena: round 1 is over, whatever its outcome."""
    streak: Rounds = 0
    """Rounds that one side won in a row; 0: however many."""
    rounds: Rounds = 0
    """Full rounds since the last scramble; 0: however many."""
    no_capture: bool = False
    """A round in which the losing side captured nothing, if it had something to capture."""
    waiting: bool = False
    """Waiting For Players is over."""
    chance: bool = False
    """The win probability is outside `ScrambleRules.fair_band`: as few players as possible change sides."""


DEFAULT_TRIGGERS: Mapping[str, Triggers] = {
    Mode.ARENA.value: Triggers(round_two=True, streak=3, chance=True),
    Mode.ATTACK_DEFEND.value: Triggers(waiting=True, no_capture=True, rounds=2, chance=True),
    Mode.PAYLOAD.value: Triggers(waiting=True, no_capture=True, rounds=2, chance=True),
    Mode.KOTH.value: Triggers(waiting=True, no_capture=True, chance=True),
    Mode.SYMMETRIC_CP.value: Triggers(waiting=True, no_capture=True, chance=True),
    Mode.CTF.value: Triggers(waiting=True, no_capture=True, chance=True),
    Mode.PAYLOAD_RACE.value: Triggers(waiting=True, chance=True),
    Mode.OTHER.value: Triggers(waiting=True),
}
"""By the mode's name. NS2 has none: its teams are shuffled by `ShuffleRules`."""


@dataclass(frozen=True, slots=True)
class ScrambleRules:
    """Which split is taken, and which teams are even enough as they are."""

    min_players: Players = 4
    """With fewer eligible players no player is moved and a due scramble stays pending."""
    tolerance: Annotated[float, Meta(ge=0, le=0.5)] = 0.01
    """Win probability by which a split may be off the best one, to bench fairly and to move fewer; 0 in SynElo's
    original rules."""
    top_player_always_plays: bool = False
    """SynElo's original rule: the player with the highest rating is never benched, in cached splits neither."""
    fair_band: tuple[Probability, Probability] = (0.42, 0.58)
    """Win probabilities of side A that count as even: then no vote starts, unless a side won the last two rounds,
    `Triggers.chance` moves nobody, and a player may change side where they stay inside. NS2 has its own in
    `ShuffleRules`."""
    spectator_seconds: Hour = 60.0
    """Who left their side this recently to watch takes part in a scramble, and comes back to that side; 0: nobody."""


@dataclass(frozen=True, slots=True)
class AutobalanceRules:
    """Closing a gap of two or more while a round runs."""

    enabled: bool = True
    spare_minutes: Day = 10.0
    """A player who was moved this recently is moved again only if no other can be."""
    deadline_seconds: Annotated[float, Meta(ge=0, le=600)] = 10.0
    """A move is applied at the latest this long after the gap was seen."""
    quiet_seconds: Hour = 30.0
    """No moves this close to a known end of the round."""
    objective_seconds: Hour = 60.0
    """A player who captured or defended an objective this recently is moved only if too few others can be."""


@dataclass(frozen=True, slots=True)
class LockRules:
    """Locks: placed players have to stay on their side."""

    minutes: Day = 3.0
    """How long, in arena until the next scramble; 0 for no locks, in arena neither."""


EARLY_SECONDS = 30.0
"""A vote that passes at most this long after the round went live comes early in it."""


@dataclass(frozen=True, slots=True)
class VoteRules:
    """The players' vote for a scramble."""

    enabled: bool = True
    min_players: Players = 6
    """With fewer eligible players there is no vote."""
    start_fraction: Annotated[float, Meta(ge=0.01, le=1)] = 0.3
    """Fraction of the eligible players who have to ask for a vote before it starts."""
    fraction: Annotated[float, Meta(ge=0.01, le=1)] = 0.6
    """Fraction of the votes cast that has to be for it."""
    seconds: Annotated[float, Meta(ge=5, le=60)] = 20.0
    """How long players may vote."""
    cooldown_minutes: Day = 10.0
    """How long after a vote no other starts."""
    quiet_seconds: Hour = 60.0
    """No vote starts this close to a known end of the round."""
    when: Literal["early", "now", "next"] | None = None
    """What follows a vote that passes while a round runs: new teams at once; at the next round start; or at once in
    the round's first `EARLY_SECONDS` and later at the next round start. None: NS2 `now`, where the round starts again,
    other games `early`; arena always `next`."""


@dataclass(frozen=True, slots=True)
class ShuffleRules:
    """NS2: when teams are shuffled, and how even they become."""

    at_round_start: bool = True
    """Shuffle before every round, when both sides have a commander."""
    fair_band: tuple[Probability, Probability] = (0.45, 0.55)
    """Win probabilities of the marines that count as even: a shuffle aims at it, and inside it no vote is taken."""
    method: Literal["fewest", "greedy"] = "fewest"
    """The fewest moves that make the sides even, or the method of the game's author: the pair is swapped that leaves
    the least difference of skill, until no pair lessens it."""
    max_moves: Annotated[int, Meta(ge=0, le=100)] = 0
    """Players on a side whom one shuffle may put on the other; 0: however many."""
    vote_seconds: Hour = 120.0
    """No vote later than this into a round."""
    choice_seconds: Annotated[float, Meta(ge=5, le=300)] = 30.0
    """How long players may choose in a secret team choice."""


MATCH_HUMANS = 6
"""Fewer are no match: they wait for others, and one of them decides it."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one server."""

    arena: ArenaRules = field(default_factory=ArenaRules)
    scramble: ScrambleRules = field(default_factory=ScrambleRules)
    autobalance: AutobalanceRules = field(default_factory=AutobalanceRules)
    lock: LockRules = field(default_factory=LockRules)
    vote: VoteRules = field(default_factory=VoteRules)
    shuffle: ShuffleRules = field(default_factory=ShuffleRules)
    triggers: Mapping[str, Triggers] = field(default_factory=lambda: dict(DEFAULT_TRIGGERS))
    """What makes a scramble due, by the mode's name; a mode that is not here has its defaults."""
    sides: tuple[str, str] | None = None
    """What players call sides A and B; None: RED and BLU, or Marines and Aliens."""
    maps: Mapping[str, Level] = field(default_factory=lambda: dict(DEFAULT_LEVELS))
    """The level of maps, by name or prefix."""
    friends: bool = True
    """Two players who name each other are kept on one side where teams stay even."""
    admin_commands: bool = True
    """Admins may change ratings and teams by commands in the game, where the script vouches for them."""
    ns2_min_seconds: Annotated[float, Meta(ge=0, le=86400)] = 60.0
    """NS2: a shorter round is not rated."""
    min_rated_humans: Players | None = None
    """A round of fewer participants is not rated; None: 6 in NS2, 2 in other games."""
    last_minutes: Annotated[float, Meta(ge=0, le=60)] = 0.0
    """So long before its time is over a map is left alone: only admins change the teams; 0: never."""
    silence_seconds: Annotated[float, Meta(ge=10, le=86400)] = 90.0
    """A script that has been silent this long is shown as lost."""
    poll_seconds: Annotated[float, Meta(ge=0.5, le=60)] = 5.0
    """How often a script calls when nothing happens."""

    def least_humans(self, mode: Mode) -> int:
        """The participants that a round must have to be rated.

        >>> Rules().least_humans(Mode.NS2), Rules().least_humans(Mode.ARENA)
        (6, 2)
        """
        if self.min_rated_humans is not None:
            return self.min_rated_humans
        return MATCH_HUMANS if mode is Mode.NS2 else 2

    def triggers_of(self, mode: Mode) -> Triggers:
        """The triggers of this mode.

        >>> Rules(triggers={"koth": Triggers(streak=3)}).triggers_of(Mode.KOTH).no_capture
        False
        >>> Rules().triggers_of(Mode.PAYLOAD).rounds, Rules().triggers_of(Mode.NS2) == Triggers()
        (2, True)
        """
        return self.triggers.get(mode.value, DEFAULT_TRIGGERS.get(mode.value, Triggers()))
