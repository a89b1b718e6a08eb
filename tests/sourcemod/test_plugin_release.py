"""The archive an operator unpacks, its translations, and its licence."""

import re
import runpy
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import equipoise
from equipoise.core.commands import COMMANDS
from equipoise.core.phrases import Phrase
from tests.sourcemod.answerer import Daemon, settle
from tests.sourcemod.conftest import SCRIPTING, SOURCEMOD, TRANSLATIONS
from tests.sourcemod.rig import Game, Plugin
from tests.sourcemod.rig.compile import COMPILER, SOURCEMOD_INCLUDE
from tests.sourcemod.rig.sm.phrases import Tree, parse_keyvalues
from tests.sourcemod.test_plugin_commands import CHAT_WORDS

PHRASE_FILES = ["equipoise", "equipoise.plugin"]
LANGUAGES = ["de", "ru", "fr", "es", "pt", "pl", "chi"]


def phrases(path: Path) -> dict[str, Tree]:
    """The phrases of a file."""
    sections = parse_keyvalues(path)["Phrases"]
    assert isinstance(sections, dict)
    return {key: texts for key, texts in sections.items() if isinstance(texts, dict)}


def arguments(text: object) -> set[str]:
    """The arguments a text uses."""
    return set(re.findall(r"\{\d\}", str(text)))


def test_english_is_the_daemons_english() -> None:
    english = phrases(TRANSLATIONS / "equipoise.phrases.txt")
    assert list(english) == [phrase.key for phrase in Phrase]
    for phrase in Phrase:
        assert english[phrase.key]["en"] == phrase.value.replace("%", "%%")  # SourceMod takes it for a format
        formats = ",".join(f"{{{n}:s}}" for n in range(1, phrase.arguments + 1))
        assert english[phrase.key].get("#format", "") == formats


@pytest.mark.parametrize("file", PHRASE_FILES)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_language_says_what_english_says(language: str, file: str) -> None:
    """What it lacks is English, and the build names it."""
    english = phrases(TRANSLATIONS / f"{file}.phrases.txt")
    translated = phrases(TRANSLATIONS / language / f"{file}.phrases.txt")
    assert list(translated) == [key for key in english if key in translated]
    for key, texts in translated.items():
        assert list(texts) == [language]
        assert arguments(texts[language]) == arguments(english[key]["en"]), key
        assert "%" not in str(texts[language]).replace("%%", ""), key


@pytest.mark.parametrize("language", ["en", *LANGUAGES])
def test_every_announcement_with_its_reasons_fits_into_a_line_of_chat(language: str) -> None:
    """A chat message has 255 bytes (SayText2 in SourceMod's PrintToChat: char buffer[254]), the prefix included."""
    folder = TRANSLATIONS if language == "en" else TRANSLATIONS / language
    file = phrases(folder / "equipoise.phrases.txt")
    texts = {phrase: str(file[phrase.key][language]).replace("%%", "%") for phrase in Phrase if phrase.key in file}

    def longest(*kinds: str) -> str:
        return max(
            (text for phrase, text in texts.items() if phrase.name.startswith(kinds)), key=lambda t: len(t.encode())
        )

    reason = longest(
        "REASON_WAITING", "REASON_ROUND_TWO", "REASON_ROUNDS", "REASON_NO_C", "REASON_ADMIN", "REASON_VOTE"
    )
    given = {
        Phrase.SCRAMBLED: ("Defenders", "100", reason),
        Phrase.SCRAMBLED_UNEVEN: ("Defenders", "100", reason, longest("CAUSE")),
        Phrase.SCRAMBLED_UNKNOWN: (reason,),
        Phrase.SHUFFLE_NEEDLESS: ("Defenders", "100", longest("CAUSE")),
        Phrase.SCRAMBLE_PENDING: (reason,),
        Phrase.SCRAMBLE_WAITS: (reason, "24"),
    }
    for phrase, args in given.items():
        line = texts.get(phrase, "")
        for number, arg in enumerate(args, 1):
            line = line.replace(f"{{{number}}}", arg)
        assert len(f"\x04[Equipoise]\x01 {line}".encode()) < 254, line


def test_the_plugins_own_texts_are_those_that_it_uses() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in SCRIPTING.rglob("*.sp"))
    used = set(re.findall(r'"(Equipoise_(?!On|Is|Get|Request)\w+)"', source))
    english = phrases(TRANSLATIONS / "equipoise.plugin.phrases.txt")
    assert set(english) == used - {phrase.key for phrase in Phrase}
    for key, texts in english.items():
        assert "%" not in str(texts["en"]), key
        formats = ",".join(f"{{{n}:s}}" for n in range(1, len(arguments(texts["en"])) + 1))
        assert texts.get("#format", "") == formats, key


