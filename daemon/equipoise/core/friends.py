"""Friends: two players who named each other want to play on one side (`memory.groups`), until one of them ends it.

An invitation lapses, so that players who met once are not tied together weeks later by a word of one of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from equipoise.core.asks import AskSplit
from equipoise.core.effects import Tell
from equipoise.core.events import Commanded
from equipoise.core.memory import LARGEST_GROUP, groups
from equipoise.core.model import STEAM_ID_BASE, PlayerId, Roster, Round, Side, Split
from equipoise.core.phrases import Phrase, Text
from equipoise.core.state import Effects, State

INVITATION_MINUTES = 5
"""How long an invitation may be accepted, and until the player invited reads another of the same player."""

Invitations = Mapping[tuple[PlayerId, PlayerId], float]


def group_of(state: State) -> Mapping[PlayerId, frozenset[PlayerId]]:
    """The group of every player who has a friend; nobody has one where the rules know none."""
    return groups(state.memory.friendships) if state.rules.friends else {}


def present(state: State, roster: Roster | None = None) -> tuple[frozenset[PlayerId], ...]:
    """The groups of friends as far as a split of the roster may place them, of two or more."""
    eligible = {entry.id for entry in (roster or state.balanced_roster()).eligible()}
    groups_here = (group & eligible for group in dict.fromkeys(group_of(state).values()))
    return tuple(group for group in groups_here if len(group) > 1)


def beside(state: State, player: PlayerId) -> dict[Side, int]:
    """How many friends of a player are on each side."""
    friends = group_of(state).get(player, frozenset()) - {player}
    return {side: sum(entry.id in friends for entry in state.roster.on(side)) for side in Side}


def with_friends(state: State, side: Side) -> frozenset[PlayerId]:
    """The players of a side who have a friend on it."""
    players = frozenset(entry.id for entry in state.roster.on(side))
    groups_here = (group & players for group in dict.fromkeys(group_of(state).values()))
    return frozenset(player for group in groups_here if len(group) > 1 for player in group)


def parted(question: AskSplit, split: Split) -> Effects:
    """Tell friends whom new teams have put on different sides, each with whom.

    Who could not be moved is not told: all players read of them.
    """
    movable = {entry.id for entry in question.entries if not (entry.stays or entry.held)}
    if question.terms is not None:
        groups_here = () if question.terms.greedy else question.terms.groups
    else:
        groups_here = question.groups
    effects: Effects = ()
    for group in groups_here:
        for player in sorted(group & movable):
            side = split.side_of(player)
            others = [member for member in sorted(group & movable) if side and split.side_of(member) is side.other]
            lines = tuple(Text(Phrase.FRIEND_PARTED, (f"@{friend}",)) for friend in others)
            effects += (Tell(player, lines),) if lines else ()
    return effects


def squads(state: State, game_round: Round) -> tuple[tuple[PlayerId, ...], ...]:
    """The squads of the round that is running: those that the script tells, or else the groups of friends in it."""
    if game_round.squads:
        return game_round.squads
    players = tuple(presence.id for presence in game_round.presences)
    groups_here = dict.fromkeys(group_of(state).values())
    candidates = (tuple(player for player in players if player in group) for group in groups_here)
    return tuple(squad for squad in candidates if len(squad) > 1)


def obey(state: State, event: Commanded, now: float) -> Effects:
    """`friend`: show the group; `friend none`: end it; `friend ID`: invite this player, or accept their invitation."""
    by, words = event.by, event.words[1:]
    if not state.rules.friends:
        return (Tell(by, (Text(Phrase.FRIEND_OFF),)),)
    if by is None or state.roster.get(by) is None:
        return (Tell(by, (Text(Phrase.PLAYING_ONLY),)),)
    if not words:
        return (Tell(by, _shown(state, by)),)
    if [word.casefold() for word in words] == ["none"]:
        return _part(state, by)
    friend = named(words)
    if friend == by:
        return (Tell(by, (_usage(state),)),)
    if friend is None or state.roster.get(friend) is None:
        return (Tell(by, (Text(Phrase.UNKNOWN_PLAYER, (" ".join(words),)),)),)
    return _name(state, by, friend, now)


def _usage(state: State) -> Text:
    return Text(Phrase.FRIEND_USAGE if state.ns2 else Phrase.FRIEND_MENU)


def named(words: tuple[str, ...]) -> PlayerId | None:
    """The player whose SteamID64 or account number the word is; another word is taken as an id, such as a bot's.

    None for more than one word: a name that the script did not find on the server.

    >>> named(("22202",)), named(("bot:7",)), named(("the", "cat"))
    ('76561197960287930', 'bot:7', None)
    """
    if len(words) > 1:
        return None
    (word,) = words
    if not (word.isascii() and word.isdecimal() and len(word) <= 17):
        return PlayerId(word)
    number = int(word)
    return PlayerId(str(number if number > STEAM_ID_BASE else number + STEAM_ID_BASE))


def _shown(state: State, player: PlayerId) -> tuple[Text, ...]:
    """The other players of the group, and how to change it."""
    group = group_of(state).get(player, frozenset((player,)))
    lines = tuple(Text(Phrase.FRIEND_LINE, (f"@{friend}",)) for friend in sorted(group - {player}))
    return (*(lines or (Text(Phrase.FRIEND_NONE),)), _usage(state))


def _name(state: State, by: PlayerId, other: PlayerId, now: float) -> Effects:
    """One player names another: accept their invitation, or invite them."""
    state.invitations = lasting(state, state.invitations, now)
    group = group_of(state)
    mine, theirs = (group.get(player, frozenset((player,))) for player in (by, other))
    if other in mine:
        return (Tell(by, _shown(state, by)),)
    guests = {guest for inviter, guest in state.invitations if inviter == by and guest != other}
    accepts = (other, by) in state.invitations
    if len(mine | theirs | (frozenset() if accepts else guests)) > LARGEST_GROUP:
        return (Tell(by, (Text(Phrase.FRIEND_FULL, (str(LARGEST_GROUP),)),)),)
    if accepts:
        state.invitations = {pair: at for pair, at in state.invitations.items() if set(pair) != {by, other}}
        state.memory = state.memory.befriend(other, by)
        pairs = ((by, other), (other, by))
        return tuple(Tell(reader, (Text(Phrase.FRIEND_MADE, (f"@{friend}",)),)) for reader, friend in pairs)
    state.invitations = {**state.invitations, (by, other): now}
    answer = Tell(by, (Text(Phrase.FRIEND_ASKED, (f"@{other}", str(INVITATION_MINUTES))),))
    # Repeated words of one player are not shown to the other, whatever was withdrawn or ended between them.
    state.invitations_shown = younger(state.invitations_shown, now)
    if (by, other) in state.invitations_shown:
        return (answer,)
    state.invitations_shown = {**state.invitations_shown, (by, other): now}
    return (answer, Tell(other, (Text(Phrase.FRIEND_ASKS, (f"@{by}",)),)))


def lasting(state: State, invitations: Invitations, now: float) -> Invitations:
    """The invitations that may still be accepted, between players who are here."""
    players = {entry.id for entry in state.roster.entries}
    return {pair: at for pair, at in younger(invitations, now).items() if players.issuperset(pair)}


def younger(invitations: Invitations, now: float) -> Invitations:
    """The invitations that have not lapsed."""
    return {pair: at for pair, at in invitations.items() if at > now - INVITATION_MINUTES * 60}


def _part(state: State, by: PlayerId) -> Effects:
    """End a player's friendships and invitations; the friends who are here read it."""
    friends = group_of(state).get(by, frozenset()) - {by}
    readers = [entry.id for entry in state.roster.entries if entry.id in friends]
    state.invitations = {pair: at for pair, at in state.invitations.items() if by not in pair}
    state.memory = state.memory.part(by)
    lines = (Tell(friend, (Text(Phrase.FRIEND_LEFT, (f"@{by}",)),)) for friend in readers)
    return (Tell(by, (Text(Phrase.FRIEND_ENDED),)), *lines)
