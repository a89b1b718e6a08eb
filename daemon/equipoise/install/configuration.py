"""A new configuration: its file, the owner's token, its first game servers, and the rules of the sources' documents."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from equipoise.errors import ConfigError
from equipoise.install.server_files import NewServer, Prepared, check_name, new_secret, prepare

Ruleset = Literal["equipoise", "source"]
"""The rules that a new configuration plays by: this program's defaults, or those of the documents it follows."""

_AS_BEFORE = 'Teams are made by the ratings that players see, as before; "joint", as in new pools, makes fairer ones.'
URL = "http://127.0.0.1:27500"
"""The address in a new configuration."""
_CONFIG = """\
# Equipoise. Every key with its unit and default: config.example.toml. `equipoise check-config` reads this file.
# Game servers stand in servers.d, each in a file of its own: `equipoise server add`, `equipoise server remove`.

{keys}[web]
host = "127.0.0.1"
port = 27500

[pool.main]
{pool}

{rules}[token.owner]
role = "admin"
secret_sha256 = "{digest}"
"""
_POOL = """\
system = "synelo"
# The largest team size; over several servers the median of theirs.
k_max = 12
# Teams are made by what is known best, also by what players do in a round as far as that has predicted results (off:
# scores = false in [pool.main.balance_params]). balance = "synelo" makes them by the ratings that players see.
balance = "joint"
# How far skills differ here is learnt from the rounds: `equipoise pool quality` says what was, and when."""
_NS2_POOL = """\
system = "ns2"
# The part of a commander's worth that is field skill; by 0, the source's, chairs differ as much as all others together.
commander_field_share = 0.25
# Its parameters: docs/ratings/ns2.md."""


def prepare_new(directory: Path, servers: Sequence[NewServer], rules: Ruleset = "equipoise") -> Prepared:
    """Return a configuration with these servers; nothing is written.

    ConfigError where one of its files exists already, or a server does not fit.
    """
    config = directory / "config.toml"
    files_by_name: dict[str, Path] = {}
    for server in servers:
        check_name(server.name, files_by_name)
        files_by_name[server.name] = config
    preparation = prepare(config, servers, URL)
    token, digest = new_secret()
    text = _text(rules, digest, ns2=all(server.game == "ns2" for server in servers))
    preparation.files.write(config, text.encode())
    preparation.files.write(directory / "owner.token", f"{token}\n".encode(), 0o600)
    for path in preparation.files.written():
        if path.exists():
            raise ConfigError(
                "exists already, and nothing is overwritten; `equipoise server add` adds a server to a configuration",
                file=path,
            )
    return preparation


def with_balance(text: str, pool: str, system: str) -> str | None:
    """Return a configuration's text with a line `balance` for a pool; None where the pool has no table of its own.

    >>> print(with_balance("[pool.main]\\nk_max = 9\\n", "main", "synelo"))
    [pool.main]
    # Teams are made by the ratings that players see, as before; "joint", as in new pools, makes fairer ones.
    balance = "synelo"
    k_max = 9
    <BLANKLINE>
    """
    line = f'# {_AS_BEFORE}\nbalance = "{system}"\n'
    result, count = re.subn(rf"(?m)^\[ *pool *\. *{re.escape(pool)} *\][^\n]*\n", lambda found: found[0] + line, text)
    return result if count == 1 else None


def with_database(text: str, pool: str, url: str | None, password_file: str = "") -> str | None:
    """Return a configuration's text with the database of a pool, None for none; None where the pool has no table.

    >>> print(with_database("[pool.main]\\nk_max = 9\\n", "main", "postgresql://equipoise@db/equipoise"))
    [pool.main]
    database = "postgresql://equipoise@db/equipoise"
    k_max = 9
    <BLANKLINE>
    """
    header = re.compile(rf"(?m)^\[ *pool *\. *{re.escape(pool)} *\][^\n]*\n")
    if len(headers := list(header.finditer(text))) != 1:
        return None
    start = headers[0].end()
    table = re.compile(r"(?m)^\[").search(text, start)
    end = len(text) if table is None else table.start()
    keys = re.sub(r"(?m)^database(_password_file)? *=[^\n]*\n", "", text[start:end])
    lines = "" if url is None else f"database = {json.dumps(url)}\n"
    lines += f"database_password_file = {json.dumps(password_file)}\n" if url and password_file else ""
    return text[:start] + lines + keys + text[end:]


def _text(rules: Ruleset, digest: str, *, ns2: bool) -> str:
    """Return a configuration file without game servers, for a pool of NS2 or of any other game."""
    keys, tables = "", ""
    pool = _NS2_POOL if ns2 else _POOL
    if rules == "source":
        pool = NS2_POOL if ns2 else TF2_POOL
        tables = (NS2_RULES if ns2 else TF2_RULES) + "\n\n"
        keys = FRIENDS_KEY + (NS2_KEYS if ns2 else "")
    return _CONFIG.format(keys=keys, pool=pool, rules=tables, digest=digest)