def test_the_build_names_what_a_language_lacks(tmp_path: Path) -> None:
    shutil.copytree(TRANSLATIONS, tmp_path, dirs_exist_ok=True)
    german = tmp_path / "de" / "equipoise.phrases.txt"
    german.write_text(german.read_text().replace('\t"Equipoise_VoteOff"\n', '\t"Equipoise_Other"\n'))
    warnings = runpy.run_path(str(SOURCEMOD / "build.py"))["warnings"]
    assert set(warnings(tmp_path)) - set(warnings()) == {"warning: de has no Equipoise_VoteOff: it is English"}


def test_there_are_no_languages_but_these_and_every_file_says_its_licence() -> None:
    assert sorted(path.name for path in TRANSLATIONS.iterdir() if path.is_dir()) == sorted(LANGUAGES)
    sources = [path for path in SOURCEMOD.rglob("*") if path.suffix in (".sp", ".inc", ".txt", ".py")]
    assert len(sources) > 30
    silent = [path.name for path in sources if "GPL-3.0-or-later" not in path.read_text(encoding="utf-8")[:120]]
    assert silent == []


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive that `make plugin` builds."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, str(SOURCEMOD / "build.py"), "--output", str(folder)]
    run = subprocess.run(build, text=True, capture_output=True, check=True)
    (archive,) = folder.iterdir()
    assert run.stdout.splitlines()[0] == str(archive)
    return archive


@pytest.mark.slow
def test_the_archive_unpacks_into_a_game_folder(archive: Path, game: Game, plugin: Plugin) -> None:
    assert archive.name == f"equipoise-sourcemod-{equipoise.__version__}.zip"
    assert plugin.info["version"] == "source"  # as the compiler alone makes it
    with zipfile.ZipFile(archive) as built:
        names = set(built.namelist())
        assert built.testzip() is None
    addon = "addons/sourcemod/"
    folders = ["", *(f"{language}/" for language in LANGUAGES)]
    assert {
        addon + "plugins/equipoise.smx",
        addon + "scripting/equipoise.sp",
        addon + "scripting/include/equipoise.inc",
        addon + "scripting/include/equipoise_version.inc",
        *(f"{addon}translations/{folder}{texts}.phrases.txt" for folder in folders for texts in PHRASE_FILES),
        "equipoise/README.md",
        "equipoise/LICENSE",
    } <= names
    modules = {f"{addon}scripting/equipoise/{path.name}" for path in (SCRIPTING / "equipoise").glob("*.sp")}
    assert modules <= names
    assert not [name for name in names if "ripext" in name]


@pytest.mark.slow
def test_the_compiler_of_another_sourcemod_says_what_it_makes_of_the_plugin(tmp_path: Path) -> None:
    scripting = tmp_path / "tf/addons/sourcemod/scripting"
    shutil.copytree(SOURCEMOD_INCLUDE, scripting / "include")
    spcomp = Path(shutil.copy(COMPILER, scripting / "spcomp"))
    build = [sys.executable, str(SOURCEMOD / "build.py"), "--spcomp", str(spcomp)]
    run = subprocess.run(build, text=True, capture_output=True, check=True)
    assert run.stdout == f"{spcomp}: SourcePawn Compiler 1.11.0.6931, without a warning\n"
    core = scripting / "include" / "entity.inc"  # of a SourceMod that lacks a native
    core.write_text(core.read_text(encoding="utf-8").replace("native int GetEntProp(", "native int Gone("))
    run = subprocess.run(build, text=True, capture_output=True, check=False)
    assert run.returncode != 0
    assert 'undefined symbol "GetEntProp"' in run.stderr
    (scripting / "include" / "sourcemod.inc").unlink()
    run = subprocess.run(build, text=True, capture_output=True, check=False)
    assert run.stderr.startswith(f"{scripting}/include has no sourcemod.inc: name the spcomp")


