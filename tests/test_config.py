"""The configuration is read strictly, the example is its reference, and every refusal names the key."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import tomllib
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import pytest

from equipoise import config, ratings
from equipoise.config import Pool, state_directory
from equipoise.config.differences import compare, pool_table, printed, without_restart
from equipoise.config.sections import Store
from equipoise.core.rules import DEFAULT_TRIGGERS, ArenaRules, Rules, ScrambleRules, Triggers
from equipoise.errors import ConfigError
from equipoise.wire import GAMES

EXAMPLE = Path(__file__).parents[1] / "config.example.toml"
DIGEST = hashlib.sha256(b"secret").hexdigest()
OWNERS = hashlib.sha256(b"owner").hexdigest()
SMALL = """
[pool.main]
[server.arena-1]
secret_file = "arena-1.sha256"
[token.owner]
secret_file = "owner.sha256"
role = "admin"
"""


def write(folder: Path, text: str) -> Path:
    (folder / "arena-1.sha256").write_text(DIGEST + "\n")
    (folder / "owner.sha256").write_text(OWNERS)
    path = folder / "config.toml"
    path.write_text(text)
    return path


def load(folder: Path, text: str, **environ: str) -> config.Config:
    return config.load(write(folder, text), environ)


def plain(table: dict[str, Any]) -> dict[str, Any]:
    """Without the required keys."""
    return {key: value for key, value in table.items() if key not in ("secret_file", "role")}


def message(folder: Path, text: str) -> str:
    """What a refusal says, below the name of the configuration."""
    with pytest.raises(ConfigError) as refusal:
        load(folder, text)
    said = str(refusal.value)
    assert said.startswith(f"{folder / 'config.toml'}: ")
    return said.removeprefix(f"{folder / 'config.toml'}: ")


def test_the_example_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "secrets").mkdir()
    for name, digest in (("arena-1", DIGEST), ("owner", OWNERS)):
        (tmp_path / "secrets" / f"{name}.sha256").write_text(digest)
    read = load(tmp_path, EXAMPLE.read_text())
    assert list(read.servers) == ["arena-1"]
    assert read.tokens["owner"].role == "admin"


def test_the_example_has_every_key_with_its_default() -> None:
    example = tomllib.loads(EXAMPLE.read_text())
    pool, server, token = (example.pop(table) for table in ("pool", "server", "token"))
    defaults = config.File()
    for table in ("web", "public", "store", "retention", "backup", "splits", "log", "shared"):
        section = getattr(defaults, table)
        assert example.pop(table) == {
            key: list(value) if isinstance(value, tuple) else value
            for key in section.__struct_fields__
            for value in [getattr(section, key)]
            if value is not None
        }
    triggers = {mode: {k: v for k, v in asdict(line).items() if v} for mode, line in DEFAULT_TRIGGERS.items()}
    rules = json.loads(json.dumps({**asdict(Rules()), "triggers": triggers}))
    rules["vote"].pop("when")  # its default is the game's
    assert example == {k: v for k, v in rules.items() if v is not None}
    assert "# sides = " in EXAMPLE.read_text()
    assert '# when = "early"' in EXAMPLE.read_text()
    params = dataclasses.asdict(ratings.create("synelo").params)
    own = {"system": "synelo", "balance": "joint"}
    assert pool["main"] == {**own, **{k: v for k, v in params.items() if v is not None}}
    assert "# theta = " in EXAMPLE.read_text()
    unset = {"secret_sha256", "rcon", "rcon_user", "rcon_password_file", "query"}
    assert server["arena-1"].keys() == set(config.ServerKeys.__struct_fields__) - unset
    assert all(f"# {key} = " in EXAMPLE.read_text() for key in unset)
    assert plain(server["arena-1"]) == {"pool": "main", "game": "tf2"}
    assert token["owner"].keys() == set(config.TokenKeys.__struct_fields__) - {"secret_sha256"}
    commented = EXAMPLE.read_text().partition("# [notice.discord]\n")[2]
    lines = [line.removeprefix("# ") for line in commented.splitlines() if " = " in line]
    notice = tomllib.loads("\n".join(lines))
    assert notice.keys() == set(config.NoticeKeys.__struct_fields__)
    assert (notice["events"], notice["status"]) == (list(get_args(config.Event)), False)


def test_every_number_of_the_rules_has_a_range() -> None:
    def unlimited(rules: type) -> Iterator[str]:
        for name, hint in get_type_hints(rules, include_extras=True).items():
            if dataclasses.is_dataclass(hint):
                yield from unlimited(hint)  # type: ignore[arg-type]  # a class, as all hints here
            elif {int, float} & {hint, *get_args(hint)} and get_origin(hint) is not Annotated:
                yield f"{rules.__name__}.{name}"

    assert [*unlimited(Rules), *unlimited(Triggers)] == []


def test_the_games_are_those_of_the_wire() -> None:
    assert get_args(get_type_hints(config.ServerKeys)["game"]) == tuple(GAMES)


def test_a_file_without_keys_has_all_defaults(tmp_path: Path) -> None:
    read = load(tmp_path, "# nothing\n")
    assert (read.web, read.store, read.log) == (config.Web(), config.Store(), config.Log())
    assert (read.pools, read.servers, read.tokens) == ({}, {}, {})


def test_a_servers_own_rules_stand_over_those_of_all(tmp_path: Path) -> None:
    text = """
    poll_seconds = 2
    [scramble]
    tolerance = 0.02
    min_players = 5
    [pool.main]
    [server.arena-1]
    secret_file = "arena-1.sha256"
    silence_seconds = 30
    [server.arena-1.scramble]
    tolerance = 0
    [server.arena-1.arena]
    round_one = "everyone"
    """
    rules = load(tmp_path, text).servers[config.ServerId("arena-1")].rules
    assert rules == Rules(
        arena=ArenaRules(round_one="everyone"),
        scramble=ScrambleRules(tolerance=0, min_players=5),
        silence_seconds=30,
        poll_seconds=2,
    )


WRONG = (
    ("[arena]\nround_on = 3", "$.arena.round_on"),
    ("silence = 3", "$.silence"),
    ("[web]\nprot = 1", "$.web.prot"),
    ("[web]\nport = 65536", "$.web.port"),
    ("[web]\nport = '1'", "$.web.port"),
    ("[web]\nhost = '0.0.0.0'", "$.web.host"),
    ("[web]\nhost = 'example.org'", "$.web.host"),
    ("[store]\ndirectory = 3", "$.store.directory"),
    ("[retention]\ndecisions_days = -1", "$.retention.decisions_days"),
    ("[retention]\naudit_days = nan", "$.retention.audit_days"),
    ("[retention]\nrounds_days = 29", "$.retention.rounds_days"),
    ('[backup]\nat = "24:00"', "$.backup.at"),
    ('[backup]\nat = "4:30"', "$.backup.at"),
    ("[backup]\nkeep = -1", "$.backup.keep"),
    ("[retention]\nplayers_days = 90", "$.retention.players_days"),
    ("[scramble]\ntolerance = nan", "$.scramble.tolerance"),
    ("[scramble]\ntolerance = 0.6", "$.scramble.tolerance"),
    ("poll_seconds = inf", "$.poll_seconds"),
    ("arena = 3", "$.arena"),
    ("[pool.main]\nsystem = 'trueskil'", "$.pool.main.system"),
    ("[pool.main]\nsystem = 'fifa_men'", "$.pool.main.system"),
    ("[pool.main]\nkmax = 12", "$.pool.main.kmax"),
    ("[pool.main]\nk_max = 0", "$.pool.main.k_max"),
    ("[pool.main]\nk_max = 12.5", "$.pool.main.k_max"),
    ("[pool.main]\nk_factor_min = 80", "$.pool.main.k_factor_min"),
    ("[pool.main]\nbalance = 'trueskil'", "$.pool.main.balance"),
    ("[pool.main]\nbalance = 3", "$.pool.main.balance"),
    ("[pool.main]\nbalance = 'fifa_men'", "$.pool.main.balance"),
    ("[pool.main]\nbalance = 'elo'\nbalance_params = 3", "$.pool.main.balance_params"),
    ("[pool.main]\nbalance = 'elo'\nbalance_params.kk = 3", "$.pool.main.balance_params.kk"),
    ("[pool.main]\nbalance_params.k = 3", "$.pool.main.balance_params"),
    ("[pool.'../x']", '$.pool."../x"'),
    ("[pool.main]\n[server.a]\npool = 'main'", "$.server.a.secret_sha256"),
    ("[server.a]\nsecret_file = 'arena-1.sha256'", "$.server.a.pool"),
    ("[server.a]\nsecret_file = 3", "$.server.a.secret_file"),
    ("[pool.main]\n[server.a]\nsecret_file = 'gone'", "$.server.a.secret_file"),
    ("[pool.main]\n[server.a]\nsecret_file = 'config.toml'", "$.server.a.secret_file"),
    ("[pool.main]\n[server.a]\nsecret_file = '.'", "$.server.a.secret_file"),
    ("[vote]\nfraction = 1.5", "$.vote.fraction"),
    ("[scramble]\nfair_band = [0.4]", "$.scramble.fair_band"),
    ("[scramble]\nfair_band = [-0.1, 0.5]", "$.scramble.fair_band[0]"),
    ("[scramble]\nfair_band = [0, 0.4]", "$.scramble.fair_band"),
    ("[shuffle]\nfair_band = [0.2, 0.3]", "$.shuffle.fair_band"),
    ("sides = ['Allies', 'Allies']", "$.sides"),
    ("sides = ['Allies', '']", "$.sides"),
    ("sides = ['Allies', 'A\\nxis']".replace("'", '"'), "$.sides"),
    ("sides = ['Allies']", "$.sides"),
    ("[other]\nstreak = 1", "$.other"),
    ("other = 3", "$.other"),
    ("[scramble]\nrounds = 0", "$.scramble.rounds"),
    ("triggers = 3", "$.triggers"),
    ("[triggers]\nkoth = 3", "$.triggers.koth"),
    ("[triggers]\nkoth = { streak = -1 }", "$.triggers.koth.streak"),
    ("[triggers]\nkoth = { waiting = 1 }", "$.triggers.koth.waiting"),
    ("[triggers]\narena = { no_capture = true }", "$.triggers.arena.no_capture"),
    ("[triggers]\npayload_race = { no_capture = true }", "$.triggers.payload_race.no_capture"),
    (
        SMALL.replace("[token", "[server.arena-1.triggers]\nkoth.strek = 1\n[token"),
        "$.server.arena-1.triggers.koth.strek",
    ),
    ("arena.streak = 4\ntriggers.arena = {}", "$.arena.streak"),
    ("scramble.rounds = 4\ntriggers.payload = {}", "$.scramble.rounds"),
    ("other.rounds = 4\ntriggers.other = {}", "$.other"),
    ("maps = 3", "$.maps"),
    ("[maps]\nvsh_ = []", "$.maps.vsh_"),
    ("[maps]\n'' = 'off'", '$.maps.""'),
    ("[maps]\n'workshop/' = 'off'", '$.maps."workshop/"'),
    ("[maps]\n'dm_*' = 'off'", '$.maps."dm_*"'),
    ("[maps]\n\"dm\\n\" = 'off'", '$.maps."dm\\n"'),
    ("[maps]\ndm_ = 'off'\nDM_ = 'rate'", "$.maps.DM_"),
    ('"sil\\nence" = 3', '$."sil\\nence"'),
    (SMALL + "[server.arena-1.maps]\nvsh_ = true", "$.server.arena-1.maps.vsh_"),
    (SMALL + "game = 'tf2'", "$.token.owner.game"),
    (SMALL.replace("owner.sha256", "arena-1.sha256"), "$.token.owner"),
    ("[server.a]\nsecret_sha256 = 3", "$.server.a.secret_sha256"),
    ("[pool.main]\n[server.a]\nsecret_sha256 = 'secret'", "$.server.a.secret_sha256"),
    ("[token.a]\nrole = 'viewer'", "$.token.a.secret_sha256"),
    ("[token.a]\nsecret_file = 'owner.sha256'", "$.token.a.role"),
    (SMALL + f"secret_sha256 = '{DIGEST}'", "$.token.owner.secret_file"),
    (SMALL + f"[token.two]\nrole = 'viewer'\nsecret_sha256 = '{DIGEST}'", "$.token.two"),
    (SMALL + "[server.arena-1.scramble]\ntolerence = 1", "$.server.arena-1.scramble.tolerence"),
    (SMALL + "[server.arena-1.lock]\nminutes = -1", "$.server.arena-1.lock.minutes"),
)


def refused(folder: Path, text: str) -> str:
    """The path that a refusal names, in one line; "accepted" where there is no refusal."""
    try:
        load(folder, text)
    except ConfigError as error:
        return error.path if "\n" not in str(error) else str(error)
    return "accepted"


def test_what_is_wrong_is_named_by_its_path(tmp_path: Path) -> None:
    assert {text: refused(tmp_path, text) for text, _ in WRONG} == dict(WRONG)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[vote]\nenabled = 1", "$.vote.enabled: expected true or false, got a whole number"),
        ("[vote]\nmin_players = 1", "$.vote.min_players: expected a whole number >= 2"),
        ("[scramble]\nfair_band = 0.5", "$.scramble.fair_band: expected an array, got a number"),
        ("[scramble]\nfair_band = [0.4, 1.5]", "$.scramble.fair_band[1]: expected a number <= 1.0"),
        ("[scramble]\nfair_band = [0.6, 0.4]", "$.scramble.fair_band: 0.6 is above 0.4: the lower end comes first"),
        (
            "[scramble]\nfair_band = [0.6, 0.9]",
            "$.scramble.fair_band: 0.5, equal chances, is not in it; [0, 0] means that no teams count as even",
        ),
        ("vote = 'off'", "$.vote: expected a table, got a string"),
        ("[maps]\nvsh_ = 'on'", "$.maps.vsh_: must be off, rate or balance"),
        # A misspelt key, with the one that it is like.
        ("[retention]\ndecision_days = 9", "$.retention.decision_days: no such key; is it decisions_days?"),
        ("[retentions]\ndecisions_days = 9", "$.retentions: no such key; is it retention?"),
        ("admin_command = false", "$.admin_command: no such key; is it admin_commands?"),
        (SMALL.replace("[token", "gama = 1\n[token"), "$.server.arena-1.gama: no such key; is it game?"),
        ("[web]\nretention = 9", "$.web.retention: no such key"),
        # A key in a wrong table, with its own.
        ("[arena]\nstreak = 2", "$.arena.streak: no such key; `streak` belongs to a line of [triggers]"),
        ("[vote]\nfair_band = 2", "$.vote.fair_band: no such key; `fair_band` belongs to [scramble] or [shuffle]"),
        ("[log]\nmin_players = 2", "$.log.min_players: no such key; `min_players` belongs to [scramble] or [vote]"),
        (
            SMALL + "poll_seconds = 2",
            "$.token.owner.poll_seconds: no such key; "
            "`poll_seconds` belongs to the top of the file, above the first table",
        ),
        (
            SMALL.replace("[token", "k_max = 9\n[token"),
            "$.server.arena-1.k_max: no such key; `k_max` belongs to [pool.NAME]",
        ),
        # A word that is none of a key's, with those there are.
        (SMALL.replace("[token", 'game = "hl3"\n[token'), "$.server.arena-1.game: there is tf2, ns2, other, not 'hl3'"),
        ("[log]\nlevel = 'loud'", "$.log.level: there is debug, info, warning, error, not 'loud'"),
        ("[arena]\nround_one = 'all'", "$.arena.round_one: there is duel, everyone, not 'all'"),
        (SMALL.replace("admin", "god"), "$.token.owner.role: there is viewer, admin, not 'god'"),
        (SMALL.replace('role = "admin"', ""), "$.token.owner.role: this key is required: viewer, admin"),
        # What a mode cannot have, with what to write.
        ("triggers.ns2 = {}", "$.triggers.ns2: teams of NS2 are shuffled: [shuffle] says when; remove this line"),
        ("triggers.kohth = {}", "$.triggers.kohth: no such mode; is it koth?"),
        ("triggers.koth.round_two = true", "$.triggers.koth.round_two: only arena has it; remove it"),
        (
            "triggers.arena.waiting = true",
            "$.triggers.arena.waiting: arena waits for nobody; write round_two = true for a scramble in round 2",
        ),
    ],
)
def test_what_is_wrong_is_answered_with_what_to_write(tmp_path: Path, text: str, said: str) -> None:
    assert message(tmp_path, text) == said


def test_what_a_mode_cannot_have_may_be_said_to_be_off(tmp_path: Path) -> None:
    assert load(tmp_path, "triggers.arena.waiting = false").servers == {}


def test_maps_are_added_to_the_defaults_and_a_servers_own_to_those(tmp_path: Path) -> None:
    text = SMALL.replace("[token", '[server.arena-1.maps]\n"cp_a.v2" = "rate"\nvsh_ = "rate"\n[token')
    read = load(tmp_path, text + '[maps]\nvsh_ = "balance"\ncp_a = "off"')
    expected = {**Rules().maps, "cp_a": "off", "cp_a.v2": "rate", "vsh_": "rate"}
    assert read.servers[config.ServerId("arena-1")].rules.maps == expected
    assert tomllib.loads("\n".join(printed(read)))["server"]["arena-1"]["maps"] == expected


def triggers(read: config.Config, mode: str) -> Triggers:
    return read.servers[config.ServerId("arena-1")].rules.triggers[mode]


def test_a_line_of_triggers_is_all_that_makes_a_scramble_due_in_its_mode(tmp_path: Path) -> None:
    own = "[server.arena-1.triggers]\nkoth = { streak = 3 }\n[token"
    text = "[triggers]\nkoth = { waiting = true }\nctf = {}\n" + SMALL.replace("[token", own)
    read = load(tmp_path, text)
    assert triggers(read, "koth") == Triggers(streak=3), "a server's line stands over that of all, as a whole"
    assert triggers(read, "ctf") == Triggers()
    assert triggers(read, "arena") == DEFAULT_TRIGGERS["arena"] == Triggers(round_two=True, streak=3, chance=True)
    printed_lines = tomllib.loads("\n".join(printed(read)))["server"]["arena-1"]["triggers"]
    assert (printed_lines["koth"], printed_lines["ctf"]) == ({"streak": 3}, {})


def test_a_default_of_a_map_is_overridden_in_any_spelling(tmp_path: Path) -> None:
    text = SMALL.replace("[token", "[server.arena-1.maps]\nVSH_dust = 'balance'\n[token")
    read = load(tmp_path, text + "[maps]\nVSH_ = 'balance'\nvsh_dust = 'rate'\n'workshop/ZI_' = 'rate'")
    maps = read.servers[config.ServerId("arena-1")].rules.maps
    assert maps == {**Rules().maps, "vsh_": "balance", "vsh_dust": "balance", "zi_": "rate"}


def test_a_pools_table_is_printed_as_it_is_read(tmp_path: Path) -> None:
    text = "[pool.main]\nsystem = 'teamskill_k'\nk = 3\nbase = 'elo'\nsettings.k = 24.0\n"
    (pool,) = load(tmp_path, text).pools.values()
    (again,) = load(tmp_path, "\n".join(pool_table(pool))).pools.values()
    assert again == pool


def test_the_state_directory_is_the_configured_one_else_systemds_else_the_users(tmp_path: Path) -> None:
    environ = {"STATE_DIRECTORY": "/var/lib/equipoise", "XDG_STATE_HOME": "/home/me/.state"}
    assert load(tmp_path, "[store]\ndirectory = '/srv'", **environ).directory == Path("/srv")
    assert load(tmp_path, "#", **environ).directory == Path("/var/lib/equipoise")
    assert load(tmp_path, "#", XDG_STATE_HOME="/home/me/.state").directory == Path("/home/me/.state/equipoise")


def test_the_machines_configuration_means_the_units_state_wherever_it_is_read_from(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def directory(config: str, **environ: str) -> str:
        return state_directory(Store(), {"XDG_STATE_HOME": "/home/me", **environ}, Path(config)).as_posix()

    assert directory("/etc/equipoise/config.toml") == "/var/lib/equipoise"
    assert directory("/etc/equipoise/config.toml", STATE_DIRECTORY="/srv") == "/srv"
    assert directory("/etc/equipoise/other.toml") == "/home/me/equipoise"
    monkeypatch.chdir("/etc")
    assert directory("equipoise/config.toml") == "/var/lib/equipoise"


def test_remote_listening_is_allowed_on_request(tmp_path: Path) -> None:
    read = load(tmp_path, "[web]\nhost = '0.0.0.0'\nallow_remote = true")
    assert read.web.host == "0.0.0.0"


def test_fewer_connections_than_two_for_each_server_are_refused(tmp_path: Path) -> None:
    servers = "".join(f'[server.s{number}]\nsecret_file = "arena-1.sha256"\n' for number in range(9))
    with pytest.raises(ConfigError, match=r"config\.toml: \$\.web\.max_connections: 9 servers need at least 18"):
        load(tmp_path, f"[web]\nmax_connections = 17\n[pool.main]\n{servers}")


def test_what_is_printed_is_the_effective_configuration_without_secrets(tmp_path: Path) -> None:
    lines = "\n".join(printed(load(tmp_path, SMALL + "[server.arena-1.triggers]\narena = { streak = 5 }")))
    table = tomllib.loads(lines)
    assert table["server"]["arena-1"]["arena"] == {"round_one": "duel", "swaps": True}
    assert table["server"]["arena-1"]["triggers"]["arena"] == {"streak": 5}
    assert table["pool"]["main"]["k_max"] == 12
    assert DIGEST not in lines


def test_numbers_of_a_pool_may_be_written_either_way(tmp_path: Path) -> None:
    lines = [*printed(load(tmp_path, "[pool.main]\nsystem = 'trueskill'\nsigma = 8\nshadow_rounds = 9.0\n"))]
    assert {"pool.main.sigma = 8.0", "pool.main.shadow_rounds = 9"} <= {*lines}


def test_a_balance_system_has_its_own_parameters(tmp_path: Path) -> None:
    text = "[pool.main]\nbalance = 'trueskill'\nbalance_params.sigma = 7.0\nk_max = 9\n"
    pool = load(tmp_path, text).pools["main"]
    assert (pool.system, pool.params, pool.balance, pool.balance_params) == (
        "synelo",
        {"k_max": 9},
        "trueskill",
        {"sigma": 7.0},
    )
    (tmp_path / "again").mkdir()
    lines = "\n".join(pool_table(pool))
    assert load(tmp_path / "again", lines).pools["main"] == pool
    assert "\n[pool.main.balance_params]\nsigma = 7.0" in lines, "as it stands in a file, where it would be given twice"
    itself = replace(pool, system="trueskill", params={"sigma": 7.0})
    (tmp_path / "itself").mkdir()
    read = load(tmp_path / "itself", "\n".join(pool_table(itself))).pools["main"]
    assert read == Pool("main", "trueskill", {"sigma": 7.0}), "the pool's own system is no other one"
    assert "pool.main.balance_params.sigma = 7.0" in [*printed(load(tmp_path, text))]


def test_without_the_key_the_pools_of_synelo_are_balanced_by_joint_and_others_by_themselves(tmp_path: Path) -> None:
    new = load(tmp_path, "[pool.main]\n[pool.elo]\nsystem = 'elo'\n[pool.old]\nbalance = 'synelo'\nk_max = 9\n").pools
    assert {name: (pool.balance, pool.balance_left_open) for name, pool in new.items()} == {
        "main": ("joint", True),
        "elo": (None, False),
        "old": (None, False),
    }
    (tmp_path / "again").mkdir()
    assert load(tmp_path / "again", "\n".join(pool_table(new["old"]))).pools["old"] == new["old"]


def test_a_change_of_the_balance_system_needs_a_restart_and_is_named(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    old = load(tmp_path, "[pool.main]\nbalance = 'elo'\n")
    new = load(tmp_path / "new", "[pool.main]\nbalance = 'elo'\nbalance_params.k = 20.0\n")
    assert compare(old, new).restart == ("pool.main.balance_params.k: 32 -> 20",)
    assert without_restart(old, new).pools == old.pools
    other = load(tmp_path / "new", "[pool.main]\nbalance = 'joint'\nbalance_params.spread = 0.5\n")
    named = ("pool.main.balance: elo -> joint", "pool.main.balance_params.spread: none -> 0.5")
    assert compare(old, other).restart == named, "the defaults of joint are no change that anybody made"
    none = load(tmp_path / "new", "[pool.main]\nsystem = 'elo'\n")
    assert compare(new, none).restart == (
        "pool.main.system: synelo -> elo",
        "pool.main.balance: elo -> none",
        "pool.main.balance_params.k: 20 -> none",
    )
