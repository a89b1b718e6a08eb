"""Commands and phrases where scripts and documents have them, made from core/commands.py and phrases.py: `make texts`.

Between two comments a file has what is made here. The English phrases of the plugin, and the mod's languages, are made
as a whole; what a language lacks is shown in English, and named as a warning.
"""

from __future__ import annotations

import re
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path

from equipoise.core.commands import COMMANDS
from equipoise.core.phrases import Phrase

ROOT = Path(__file__).parents[1]
SCRIPTING = ROOT / "sourcemod" / "scripting" / "equipoise"
ENGLISH = ROOT / "sourcemod" / "translations" / "equipoise.phrases.txt"
MOD = ROOT / "ns2mod" / "lua" / "equipoise"
BUILD = runpy.run_path(str(ROOT / "ns2mod" / "build.py"))
PLUGIN_BUILD = runpy.run_path(str(ROOT / "sourcemod" / "build.py"))
BEGIN, END = "[Mm]ade by make texts", "of what make texts made"

RIGHTS = {"generic": ("ADMFLAG_GENERIC", "generic (b)"), "kick": ("ADMFLAG_KICK", "kick (c)")}
RIGHTS |= {"root": ("ADMFLAG_ROOT", "root (z)")}
PLAYERS = [command for command in COMMANDS if command.who == "players"]
ADMINS = [command for command in COMMANDS if command.who != "players"]


def files() -> dict[Path, str]:
    """Return every file that holds something made here, with its text as it should be."""
    languages = {MOD / "languages" / f"{code}.lua": BUILD["table"](code) for code in BUILD["codes"]()}
    blocks = {
        SCRIPTING / "commands.sp": "".join(_registrations()),
        SCRIPTING / "words.sp": ",\n".join(_chat_words()) + "\n",
        MOD / "engine" / "commands.lua": "".join(_lua_tables()),
        MOD / "load.lua": _lua_words(),
        ROOT / "docs" / "protocol.md": _table((f"`{each.key}` | {each.value}" for each in Phrase), "| key | English |"),
        ROOT / "sourcemod" / "README.md": _table(_plugin_rows(), "| | who may (override in `admin_overrides.cfg`) | |"),
        ROOT / "ns2mod" / "README.md": _table(_mod_rows(), "| | |"),
    }
    return {ENGLISH: english(), **{path: with_block(path, block) for path, block in blocks.items()}, **languages}


def with_block(path: Path, block: str) -> str:
    """Return the text of a file with what stands between the two comments replaced."""
    text = path.read_text(encoding="utf-8")
    begin, end = (re.search(rf"^.*{mark}.*\n", text, re.MULTILINE) for mark in (BEGIN, END))
    assert begin is not None, path
    assert end is not None, path
    return text[: begin.end()] + block + text[end.start() :]


def english() -> str:
    """Return SourceMod's file of the phrases in English: `%` is written twice, because texts are formats."""
    lines = [
        "// SPDX-License-Identifier: GPL-3.0-or-later",
        "//",
        "// Made by `make texts` from daemon/equipoise/core/phrases.py: change it there.",
        '"Phrases"',
        "{",
    ]
    for phrase in Phrase:
        lines += [f'\t"{phrase.key}"', "\t{"]
        if phrase.arguments:
            formats = ",".join(f"{{{n}:s}}" for n in range(1, phrase.arguments + 1))
            lines.append(f'\t\t"#format"\t"{formats}"')
        lines += [f'\t\t"en"\t\t"{phrase.value.replace("%", "%%")}"', "\t}", ""]
    return "\n".join([*lines[:-1], "}", ""])


def _registrations() -> Iterator[str]:
    for command in ADMINS:
        if command.tf2 is None:
            usage = command.usage.replace("<player>", "<target>")
            handler = "Target" if "<target>" in usage else "Status" if command.word == "status" else "Forward"
            words = f"{usage}: {command.help}" if usage else _capital(command.help)
            yield f'\tRegAdminCmd("sm_eq_{command.word}", Command_{handler}, {RIGHTS[command.who][0]}, "{words}");\n'


def _chat_words() -> Iterator[str]:
    for command in PLAYERS:
        for word in (command.word,) if command.tf2 is None else command.tf2:
            takes = "player" if "<player>" in command.usage else ""
            yield f'\t{{"{word}", "{command.word}", "{takes}", "Equipoise: {command.help}"}}'


def _lua_tables() -> Iterator[str]:
    yield "local kAdmin = {\n"
    for command in (command for command in ADMINS if command.ns2):
        takes = "player = true, " * ("<player>" in command.usage) + "number = true, " * ("<rating>" in command.usage)
        words = f"{command.usage}: {command.help}" if command.usage else _capital(command.help)
        yield f'    {{ word = "{command.word}", {takes}help = "{words}" }},\n'
    yield "}\n\n-- What players may say. `secret`: no other player must read it.\nlocal kPlayers = {\n"
    spoken = [command for command in PLAYERS if command.ns2]
    for command in spoken:
        marks = {"admin": command.tells_admins_more, "player": "<player>" in command.usage, "secret": command.secret}
        row = ", ".join(f"{mark} = true" for mark, holds in marks.items() if holds)
        yield f"    {command.word} = {{ {row} }},\n" if row else f"    {command.word} = {{}},\n"
    yield f'}}\nlocal kSpoken = "{", ".join(command.word for command in spoken if not command.secret)}, sit, lang"\n'


def _lua_words() -> str:
    words = ", ".join(f'"{command.word}"' for command in ADMINS if command.ns2)
    return f"    local kWords = {{ {words} }}\n"


def _plugin_rows() -> Iterator[str]:
    for command in PLAYERS:
        words = (command.word,) if command.tf2 is None else command.tf2
        if words:
            yield f"{' '.join(f'`!{word}`' for word in words)} | all players | {command.help}"
    for command in ADMINS:
        if command.tf2 is None:
            usage = f" {command.usage}".replace("<player>", "<target>").replace("|", r"\|").rstrip()
            yield f"`sm_eq_{command.word}{usage}` | {RIGHTS[command.who][1]} | {command.help}"


def _mod_rows() -> Iterator[str]:
    for command in (command for command in COMMANDS if command.ns2):
        prefix = "!eq " if command.who == "players" else "sv_eq_"
        usage = f" {command.usage}".replace("|", r"\|").rstrip()
        yield f"`{prefix}{command.word}{usage}` | {command.help}"


def _table(rows: Iterator[str], head: str) -> str:
    return "\n".join([head, "|" + "---|" * (head.count("|") - 1), *(f"| {row} |" for row in rows)]) + "\n"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


if __name__ == "__main__":
    ENGLISH.write_text(english(), encoding="utf-8")  # the mod's English is made from it
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")
    sys.stderr.writelines(f"{warning}\n" for warning in (*PLUGIN_BUILD["warnings"](), *BUILD["warnings"]()))
