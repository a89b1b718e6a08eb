"""All texts for players and operators: phrase keys that the scripts translate, and their English text.

The SourceMod translation files have the same keys and numbers of arguments; a test compares them. An argument that
starts with `@` is a player id, which the script shows as the player's name. An argument may be a text itself: so one
line says what was done, why, and what keeps the teams from being even.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from equipoise.core.model import IMMUNE, Outlook


class Phrase(Enum):
    """A key of the translation files; the value is its English text with `{1}`, `{2}` … for the arguments."""

    # Why teams are scrambled.
    REASON_WAITING_ENDED = "Waiting For Players is over"
    REASON_ROUND_TWO = "round 2 is always balanced"
    REASON_STREAK = "{1} wins in a row"
    REASON_NO_CAPTURE = "the losing side captured nothing"
    REASON_ROUNDS = "full rounds since the last scramble: {1}"
    REASON_ADMIN = "ordered by an admin"
    REASON_VOTE = "the players voted for it"
    REASON_ROUND_START = "teams are shuffled before every round"
    REASON_CHAIRS = "before the command chairs are filled"
    # Who is asked to command, and what becomes of it.
    REASON_CLOSEST = "asked to command, as the closest match"
    REASON_COMMANDS = "asked to command, and does"
    REASON_ANOTHER = "asked to command, but another does, or nobody"
    # Why a player plays, waits or is moved.
    REASON_DUEL = "round 1 is a duel between the two closest ratings"
    REASON_EQUAL_SIDES = "players who waited come in, and the sides are made equal"
    REASON_TOO_UNEVEN = "the sides were too uneven"
    REASON_GAP = "{1} against {2}: this move leaves the sides closest in skill"
    REASON_VOLUNTEER = "{1} against {2}: you offered to change sides"
    REASON_SWAP = "two players agreed to swap sides"
    REASON_JOIN_SMALLER = "that side has fewer players"
    REASON_JOIN_WEAKER = "that leaves the sides closest in skill"
    REASON_JOIN_FRIEND = "a friend of yours plays there"
    REASON_RETURN = "you were placed on that side"
    REASON_ALLOWED = "sides stay even"
    REASON_WAITS = "a round is running, you play in the next one"
    # Why a player may not.
    REFUSED_LOCKED = "You were placed on this side and stay there for another {1} s."
    REFUSED_LOCKED_SCRAMBLE = "You were placed on this side and stay there until the next scramble."
    REFUSED_ADMIN = "Only admins may do that."
    REFUSED_GAP = "That would make it {1} against {2}."
    REFUSED_SWITCH = "You stay: at equal numbers {1} would have a win chance of {2} %."
    REFUSED_SWAP = "No swap: at equal numbers {1} would have a win chance of {2} %."
    REFUSED_IN_GAME = "This server takes no admin commands from the game: {1}"
    # Announcements. The last arguments are texts: why it was done, and why the teams are not even.
    SCRAMBLED = "Teams are balanced ({3}). Win chance of {1}: {2} %."
    SCRAMBLED_UNEVEN = "New teams ({3}), but not even: {4}. Win chance of {1}: {2} %."
    SCRAMBLED_UNKNOWN = "New teams ({1}). Their win chance is not known."
    SHUFFLED = "Teams are shuffled ({4}). Players moved: {1}. Win chance of {2}: {3} %."
    SHUFFLED_UNEVEN = "Teams are shuffled ({4}), but not even: {5}. Players moved: {1}. Win chance of {2}: {3} %."
    SHUFFLE_NEEDLESS = "Teams stay as they are: {3}. Win chance of {1}: {2} %."
    SHUFFLE_RESTARTS = "Teams are shuffled: the round starts again."
    SHUFFLE_SKIPPED = "No shuffle before the next round: an admin leaves the teams as they are."
    CHAIR_OFFERED = "Will you command? {1} is asked to on the other side, and you two are the closest match."
    CHAIR_ASKED = "Will you command? {1} commands the other side, and on yours you are the closest match."
    TEAMS_MADE = "Teams stay as they are: people put {1} of {2} players on their side."
    TOO_UNEVEN_TWO = "{1} had {2} %: {3} and {4} change sides."
    TOO_UNEVEN_FOUR = "{1} had {2} %: {3}, {4}, {5} and {6} change sides."
    SCRAMBLE_PENDING = "New teams at the next round ({1})."
    SCRAMBLE_WAITS = "New teams as soon as {2} players are here ({1})."
    OF_THE_MAP = "{1} %, including the map's {2}"
    # Why teams are as even, or as uneven, as they are.
    CAUSE_EVEN = "they are even"
    CAUSE_HEAD_COUNT = "one side has more players"
    CAUSE_CHAIRS = "the commanders' chairs differ by {1} points"
    CAUSE_STAR = "one player is far above all others"
    CAUSE_FRIENDS = "friends stay together"
    CAUSE_FEW = "too few players to choose from"
    CAUSE_HELD = "some players cannot be moved now"
    CAUSE_RULES = "this server's rules allow no better split"
    SCRAMBLE_CANCELLED = "Scramble cancelled."
    BENCHED = "Your turn to sit out. You play next round."
    DUEL_WAIT = "You play from the next round."
    UNRATED = "This round is not rated:"
    UNRATED_CHEATS = "cheats were on while it was played"
    UNRATED_EMPTIED = "a side had no human before the end"
    # Who could not be moved: one player's name, or how many they are.
    HELD = "Not moved, because the game or another plugin forbids it: {1}"
    HELD_DUEL = "Not moved, because in a duel: {1}"
    HELD_GHOST = "Not moved, because a ghost: {1}"
    HELD_KART = "Not moved, because in a kart: {1}"
    HELD_COACHING = "Not moved, because a coach: {1}"
    HELD_COACHED = "Not moved, because coached: {1}"
    HELD_BALL = "Not moved, because carrying the ball: {1}"
    HELD_IMMUNE = "Not moved, because immune: {1}"
    NO_MOVES = "No player is moved now."
    NO_MOVES_SUDDEN_DEATH = "No player is moved in Sudden Death."
    NO_MOVES_OVERTIME = "No player is moved in overtime."
    # The vote.
    VOTE_QUESTION = "Balance the teams at the next round start?"
    """The title of the script's menu, by when new teams would be made."""
    VOTE_QUESTION_NOW = "Balance the teams now?"
    VOTE_QUESTION_EARLY = "Balance the teams? Early in the round at once, later at the next round start."
    VOTE_VOICE = "{1} wants balanced teams: {2} of {3} for a vote."
    VOTE_SHUFFLE = "{1} wants the teams shuffled: {2} of {3} votes."
    VOTE_TOO_FEW = "There are too few players for a vote."
    VOTE_COOLDOWN = "The last vote was a short while ago. Try again later."
    VOTE_EVEN = "Teams are even. Win chance of {1}: {2} %."
    VOTE_ROUND_ENDS = "The round ends soon. Ask for a vote in the next one."
    VOTE_TOO_LATE = "Too late in this round. Try again after it."
    VOTE_RUNNING = "A vote is running already."
    VOTE_PASSED = "The vote passed: {1} of {2} for balanced teams."
    VOTE_FAILED = "The vote failed: {1} of {2} for balanced teams, needed: {3}."
    VOTE_CANCELLED = "An admin cancelled the vote."
    VOTE_OFF = "Votes are switched off on this server."
    VOTE_ALREADY_DUE = "Teams are balanced at the next round start anyway."
    VOTE_NOT_PLAYING = "Only players on a team can start a vote."
    # Wishes, friends, the secret team choice.
    REASON_CHOICE = "the players chose their sides"
    REASON_ROUND_BEGAN = "a round begins"
    REASON_RESTARTED = "Equipoise was restarted"
    REASON_NO_CHOICE = "no player chose"
    REASON_INACTIVE = "Equipoise leaves the teams alone"
    NS2_ONLY = "Only servers of Natural Selection 2 have this: {1}"
    PLAYING_ONLY = "Only players on a team, or waiting for one, can do that."
    WISH_STATED = "You'd like {1}."
    WISH_ASKED = "You last asked for {1}."
    WISH_NONE = "You have not asked for a side."
    WISH_USAGE = "!eq prefer marines, !eq prefer aliens or !eq prefer none. In the console without !."
    FRIEND_LINE = "{1} plays with you."
    FRIEND_NONE = "You play in no group."
    FRIEND_USAGE = "!eq friend and a player's name, or !eq friend none. In the console without !."
    FRIEND_ASKED = "{1} was asked and may accept within {2} minutes."
    FRIEND_ASKS = "{1} wants to play on your side. To accept, write: !eq friend and their name."
    FRIEND_MENU = "!eq friend and a player's name, or !eq friend none. !eq alone opens a menu."
    FRIEND_OFF = "This server keeps no friends together."
    FRIEND_PARTED = "To keep the teams even, you and {1} are on different sides this time."
    FRIEND_MADE = "You and {1} are friends: new teams keep you on one side where they can."
    FRIEND_ENDED = "Your friendships and invitations have ended."
    FRIEND_LEFT = "{1} has left your group."
    FRIEND_FULL = "A group has at most {1} players, invited ones included."
    # Swaps.
    SWAP_ASKED = "{1} was asked to swap sides and may accept within {2} minutes."
    SWAP_ASKS = "{1} wants to swap sides with you. To accept, write: !eq swap and their name."
    SWAP_AGREED = "You and {1} swap sides when you are next dead, in {2} s at the latest."
    SWAPPED = "{1} and {2} have swapped sides."
    SWAP_FAILED = "The swap with {1} was not completed."
    SWAP_SIDES = "Two players on different sides can swap."
    SWAP_NOT_NOW = "Players swap sides only while a round runs, and one swap at a time."
    SWAP_OFFERED = "When the other side needs a player, you are moved first. To take it back: !eq swap none"
    SWAP_NONE = "You are not moved first, and offer no swap."
    CHOICE_OPEN = "Secret team choice, {1} s. In the console: eq choose marines, eq choose aliens or eq choose random."
    CHOICE_OPENED = "The secret team choice is open."
    CHOICE_VOICE = "{1} wants a secret team choice: {2} of {3} votes."
    CHOICE_USAGE = "eq choose marines, eq choose aliens or eq choose random. Only in the console."
    CHOICE_CHOSEN = "You chose {1}. Nobody else sees this."
    CHOICE_NONE = "No team choice is open."
    CHOICE_RUNNING = "A team choice is under way already."
    CHOICE_NOT_NOW = "A team choice opens only between rounds."
    CHOICE_CANCELLED = "The team choice ended without new teams:"
    CHOICE_RESULT = "Players on the side that they chose: {1} of {2}."
    # Answers to commands.
    RATING = "{1}: ladder points {2}, rounds: {3}."
    RATING_SHADOW = "{1}: rounds until the rating is shown: {2}."
    RATING_ADMIN = "{1}: ladder points {2}, rounds: {3} (hidden: {4})."
    RANK = "{1}: rank {2} of {3}, ladder points {4}, won-drawn-lost {5}."
    RANK_NONE = "{1} has no rank yet."
    TOP_LINE = "{1}. {2}: {3}"
    TOP_EMPTY = "Nobody is ranked yet."
    HIDDEN = "You are hidden: rated, but on no leaderboard. The word off ends it."
    SHOWN = "You are on the leaderboard again."
    TEAMS = "{1} {2} against {3} {4}."
    TEAMS_CHANCE = "Win chance of {1}: {2} %."
    TEAMS_CHANCE_INTERVAL = "Win chance of {1}: {2} %, probably {3} to {4} %."
    STATUS = "Equipoise: {1}, round {2}, streak {3}, scramble due: {4}, last scramble: {5}."
    STATUS_OFF = "Equipoise is off on this server."
    MAP_OFF = "Equipoise leaves this map alone ({1})."
    MAP_RATE = "Equipoise only rates rounds on this map ({1})."
    MAP_ENDS = "The map's last minutes: only an admin's order changes the teams now."
    DRY_RUN = "Preview of new teams. Players to move: {1}. Win chance of {2}: {4} % instead of {3} %."
    DRY_RUN_INTERVAL = "Players to move: {1}. Win chance of {2}: {4} % (probably {5} to {6} %), now {3} %."
    DRY_RUN_LINE = "{1} to {2}"
    WHY_LINE = "{1}: {2}"
    WHY_NONE = "Nothing has been decided yet."
    SET_DONE = "{1}: ladder points changed from {2} to {3}."
    SWITCHED_ON = "Equipoise balances the teams again."
    SWITCHED_OFF = "Equipoise only watches: rounds are rated, teams are left alone."
    NOTHING_PENDING = "No scramble is due."
    NOT_ENOUGH_PLAYERS = "Players needed: {1}, here: {2}."
    NOTHING_TO_BALANCE = "The sides are even: there is nobody to move."
    GAP_STAYS = "{1} against {2}: no more players of the larger side may be moved now"
    GAP_QUIET = "{1} against {2}: nobody is moved in the last seconds of a round"
    GAP_MAP_ENDS = "{1} against {2}: nobody is moved in the last minutes of a map"
    MOVED_BY_ADMIN = "An admin moves {1} to {2}."
    MOVE_NO_SIDE = "{1} is on no side."
    MOVE_NO_ROUND = "Between two rounds nobody is moved. Try again in the next one."
    CANNOT_BALANCE_ARENA = "In arena the sides are made equal at the next round start."
    UNKNOWN_PLAYER = "No player is known as {1}."
    UNKNOWN_COMMAND = "Unknown command: {1}."
    NO_ANSWER = "No split was found; a scramble that is due stays due."
    FAILED = "That did not work: {1}"
    SCRIPT_OLDER = "Equipoise {1} is older than its daemon {2}. On the daemon's machine: equipoise upgrade"
    SILENT = "The Equipoise daemon does not answer."
    """Shown by a script that got no answer."""

    @property
    def key(self) -> str:
        """The key in the translation files.

        >>> Phrase.REASON_ROUND_TWO.key
        'Equipoise_ReasonRoundTwo'
        """
        return "Equipoise_" + self.name.title().replace("_", "")

    @property
    def refusal(self) -> bool:
        """The text says that nothing was done."""
        return self in _REFUSALS

    @property
    def arguments(self) -> int:
        """How many arguments the text takes.

        >>> Phrase.REASON_GAP.arguments
        2
        """
        return sum(f"{{{n}}}" in self.value for n in range(1, 10))


