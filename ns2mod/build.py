"""Writes the mod as the Launch Pad publishes it, as a folder and as a zip of it.

`make plugin` runs it. The texts in `lua/equipoise/languages` are made from the translations of the SourceMod plugin and
from `phrases.toml`; `make texts` writes them again after either changed, and a test compares them. What a language
lacks is shown in English.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tomllib
import zipfile
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
TRANSLATIONS = ROOT / "sourcemod" / "translations"
LANGUAGES = HERE / "lua" / "equipoise" / "languages"

NOT_IN_NS2 = frozenset(
    f"Equipoise_{key}"
    for key in (
        "ReasonWaitingEnded",
        "ReasonRoundTwo",
        "ReasonStreak",
        "ReasonNoCapture",
        "ReasonRounds",
        "ReasonDuel",
        "ReasonEqualSides",
        "ReasonTooUneven",
        "TooUnevenTwo",
        "TooUnevenFour",
        "OfTheMap",
        "Benched",
        "DuelWait",
        "Held",
        "HeldDuel",
        "HeldGhost",
        "HeldKart",
        "HeldCoaching",
        "HeldCoached",
        "HeldBall",
        "NoMoves",
        "NoMovesSuddenDeath",
        "NoMovesOvertime",
        "VoteQuestion",
        "CannotBalanceArena",
        "Ns2Only",
    )
)
"""Texts of Waiting For Players, arena, captures and the menu of a vote, none of which NS2 has."""

_OPENING = ("function", "do", "if", "repeat")
_PAIRS = {"end": _OPENING[:3], "until": _OPENING[3:]}
_PART = re.compile(r"""--[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\[(=*)\[.*?\]\1\]""", re.DOTALL)
"""A comment or a string of Lua."""


def _words(*words: str) -> re.Pattern[str]:
    """Any of the words, also beside a letter that is not ASCII: byte by byte "do" is in "doświadczenie"."""
    return re.compile(rf"(?<![A-Za-z0-9_])(?:{'|'.join(words)})(?![A-Za-z0-9_])")


_BLOCK = _words(*_OPENING, *_PAIRS)
_KEYWORD = _words(*_OPENING, *_PAIRS, "then", "else", "elseif", "for", "while")
_STRINGS = re.compile(r'"((?:[^"\\]|\\.)*)"')


def codes() -> list[str]:
    """The languages, English first, by the names that SourceMod has for them."""
    return ["en", *sorted(path.name for path in TRANSLATIONS.iterdir() if path.is_dir())]


def texts(code: str) -> dict[str, str]:
    """Key and text of every phrase that an NS2 server says in a language."""
    own = tomllib.loads((HERE / "phrases.toml").read_text(encoding="utf-8"))
    kept = {key: text for key, text in said(code).items() if key not in NOT_IN_NS2}
    return kept | {f"Equipoise_{key}": phrase[code] for key, phrase in own.items() if code in phrase}


def said(code: str) -> dict[str, str]:
    """Key and text of every phrase of the daemon that a language has."""
    folder = TRANSLATIONS if code == "en" else TRANSLATIONS / code
    return translated((folder / "equipoise.phrases.txt").read_text(encoding="utf-8"), code)


def warnings() -> list[str]:
    """A line for every text of the mod's own that a language lacks; sourcemod/build.py has those of the daemon's."""
    own = tomllib.loads((HERE / "phrases.toml").read_text(encoding="utf-8"))
    return [
        f"warning: {code} has no Equipoise_{key}: it is English"
        for key, phrase in own.items()
        for code in codes()
        if code not in phrase
    ]


def translated(text: str, code: str) -> dict[str, str]:
    """Key and text of every phrase in a translation file of SourceMod, which writes `%%` for `%`."""
    found, key = {}, ""
    for line in text.splitlines():
        match _STRINGS.findall(line):
            case [only]:
                key = only
            case [language, phrase] if language == code:
                found[key] = re.sub(r"\\(.)", r"\1", phrase).replace("%%", "%")
    return found


def table(code: str) -> str:
    """The Lua file of a language."""
    lines = [
        "-- Made by build.py from sourcemod/translations and phrases.toml: change it there.",
        "",
        "Equipoise = Equipoise or {}",
        "Equipoise.Languages = Equipoise.Languages or {}",
        "",
        "local texts = {",
    ]
    for key, text in texts(code).items():
        quoted = text.replace("\\", "\\\\").replace('"', '\\"')
        quoted = _KEYWORD.sub(lambda word: f"{word[0][:-1]}\\{ord(word[0][-1]):03}", quoted)
        lines.append(f'    {key} = "{quoted}",')
    return "\n".join([*lines, "}", "", f"Equipoise.Languages.{code} = texts", ""])


def faults(text: str) -> list[tuple[int, str]]:
    """Line and fault of every place of a Lua file at which a reader that only matches block keywords may go astray.

    The engine's preprocessor does: it matches `function`, `do`, `if` and `repeat` with `end` and `until`, and has been
    seen to drop the rest of a file. Whether it reads them in strings and comments is not known.
    """
    found = []
    for part in _PART.finditer(text):
        kind, word = ("comment", _BLOCK) if part[0].startswith("--") else ("string", _KEYWORD)
        for each in word.finditer(part[0]):
            line = text.count("\n", 0, part.start() + each.start()) + 1
            found.append((line, f'"{each[0]}" is in a {kind}: choose another word, or write a letter as its number'))
    code = _PART.sub(lambda part: re.sub(r"[^\n]", " ", part[0]), text)
    opened: list[tuple[int, str]] = []
    for each in _BLOCK.finditer(code):
        line = code.count("\n", 0, each.start()) + 1
        if each[0] in _OPENING:
            opened.append((line, each[0]))
        elif not opened or opened.pop()[1] not in _PAIRS[each[0]]:
            found.append((line, f'"{each[0]}" closes nothing'))
    return sorted(found + [(line, f'"{word}" is not closed') for line, word in opened])


def write_languages(folder: Path) -> None:
    """The files of all languages, and no others."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.lua"):
        old.unlink()
    for code in codes():
        (folder / f"{code}.lua").write_text(table(code), encoding="utf-8")


