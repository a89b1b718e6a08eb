"""Entities: numbered things with properties by name."""

from collections.abc import Iterator
from fnmatch import fnmatchcase

Scalar = int | float | str
Prop = Scalar | list[int] | list[float]

REFERENCE = 1 << 31
SLOT_BITS = 11


class Entity:
    """One entity. A property exists only if it is in `props`: reading another is a native error."""

    def __init__(self, index: int, classname: str, netclass: str, **props: Prop) -> None:
        self.index, self.classname, self.netclass = index, classname, netclass
        self.props: dict[str, Prop] = props
        self.serial = 0

    def set(self, prop: str, value: Prop) -> None:
        """Store a property."""
        self.props[prop] = value


class Entities:
    """The entities of a map. Slot 0 is the world, then the clients' slots, then everything else."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self._by_index: dict[int, Entity] = {}
        self._serial = 0
        self.clear()

    def clear(self) -> None:
        """A new map: only the world."""
        self._by_index.clear()
        self.put(Entity(0, "worldspawn", "CWorld"))

    def add(self, classname: str, netclass: str, **props: Prop) -> Entity:
        """A new entity in the lowest free slot behind the clients'."""
        return self.put(Entity(self.free(), classname, netclass, **props))

    def free(self) -> int:
        """The lowest free slot behind the clients'."""
        return next(i for i in range(self.slots + 1, 2048) if i not in self._by_index)

    def holds(self, index: int) -> bool:
        """Whether a slot is taken."""
        return index in self._by_index

    def put(self, entity: Entity) -> Entity:
        """Place an entity (a client) in its own slot."""
        self._serial += 1
        entity.serial = self._serial
        self._by_index[entity.index] = entity
        return entity

    def remove(self, entity: Entity) -> None:
        """Take an entity away; its references go stale."""
        self._by_index.pop(entity.index, None)

    def all(self) -> Iterator[Entity]:
        """All of them, by index."""
        return iter([self._by_index[index] for index in sorted(self._by_index)])

    def get(self, number: int) -> Entity | None:
        """The entity of an index or of a reference."""
        if number >= 0:
            return self._by_index.get(number)
        entity = self._by_index.get(number & (1 << SLOT_BITS) - 1)
        return entity if entity and self.reference(entity.index) == number else None

    def reference(self, index: int) -> int:
        """A number that stays with this very entity, or -1."""
        entity = self._by_index.get(index)
        return -1 if entity is None else (entity.serial << SLOT_BITS | index) - REFERENCE

    def after(self, start: int, classname: str) -> int:
        """The index of the next entity of a class (`*` matches), or -1."""
        matches = (e.index for e in self.all() if e.index > start and fnmatchcase(e.classname, classname))
        return next(matches, -1)
