"""Flags and what is won by carrying them (entity_capture_flag.cpp, tf_gamerules.cpp)."""

from typing import TYPE_CHECKING

from .carrying import carried, drop_flag
from .entities import Entity
from .facts import BLU, RED, SIDES, Reason, State, opponent
from .players import Player

if TYPE_CHECKING:
    from .game import Game

HOME, STOLEN = range(2)
PICKED_UP, CAPTURED, RETURNED = 1, 2, 5
PRIORITY = 8
CAPTURE_THE_FLAG = 1


class Flags:
    """The map's flags by the side they belong to: its opponents carry them. `captures` are this round's, by side."""

    def __init__(self, game: "Game") -> None:
        self.game = game
        self.by_side: dict[int, Entity] = {}
        self.captures = {RED: 0, BLU: 0}

    @property
    def away(self) -> bool:
        """Whether any flag is stolen or lies about."""
        return any(flag.props["m_nFlagStatus"] != HOME for flag in self.by_side.values())

    @property
    def leader(self) -> int:
        """The side with more captures this round; 0 when they are equal."""
        red, blu = self.captures[RED], self.captures[BLU]
        return 0 if red == blu else RED if red > blu else BLU

    def place(self, index: int, side: int) -> Entity:
        """A flag at its home, at a map's start and whenever the map's entities are made anew."""
        flag = Entity(
            index, "item_teamflag", "CCaptureFlag", m_iTeamNum=side, m_nFlagStatus=HOME, m_hPrevOwner=-1,
            m_hOwnerEntity=-1, m_nPointValue=0,
        )  # fmt: skip
        self.by_side[side] = flag
        return flag

    def pick_up(self, player: Player) -> None:
        """Take the other side's flag."""
        flag = self.by_side[opponent(player.team)]
        home = flag.props["m_nFlagStatus"] == HOME
        flag.props |= {"m_nFlagStatus": STOLEN, "m_hPrevOwner": player.index, "m_hOwnerEntity": player.index}
        player.set("m_hItem", flag.index)
        self._fire(flag, PICKED_UP, player, home=home)

    def give_ball(self, player: Player) -> None:
        """`CPasstimeBall::SetStateCarried` (tf_passtime_ball.cpp): PASS Time's ball is in these hands alone."""
        assert self.game.mode.passtime
        self.take_ball_away()
        player.props["m_bHasPasstimeBall"] = 1

    def take_ball_away(self) -> None:
        """`OnBecomeNotCarried`; a win puts the ball out of play (`CTFGameRules::SetWinningTeam`)."""
        for player in self.game.players.values():
            player.props["m_bHasPasstimeBall"] = 0

    def give_points(self, player: Player, points: int) -> None:
        """Player Destruction: what a player picks up is an item with points (`CCaptureFlag::PickUp`, m_nPointValue)."""
        flag = carried(self.game, player)
        if flag is None:
            flag = self.game.entities.add("item_teamflag", "CCaptureFlag", m_iTeamNum=0, m_nFlagStatus=STOLEN,
                                          m_hPrevOwner=-1, m_hOwnerEntity=player.index, m_nPointValue=0)  # fmt: skip
            player.set("m_hItem", flag.index)
        flag.props["m_nPointValue"] = int(flag.props["m_nPointValue"]) + points  # type: ignore[arg-type]

    def drop(self, player: Player) -> None:
        """`CTFPlayer::DropFlag`; nothing if they carry none."""
        drop_flag(self.game, player)

    def give_back(self, side: int) -> None:
        """A flag that lay about goes home: the event names no player."""
        flag = self.by_side[side]
        flag.props |= {"m_nFlagStatus": HOME, "m_hOwnerEntity": -1}
        self.game.fire("teamplay_flag_event", eventtype=RETURNED, team=side, priority=PRIORITY)

    def capture(self, player: Player) -> None:
        """`CCaptureFlag::Capture`: the limit is looked at once a second, not here."""
        flag, side = carried(self.game, player), player.team
        assert flag is not None, f"{player.name} carries no flag"
        flag.props |= {"m_nFlagStatus": HOME, "m_hOwnerEntity": -1}
        player.set("m_hItem", -1)
        self._fire(flag, CAPTURED, player)
        self.score(side)
        if not self.game.number("tf_flag_caps_per_round"):
            self.game.teams.scores[side] += 1
        self.game.fire(
            "ctf_flag_captured", capping_team=side, capping_team_score=self.captures[side], capper=player.userid,
            priority=PRIORITY,
        )  # fmt: skip
        self.game.points.last_cappers = chr(player.index)

    def score(self, side: int) -> None:
        """One more capture, or a goal in passtime."""
        self._set_captures(side, self.captures[side] + 1)

    def may_be_drawn(self) -> bool:
        """`CTFGameRules::CanGoToStalemate`: not while a flag is away, nor when the last one that came home has won."""
        if self.game.mode.game_type != CAPTURE_THE_FLAG:
            return True
        return not self.away and not self.check_limit()

    def check_limit(self) -> bool:
        """`CheckCapsPerRound`, in front of the limits once a second: whether that many captures have won the round."""
        over = (State.TEAM_WIN, State.GAME_OVER)
        if self.game.rounds.waiting or self.game.rounds.state in over:
            return False
        passtime = self.game.mode.passtime
        limit = self.game.number("tf_passtime_scores_per_round" if passtime else "tf_flag_caps_per_round")
        if limit <= 0 or max(self.captures.values()) < limit:
            return False
        winner = self.leader or RED
        self.game.rounds.win(winner, Reason.SCORED if passtime else Reason.FLAG_CAPTURE_LIMIT, switch=False)
        return True

    def start_round(self) -> None:
        """`CTFGameRules::RoundRespawn`: nobody has captured anything."""
        for side in SIDES:
            self._set_captures(side, 0)

    def clean_up(self) -> None:
        """The map's flags are made anew: hands are empty."""
        for player in self.game.players.values():
            player.props["m_hItem"] = -1

    def _set_captures(self, side: int, captures: int) -> None:
        self.captures[side] = captures
        self.game.teams.entity(side).props["m_nFlagCaptures"] = captures

    def _fire(self, flag: Entity, kind: int, player: Player, *, home: bool = False) -> None:
        # `team` is the robbed side: the flag's, never the player's.
        fields = {"home": int(home)} if kind == PICKED_UP else {}
        team = int(flag.props["m_iTeamNum"])  # type: ignore[arg-type]
        self.game.fire(
            "teamplay_flag_event", player=player.index, eventtype=kind, team=team, priority=PRIORITY, **fields
        )