_REFUSALS = frozenset(
    (
        Phrase.REFUSED_LOCKED,
        Phrase.REFUSED_LOCKED_SCRAMBLE,
        Phrase.REFUSED_ADMIN,
        Phrase.REFUSED_GAP,
        Phrase.REFUSED_SWITCH,
        Phrase.REFUSED_IN_GAME,
        Phrase.VOTE_TOO_FEW,
        Phrase.VOTE_COOLDOWN,
        Phrase.VOTE_EVEN,
        Phrase.VOTE_ROUND_ENDS,
        Phrase.VOTE_TOO_LATE,
        Phrase.VOTE_RUNNING,
        Phrase.VOTE_OFF,
        Phrase.VOTE_ALREADY_DUE,
        Phrase.VOTE_NOT_PLAYING,
        Phrase.NS2_ONLY,
        Phrase.PLAYING_ONLY,
        Phrase.FRIEND_FULL,
        Phrase.FRIEND_OFF,
        Phrase.REFUSED_SWAP,
        Phrase.SWAP_SIDES,
        Phrase.SWAP_NOT_NOW,
        Phrase.CHOICE_NONE,
        Phrase.CHOICE_RUNNING,
        Phrase.CHOICE_NOT_NOW,
        Phrase.MAP_OFF,
        Phrase.MAP_RATE,
        Phrase.NOTHING_PENDING,
        Phrase.NOT_ENOUGH_PLAYERS,
        Phrase.NO_MOVES,
        Phrase.NO_MOVES_SUDDEN_DEATH,
        Phrase.NO_MOVES_OVERTIME,
        Phrase.NOTHING_TO_BALANCE,
        Phrase.GAP_STAYS,
        Phrase.MOVE_NO_SIDE,
        Phrase.MOVE_NO_ROUND,
        Phrase.CANNOT_BALANCE_ARENA,
        Phrase.UNKNOWN_PLAYER,
        Phrase.UNKNOWN_COMMAND,
        Phrase.NO_ANSWER,
        Phrase.FAILED,
    )
)


