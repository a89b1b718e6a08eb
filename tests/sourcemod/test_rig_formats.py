"""Format strings and translations as SourceMod has them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.sourcemod.rig import Game, Plugin, compile_text
from tests.sourcemod.rig.sm.phrases import PhraseError, parse_keyvalues

Script = Callable[..., Plugin]

PHRASES = """
"Phrases"
{
	"Score"   // who has what
	{
		"#format"	"{1:N},{2:d},{3:s}"
		"en"		"{1} has {2} of {3}"
		"de"		"{3}: {2} für \\"{1}\\""
	}
	"Share"
	{
		"#format"	"{1:.1f}"
		"en"		"{1} %"
	}
	"Plain"
	{
		"en"	"plain\\ttext"
	}
}
"""
RUSSIAN = '"Phrases" { "Plain" { "ru" "просто" } "Score" { "ru" "{1}: {2} ({3})" } }'


@pytest.fixture
def translations(tmp_path: Path) -> Path:
    """A translation folder with a language folder in it."""
    folder = tmp_path / "translations"
    (folder / "ru").mkdir(parents=True)
    (folder / "rig.phrases.txt").write_text(PHRASES, encoding="utf-8")
    (folder / "ru" / "rig.phrases.txt").write_text(RUSSIAN, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("template", "arguments", "expected"),
    [
        ("%d|%5d|%-5d|%05d", "7, 7, 7, 7", "7|    7|7    |00007"),
        ("%i %u", "-1, -1", "-1 4294967295"),
        ("%x %X %b", "255, 255, 5", "ff FF 101"),
        ("%f %.1f %.0f", "1.5, 1.25, 2.6", "1.500000 1.2 3"),
        ("%s|%6s|%-6s|%.2s", '"abc", "abc", "abc", "abc"', "abc|   abc|abc   |ab"),
        ("%c%c", "'x', 'y'", "xy"),
        ("100 %%", "", "100 %"),
        ("%N, %N", "1, 0", "Änn, Console"),
        ("%L", "1", "Änn<2><STEAM_0:1:501><>"),
    ],
)
def test_a_conversion_prints_like_sourcemods(
    game: Game, script: Script, template: str, arguments: str, expected: str
) -> None:
    call = f'PrintToServer("{template}"{", " if arguments else ""}{arguments});'
    script(f"public void OnClientPutInServer(int client) {{ {call} }}\npublic void OnPluginStart() {{ }}")
    player = game.connect("Änn", 76561197960265728 + 1003)
    expected_console = expected if "%L" not in template else expected.replace("STEAM_0:1:501", "STEAM_ID_PENDING")
    assert game.sm.console == [expected_console]
    assert player.steam2 == "STEAM_0:1:501"


def test_vformat_reads_the_arguments_of_the_calling_function(game: Game, script: Script) -> None:
    script("""
        void Say(int times, const char[] format, any ...)
        {
            char text[64];
            VFormat(text, sizeof(text), format, 3);
            PrintToServer("%d: %s", times, text);
        }
        public void OnPluginStart() { Say(2, "%s is %d", "seven", 7); }""")
    assert game.sm.console == ["2: seven is 7"]


def test_every_player_reads_their_own_language(game: Game, tmp_path: Path, translations: Path) -> None:
    source = """
        #include <sourcemod>
        public void OnPluginStart() { LoadTranslations("rig.phrases"); RegServerCmd("tell", Command_Tell); }
        Action Command_Tell(int args)
        {
            PrintToChatAll("%t", "Score", 1, 5, "nine");
            PrintToChatAll("%t", "Plain");
            PrintToChatAll("%t!", "Share", 12.34);
            PrintToServer("%T", "Score", LANG_SERVER, 1, 5, "nine");
            PrintToServer("%T", "Score", 2, 1, 5, "nine");
            return Plugin_Handled;
        }"""
    game.load(compile_text(source, tmp_path, "told"), translations=translations)
    english, german, russian = game.connect("Ann"), game.connect("Ben"), game.connect("Oleg")
    german.language, russian.language = "de", "ru"
    game.rcon("tell")

    assert english.chat == ["Ann has 5 of nine", "plain\ttext", "12.3 %!"]
    assert german.chat == ['nine: 5 für "Ann"', "plain\ttext", "12.3 %!"]
    assert russian.chat == ["Ann: 5 (nine)", "просто", "12.3 %!"]
    assert game.sm.console == ["Ann has 5 of nine", 'nine: 5 für "Ann"']


def test_an_unknown_phrase_is_an_error(game: Game, tmp_path: Path, translations: Path) -> None:
    source = """
        #include <sourcemod>
        public void OnPluginStart() { LoadTranslations("rig.phrases"); }
        public void OnMapStart() { PrintToServer("%t", "Nothing"); }"""
    game.load(compile_text(source, tmp_path, "mute"), translations=translations)
    game.start_map("ctf_2fort")
    assert game.sm.log.take_faults() == ['Language phrase "Nothing" not found']


def test_a_phrase_that_uses_an_undeclared_parameter_is_an_error(game: Game, tmp_path: Path) -> None:
    (tmp_path / "bad.phrases.txt").write_text('"Phrases" { "Bad" { "en" "{1}" } }', encoding="utf-8")
    source = """
        #include <sourcemod>
        public void OnPluginStart() { LoadTranslations("bad.phrases"); }
        public void OnMapStart() { PrintToServer("%t", "Bad", 1); }"""
    game.load(compile_text(source, tmp_path, "bad"), translations=tmp_path)
    game.start_map("ctf_2fort")
    assert game.sm.log.take_faults() == ['Phrase "Bad" uses {1} but declares 0 parameters']


@pytest.mark.parametrize("text", ['"Phrases" { "A"', '"Phrases" }', '"Phrases" { stray }'])
def test_a_malformed_phrase_file_is_refused_by_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "broken.phrases.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PhraseError, match=r"broken\.phrases\.txt"):
        parse_keyvalues(path)
