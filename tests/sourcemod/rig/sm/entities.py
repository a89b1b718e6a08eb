"""Entity natives: looking entities up and reading or writing their properties by name."""

from typing import TYPE_CHECKING

from ..binding import Call, native
from ..game.clocks import Timer
from ..game.players import Player
from ..game.scores import SCORE_OFFSETS, SCORE_RANGE
from ..machine import NativeError
from ..memory import Buffer, Ref, float_to_cell

if TYPE_CHECKING:
    from ..game.entities import Entity, Prop


FIELD_INTEGER, FIELD_FLOAT = 1, 2
"""`PropFieldType` (entity.inc)."""


def _entity(call: Call, index: int) -> "Entity":
    entity = call.sm.world.entities.get(index)
    if entity is None:
        raise NativeError(f"Entity {index} ({index}) is invalid")
    return entity


def _read(entity: "Entity", prop: str, element: int, kind: type) -> "Prop":
    if prop not in entity.props:
        raise NativeError(f'Property "{prop}" not found (entity {entity.index}/{entity.classname})')
    value = entity.props[prop]
    if isinstance(value, list):
        if not 0 <= element < len(value):
            raise NativeError(f"Element {element} is out of bounds (Prop {prop} has {len(value)} elements).")
        value = value[element]
    if not isinstance(value, kind):
        raise NativeError(f'Property "{prop}" of {entity.classname} is a {type(value).__name__}, not a {kind.__name__}')
    return value


def _write(entity: "Entity", prop: str, element: int, value: "Prop") -> None:
    _read(entity, prop, element, type(value))
    held = entity.props[prop]
    if isinstance(held, list):
        value = [*held[:element], value, *held[element + 1 :]]
    entity.set(prop, value)


@native()
def GetMaxEntities(call: Call) -> int:
    return 2048


@native("IsValidEntity", "IsValidEdict")
def IsValidEntity(call: Call, index: int) -> bool:
    return call.sm.world.entities.get(index) is not None


@native()
def EntIndexToEntRef(call: Call, index: int) -> int:
    return call.sm.world.entities.reference(index)


@native()
def EntRefToEntIndex(call: Call, reference: int) -> int:
    entity = call.sm.world.entities.get(reference)
    return entity.index if entity else -1


@native()
def FindEntityByClassname(call: Call, start: int, classname: str) -> int:
    return call.sm.world.entities.after(start, classname)


@native()
def GetEdictClassname(call: Call, index: int, buffer: Buffer) -> bool:
    return bool(buffer.write(_entity(call, index).classname))


@native()
def GetEntityNetClass(call: Call, index: int, buffer: Buffer) -> bool:
    return bool(buffer.write(_entity(call, index).netclass))


@native("RemoveEntity", "RemoveEdict")
def RemoveEntity(call: Call, index: int) -> None:
    call.sm.world.entities.remove(_entity(call, index))


@native()
def GetEntProp(call: Call, index: int, kind: int, prop: str, size: int, element: int) -> int:
    return int(_read(_entity(call, index), prop, element, int))  # type: ignore[arg-type]


@native()
def SetEntProp(call: Call, index: int, kind: int, prop: str, value: int, size: int, element: int) -> None:
    _write(_entity(call, index), prop, element, value)


@native()
def GetEntPropFloat(call: Call, index: int, kind: int, prop: str, element: int) -> float:
    return float(_read(_entity(call, index), prop, element, float))  # type: ignore[arg-type]


@native()
def SetEntPropFloat(call: Call, index: int, kind: int, prop: str, value: float, element: int) -> None:
    _write(_entity(call, index), prop, element, value)


@native()
def GetEntPropEnt(call: Call, index: int, kind: int, prop: str, element: int) -> int:
    other = int(_read(_entity(call, index), prop, element, int))  # type: ignore[arg-type]
    return other if call.sm.world.entities.get(other) else -1


@native()
def SetEntPropEnt(call: Call, index: int, kind: int, prop: str, other: int, element: int) -> None:
    _write(_entity(call, index), prop, element, other)


