"""One loaded plugin: its machine, its functions, what it publishes about itself."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from .binding import NATIVES, Call
from .machine import Image, Machine, NativeError, PluginError, to_cell
from .memory import Memory, Shared, float_to_cell

if TYPE_CHECKING:
    from .sourcemod import SourceMod

Argument = int | float | bool | str | bytes | Shared


@lru_cache(maxsize=8)
def read_image(raw: bytes) -> Image:
    """The decoded file. Nothing changes it, so all machines that run it share it."""
    return Image(BytesIO(raw))


class LoadError(Exception):
    """SourceMod would refuse to load the plugin, for this reason."""


class Plugin:
    """A plugin on a server; `name` is its file without folder."""

    def __init__(self, sm: "SourceMod", path: Path) -> None:
        self.sm, self.path, self.name = sm, path, path.name
        self.image = read_image(path.read_bytes())
        self.machine = Machine(self.image)
        self.memory: Memory = Memory(self.machine)
        self.context = Call(self, sm)
        self.libraries: list[str] = []
        self.failed = self.paused = False
        self.optional: set[str] = set()
        self.native_calls: list[tuple[Plugin, Sequence[int]]] = []
        self.machine.natives = [self._bind(name) for name in self.image.native_names]
        self._poke("MaxClients", sm.world.slots)

    def __repr__(self) -> str:
        return f"<Plugin {self.name}>"

    @property
    def info(self) -> dict[str, str]:
        """What `myinfo` says: name, author, description, version, url."""
        return dict(self.image.myinfo or {})

    def public(self, name: str) -> int | None:
        """The id of a public function, or None."""
        found = self.image.publics_by_name.get(name)
        return None if found is None else found.funcid

    def publics(self) -> list[str]:
        """Names of all public functions."""
        return list(self.image.publics_by_name)

    def call(self, function: int | str, *arguments: Argument) -> int | None:
        """Call a function by name or id; an error ends this call, is logged, and makes the result None.

        Nothing of a paused plugin is called (IsRunnable).
        """
        if self.failed or self.paused:
            return None
        try:
            return self.invoke(function, *arguments)
        except PluginError as error:
            self.sm.log.fault(self.name, str(error), error.trace)
            return None

    def invoke(self, function: int | str, *arguments: Argument) -> int:
        """Call a function; an error is the caller's to handle. A public that does not exist does nothing."""
        number = self.public(function) if isinstance(function, str) else function
        if number is None:
            return 0
        found = self.image.publics_by_id.get(number)
        if found is None:
            raise NativeError(f"Invalid function id ({number:x})")
        machine = self.machine
        heap = machine.HEA
        try:
            cells = [self._push(argument) for argument in arguments]
            result = machine.run(found.code_offs, cells)
            for argument, cell in zip(arguments, cells, strict=True):
                if isinstance(argument, Shared):
                    argument.fetch(self.memory, cell)
            return result
        finally:
            machine.HEA = heap

    def published(self, prefix: str) -> list[list[int]]:
        """The first four cells of every public variable whose name starts so (`__ext_…`, `__pl_…`)."""
        return [self.memory.cells(v.offs - self.image.data, 4) for v in self.image.pubvars if v.name.startswith(prefix)]

    def is_null(self, address: int, name: str) -> bool:
        """Whether `address` is that of the public variable `name` (`NULL_STRING`, `NULL_VECTOR`)."""
        return any(v.name == name and v.offs - self.image.data == address for v in self.image.pubvars)

    def missing_natives(self) -> list[str]:
        """Natives it needs that neither the rig nor a plugin provides."""
        required = [name for name in self.image.native_names if name not in self.optional]
        natives = NATIVES.keys() | self.sm.dynamic.keys()
        return [name for name in required if name not in natives or not self.sm.provides(name)]

    def _push(self, argument: Argument) -> int:
        if isinstance(argument, Shared):
            return argument.store(self.machine, self.memory)
        if isinstance(argument, str | bytes):
            raw = argument.encode("utf-8", "surrogateescape") if isinstance(argument, str) else argument
            address = self.machine.allocate(len(raw) + 1)
            self.memory.write(address, raw + b"\0")
            return address
        return float_to_cell(argument) if isinstance(argument, float) else to_cell(int(argument))

    def _bind(self, name: str) -> Callable[[Sequence[int]], int]:
        """A native is looked up when it is called: another plugin may provide or withdraw it at any time."""
        provided, context, sm = NATIVES.get(name), self.context, self.sm
        steady = provided is not None and sm.steady(name)

        def call(cells: Sequence[int]) -> int:
            if name in sm.dynamic:
                return sm.dynamic[name].serve(self, cells)
            if provided is None or not (steady or sm.provides(name)):
                raise NativeError(f"Native is not bound: {name}")
            return provided(context, cells)

        return call

    def _poke(self, name: str, value: int) -> None:
        for variable in self.image.pubvars:
            if variable.name == name:
                self.memory.write_cells(variable.offs - self.image.data, [value])
