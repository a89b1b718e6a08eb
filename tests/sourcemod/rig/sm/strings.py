"""String natives. Lengths and positions count bytes, as in SourcePawn."""

import re

from ..binding import Call, Text, native
from ..memory import Buffer, Ref

INTEGER = re.compile(r"\s*([+-]?\d+)")
HEXADECIMAL = re.compile(r"\s*([+-]?(?:0[xX])?[0-9a-fA-F]+)")
NUMBER = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)")
WORD = re.compile(rb'\s*(?:"([^"]*)"?|([^\s"]+))\s*')


def raw(text: str) -> bytes:
    """The bytes a plugin stores for `text`."""
    return text.encode("utf-8", "surrogateescape")


def unraw(data: bytes) -> str:
    """The text of a plugin's bytes."""
    return data.decode("utf-8", "surrogateescape")


def _compare(a: bytes, b: bytes) -> int:
    return (a > b) - (a < b)


def _folded(text: str, case: bool) -> bytes:
    return raw(text) if case else raw(text).lower()


@native()
def strlen(call: Call, text: str) -> int:
    return len(raw(text))


@native()
def StrContains(call: Call, text: str, part: str, case: bool) -> int:
    return _folded(text, case).find(_folded(part, case))


@native()
def strcmp(call: Call, a: str, b: str, case: bool) -> int:
    return _compare(_folded(a, case), _folded(b, case))


@native()
def strncmp(call: Call, a: str, b: str, count: int, case: bool) -> int:
    return _compare(_folded(a, case)[:count], _folded(b, case)[:count])


@native()
def strcopy(call: Call, target: Buffer, source: str) -> int:
    return target.write(source)


@native("Format", "FormatEx")
def Format(call: Call, target: Buffer, text: Text) -> int:
    return target.write(str(text), whole=False)


@native()
def VFormat(call: Call, target: Buffer, template: str, position: int) -> int:
    arguments = call.plugin.machine.caller_arguments()[position - 1 :]
    return target.write(str(Text(call, template, arguments)), whole=False)


def _integer(text: str, base: int) -> tuple[int, int]:
    match = (HEXADECIMAL if base == 16 else INTEGER).match(text)
    return (int(match[1], base), match.end()) if match else (0, 0)


@native()
def StringToInt(call: Call, text: str, base: int) -> int:
    return _integer(text, base)[0]


@native()
def StringToIntEx(call: Call, text: str, result: Ref, base: int) -> int:
    result.value, used = _integer(text, base)
    return used


@native()
def StringToInt64(call: Call, text: str, result: Ref, base: int) -> int:
    value, used = _integer(text, base)
    result.write([_signed(value & 0xFFFFFFFF), _signed(value >> 32 & 0xFFFFFFFF)])
    return used


def _signed(half: int) -> int:
    return half - (1 << 32) if half >> 31 else half


@native()
def Int64ToString(call: Call, halves: Ref, target: Buffer) -> int:
    low, high = halves.read(2)
    return target.write(str((high << 32) | (low & 0xFFFFFFFF)))


@native()
def IntToString(call: Call, value: int, target: Buffer) -> int:
    return target.write(str(value))


@native()
def StringToFloat(call: Call, text: str) -> float:
    match = NUMBER.match(text)
    return float(match[1]) if match else 0.0


@native()
def StringToFloatEx(call: Call, text: str, result: Ref) -> int:
    match = NUMBER.match(text)
    result.number = float(match[1]) if match else 0.0
    return match.end() if match else 0


@native()
def FloatToString(call: Call, value: float, target: Buffer) -> int:
    return target.write(f"{value:f}")


@native()
def BreakString(call: Call, source: str, argument: Buffer) -> int:
    data = raw(source)
    match = WORD.match(data)
    argument.write(unraw((match[1] if match[1] is not None else match[2]) if match else b""))
    return match.end() if match and match.end() < len(data) else -1


@native()
def TrimString(call: Call, text: Ref) -> int:
    stripped = raw(call.plugin.memory.text(text.address)).strip(b" \t\r\n\v\f")
    call.plugin.memory.write(text.address, stripped + b"\0")
    return len(stripped)


@native()
def SplitString(call: Call, source: str, split: str, part: Buffer) -> int:
    at = raw(source).find(raw(split))
    if at < 0:
        return -1
    part.write(unraw(raw(source)[:at]))
    return at + len(raw(split))


@native()
def ReplaceString(call: Call, text: Buffer, search: str, replacement: str, case: bool) -> int:
    flags = 0 if case else re.IGNORECASE
    result, count = re.subn(re.escape(raw(search)), lambda _: raw(replacement), raw(text.read()), flags=flags)
    text.write(unraw(result))
    return count


@native()
def ReplaceStringEx(
    call: Call, text: Buffer, search: str, replacement: str, search_len: int, replace_len: int, case: bool
) -> int:
    before = raw(text.read())
    at = _folded(unraw(before), case).find(_folded(search, case))
    if at < 0:
        return -1
    text.write(unraw(before[:at] + raw(replacement) + before[at + len(raw(search)) :]))
    return at + len(raw(replacement))


@native()
def GetCharBytes(call: Call, source: str) -> int:
    lead = (raw(source) or b"\0")[0]
    return 1 if lead < 0xC0 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


@native()
def IsCharAlpha(call: Call, char: int) -> bool:
    return 0 < char < 128 and chr(char).isalpha()


@native()
def IsCharNumeric(call: Call, char: int) -> bool:
    return ord("0") <= char <= ord("9")


@native()
def IsCharSpace(call: Call, char: int) -> bool:
    return char in b" \t\r\n\v\f"


@native()
def IsCharMB(call: Call, char: int) -> int:
    lead = char & 0xFF
    return 0 if lead < 0xC0 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


@native()
def IsCharUpper(call: Call, char: int) -> bool:
    return ord("A") <= char <= ord("Z")


@native()
def IsCharLower(call: Call, char: int) -> bool:
    return ord("a") <= char <= ord("z")


@native()
def StripQuotes(call: Call, text: Ref) -> bool:
    data = raw(call.plugin.memory.text(text.address))
    quoted = len(data) >= 2 and data[:1] == data[-1:] == b'"'
    if quoted:
        call.plugin.memory.write(text.address, data[1:-1] + b"\0")
    return quoted


def split_command(line: str) -> list[str]:
    """The words of a console command; quotes keep words together."""
    words, data = [], raw(line)
    while match := WORD.match(data):
        words.append(unraw(match[1] if match[1] is not None else match[2]))
        data = data[match.end() :]
    return words
