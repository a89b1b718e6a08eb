"""Translation phrases: files in Valve's key-value text, per-language folders, fallbacks, and each client's language."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from ..binding import Call, Connected, native
from ..machine import NativeError
from ..memory import Buffer

LANGUAGES = {
    "en": "english", "ar": "arabic", "bg": "bulgarian", "chi": "schinese", "cze": "czech", "da": "danish",
    "de": "german", "el": "greek", "es": "spanish", "fi": "finnish", "fr": "french", "he": "hebrew",
    "hu": "hungarian", "it": "italian", "jp": "japanese", "ko": "korean", "las": "latam", "lt": "lithuanian",
    "lv": "latvian", "nl": "dutch", "no": "norwegian", "pl": "polish", "pt": "brazilian", "pt_p": "portuguese",
    "ro": "romanian", "ru": "russian", "sk": "slovak", "sv": "swedish", "th": "thai", "tr": "turkish",
    "ua": "ukrainian", "vi": "vietnamese", "zho": "tchinese",
}  # fmt: skip
"""SourceMod's language codes and names. `pt` is Brazilian Portuguese."""
CODES = list(LANGUAGES)
SHIPPED = Path(__file__).parent.parent / "phrases"
"""The part of SourceMod's own phrases that plugins lean on, in our words."""

TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"|([{}])|//[^\n]*|/\*.*?\*/|\s+', re.DOTALL)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
PARAMETER = re.compile(r"\{(\d+):([^}]*)\}")

Tree = dict[str, "str | Tree"]


class PhraseError(Exception):
    """A phrase file that SourceMod would not read, and where."""


def _tokens(text: str, name: str) -> Iterator[tuple[str, bool]]:
    at = 0
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None:
            raise PhraseError(f"{name}:{text.count(chr(10), 0, at) + 1}: unexpected {text[at]!r}")
        at = match.end()
        if match[1] is not None:
            yield re.sub(r"\\(.)", lambda m: ESCAPES.get(m[1], m[1]), match[1], flags=re.DOTALL), True
        elif match[2]:
            yield match[2], False


def parse_keyvalues(path: Path) -> Tree:
    """The nested sections of a key-value file."""
    return _parse(path.read_text(encoding="utf-8-sig"), path.name)


@lru_cache(maxsize=256)
def _parse(text: str, name: str) -> Tree:
    """Every server of a test reads the same files, and nobody changes what was read."""
    stack: list[Tree] = [{}]
    key: str | None = None
    for token, quoted in _tokens(text, name):
        if quoted and key is None:
            key = token
        elif quoted and key is not None:
            stack[-1][key], key = token, None
        elif token == "{" and key is not None:
            child = stack[-1].setdefault(key, {})
            assert isinstance(child, dict)
            stack.append(child)
            key = None
        elif token == "}" and key is None and len(stack) > 1:
            stack.pop()
        else:
            raise PhraseError(f"{name}: unexpected {token!r}")
    if key is not None or len(stack) > 1:
        raise PhraseError(f"{name}: ends inside a section")
    return stack[0]


@dataclass(slots=True)
class Phrase:
    """A phrase in its languages. `formats` are the conversions of its parameters, in order."""

    formats: list[str] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)

    def add(self, entries: Tree, only: str | None) -> None:
        """Take the texts of one file: of every language, or of a language folder `only` its own."""
        for key, text in entries.items():
            assert isinstance(text, str)
            if key == "#format":
                self.formats = [
                    conversion for _, conversion in sorted(PARAMETER.findall(text), key=lambda p: int(p[0]))
                ]
            elif only is None or key == only:
                self.texts[key] = text


@lru_cache(maxsize=64)
def _phrases(name: str, texts: tuple[tuple[str, str | None], ...]) -> dict[str, Phrase]:
    """As `_parse`: putting the texts of thirty files together takes as long as all else of a plugin's start."""
    phrases: dict[str, Phrase] = {}
    for text, language in texts:
        sections = _parse(text, name).get("Phrases")
        if not isinstance(sections, dict):
            raise PhraseError(f'{name}: no "Phrases" section')
        for key, entries in sections.items():
            if isinstance(entries, dict):
                phrases.setdefault(key, Phrase()).add(entries, language)
    return phrases


class Phrases:
    """All phrase files a server has, and which of them each plugin loaded."""

    def __init__(self, folders: list[Path]) -> None:
        self.folders = [*folders, SHIPPED]
        self._files: dict[str, dict[str, Phrase]] = {}
        self._loaded: dict[object, list[str]] = {}

    def load(self, plugin: object, name: str) -> None:
        """Let `plugin` use the phrases of `name`; the core phrases are every plugin's."""
        name = name if name.endswith(".txt") else f"{name}.txt"
        if name not in self._files:
            self._files[name] = self._read(name)
        self._loaded.setdefault(plugin, ["core.phrases.txt"]).append(name)

    def find(self, plugin: object, key: str) -> Phrase | None:
        """The phrase, from the files `plugin` loaded."""
        for name in self._loaded.get(plugin, ["core.phrases.txt"]):
            if name not in self._files:
                self._files[name] = self._read(name)
            if key in self._files[name]:
                return self._files[name][key]
        return None

    def text(self, plugin: object, key: str, language: str) -> tuple[Phrase, str]:
        """The phrase and its text: in `language`, else in English; a native error if there is neither."""
        phrase = self.find(plugin, key)
        if phrase is None or not (text := phrase.texts.get(language) or phrase.texts.get("en")):
            raise NativeError(f'Language phrase "{key}" not found')
        return phrase, text

    def _read(self, name: str) -> dict[str, Phrase]:
        folder = next((folder for folder in self.folders if (folder / name).is_file()), None)
        if folder is None:
            raise NativeError(f'Translation file "{name}" could not be found')
        files = [(folder / name, None), *((folder / code / name, code) for code in CODES if code != "en")]
        texts = [(path.read_text(encoding="utf-8-sig"), language) for path, language in files if path.is_file()]
        return _phrases(name, tuple(texts))


@native()
def LoadTranslations(call: Call, name: str) -> None:
    call.sm.phrases.load(call.plugin, name)


@native()
def SetGlobalTransTarget(call: Call, client: int) -> None:
    call.sm.target = client


@native()
def GetClientLanguage(call: Call, client: Connected) -> int:
    return CODES.index(client.language)


@native()
def SetClientLanguage(call: Call, client: Connected, language: int) -> None:
    client.language = CODES[language]


@native()
def GetServerLanguage(call: Call) -> int:
    return CODES.index(call.sm.language)


@native()
def GetLanguageCount(call: Call) -> int:
    return len(CODES)


@native()
def GetLanguageInfo(call: Call, language: int, code: Buffer, name: Buffer) -> None:
    code.write(CODES[language])
    name.write(LANGUAGES[CODES[language]])


@native()
def GetLanguageByCode(call: Call, code: str) -> int:
    return CODES.index(code) if code in CODES else -1


@native()
def TranslationPhraseExists(call: Call, key: str) -> bool:
    return call.sm.phrases.find(call.plugin, key) is not None


@native()
def IsTranslatedForLanguage(call: Call, key: str, language: int) -> bool:
    phrase = call.sm.phrases.find(call.plugin, key)
    return phrase is not None and CODES[language] in phrase.texts
