"""Files below the server's folder, and the KeyValues tree."""

import os
from pathlib import Path
from typing import BinaryIO

from ..binding import Call, Text, native
from ..machine import NativeError
from ..memory import Buffer
from .strings import raw, unraw


class File:
    """An open file."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream

    def at_end(self) -> bool:
        """Whether nothing is left to read."""
        left = self.stream.read(1)
        if left:
            self.stream.seek(-1, 1)
        return not left


def inside(call: Call, path: str) -> Path:
    """A path as the server sees it: relative to the game folder unless absolute; never outside the test's folder."""
    game = os.path.abspath(call.sm.root.parent.parent)
    full = Path(os.path.abspath(os.path.join(game, path)))
    if not full.is_relative_to(game):
        raise NativeError(f"{path} is outside the server's folder")
    return full


@native()
def BuildPath(call: Call, kind: int, buffer: Buffer, text: Text) -> int:
    relative = call.sm.root.relative_to(call.sm.root.parent.parent)
    return buffer.write(f"{relative}/{text}")


@native()
def FileExists(call: Call, path: str, *valve: int) -> bool:
    return inside(call, path).is_file()


@native()
def DirExists(call: Call, path: str, *valve: int) -> bool:
    return inside(call, path).is_dir()


@native()
def FileSize(call: Call, path: str, *valve: int) -> int:
    full = inside(call, path)
    return full.stat().st_size if full.is_file() else -1


@native()
def DeleteFile(call: Call, path: str, *valve: int) -> bool:
    full = inside(call, path)
    exists = full.is_file()
    full.unlink(missing_ok=True)
    return exists


@native()
def RenameFile(call: Call, new: str, old: str, *valve: int) -> bool:
    """`rename`, which replaces a file; on Windows `MoveFile`, which did not before May 2024 (pull request 2060)."""
    if not call.sm.replaces and inside(call, new).exists():
        return False
    try:
        inside(call, old).replace(inside(call, new))
    except OSError:
        return False
    return True


@native()
def CreateDirectory(call: Call, path: str, mode: int, *valve: int) -> bool:
    inside(call, path).mkdir(exist_ok=True)
    return True


@native()
def OpenFile(call: Call, path: str, mode: str, *valve: int) -> int:
    try:
        stream = inside(call, path).open(mode.replace("t", "").replace("b", "") + "b")
    except OSError:
        return 0
    return call.open(File(stream))  # type: ignore[arg-type]


@native("File.ReadLine", "ReadFileLine")
def file_read_line(call: Call, file: File, buffer: Buffer) -> bool:
    line = file.stream.readline(max(buffer.size - 1, 0))
    buffer.write(unraw(line))
    return bool(line)


@native("File.ReadString", "ReadFileString")
def file_read_string(call: Call, file: File, buffer: Buffer, count: int) -> int:
    data = file.stream.read(buffer.size - 1 if count == -1 else min(count, buffer.size - 1))
    buffer.write(unraw(data))
    return len(data)


@native("File.WriteLine", "WriteFileLine")
def file_write_line(call: Call, file: File, text: Text) -> bool:
    return bool(file.stream.write(raw(f"{text}\n")))


@native("File.WriteString", "WriteFileString")
def file_write_string(call: Call, file: File, text: str, terminated: bool) -> bool:
    return bool(file.stream.write(raw(text) + b"\0" * terminated))


@native("File.EndOfFile", "IsEndOfFile")
def file_at_end(call: Call, file: File) -> bool:
    return file.at_end()


@native("File.Flush", "FlushFile")
def file_flush(call: Call, file: File) -> bool:
    file.stream.flush()
    return True
