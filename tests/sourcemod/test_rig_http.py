"""sm-ripext's natives do real HTTP and give the answers back as the extension does."""

import json
from collections.abc import Callable, Iterator
from threading import Event

import pytest

from tests.sourcemod.peer import Peer, answer
from tests.sourcemod.rig import Game, Plugin

Script = Callable[..., Plugin]

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


@pytest.fixture
def peer() -> Iterator[Peer]:
    """A server on a free loopback port that answers 200 and an object, unless its scripts are replaced."""
    server = Peer()
    yield server
    server.stop()


def test_a_post_is_real_http_with_the_formatted_header_and_the_json_body(
    game: Game, script: Script, peer: Peer
) -> None:
    plugin = script(CLIENT)
    game.rcon(f"post {peer.url}")
    game.settle()
    [request] = peer.requests
    head, _, body = request.partition("\n\n")
    assert head.splitlines()[0] == "POST /v1/events HTTP/1.1"
    assert {"X-Secret: 100% secret", "Content-Type: application/json", "Accept: application/json"} < set(
        head.splitlines()
    )
    assert json.loads(body) == {
        "players": [{"id": "76561198000000001", "at": 0.5, "bot": False}],
        "boot": 1763622000123,
        "none": None,
    }
    assert game.sm.console == ["42: 200 ", "keys 1"]
    assert not game.sm.handles.live(plugin)


def test_a_request_starts_in_the_next_frame_and_is_answered_in_the_one_after(
    game: Game, script: Script, peer: Peer
) -> None:
    script(CLIENT)
    game.rcon(f"ask {peer.url}")
    assert peer.requests == []
    game.frame()
    assert game.sm.console == []
    game.frame()
    assert game.sm.console == ["1: 200 ", "keys 1"]


def test_answers_come_one_a_frame_in_the_order_in_which_they_ended(game: Game, script: Script, peer: Peer) -> None:
    first, other = Event(), Peer([answer(201, "{}")])
    peer.scripts = [[first, answer(200, "{}")]]
    script(CLIENT)
    game.rcon(f"ask {peer.url}")
    game.rcon(f"ask {other.url}")
    delivered = []
    for _ in range(3):
        game.frame()
        delivered.append([line for line in game.sm.console if ":" in line])
        game.sm.console.clear()
        if delivered[-1]:
            first.set()
    other.stop()
    assert delivered == [[], ["2: 201 "], ["1: 200 "]]


def test_ten_requests_start_in_a_frame(game: Game, script: Script, peer: Peer) -> None:
    script(CLIENT)
    for _ in range(25):
        game.rcon(f"ask {peer.url}")
    started = []
    for _ in range(4):
        game.frame()
        started.append(sum(flight.since is not None for flight in game.sm.http.flying))
    assert started == [10, 19, 23, 22]
    game.settle()
    assert len(peer.requests) == 25


def test_a_frame_waits_no_longer_than_the_rig_is_patient(game: Game, script: Script, peer: Peer) -> None:
    answered = Event()
    peer.scripts = [[answered, answer(200, "{}")]]
    game.sm.http.patience = 0.0
    script(CLIENT)
    game.rcon(f"ask {peer.url}")
    game.advance(0.5)
    assert game.sm.console == []
    answered.set()
    game.sm.http.patience = None
    game.settle()
    assert game.sm.console == ["1: 200 ", "keys 0"]


def test_a_dead_daemon_is_status_zero_and_a_text(game: Game, script: Script) -> None:
    dead = Peer()
    dead.stop()
    script(CLIENT)
    game.rcon(f"ask {dead.url}")
    game.settle()
    assert game.sm.console == [f"1: 0 Failed to connect to 127.0.0.1 port {dead.port}: Connection refused"]


def test_the_rig_can_cut_the_network(game: Game, script: Script, peer: Peer) -> None:
    script(CLIENT)
    game.sm.http.offline = True
    game.rcon(f"ask {peer.url}")
    game.settle()
    text = f"1: 0 Failed to connect to 127.0.0.1 port {peer.port}: Connection refused"
    assert (game.sm.console, peer.requests) == ([text], [])