def build(folder: Path, version: str) -> Path:
    """Write the mod's folder in `folder`, and a zip of it beside it. SystemExit names what `faults` finds."""
    mod = folder / f"equipoise-ns2-{version}"
    if mod.exists():
        shutil.rmtree(mod)
    output = mod / "output"
    shutil.copytree(HERE / "lua", output / "lua")
    write_languages(output / LANGUAGES.relative_to(HERE))
    for path in output.rglob("*.lua"):
        path.write_text(path.read_text(encoding="utf-8").replace("@VERSION@", version), encoding="utf-8")
    scripts = [path for path in files(output / "lua") if path.suffix in (".lua", ".entry")]
    wrong = [
        f"ns2mod/{path.relative_to(output).as_posix()}:{line}: {fault}"
        for path in scripts
        for line, fault in faults(path.read_text(encoding="utf-8"))
    ]
    if wrong:
        raise SystemExit("\n".join(wrong))
    shutil.copy(HERE / ".modinfo", output)
    for name in ("mod.settings", "preview.jpg", "README.md"):
        shutil.copy(HERE / name, mod)
    shutil.copy(ROOT / "sourcemod" / "LICENSE", mod)
    with zipfile.ZipFile(mod.with_name(f"{mod.name}.zip"), "w", zipfile.ZIP_DEFLATED) as target:
        for path in files(mod):
            target.write(path, path.relative_to(folder))
    return mod


def files(folder: Path) -> list[Path]:
    """Every file below a folder."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def main() -> None:
    """Build it and show what is in it."""
    parser = argparse.ArgumentParser(description="Write the NS2 mod's folder, ready to be published, and a zip of it.")
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="where to write the folder (dist)")
    parser.add_argument("--release", metavar="VERSION", help="the version (that of the installed equipoise)")
    arguments = parser.parse_args()
    sys.stderr.writelines(f"{warning}\n" for warning in warnings())
    mod = build(arguments.output, arguments.release or version("equipoise"))
    print(mod)  # noqa: T201  a build script's result
    for path in files(mod):
        print(f"  {path.relative_to(mod).as_posix():<50}{path.stat().st_size:>8}")  # noqa: T201


if __name__ == "__main__":
    main()
