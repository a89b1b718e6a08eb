"""The panels of a round's end: `SendWinPanelInfo` and its kin (tf_gamerules.cpp)."""

from typing import TYPE_CHECKING

from .facts import BLU, RED, SIDES, UNASSIGNED, Reason, Value, opponent
from .players import Player
from .scores import points

if TYPE_CHECKING:
    from .game import Game

BASIC = 0
BEST, BEST_OF_SIDE = 6, 3
BY_PLAYERS = (Reason.POINTS_CAPTURED, Reason.FLAG_CAPTURE_LIMIT)


def flag_limit(game: "Game") -> int:
    """flagcaplimit: the variable, whatever is played."""
    return int(game.number("tf_passtime_scores_per_round" if game.mode.passtime else "tf_flag_caps_per_round"))


def show(game: "Game", *, over: bool) -> None:
    """The panel that comes before teamplay_round_win. `over`: a limit of the map is met."""
    if game.mode.arena:
        _show_arena(game)
    elif game.mode.mvm:
        game.fire("pve_win_panel", panel_style=BASIC, winning_team=game.rounds.winner, winreason=0)
    else:
        _show_round(game, over=over)


def _show_round(game: "Game", *, over: bool) -> None:
    rounds = game.rounds
    complete = rounds.full_reset or game.limits.time_is_up
    fields = _scores(game, counted=rounds.scored)
    best = [p for p in game.in_game() if p.team in SIDES and rounds.winner in (UNASSIGNED, p.team)]
    best.sort(key=_points, reverse=True)
    for number, player in enumerate(best[:BEST], 1):
        if score := _points(player):
            fields |= {f"player_{number}": player.index, f"player_{number}_points": score}
    if not complete and rounds.winner != UNASSIGNED and game.mode.stages:
        fields["rounds_remaining"] = game.points.stages_left
    game.fire(
        "teamplay_win_panel", flagcaplimit=flag_limit(game), round_complete=int(complete), game_over=int(over),
        killstreak_player_1=0, killstreak_player_1_count=0, **fields,
    )  # fmt: skip


def _show_arena(game: "Game") -> None:
    winner = game.rounds.winner
    fields = _scores(game, counted=winner in SIDES)
    if winner in SIDES and not game.number("mp_tournament"):
        # The panel shows the loser with nothing, although without the queue both sides keep counting.
        fields["red_score" if opponent(winner) == RED else "blue_score"] = 0
    players = sorted((p for p in game.in_game() if p.team in SIDES), key=_points, reverse=True)
    if winner in SIDES:
        sides = [[p for p in players if p.team == side][:BEST_OF_SIDE] for side in (winner, opponent(winner))]
        shown = [*enumerate(sides[0], 1), *enumerate(sides[1], BEST_OF_SIDE + 1)]
    else:
        shown = list(enumerate(players[:BEST], 1))
    for number, player in shown:
        fields |= _arena_player(game, number, player)
    game.fire("arena_win_panel", **fields)


def _arena_player(game: "Game", number: int, player: Player) -> dict[str, Value]:
    stats = player.round_stats
    end = game.now if player.alive or player.died_at is None else player.died_at
    prefix = f"player_{number}"
    return {
        prefix: player.index, f"{prefix}_damage": stats.get("m_iDamageDone", 0),
        f"{prefix}_healing": stats.get("m_iHealPoints", 0), f"{prefix}_lifetime": int(end - game.rounds.round_start_at),
        f"{prefix}_kills": stats.get("m_iKills", 0),
    }  # fmt: skip


def _scores(game: "Game", *, counted: bool) -> dict[str, Value]:
    """What all panels begin with; the winner's score before this win is one less, if the win counted."""
    rounds, scores = game.rounds, game.teams.scores
    cappers = game.points.last_cappers if rounds.reason in BY_PLAYERS else ""
    before = {side: max(scores[side] - (counted and side == rounds.winner), 0) for side in SIDES}
    return {
        "panel_style": BASIC, "winning_team": rounds.winner, "winreason": rounds.reason, "cappers": cappers,
        "red_score": scores[RED], "blue_score": scores[BLU], "red_score_prev": before[RED],
        "blue_score_prev": before[BLU],
    }  # fmt: skip


def _points(player: Player) -> int:
    """Points of this round."""
    return points(player.round_stats)
