"""SourceMod's format strings: the usual conversions, client names (`%N %L`) and translations (`%t %T`)."""

import re
from collections.abc import Iterator, Sequence

from ..binding import Call
from ..machine import NativeError
from ..memory import Memory, cell_to_float, cut

CONVERSION = re.compile(r"%([-0]*)(\d*)(?:\.(\d+))?(.?)", re.DOTALL)
HOLE = re.compile(r"\{(\d+)\}")


class Arguments:
    """The addresses after a format string, taken one by one."""

    def __init__(self, memory: Memory, addresses: Sequence[int]) -> None:
        self.memory, self.count = memory, len(addresses)
        self._left: Iterator[int] = iter(addresses)

    def address(self) -> int:
        """The next one; a native error when the format wants more than there are."""
        try:
            return next(self._left)
        except StopIteration:
            message = f"String formatted incorrectly - parameter {self.count + 1} (total {self.count})"
            raise NativeError(message) from None

    def cell(self) -> int:
        """The next one, as a cell."""
        return self.memory.cells(self.address(), 1)[0]

    def text(self) -> str:
        """The next one, as a string."""
        return self.memory.text(self.address())


class Formats:
    """Formats for one server; `call` says whose phrases and memory."""

    def format(self, call: Call, template: str, addresses: Sequence[int]) -> str:
        """`template` with its arguments, translated for the current target."""
        return self._fill(call, template, Arguments(call.plugin.memory, addresses))

    def _fill(self, call: Call, template: str, arguments: Arguments) -> str:
        return CONVERSION.sub(lambda match: self._convert(call, match, arguments), template)

    def _convert(self, call: Call, match: re.Match[str], arguments: Arguments) -> str:
        flags, width, precision, kind = match.groups()
        if kind == "%":
            return "%"
        text = self._value(call, kind, precision, arguments)
        if len(text) >= int(width or 0):
            return text
        if "-" in flags:
            return text.ljust(int(width))
        return text.zfill(int(width)) if "0" in flags and kind in "dixXuf" else text.rjust(int(width))

    def _value(self, call: Call, kind: str, precision: str | None, arguments: Arguments) -> str:
        match kind:
            case "d" | "i":
                return str(arguments.cell())
            case "u":
                return str(arguments.cell() & 0xFFFFFFFF)
            case "x" | "X" | "b":
                return format(arguments.cell() & 0xFFFFFFFF, kind)
            case "f":
                return f"{cell_to_float(arguments.cell()):.{precision or 6}f}"
            case "c":
                return self._character(arguments)
            case "s":
                return self._string(arguments.text(), precision)
            case "N" | "L":
                return self._client(call, arguments.cell(), kind)
            case "t":
                return self._translate(call, call.sm.target, arguments)
            case "T":
                key = arguments.text()
                return self._translate(call, arguments.cell(), arguments, key)
        raise NativeError(f"Unknown format conversion %{kind}")

    def _character(self, arguments: Arguments) -> str:
        address = arguments.address()
        raw = arguments.memory.text(address)
        return raw[:1]

    def _string(self, text: str, precision: str | None) -> str:
        if precision is None:
            return text
        return cut(text.encode("utf-8", "surrogateescape"), int(precision)).decode("utf-8", "surrogateescape")

    def _client(self, call: Call, index: int, kind: str) -> str:
        if not index:
            return "Console" if kind == "N" else "Console<0><Console><Console>"
        if index not in call.sm.world.players:
            raise NativeError(f"Client index {index} is invalid (arg 1)")
        player = call.client(index, in_game=False)
        if kind == "N":
            return str(player.name)
        return f"{player.name}<{player.userid}><{player.steam2 if player.authorized else 'STEAM_ID_PENDING'}><>"

    def _translate(self, call: Call, target: int, arguments: Arguments, key: str | None = None) -> str:
        key = arguments.text() if key is None else key
        language = call.client(target, in_game=False).language if target else call.sm.language
        phrase, text = call.sm.phrases.text(call.plugin, key, language)
        values = [self._fill(call, f"%{conversion}", arguments) for conversion in phrase.formats]
        # A phrase is itself a format: its own percent signs are doubled.
        return HOLE.sub(lambda hole: self._hole(key, int(hole[1]), values), text.replace("%%", "%"))

    def _hole(self, key: str, number: int, values: list[str]) -> str:
        if not 1 <= number <= len(values):
            raise NativeError(f'Phrase "{key}" uses {{{number}}} but declares {len(values)} parameters')
        return values[number - 1]
