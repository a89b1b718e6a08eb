"""sm-ripext's natives do real HTTP and give the answers back as the extension does."""

import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from tests.sourcemod.rig import Game, Plugin

Script = Callable[..., Plugin]
Reply = tuple[int, str]

CLIENT = """
    int g_Asked;
    public void OnPluginStart() { RegServerCmd("ask", Command_Ask); RegServerCmd("post", Command_Post); }
    HTTPRequest Prepare()
    {
        char url[64];
        GetCmdArg(1, url, sizeof(url));
        HTTPRequest request = new HTTPRequest(url);
        request.SetHeader("X-Secret", "%s", "100% secret");
        request.Timeout = 2;
        request.MaxRedirects = 0;
        return request;
    }
    Action Command_Ask(int args)
    {
        Prepare().Get(OnAnswer, ++g_Asked);
        return Plugin_Handled;
    }
    Action Command_Post(int args)
    {
        JSONObject body = new JSONObject();
        JSONArray list = new JSONArray();
        JSONObject item = new JSONObject();
        item.SetString("id", "76561198000000001");
        item.SetFloat("at", 0.5);
        item.SetBool("bot", false);
        list.Push(item);
        body.Set("players", list);
        body.SetInt64("boot", "1763622000123");
        body.SetNull("none");
        Prepare().Post(body, OnAnswer, 42);
        delete item;
        delete list;
        delete body;
        return Plugin_Handled;
    }
    void OnAnswer(HTTPResponse response, any value, const char[] error)
    {
        PrintToServer("%d: %d %s", value, response.Status, error);
        if (response.Status == HTTPStatus_Invalid)
        {
            return;
        }
        JSONObject data = view_as<JSONObject>(response.Data);
        PrintToServer("keys %d", data.Size);
    }"""


