"""What players do to each other and to the map, as the events and entities a plugin observes."""

from . import buildings
from .entities import Entity
from .facts import SIDES, State, Value, opponent
from .game import Game
from .players import Player


def hurt(game: Game, attacker: Player | None, victim: Player, damage: int = 50) -> None:
    """Damage that does not kill; without attacker it is the world's."""
    health = max(victim.health - damage, 1)
    victim.set("m_iHealth", health)
    _hurt(game, attacker, victim, damage, health)


def kill(game: Game, attacker: Player | None, victim: Player, assister: Player | None = None) -> None:
    """Damage that kills; somebody may have helped."""
    if victim.alive:
        _hurt(game, attacker, victim, victim.health, 0)
        game.teams.lives.kill(victim, attacker, assister=assister)


def _hurt(game: Game, attacker: Player | None, victim: Player, damage: int, health: int) -> None:
    if attacker is not None and attacker is not victim:
        game.teams.scoreboard.count(attacker, "m_iDamageDone", damage)
    fields: dict[str, Value] = {"attacker": 0}
    if attacker is not None:
        fields = {"attacker": attacker.userid, "custom": 0, "bonuseffect": 0, "weaponid": 0}
        fields |= dict.fromkeys(("showdisguisedcrit", "crit", "minicrit", "allseecrit"), False)
    game.fire("player_hurt", userid=victim.userid, health=health, priority=5, damageamount=damage, **fields)


def feign(game: Game, attacker: Player, spy: Player) -> None:
    """A Dead Ringer: the event of a death that did not happen."""
    game.teams.lives.feign(spy, attacker)


def heal(game: Game, healer: Player, patient: Player, amount: int = 25) -> None:
    """A heal; self-heals fire too, with patient and healer the same, and score nothing."""
    if healer is not patient:
        game.teams.scoreboard.count(healer, "m_iHealPoints", amount)
    game.fire("player_healed", priority=1, patient=patient.userid, healer=healer.userid, amount=amount)


def fight(game: Game) -> None:
    """Everybody alive hurts and is hurt: all are participants."""
    sides = [[p for p in game.teams.members(side) if p.alive] for side in SIDES]
    for attackers, victims in (sides, sides[::-1]):
        for i, attacker in enumerate(attackers):
            if victims:
                hurt(game, attacker, victims[i % len(victims)], 10)


def wipe_out(game: Game, loser: int) -> None:
    """In arena: the other side kills all of `loser`; the round ends in the next frame."""
    killers = [p for p in game.teams.members(opponent(loser)) if p.alive]
    for victim in game.teams.members(loser):
        kill(game, killers[0], victim)
    game.frame()


def capture(game: Game, side: int, point: int, *players: Player) -> None:
    """A side captures a control point; without names somebody alive of that side does it. It may win the round.

    Where the point is locked in a running round, they wait until it is not.
    """
    if game.rounds.live and not game.rounds.waiting and not game.clocks.in_setup:
        game.until(lambda: game.points.may_capture(point) or not game.rounds.live, within=120)
    cappers = list(players) or [p for p in game.teams.members(side) if p.alive][:1]
    for player in cappers:
        game.teams.scoreboard.count(player, "m_iCaptures")
    game.points.capture(point, side, cappers)


def pick_up_flag(game: Game, player: Player) -> None:
    """Take the other side's intelligence."""
    game.flags.pick_up(player)


def drop_flag(game: Game, player: Player) -> None:
    """Let go of it."""
    game.flags.drop(player)


def pick_up_ball(game: Game, player: Player) -> None:
    """Take PASS Time's ball, from a player who may have it."""
    game.flags.give_ball(player)


def pick_up_points(game: Game, player: Player, points: int) -> None:
    """Player Destruction: take what a victim left."""
    game.flags.give_points(player, points)


def capture_flag(game: Game, player: Player) -> None:
    """Bring it home; the third ends the round within a second."""
    if player.props["m_hItem"] == -1:
        pick_up_flag(game, player)
    game.teams.scoreboard.count(player, "m_iCaptures")
    game.flags.capture(player)


def build(game: Game, player: Player, classname: str, level: int = 1) -> Entity:
    """An engineer's finished building: obj_sentrygun, obj_dispenser or obj_teleporter."""
    return buildings.build(game, player, classname, level)


def go_live(game: Game) -> None:
    """Advance until the round is live and past waiting, freeze time and setup."""
    rounds = game.rounds
    game.until(lambda: rounds.live and not rounds.waiting and not game.clocks.in_setup, within=300)


def next_round(game: Game) -> None:
    """Advance from a won round until the next one's freeze time has begun."""
    game.until(lambda: game.rounds.state in (State.PREROUND, State.GAME_OVER, State.PREGAME), within=60)