@dataclass(frozen=True, slots=True)
class Text:
    """A phrase with its arguments; one that is a text itself is shown in the reader's language, too."""

    phrase: Phrase
    args: tuple[str | Text, ...] = ()

    @property
    def english(self) -> str:
        """The text in English, as logs and the command line show it; player ids stay ids.

        >>> Text(Phrase.REASON_STREAK, ("3",)).english
        '3 wins in a row'
        >>> Text(Phrase.SCRAMBLE_PENDING, (Text(Phrase.REASON_ADMIN),)).english
        'New teams at the next round (ordered by an admin).'
        """
        text = self.phrase.value
        for number, arg in enumerate(self.args, 1):
            text = text.replace(f"{{{number}}}", arg.english if isinstance(arg, Text) else arg.removeprefix("@"))
        return text


_WITH_INTERVAL = {
    Phrase.TEAMS_CHANCE: Phrase.TEAMS_CHANCE_INTERVAL,
    Phrase.DRY_RUN: Phrase.DRY_RUN_INTERVAL,
}


def with_chance(phrase: Phrase, args: tuple[str | Text, ...], outlook: Outlook | None) -> Text:
    """The phrase with these arguments and the chance of side A behind them; with its interval, where that is known.

    >>> with_chance(Phrase.TEAMS_CHANCE, ("RED",), Outlook(0.52, 0.3, 0.73, 0.14)).english
    'Win chance of RED: 52 %, probably 30 to 73 %.'
    >>> with_chance(Phrase.TEAMS_CHANCE, ("RED",), Outlook.alone(0.52)).english
    'Win chance of RED: 52 %.'
    """
    if outlook is None or outlook.low is None:
        return Text(phrase, (*args, told(outlook)))
    return Text(_WITH_INTERVAL[phrase], (*args, told(outlook), percent(outlook.low), percent(outlook.high)))