class Daemon:
    """A scripted HTTP server: answers with `replies` in turn, then with the last; remembers what it was sent."""

    def __init__(self) -> None:
        self.replies: list[Reply] = [(200, '{"ok": true}')]
        self.requests: list[tuple[str, str, dict[str, str], str]] = []
        daemon = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
                daemon.requests.append((self.command, self.path, dict(self.headers), body))
                status, text = daemon.replies.pop(0) if len(daemon.replies) > 1 else daemon.replies[0]
                self.send_response(status)
                self.send_header("Location" if 300 <= status < 400 else "X-Rig", "/elsewhere")
                self.send_header("Content-Length", str(len(text.encode())))
                self.end_headers()
                self.wfile.write(text.encode())

            do_GET = do_POST = answer

            def log_message(self, *args: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1/events"
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def stop(self) -> None:
        """Stop serving and close the port."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    """A server on a free loopback port."""
    server = Daemon()
    yield server
    server.stop()


def test_a_post_is_real_http_with_the_formatted_header_and_the_json_body(
    game: Game, script: Script, daemon: Daemon
) -> None:
    plugin = script(CLIENT)
    game.rcon(f"post {daemon.url}")
    game.settle()
    [(method, path, headers, body)] = daemon.requests
    assert (method, path, headers["X-Secret"]) == ("POST", "/v1/events", "100% secret")
    assert headers["Content-Type"] == "application/json"
    assert json.loads(body) == {
        "players": [{"id": "76561198000000001", "at": 0.5, "bot": False}],
        "boot": 1763622000123,
        "none": None,
    }
    assert game.sm.console == ["42: 200 ", "keys 1"]
    assert not game.sm.handles.live(plugin)


def test_an_answer_never_comes_in_the_frame_that_asked(game: Game, script: Script, daemon: Daemon) -> None:
    script(CLIENT)
    game.rcon(f"ask {daemon.url}")
    assert game.sm.console == []
    game.frame()
    assert game.sm.console == ["1: 200 ", "keys 1"]


def test_one_answer_is_delivered_per_frame_in_the_order_of_asking(game: Game, script: Script, daemon: Daemon) -> None:
    script(CLIENT)
    for _ in range(3):
        game.rcon(f"ask {daemon.url}")
    delivered = []
    for _ in range(3):
        game.frame()
        delivered.append([line for line in game.sm.console if ":" in line])
        game.sm.console.clear()
    assert delivered == [["1: 200 "], ["2: 200 "], ["3: 200 "]]


def test_a_dead_daemon_is_status_zero_and_a_text(game: Game, script: Script, daemon: Daemon) -> None:
    script(CLIENT)
    daemon.stop()
    game.rcon(f"ask {daemon.url}")
    game.settle()
    assert game.sm.console == ["1: 0 Couldn't connect to server"]


def test_the_rig_can_cut_the_network(game: Game, script: Script, daemon: Daemon) -> None:
    script(CLIENT)
    game.sm.http.offline = True
    game.rcon(f"ask {daemon.url}")
    game.settle()
    assert (game.sm.console, daemon.requests) == (["1: 0 Couldn't connect to server"], [])


def test_a_held_answer_comes_when_released_or_times_out_on_the_games_clock(
    game: Game, script: Script, daemon: Daemon
) -> None:
    script(CLIENT)
    game.sm.http.held = True
    game.rcon(f"ask {daemon.url}")
    game.advance(1.0)
    assert game.sm.console == []
    game.sm.http.held = False
    game.frame()
    assert game.sm.console == ["1: 200 ", "keys 1"]

    game.sm.http.held = True
    game.rcon(f"ask {daemon.url}")
    game.advance(2.1)
    assert game.sm.console[2:] == ["2: 0 Timeout was reached"]


NO_JSON = ["", "no json", '{"id": 92233720368547758070}', '{"id": Infinity}', '{"ok"', "NaN", '"a string"', "[1,]"]


@pytest.mark.parametrize("body", NO_JSON)
def test_data_throws_on_what_is_no_json_and_ends_the_callback(
    game: Game, script: Script, daemon: Daemon, body: str
) -> None:
    script(CLIENT)
    daemon.replies = [(500, body)]
    game.rcon(f"ask {daemon.url}")
    game.settle()
    assert game.sm.console == ["1: 500 "]
    assert game.sm.log.take_faults()[0].startswith("Invalid JSON in line -1")


def test_a_redirect_that_may_not_be_followed_is_a_transport_failure(game: Game, script: Script, daemon: Daemon) -> None:
    script(CLIENT)
    daemon.replies = [(302, "{}")]
    game.rcon(f"ask {daemon.url}")
    game.settle()
    assert game.sm.console == ["1: 0 Number of redirects hit maximum amount"]
    assert len(daemon.requests) == 1


def test_answers_for_an_unloaded_plugin_come_to_nobody_and_survive_a_map_change(
    game: Game, script: Script, daemon: Daemon
) -> None:
    plugin = script(CLIENT)
    game.start_map("cp_badlands")
    game.rcon(f"ask {daemon.url}")
    game.start_map("ctf_2fort")
    game.settle()
    assert game.sm.console == ["1: 200 ", "keys 1"]
    game.rcon(f"ask {daemon.url}")
    game.unload(plugin)
    game.settle()
    assert len(game.sm.console) == 2


READER = """
    public void OnPluginStart() { RegServerCmd("get", Command_Get); RegServerCmd("keep", Command_Keep); }
    JSONObject Parsed() { return JSONObject.FromString("%s"); }
    Action Command_Get(int args)
    {
        JSONObject data = Parsed();
        char key[16], text[32];
        GetCmdArg(1, key, sizeof(key));
        bool found = data.GetString(key, text, sizeof(text));
        bool long_found = data.GetInt64(key, text, sizeof(text));
        PrintToServer("text %%d int64 %%d %%s", found, long_found, text);
        PrintToServer("int %%d", data.GetInt(key));
        PrintToServer("float %%.1f", data.GetFloat(key));
        PrintToServer("null %%d", data.IsNull(key));
        delete data;
        return Plugin_Handled;
    }
    Action Command_Keep(int args)
    {
        JSONObject data = Parsed();
        JSONArray list = view_as<JSONArray>(data.Get("list"));
        list.PushInt(3);
        PrintToServer("length %%d", view_as<JSONArray>(data.Get("list")).Length);
        delete list;
        delete data;
        return Plugin_Handled;
    }"""
DATA = r"{\"big\": 76561198000000001, \"whole\": 1000, \"real\": 2.5, \"word\": \"x\", \"list\": [1], \"no\": null}"


@pytest.mark.parametrize(
    ("key", "lines"),
    [
        ("big", ["text 0 int64 1 76561198000000001", "int 39734273", "float 76561202255233024.0", "null 0"]),
        ("whole", ["text 0 int64 1 1000", "int 1000", "float 1000.0", "null 0"]),
        ("real", ["text 0 int64 1 0", "int 0", "float 2.5", "null 0"]),
        ("word", ["text 1 int64 1 0", "int 0", "float 0.0", "null 0"]),
        ("no", ["text 0 int64 1 0", "int 0", "float 0.0", "null 1"]),
    ],
)
def test_json_values_are_read_as_the_extension_reads_them(
    game: Game, script: Script, key: str, lines: list[str]
) -> None:
    script(READER % DATA)
    assert game.rcon(f"get {key}") == lines


def test_json_refuses_what_it_cannot_hold(game: Game, script: Script) -> None:
    script("""
        public void OnPluginStart() { }
        public void OnMapStart()
        {
            JSONObject data = new JSONObject();
            char cut[3];
            cut[0] = 0xE6;
            cut[1] = 0xBC;
            PrintToServer("%d %d", data.SetString("name", cut), data.SetFloat("rating", 1.0 / float(MaxClients - 24)));
            PrintToServer("%d %d", data.SetString("name", "漢"), data.Size);
            delete data;
        }""")
    game.start_map("cp_badlands")
    assert game.sm.console == ["0 0", "1 0"]


def test_a_missing_key_throws_except_for_strings(game: Game, script: Script) -> None:
    plugin = script(READER % DATA)
    assert game.rcon("get missing") == ["text 0 int64 0 "]
    assert game.sm.log.take_faults() == ["Could not retrieve value for key 'missing'"]
    assert game.sm.handles.live(plugin) == {"JSONObject": 1}


def test_a_child_is_shared_and_its_handle_must_be_closed(game: Game, script: Script) -> None:
    plugin = script(READER % DATA)
    assert game.rcon("keep") == ["length 2"]
    assert game.sm.handles.live(plugin) == {"JSONArray": 1}
