"""The game's own votes, as far as a plugin meets them: the command `callvote` and what may be voted on.

Source: server/vote_controller.cpp (CON_COMMAND callvote, CVoteController::CreateVote), tf/tf_voteissues.cpp. A vote
that was called only stands in `called`: nobody votes, and nothing follows.
"""

from typing import TYPE_CHECKING

from .facts import SPECTATOR
from .players import Player

if TYPE_CHECKING:
    from .game import Game

ISSUES = {
    "ScrambleTeams": "sv_vote_issue_scramble_teams_allowed",
    "TeamAutoBalance": "sv_vote_issue_autobalance_allowed",
}
"""GetTypeString of an issue, and the variable by which it is enabled."""


class Ballots:
    """The vote controller. `listed` is what each player's menu of votes offers, once they have opened it."""

    def __init__(self, game: "Game") -> None:
        self.game = game
        self.called: list[tuple[str, str]] = []
        self.listed: dict[str, list[str]] = {}

    def call(self, player: Player, words: list[str]) -> None:
        """`callvote`: the menu; `callvote ISSUE`: a vote, if the issue is enabled."""
        if player.team == SPECTATOR and not self.game.number("sv_vote_allow_spectators"):
            return
        enabled = [issue for issue, variable in ISSUES.items() if self.game.number(variable)]
        if not words:
            self.listed[player.name] = enabled
        self.called += [(player.name, issue) for issue in enabled if words and issue.lower() == words[0].lower()]
