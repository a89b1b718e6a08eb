"""Writes the mod as the Launch Pad publishes it, as a folder and as a zip of it.

`make plugin` runs it. The texts in `lua/equipoise/languages` are made from the translations of the SourceMod plugin and
from `phrases.toml`; `--languages` writes them again after either changed, and a test compares them.
"""

from __future__ import annotations

import argparse
import re
import shutil
import tomllib
import zipfile
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
        "Benched",
        "DuelWait",
        "VoteQuestion",
        "CannotBalanceArena",
        "Ns2Only",
    )
)
"""Texts of Waiting For Players, arena, captures and the menu of a vote, none of which NS2 has."""

_STRINGS = re.compile(r'"((?:[^"\\]|\\.)*)"')


def version() -> str:
    """Equipoise's, which the mod's is."""
    return str(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"])


def codes() -> list[str]:
    """The languages, English first, by the names that SourceMod has for them."""
    return ["en", *sorted(path.name for path in TRANSLATIONS.iterdir() if path.is_dir())]


def texts(code: str) -> dict[str, str]:
    """Key and text of every phrase that an NS2 server says in a language."""
    folder = TRANSLATIONS if code == "en" else TRANSLATIONS / code
    found = translated((folder / "equipoise.phrases.txt").read_text(encoding="utf-8"), code)
    own = tomllib.loads((HERE / "phrases.toml").read_text(encoding="utf-8"))
    kept = {key: text for key, text in found.items() if key not in NOT_IN_NS2}
    return kept | {f"Equipoise_{key}": phrase[code] for key, phrase in own.items()}


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
        lines.append(f'    {key} = "{quoted}",')
    return "\n".join([*lines, "}", "", f"Equipoise.Languages.{code} = texts", ""])


def write_languages(folder: Path) -> None:
    """The files of all languages, and no others."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.lua"):
        old.unlink()
    for code in codes():
        (folder / f"{code}.lua").write_text(table(code), encoding="utf-8")


def build(folder: Path) -> Path:
    """The mod's folder in `folder`, and a zip of it beside it."""
    mod = folder / f"equipoise-ns2-{version()}"
    if mod.exists():
        shutil.rmtree(mod)
    output = mod / "output"
    shutil.copytree(HERE / "lua", output / "lua")
    write_languages(output / LANGUAGES.relative_to(HERE))
    for path in output.rglob("*.lua"):
        path.write_text(path.read_text(encoding="utf-8").replace("@VERSION@", version()), encoding="utf-8")
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
    parser.add_argument("--languages", action="store_true", help="only write lua/equipoise/languages again")
    arguments = parser.parse_args()
    if arguments.languages:
        write_languages(LANGUAGES)
        return
    mod = build(arguments.output)
    print(mod)  # noqa: T201  a build script's result
    for path in files(mod):
        print(f"  {path.relative_to(mod).as_posix():<50}{path.stat().st_size:>8}")  # noqa: T201


if __name__ == "__main__":
    main()