# The keys that `equipoise init --rules source` writes: by each the rules are those of their sources' documents.
#
# SynElo's is the description of its author, CdeYazoo; NS2's that of its author, Moultano. What no key can bring back,
# because the documents are mistaken there or say nothing, stands in docs/rules.md ("The sources, and what is otherwise
# here"). Keys whose default is the document's already are written all the same: an upgrade may change a default.

TF2_POOL = """\
# "Parameters": the table of the document, line by line.
system = "synelo"
# R_0, R_min: the first rating, and the least.
initial = 1000.0
floor = 100.0
# T_shadow, R_T_shadow: rounds before a rating is visible, and the most it is then.
shadow_rounds = 50
shadow_cap = 2200.0
# T_stale: days.
stale_days = 30.0
# K_min, K_max.
k_factor_min = 2.0
k_factor_max = 72.0
# F1: theta = 400 * floor(median{1, ..., k_max}), 2400 for 12 against 12. k_max is the largest team size; over several
# servers the median of theirs.
k_max = 12
# F3: W rounds, and the weights of velocity, of the excess of wins, and of volatility.
window = 500
velocity_weight = 0.25
excess_weight = 0.25
volatility_weight = 0.5
# F2: "All updates should use Banker's rounding."
rounding = "bankers"
# F2 asks who played, not how long.
late = "full"
# The ratings that players see make the teams, as GPE reads no others.
balance = "synelo"
# F4: sigma.
compression = 400.0"""

FRIENDS_KEY = """\
# The document knows no friends whom teams keep together.
friends = false

"""

TF2_RULES = """\
[arena]
# "Round 1 is always a 1v1 duel."
round_one = "duel"
# Teams are new by a scramble alone. Between two of them players come in from the queue and give way; no other moves.
swaps = false

[triggers]
# "Round 2 is always scrambled unconditionally"; later, "when one team wins 3 rounds in a row".
arena = { round_two = true, streak = 3 }
# "unconditional scramble when the Waiting For Players period expires", and "attackers run out of time without capturing
# any objectives or 2 full rounds completed".
attack_defend = { waiting = true, no_capture = true, rounds = 2 }
payload = { waiting = true, no_capture = true, rounds = 2 }
# "one team never captures the/a control point before the other team wins", or the flag.
koth = { waiting = true, no_capture = true }
symmetric_cp = { waiting = true, no_capture = true }
ctf = { waiting = true, no_capture = true }
# "All modes".
payload_race = { waiting = true }
other = { waiting = true }

[scramble]
# F7: the least k is 2.
min_players = 4
# F7: the least |sum(A) - sum(B)|, and nothing is given up for turns on the bench or for fewer moves.
tolerance = 0.0
# F7: "Player 0 (highest-rated) is anchored to team A", for every k.
top_player_always_plays = true
# F7 splits those who play.
spectator_seconds = 0.0

[autobalance]
# "Only trigger when |k(A) - k(B)| >= 2."
enabled = true
# F11: "Apply within 10 seconds of the imbalance being detected."
deadline_seconds = 10.0
# F11 knows neither players who were moved lately nor a round's last seconds.
spare_minutes = 0.0
quiet_seconds = 0.0
# Nor what players did for their side.
objective_seconds = 0.0

[lock]
# The document says nothing of locks: nobody is held to a side.
minutes = 0.0

[vote]
# The document says what triggers a scramble; a vote is not among it.
enabled = false"""

NS2_KEYS = """\
# The document knows no round that is too short to count.
ns2_min_seconds = 0.0
# Nor one of too few players.
min_rated_humans = 2

"""

NS2_POOL = """\
system = "ns2"
# "Learning Rate": c, a and epsilon "are tunable parameters"; it prints no values, these are the program's.
constant_rate = 0.2
adagrad_rate = 0.6
adagrad_floor = 0.1
# "Fully Solving": k and theta of the Gamma distribution, again without values.
shape = 6.0
scale = 0.5
commander_shape = 6.0
# "Per Team Skills": s + o as a marine, s - o as an alien.
plus_side = "marines"
# "Special treatment for commanders": their skill is chi alone.
commander_field_share = 0.0
# "Accounting for imbalance": "aliens on ns2_summit with game size > 16".
large_above = 16
# It knows no bots: the time of players alone makes a round.
bots = false
# It knows no shadow period.
shadow_rounds = 0
# No line `balance`: the skills that are shown make the teams."""

NS2_RULES = """\
[shuffle]
# "players could vote": teams are new by a vote, or by an admin, and not before every round.
at_round_start = false
# "Find the pair where swapping them minimizes the absolute value of the skill difference. Iterate until there is no
# pair that reduces" it; players who have not joined a team are placed first.
method = "greedy"
max_moves = 0
# However even the teams are, a vote is taken.
fair_band = [0.0, 0.0]

[autobalance]
# The document says nothing of players who join, leave and change side while a round runs.
enabled = false

[lock]
# Nor of locks: nobody is held to a side.
minutes = 0.0"""
