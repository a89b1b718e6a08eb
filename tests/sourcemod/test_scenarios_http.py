"""What sm-ripext tells a plugin when the other side behaves badly: scenario 40 and its neighbours."""

import gzip
import socket
from collections.abc import Callable, Iterator

import pytest

from tests.sourcemod.peer import Peer, Then, answer
from tests.sourcemod.rig import Game
from tests.sourcemod.scenarios import Script

Ask = Callable[..., list[str]]

CLIENT = """
    public void OnPluginStart() { RegServerCmd("ask", Command_Ask); }
    Action Command_Ask(int args)
    {
        char word[64];
        GetCmdArg(1, word, sizeof(word));
        HTTPRequest request = new HTTPRequest(word);
        request.Timeout = 1;
        GetCmdArg(2, word, sizeof(word));
        if (word[0])
        {
            request.MaxRedirects = StringToInt(word);
        }
        JSONObject body = new JSONObject();
        body.SetInt("a", 1);
        GetCmdArg(3, word, sizeof(word));
        if (StrEqual(word, "patch"))
        {
            request.Patch(body, OnAnswer);
        }
        else
        {
            request.Post(body, OnAnswer);
        }
        delete body;
        return Plugin_Handled;
    }
    void OnAnswer(HTTPResponse response, any value, const char[] error)
    {
        PrintToServer("%d|%s", response.Status, error);
        PrintToServer("keys %d", view_as<JSONObject>(response.Data).Size);
    }"""
HALF = b'HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{"ok":'
CHUNK = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n"


@pytest.fixture
def peer() -> Iterator[Peer]:
    """A server that behaves as the test says."""
    server = Peer()
    yield server
    server.stop()


@pytest.fixture
def ask(game: Game, script: Script, peer: Peer) -> Ask:
    """Posts to the peer and gives back what the plugin then said; the fault of its `.Data` comes last."""
    script(CLIENT)

    def post(*says: bytes | Then, words: str = "", url: str = "") -> list[str]:
        peer.scripts = [[*says], *peer.scripts]
        game.rcon(f'ask "{url or peer.url}" {words}')
        game.settle()
        return game.sm.console + game.sm.log.take_faults()

    return post


def test_40_half_an_answer_then_silence_is_a_failure_with_status_200(ask: Ask) -> None:
    line, fault = ask(HALF, Then.SILENCE)
    status, _, error = line.partition("|")
    assert status == "200"
    assert error.startswith("Operation timed out after 1")
    assert error.endswith(" milliseconds with 6 out of 20 bytes received")
    assert fault.startswith("Invalid JSON in line 1")


@pytest.mark.parametrize(
    ("says", "said"),
    [
        ([HALF], "200|transfer closed with 14 bytes remaining to read"),
        ([CHUNK + b'{"ok":\r\n'], "200|transfer closed with outstanding read data remaining"),
        ([b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnope"], "200|Error while processing"),
        ([], "0|Empty reply from server"),
        ([Then.RESET], "0|Recv failure: Connection reset by peer"),
        ([b"SSH-2.0-OpenSSH_9\r\n"], "0|Received HTTP/0.9 when not allowed"),
        ([b"HTTP/1.1 100 Continue\r\n\r\n", Then.SILENCE], "100|Operation timed out after 1"),
        ([Then.SILENCE], "0|Operation timed out after 1"),
        ([b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n", Then.SILENCE], "200|Operation timed out after 1"),
    ],
)
def test_a_transfer_that_breaks_has_the_last_status_line_and_a_text(
    ask: Ask, says: list[bytes | Then], said: str
) -> None:
    line, fault = ask(*says)
    assert line.startswith(said)
    assert fault.startswith("Invalid JSON")


@pytest.mark.parametrize(
    ("says", "said"),
    [
        (b'HTTP/1.0 200 OK\r\n\r\n{"ok": tr', "200|"),
        (answer(204), "204|"),
        (answer(200), "200|"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", "204|"),
    ],
)
def test_a_whole_answer_without_json_has_no_error_and_its_data_throws(ask: Ask, says: bytes, said: str) -> None:
    line, fault = ask(says)
    assert line == said
    assert fault.startswith("Invalid JSON")


@pytest.mark.parametrize(
    "says",
    [
        answer(200, gzip.compress(b'{"ok": true}', mtime=0), Content_Encoding="gzip"),
        CHUNK + b'{"ok":\r\n6;x=y\r\n true}\r\n0\r\nTrailer: x\r\n\r\n',
        b'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n{"ok": true}',
        answer(503, '{"error": "later"}'),
    ],
)
def test_a_whole_answer_is_read_however_it_comes(ask: Ask, says: bytes) -> None:
    status, keys = ask(says)
    assert status in ("200|", "503|")
    assert keys == "keys 1"


def redirect(status: int, to: str) -> bytes:
    """An answer that points elsewhere."""
    return answer(status, "{}", Location=to)


@pytest.mark.parametrize("status", [301, 302, 303])
def test_a_post_that_is_redirected_becomes_a_get_without_body(ask: Ask, peer: Peer, status: int) -> None:
    assert ask(redirect(status, "/elsewhere")) == ["200|", "keys 1"]
    first, second = peer.requests
    assert first.startswith("POST /v1/events HTTP/1.1")
    assert second.startswith("GET /elsewhere HTTP/1.1")
    assert "Content-Type: application/json" in second
    assert second.endswith("\n\n")


def test_a_custom_verb_stays_through_a_redirect_without_its_body(ask: Ask, peer: Peer) -> None:
    assert ask(redirect(302, "/elsewhere"), words="5 patch") == ["200|", "keys 1"]
    assert peer.requests[1].startswith("PATCH /elsewhere HTTP/1.1")
    assert "Content-Length: 0" in peer.requests[1]


@pytest.mark.parametrize("status", [307, 308])
def test_a_redirect_that_wants_the_body_again_fails(ask: Ask, peer: Peer, status: int) -> None:
    line, fault = ask(redirect(status, "/elsewhere"))
    assert line == f"{status}|necessary data rewind wasn't possible"
    assert len(peer.requests) == 1
    assert fault


def test_redirects_that_are_too_many_fail_with_the_status_of_the_last(ask: Ask, peer: Peer) -> None:
    peer.scripts = [[redirect(301, "/again")]]
    assert ask(redirect(302, "/again"), words="0")[0] == "302|Maximum (0) redirects followed"
    assert ask(redirect(302, "/again"), words="2")[-2] == "301|Maximum (2) redirects followed"
    assert len(peer.requests) == 1 + 3


def test_a_redirect_to_a_dead_port_keeps_its_status(ask: Ask) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    line, _ = ask(redirect(302, f"http://127.0.0.1:{port}/"))
    assert line == f"302|Failed to connect to 127.0.0.1 port {port}: Connection refused"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("ftp://127.0.0.1/", '0|Protocol "ftp" not supported or disabled in libcurl'),
        ("http://host.invalid/", "0|Could not resolve host: host.invalid"),
    ],
)
def test_an_address_that_leads_nowhere_is_status_0(ask: Ask, url: str, said: str) -> None:
    assert ask(url=url)[0] == said