_HELD = {
    "duel": Phrase.HELD_DUEL,
    "ghost": Phrase.HELD_GHOST,
    "kart": Phrase.HELD_KART,
    "coaching": Phrase.HELD_COACHING,
    "coached": Phrase.HELD_COACHED,
    "ball": Phrase.HELD_BALL,
    IMMUNE: Phrase.HELD_IMMUNE,
}
"""By the script's words; a newer script may have others."""


def not_moved(held: str, who: str) -> Text:
    """Why somebody was not moved: `who` is a player, or how many they are.

    >>> not_moved("duel", "2").english, not_moved("frozen", "@ann").english
    ('Not moved, because in a duel: 2', 'Not moved, because the game or another plugin forbids it: ann')
    """
    return Text(_HELD.get(held, Phrase.HELD), (who,))


_NO_MOVES = {"sudden_death": Phrase.NO_MOVES_SUDDEN_DEATH, "overtime": Phrase.NO_MOVES_OVERTIME}


def no_moves(why: str) -> Text:
    """Why no player is moved now, by the script's word.

    >>> no_moves("overtime").english
    'No player is moved in overtime.'
    """
    return Text(_NO_MOVES.get(why, Phrase.NO_MOVES))


LEAST_PART = 2
"""Per cent; a map that is worth less is not mentioned."""


def told(outlook: Outlook | None) -> str | Text:
    """The chance of side A as all players read it, with the part of the map and its sides where that can be seen.

    >>> told(Outlook.alone(0.52)), told(None)
    ('52', '?')
    >>> told(Outlook(0.58, None, None, 0.08, of_teams=0.52)).english
    "58 %, including the map's +6"
    """
    if outlook is None:
        return "?"
    whole, part = percent(outlook.chance), round(100 * (outlook.chance - outlook.teams))
    return Text(Phrase.OF_THE_MAP, (whole, f"{part:+}")) if abs(part) >= LEAST_PART else whole


def percent(probability: float | None) -> str:
    """A probability as players read it, in whole per cent; "?" for an unknown one.

    >>> percent(0.508), percent(None)
    ('51', '?')
    """
    return "?" if probability is None else f"{100 * probability:.0f}"