@native()
def GetEntPropString(call: Call, index: int, kind: int, prop: str, buffer: Buffer, element: int) -> int:
    entity = _entity(call, index)
    return buffer.write(entity.classname if prop == "m_iClassname" else str(_read(entity, prop, element, str)))


@native()
def GetEntPropVector(call: Call, index: int, kind: int, prop: str, vector: Ref, element: int) -> None:
    vector.write([float_to_cell(0.0)] * 3)


@native()
def GetEntPropArraySize(call: Call, index: int, kind: int, prop: str) -> int:
    held = _entity(call, index).props.get(prop, 0)
    return len(held) if isinstance(held, list) else 1


@native()
def FindSendPropInfo(call: Call, netclass: str, prop: str, kind: Ref, bits: Ref, local: Ref, size: Ref) -> int:
    """The rig has offsets for players' scores alone; another known property answers 1, enough for `HasEntProp`.

    What no entity of the map has, is not found. Of entity properties SourceMod too says that they are integers
    (core/smn_entities.cpp, FindSendPropInfo).
    """
    world = call.sm.world
    entities = [*world.entities.all(), *([world.rules] if world.rules else [])]
    held = next((e.props[prop] for e in entities if e.netclass == netclass and prop in e.props), None)
    offset = SCORE_OFFSETS.get(prop) if netclass == "CTFPlayer" else None
    if offset is None and held is None:
        return -1
    elements = held if isinstance(held, list) else None
    kind.value = FIELD_FLOAT if isinstance(elements[0] if elements else held, float) else FIELD_INTEGER
    bits.value, local.value, size.value = 32, 0, len(elements or ())
    return 1 if offset is None else offset


@native()
def GetEntData(call: Call, index: int, offset: int, size: int) -> int:
    entity = _entity(call, index)
    if not isinstance(entity, Player) or offset not in range(*SCORE_RANGE):
        raise NativeError(f"The rig has nothing at offset {offset} of {entity.classname}")
    return call.sm.world.teams.scoreboard.read(entity, offset)


@native()
def FindDataMapInfo(call: Call, index: int, prop: str, *details: int) -> int:
    return 1 if prop in _entity(call, index).props else -1


def _rules(call: Call) -> "Entity":
    rules = call.sm.world.rules
    if rules is None:
        raise NativeError("Couldn't find game rules: no map is running")
    return rules


@native()
def GameRules_GetProp(call: Call, prop: str, size: int, element: int) -> int:
    return int(_read(_rules(call), prop, element, int))  # type: ignore[arg-type]


@native()
def GameRules_SetProp(call: Call, prop: str, value: int, *rest: int) -> None:
    _write(_rules(call), prop, 0, value)


@native()
def GameRules_GetPropFloat(call: Call, prop: str, element: int) -> float:
    return float(_read(_rules(call), prop, element, float))  # type: ignore[arg-type]


@native()
def GameRules_GetPropEnt(call: Call, prop: str, element: int) -> int:
    other = int(_read(_rules(call), prop, element, int))  # type: ignore[arg-type]
    return other if call.sm.world.entities.get(other) else -1


@native()
def SetVariantInt(call: Call, value: int) -> None:
    """Value of the next input (extensions/sdktools/variant-t.cpp)."""
    call.sm.variant = value


@native()
def AcceptEntityInput(call: Call, index: int, name: str, activator: int, caller: int, output: int) -> bool:
    """The inputs that the rig's entities have, with the value of `SetVariantInt`, which is used up.

    A flag's ForceDrop (entity_capture_flag.cpp, InputForceDrop), a timer's SetTime (teamplay_round_timer.cpp,
    InputSetTime).
    """
    flag = _entity(call, index)
    value, call.sm.variant = call.sm.variant, 0
    if isinstance(flag, Timer) and name == "SetTime":
        flag.set_time(value)
        return True
    if flag.classname != "item_teamflag" or name != "ForceDrop":
        return False
    owner = flag.props["m_hPrevOwner"]
    player = call.sm.world.players.get(owner) if isinstance(owner, int) else None
    if player is not None and player.props["m_hItem"] == index:
        call.sm.world.flags.drop(player)
    return True