README = (SOURCEMOD / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def tf(archive: Path, game: Game) -> Path:
    """A server's folder `tf/` after steps 1 and 2 of the README."""
    folder = game.sm.root.parent.parent
    with zipfile.ZipFile(archive) as built:
        built.extractall(folder)
    for name in ("rip.ext.so", "rip.ext.dll", "x64/rip.ext.so"):  # REST in Pawn's own archive
        (folder / "addons/sourcemod/extensions" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "addons/sourcemod/extensions" / name).touch()
    (folder / "addons/sourcemod/logs").mkdir()
    return folder


def load(game: Game, tf: Path) -> Plugin:
    """SourceMod loads what lies in its folders."""
    addon = tf / "addons/sourcemod"
    return game.load(addon / "plugins/equipoise.smx", translations=addon / "translations")


def edit(tf: Path, file: str, **settings: object) -> None:
    """An operator sets variables in a cfg file, which may be new."""
    path = tf / "cfg" / file
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    kept = [line for line in lines if not line.startswith(tuple(f"{name} " for name in settings))]
    path.write_text("\n".join(kept + [f'{name} "{value}"' for name, value in settings.items()]), encoding="utf-8")


@pytest.mark.slow
def test_the_readmes_five_steps_lead_to_a_server_that_answers(game: Game, daemon: Daemon, tf: Path) -> None:
    load(game, tf)
    game.start_map("koth_harvest_final")
    settle(game)
    assert not daemon.batches
    written = (tf / "cfg/sourcemod/equipoise.cfg").read_text(encoding="utf-8")
    settings = README.split("## Settings")[1].split("**Which file wins.**")[0]
    table = re.findall(r"^\| `(equipoise_\w+)` \|", settings, flags=re.MULTILINE)
    assert [name for name in table if name not in written] == [
        "equipoise_enabled",
        "equipoise_version",
        "equipoise_boot",
    ]
    edit(tf, "sourcemod/equipoise.cfg", equipoise_server="eu-1", equipoise_secret="s3cret")
    edit(tf, "sourcemod/equipoise.cfg", equipoise_url=f"http://127.0.0.1:{daemon.port}")
    game.start_map("koth_harvest_final")
    settle(game)
    assert daemon.batches[-1]["server"] == "eu-1"
    assert daemon.headers[-1]["Authorization"] == "Bearer s3cret"
    game.rcon("sm_eq_status")
    settle(game)
    assert daemon.events("command")[-1]["words"] == ["status"]


@pytest.mark.slow
def test_every_path_of_the_readme_is_there_once_it_was_followed(game: Game, tf: Path) -> None:
    load(game, tf)
    game.start_map("koth_harvest_final")
    settle(game)
    made_by_the_operator = {"cfg/server.cfg", "cfg/<map>.cfg", "cfg/sourcemod/equipoise-<server>.cfg"}
    named = set(re.findall(r"`((?:addons|cfg|equipoise)/[^`]*)`", README)) - {"cfg/sourcemod/equipoise-eu-1.cfg"}
    assert made_by_the_operator < named
    assert len(named) > 10
    assert [path for path in named - made_by_the_operator if not (tf / path).exists()] == []


@pytest.mark.slow
def test_the_last_config_file_of_the_readme_wins_and_the_command_line_over_all(
    game: Game, daemon: Daemon, tf: Path
) -> None:
    files = re.search(r"\*\*Which file wins.\*\*.*?the last one wins:(.*?)\. A setting on", README, flags=re.DOTALL)
    assert files is not None
    order = re.findall(r"`cfg/([^`]+)`", files[1])
    assert len(order) == 4
    game.command_line["+equipoise_server"] = "eu-1"
    load(game, tf)
    game.start_map("koth_harvest_final")
    settle(game)
    for file in order:
        name = file.replace("<map>", "koth_harvest_final").replace("<server>", "eu-1")
        edit(tf, name, equipoise_chat_prefix=f"[{name}]", equipoise_server=f"from {name}")
        game.start_map("koth_harvest_final")
        settle(game)
        expected = "[Equipoise]" if file in order[:2] else f"[{name}]"  # the plugin's own file says so
        assert game.sm.convars["equipoise_chat_prefix"].value == expected
        assert game.sm.convars["equipoise_server"].value == "eu-1"


@pytest.mark.slow
def test_a_maps_own_config_switches_the_plugin_off_for_that_map(game: Game, daemon: Daemon, tf: Path) -> None:
    load(game, tf)
    game.start_map("cp_gorge")
    edit(tf, "sourcemod/equipoise.cfg", equipoise_server="eu-1", equipoise_secret="s3cret")
    edit(tf, "sourcemod/equipoise.cfg", equipoise_url=f"http://127.0.0.1:{daemon.port}")
    edit(tf, "koth_harvest_final.cfg", equipoise_enabled=0)
    heard = []
    for name in ("cp_gorge", "koth_harvest_final", "cp_gorge"):
        daemon.forget()
        game.start_map(name)
        settle(game)
        heard.append(bool(daemon.batches))
    assert heard == [True, False, True]


@pytest.mark.slow
def test_the_readme_names_every_setting_command_and_forward_and_the_secret_is_kept(game: Game, plugin: Plugin) -> None:
    protected = 1 << 5
    own = {name: convar for name, convar in game.sm.convars.by_name.items() if plugin in convar.plugins}
    assert [name for name, convar in own.items() if convar.flags & protected] == ["equipoise_secret"]
    include = (SCRIPTING / "include" / "equipoise.inc").read_text(encoding="utf-8")
    offered = re.findall(r"^(?:native|forward) \w+ (Equipoise_\w+)", include, flags=re.MULTILINE)
    commands = re.findall(r'Reg(?:Admin|Console|Server)Cmd\("(\w+)"', (SCRIPTING / "equipoise/commands.sp").read_text())
    words = re.findall(r'\{"(\w+)", "\w+", ".+"\}', (SCRIPTING / "equipoise/words.sp").read_text())
    assert len(own) == 8
    assert len(offered) == 12
    assert len(commands) == 1 + len({each.word for each in COMMANDS if each.who != "players" and each.tf2 is None})
    assert len(words) == len(CHAT_WORDS)
    missing = [name for name in (*own, *offered, *commands, *(f"!{word}" for word in words)) if name not in README]
    assert missing == []
