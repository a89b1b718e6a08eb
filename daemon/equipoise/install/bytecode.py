"""The version that a compiled SourcePawn plugin says of itself.

The format is SourcePawn's (`include/smx/smx-headers.h`): a header, section headers, and from `dataoffs` on everything
compressed. A plugin's `myinfo` is a public variable of five addresses of strings: name, description, author, version,
url (SourceMod, `core/logic/PluginSys.cpp`, `sm_plugininfo_c_t`).
"""

from __future__ import annotations

import struct
import zlib

_HEADER = struct.Struct("<IHBIIBII")  # magic, version, compression, disksize, imagesize, sections, stringtab, dataoffs
_SECTION = struct.Struct("<III")  # name in the string table, offset in the file, size
_PUBLIC_VARIABLE = struct.Struct("<II")  # address in the data, name in `.names`
_MAGIC = 0x53504646
_LARGEST = 64 << 20
"""Bytes; a damaged header could ask for any amount."""


def plugin_version(file: bytes) -> str | None:
    """The version in a plugin's `myinfo`; None where the file is no plugin, or says none.

    >>> plugin_version(b"no plugin") is None
    True
    """
    try:
        return _version(file)
    except (struct.error, zlib.error, ValueError):
        return None


def _version(file: bytes) -> str | None:
    magic, _, compression, _, imagesize, sections, stringtab, dataoffs = _HEADER.unpack_from(file)
    if magic != _MAGIC or imagesize > _LARGEST:
        return None
    image = file[:dataoffs] + zlib.decompressobj().decompress(file[dataoffs:], imagesize) if compression else file
    places = {}
    for number in range(sections):
        name, offset, size = _SECTION.unpack_from(image, _HEADER.size + number * _SECTION.size)
        places[_text(image, stringtab + name)] = offset, size
    if not {".pubvars", ".names", ".data"} <= places.keys():
        return None
    offset, size = places[".pubvars"]
    for address, name in _PUBLIC_VARIABLE.iter_unpack(image[offset : offset + size]):
        if _text(image, places[".names"][0] + name) == "myinfo":
            data = places[".data"][0] + struct.unpack_from("<III", image, places[".data"][0])[2]
            return _text(image, data + struct.unpack_from("<5I", image, data + address)[3]) or None
    return None


def _text(image: bytes, start: int) -> str:
    return image[start : image.index(b"\0", start)].decode("utf-8")
