"""`equipoise server rcon` and what `equipoise status` says of game servers that RCON and A2S do not reach."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.cli.house import House, ask, run, serving
from tests.game.query_server import SIMPLE, info, query_server
from tests.game.rcon_servers import PASSWORD, fake_server, free_port
from tests.game.web_admin_server import USER, web_admin_server

pytestmark = pytest.mark.slow


def with_rcon(house: House, port: int, password: str = PASSWORD) -> None:
    (house.folder / "secrets" / "arena-1.rcon").write_text(password)
    keys = f'rcon = "127.0.0.1:{port}"\nrcon_password_file = "secrets/arena-1.rcon"\nquery = ""\n'
    file = house.folder / "servers.d" / "arena-1.toml"
    file.write_text(file.read_text() + keys)


def test_the_output_of_a_command_is_printed_and_what_is_no_single_command_is_refused(house: House) -> None:
    with fake_server() as port:
        with_rcon(house, port)
        with serving(house) as (_, address):
            done = ask(house, address, "server", "rcon", "arena-1", "sm", "plugins", "-list")
            assert (done.returncode, done.stdout) == (0, "<sm plugins -list>\n")
            long = ask(house, address, "server", "rcon", "--json", "arena-1", "x5000")
            assert json.loads(long.stdout)["output"] == "x" * 5000
            refused = ask(house, address, "server", "rcon", "arena-1", "say", "hello; quit")
            assert (refused.returncode, refused.stdout) == (1, "")
            assert "must not contain ';'" in refused.stderr


async def test_ns2s_web_admin_takes_a_command_and_the_answer_says_that_it_has_no_output(house: House) -> None:
    def said() -> tuple[str, str]:
        with serving(house) as (_, address):
            words = ("server", "rcon", "arena-1", "sv_say", "hello", "all")
            return ask(house, address, *words).stdout, ask(house, address, *words, "--json").stdout

    async with web_admin_server() as (server, port):
        with_rcon(house, port)
        file = house.folder / "servers.d" / "arena-1.toml"
        file.write_text(file.read_text().replace('game = "tf2"', f'game = "ns2"\nrcon_user = "{USER}"'))
        told, printed = await asyncio.to_thread(said)
    assert told == "arena-1 took it; NS2's web admin returns no output: the game server's log has it.\n"
    assert json.loads(printed)["output"] is None
    assert server.commands == ["sv_say hello all", "sv_say hello all"]


def test_a_server_without_rcon_says_which_key_is_missing(house: House) -> None:
    with serving(house) as (_, address):
        refused = ask(house, address, "server", "rcon", "arena-1", "status")
    assert refused.returncode == 1
    assert "[server.arena-1] has no `rcon` in the configuration" in refused.stderr


def test_rcon_that_fails_is_an_error_and_a_line_of_the_status(house: House) -> None:
    with_rcon(house, free_port())
    with serving(house) as (_, address):
        failed = ask(house, address, "server", "rcon", "arena-1", "status")
        assert failed.returncode == 1
        assert "RCON of arena-1: Connection refused" in failed.stderr
        status = ask(house, address, "status")
        assert status.returncode == 0
        assert "arena-1: RCON at 127.0.0.1:" in status.stdout


def test_nothing_that_a_game_server_calls_itself_does_anything_to_a_terminal(house: House) -> None:
    hostile = "well\nbad   daemon: all is lost\x1b[2J\u202e\r"
    game = b"Team Fortress\0\xb8\x01"
    named = SIMPLE + info(b"\x1b[2J", hostile).replace(game, hostile.encode() + b"\0\xf0\0")

    async def shown() -> list[str]:
        async with query_server(lambda _: [named]) as (_, port):
            file = house.folder / "servers.d" / "arena-1.toml"
            file.write_text(f'{file.read_text()}query = "127.0.0.1:{port}"\n')
            return await asyncio.to_thread(texts)

    def texts() -> list[str]:
        with serving(house) as (_, address):
            doctor = ask(house, address, "doctor").stdout  # which sends a query
            return [doctor, *(ask(house, address, "status", *more).stdout for more in ((), ("--json",)))]

    answers = asyncio.run(shown())
    for text in answers:
        assert ("well\ufffdbad   daemon" in text) == (text is not answers[1])
        assert "\nbad   daemon: all" not in text
        assert not set("\x1b\r\u202e") & set(text)
    assert json.loads(answers[2])["game_servers"][0]["query"]["answer"]["name"] == "\ufffd[2J"


def test_the_password_is_shown_nowhere(house: House) -> None:
    with fake_server() as port:
        with_rcon(house, port, "wrong but secret")
        with serving(house) as (_, address):
            failed = ask(house, address, "server", "rcon", "arena-1", "status")
            shown = failed.stderr + ask(house, address, "status", "--json").stdout
        shown += (house.folder / "daemon.log").read_text() + run("check-config", "--print", "-c", house.config).stdout
    assert "refused the RCON password" in shown
    assert "wrong but secret" not in shown
