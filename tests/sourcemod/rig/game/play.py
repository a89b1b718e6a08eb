"""What players do to each other and to the map, as the events and entities a plugin observes."""

from .entities import Entity
from .facts import SIDES, Reason, State, opponent
from .game import Game
from .players import Player

PICKED_UP, CAPTURED, DEFENDED, DROPPED, RETURNED = range(1, 6)
FLAG_LIMIT = 3
FEIGNED = 1 << 5
OBJECTS = {"obj_dispenser": 0, "obj_teleporter": 1, "obj_sentrygun": 2}
NETCLASSES = {
    "obj_dispenser": "CObjectDispenser",
    "obj_teleporter": "CObjectTeleporter",
    "obj_sentrygun": "CObjectSentrygun",
}


def hurt(game: Game, attacker: Player | None, victim: Player, damage: int = 50) -> None:
    """Damage that does not kill; without attacker it is the world's."""
    health = max(victim.health - damage, 1)
    victim.set("m_iHealth", health)
    by = attacker.userid if attacker else 0
    game.fire("player_hurt", userid=victim.userid, attacker=by, health=health, damageamount=damage)


def kill(game: Game, attacker: Player | None, victim: Player) -> None:
    """Damage that kills."""
    by = attacker.userid if attacker else 0
    game.fire("player_hurt", userid=victim.userid, attacker=by, health=0, damageamount=victim.health)
    game.teams.kill(victim, attacker)


def feign(game: Game, attacker: Player, spy: Player) -> None:
    """A Dead Ringer: the event of a death that did not happen."""
    game.fire("player_death", userid=spy.userid, attacker=attacker.userid, death_flags=FEIGNED)


def heal(game: Game, healer: Player, patient: Player, amount: int = 25) -> None:
    """A heal; self-heals fire too, with patient and healer the same."""
    game.fire("player_healed", patient=patient.userid, healer=healer.userid, amount=amount)


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
    """Take a control point; in King of the Hill the owner's clock starts."""
    game.rounds.caps[side] += 1
    if game.objective:
        owners = game.objective.props["m_iOwner"]
        assert isinstance(owners, list)
        owners[point] = side
    cappers = "".join(chr(player.index) for player in players)
    game.fire("teamplay_point_captured", cp=point, cpname=f"point {point}", team=side, cappers=cappers, priority=0)
    if game.mode.koth:
        game.rounds.clocks.taken(side)


def pick_up_flag(game: Game, player: Player) -> None:
    """Take the other side's intelligence."""
    flag = _flag(game, opponent(player.team))
    flag.props |= {"m_nFlagStatus": 1, "m_hPrevOwner": player.index, "m_hOwnerEntity": player.index}
    player.set("m_hItem", flag.index)
    _flag_event(game, player, PICKED_UP)


def drop_flag(game: Game, player: Player) -> None:
    """Let go of it."""
    _release(game, player, 2)
    _flag_event(game, player, DROPPED)


def capture_flag(game: Game, player: Player) -> None:
    """Bring it home; the third ends the round."""
    if player.props["m_hItem"] == -1:
        pick_up_flag(game, player)
    _release(game, player, 0)
    team = game.teams.entity(player.team)
    team.props["m_iFlagCaptures"] = captures = int(team.props["m_iFlagCaptures"]) + 1  # type: ignore[arg-type]
    _flag_event(game, player, CAPTURED)
    game.fire("ctf_flag_captured", capping_team=player.team, capping_team_score=captures, capper=player.userid)
    if captures >= FLAG_LIMIT:
        for side in SIDES:
            game.teams.entity(side).props["m_iFlagCaptures"] = 0
        game.rounds.win(player.team, Reason.FLAG_CAPTURE_LIMIT)


def build(game: Game, player: Player, classname: str, level: int = 1) -> Entity:
    """An engineer's finished building."""
    building = game.entities.add(
        classname, NETCLASSES[classname], m_hBuilder=player.index, m_iTeamNum=player.team, m_iUpgradeLevel=level,
        m_iObjectType=OBJECTS[classname], m_bBuilding=0, m_bPlacing=0, m_bCarried=0, m_bHasSapper=0,
        m_flPercentageConstructed=1.0,
    )  # fmt: skip
    player.buildings.append(building)
    game.fire("player_builtobject", userid=player.userid, object=OBJECTS[classname], index=building.index)
    return building


def go_live(game: Game) -> None:
    """Advance until the doors open: past waiting, freeze time and setup."""
    rounds = game.rounds
    game.until(lambda: rounds.live and not rounds.waiting and not rounds.clocks.in_setup, within=300)


def next_round(game: Game) -> None:
    """Advance from a won round until the next one's freeze time has begun."""
    game.until(lambda: game.rounds.state in (State.PREROUND, State.GAME_OVER, State.PREGAME), within=60)


def _flag(game: Game, side: int) -> Entity:
    return next(e for e in game.entities.all() if e.classname == "item_teamflag" and e.props["m_iTeamNum"] == side)


def _release(game: Game, player: Player, status: int) -> None:
    _flag(game, opponent(player.team)).props |= {"m_nFlagStatus": status, "m_hOwnerEntity": -1}
    player.set("m_hItem", -1)


def _flag_event(game: Game, player: Player, kind: int) -> None:
    game.fire("teamplay_flag_event", player=player.index, carrier=0, eventtype=kind, home=0, team=player.team)
