"""A compiled plugin's version, read as SourceMod reads it."""

from __future__ import annotations

import re
import struct
import zlib
from pathlib import Path

import pytest

from equipoise.install import assets
from equipoise.install.bytecode import plugin_version
from tests.sourcemod.rig import compile_text

SOURCE = Path(__file__).parents[2] / "sourcemod" / "scripting" / "equipoise.sp"


@pytest.mark.slow
def test_our_plugin_says_the_version_of_its_source() -> None:
    defined = re.search(r'#define PLUGIN_VERSION "(.+)"', SOURCE.read_text())
    assert defined
    assert plugin_version(assets.plugin()) == defined[1]


def test_any_plugin_is_read_compressed_or_not(tmp_path: Path) -> None:
    text = 'public Plugin myinfo = { name = "x", version = "2.10.1-é" };\nint g[5000] = {7, ...};\n#pragma unused g'
    packed = compile_text("#include <sourcemod>\n" + text, tmp_path, "one").read_bytes()
    header = list(struct.unpack_from("<IHBIIBII", packed))
    assert header[2] == 1
    start, header[2] = header[7], 0
    plain = struct.pack("<IHBIIBII", *header) + packed[24:start] + zlib.decompress(packed[start:])
    assert plugin_version(packed) == plugin_version(plain) == "2.10.1-é"


def test_a_plugin_that_says_no_version_has_none(tmp_path: Path) -> None:
    assert plugin_version(compile_text("public void OnX() {}", tmp_path, "one").read_bytes()) is None


@pytest.mark.slow
def test_a_damaged_plugin_has_no_version() -> None:
    whole = assets.plugin()
    damaged = [whole[:length] for length in range(0, len(whole), 997)]
    damaged += [whole[:place] + b"\xff" + whole[place + 1 :] for place in range(400)]
    assert {plugin_version(each) for each in damaged} <= {None, plugin_version(whole)}
