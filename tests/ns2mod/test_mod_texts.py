"""What players read: every text of the daemon that NS2 has, and the mod's own, in eight languages."""

from __future__ import annotations

import re
import runpy
import tomllib
from typing import Any

import pytest

from equipoise.core.phrases import Phrase
from tests.ns2mod.modules import FOLDER, MOD, Modules

BUILD = runpy.run_path(str(MOD / "build.py"))
CODES: list[str] = BUILD["codes"]()
OWN: dict[str, dict[str, str]] = tomllib.loads((MOD / "phrases.toml").read_text(encoding="utf-8"))


def arguments(text: str) -> set[str]:
    return set(re.findall(r"{\d+}", text))


@pytest.fixture(scope="module")
def modules() -> Modules:
    loaded = Modules()
    for code in CODES:
        loaded.run(FOLDER / "languages" / f"{code}.lua")
    return loaded


def line(modules: Modules, language: str | None, phrase: str, *args: str, default: str = "en") -> Any:
    texts = modules.all.Texts.New(modules.all.Languages, default)
    names = modules.lua.table_from({"7": "Ada %1 {2}"})
    return modules.call(texts.Line, texts, language, {"phrase": phrase, "args": list(args)}, lambda id: names[id])


def test_there_are_eight_languages(modules: Modules) -> None:
    assert modules.call(modules.all.Texts.Languages) == sorted(CODES)
    assert len(CODES) == 8


@pytest.mark.parametrize("code", CODES)
def test_the_file_of_a_language_is_what_the_build_makes(code: str) -> None:
    """After a change of the translations: `make texts`."""
    assert (FOLDER / "languages" / f"{code}.lua").read_text(encoding="utf-8") == BUILD["table"](code)


def test_there_is_no_file_of_another_language() -> None:
    assert {path.stem for path in (FOLDER / "languages").iterdir()} == set(CODES)


def test_every_phrase_of_the_daemon_that_ns2_has_is_there_as_it_is(modules: Modules) -> None:
    english = {phrase.key: phrase.value for phrase in Phrase if phrase.key not in BUILD["NOT_IN_NS2"]}
    assert {key: line(modules, "en", key, *(f"{{{n}}}" for n in range(1, 7))) for key in english} == english


@pytest.mark.parametrize("code", CODES)
def test_a_language_has_keys_of_english_with_their_arguments(code: str) -> None:
    """What it lacks is English, and the build names it."""
    english = BUILD["texts"]("en")
    assert {key: arguments(text) for key, text in BUILD["texts"](code).items()} == {
        key: arguments(english[key]) for key in BUILD["texts"](code)
    }


@pytest.mark.parametrize("code", CODES)
def test_every_text_is_one_chat_message_of_the_game(code: str) -> None:
    """One argument is a name of 24 bytes, the others are numbers; what quotes a command or a reason may be longer."""
    quoting = {f"Equipoise_{key}" for key in ("Status", "RefusedInGame", "Shuffled", "ShuffledUneven")}
    only_numbers = {f"Equipoise_{key}" for key in ("ChoiceOpen", "Help", "ReasonGap", "VoteFailed", "VoteTooLate")}
    sizes = {}
    for key, text in BUILD["texts"](code).items():
        names = 0 if key in only_numbers else min(1, len(arguments(text)))
        sizes[key] = len(re.sub(r"{\d}", "100", text).encode()) + names * (24 - 3)
    assert {key: size for key, size in sizes.items() if size > 120 and key not in quoting} == {}


def test_the_mods_own_texts_are_in_english_and_nowhere_else() -> None:
    assert all("en" in texts and texts.keys() <= set(CODES) for texts in OWN.values())
    assert not {f"Equipoise_{key}" for key in OWN} & {phrase.key for phrase in Phrase}


def test_a_player_is_shown_by_name_and_a_name_is_no_pattern(modules: Modules) -> None:
    shown = line(modules, "en", "Equipoise_VoteVoice", "@7", "2", "3")
    assert shown == "Ada %1 {2} wants balanced teams: 2 of 3 for a vote."
    assert line(modules, "en", "Equipoise_UnknownPlayer", "@8") == "No player is known as 8."


def test_a_text_within_a_text_is_in_the_readers_language(modules: Modules) -> None:
    reason = {"phrase": "Equipoise_ReasonAdmin", "args": []}
    assert line(modules, "en", "Equipoise_ScramblePending", reason) == (
        "New teams at the next round (ordered by an admin)."
    )
    assert line(modules, "de", "Equipoise_ScramblePending", reason) == (
        "Neue Teams in der nächsten Runde (von einem Admin angeordnet)."
    )


def test_a_language_gives_way_to_the_servers_and_that_to_english(modules: Modules) -> None:
    german = BUILD["texts"]("de")["Equipoise_VoteTooFew"]
    assert line(modules, "de", "Equipoise_VoteTooFew") == german
    assert line(modules, None, "Equipoise_VoteTooFew", default="de") == german
    assert line(modules, "xx", "Equipoise_VoteTooFew", default="de") == german
    assert line(modules, "xx", "Equipoise_VoteTooFew", default="yy") == Phrase.VOTE_TOO_FEW.value


def test_an_unknown_phrase_is_shown_by_its_key_and_a_missing_argument_is_empty(modules: Modules) -> None:
    assert line(modules, "en", "Equipoise_New", "1") == "Equipoise_New"
    assert line(modules, "en", "Equipoise_Failed") == "That did not work: "