def test_a_held_answer_comes_when_released_or_times_out_on_the_games_clock(
    game: Game, script: Script, peer: Peer
) -> None:
    script(CLIENT)
    game.sm.http.held = True
    game.rcon(f"ask {peer.url}")
    game.advance(1.0)
    assert game.sm.console == []
    game.sm.http.held = False
    game.frame()
    assert game.sm.console == ["1: 200 ", "keys 1"]

    game.sm.http.held = True
    game.rcon(f"ask {peer.url}")
    game.advance(2.1)
    [line] = game.sm.console[2:]
    assert line.startswith("2: 0 Operation timed out after 2")


NO_JSON = [
    "",
    "no json",
    '{"id": 92233720368547758070}',
    '{"id": Infinity}',
    '{"ok"',
    "NaN",
    '"a string"',
    "[1,]",
    r'{"name": "\u0000"}',
    '{"x": 1e999}',
]


@pytest.mark.parametrize("body", NO_JSON)
def test_data_throws_on_what_is_no_json_and_ends_the_callback(
    game: Game, script: Script, peer: Peer, body: str
) -> None:
    script(CLIENT)
    peer.scripts = [[answer(500, body)]]
    game.rcon(f"ask {peer.url}")
    game.settle()
    assert game.sm.console == ["1: 500 "]
    place = "line 1" if body else "line -1, column -1"
    assert game.sm.log.take_faults()[0].startswith(f"Invalid JSON in {place}")


def test_answers_for_an_unloaded_plugin_come_to_nobody_and_survive_a_map_change(
    game: Game, script: Script, peer: Peer
) -> None:
    plugin = script(CLIENT)
    game.start_map("cp_badlands")
    game.rcon(f"ask {peer.url}")
    game.start_map("ctf_2fort")
    game.settle()
    assert game.sm.console == ["1: 200 ", "keys 1"]
    game.rcon(f"ask {peer.url}")
    game.unload(plugin)
    game.settle()
    assert len(game.sm.console) == 2
    assert len(peer.requests) == 2  # the extension sends what is queued all the same


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


LISTS = """
    public void OnPluginStart() { RegServerCmd("try", Command_Try); }
    Action Command_Try(int args)
    {
        JSONArray list = new JSONArray();
        char text[12], number[32];
        list.PushInt(7);
        list.PushInt64("-9223372036854775808");
        list.GetInt64(1, number, sizeof(number));
        PrintToServer("int64 %s", number);
        PrintToServer("self %d", list.Push(list));
        PrintToServer("remove %d %d %d", list.Remove(5), list.Remove(-1), list.Remove(1));
        PrintToServer("string %d", list.GetString(0, text, sizeof(text)));
        PrintToServer("set %d %d", list.SetInt(0, 1), list.SetInt(1, 1));
        JSONObject item = new JSONObject();
        item.SetString("name", "Ann");
        PrintToServer("%d %d", item.Remove("nothing"), item.ToString(text, sizeof(text)));
        PrintToServer("%s", text);
        item.ToString(text, sizeof(text), JSON_COMPACT);
        PrintToServer("%s", text);
        JSONObjectKeys keys = item.Keys();
        item.SetBool("more", true);
        delete item;
        delete list;
        char key[8];
        keys.ReadKey(key, sizeof(key));
        return Plugin_Handled;
    }"""


def test_arrays_texts_and_keys_behave_as_the_extensions(game: Game, script: Script) -> None:
    script(LISTS)
    assert game.rcon("try") == [
        "int64 -922337203685477580", "self 0", "remove 0 0 1", "string 0", "set 1 0", "0 1",
        '{"name": "A', '{"name":"An',
    ]  # fmt: skip
    assert game.sm.log.take_faults() == ["The object was changed while its keys were read"]


def test_an_index_that_is_not_there_is_an_error_to_the_getters(game: Game, script: Script) -> None:
    script("""
        public void OnMapStart()
        {
            JSONArray list = new JSONArray();
            list.GetInt(3);
        }""")
    game.start_map("cp_badlands")
    assert game.sm.log.take_faults() == ["Could not retrieve value at index 3"]


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
