"""The schema's history: named steps, each applied in one transaction with the record that it was.

The meaning of a step is said once, in `docs/store.md`. A step that was released is never edited: the next change is the
next step.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Migration:
    """A step, and the statements that take it."""

    name: str
    statements: tuple[str, ...]
    piece: tuple[str, ...] = ()
    """What comes before them, each time in a transaction of its own, until its first statement changes nothing."""
    about: str = ""
    """A query for the number of rows that pieces change, at most."""


PLAYERS = """
CREATE TABLE players (
    pool TEXT NOT NULL,
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    rating REAL NOT NULL,
    rounds INTEGER NOT NULL,
    visible INTEGER NOT NULL,
    last_played REAL,
    state TEXT NOT NULL,
    PRIMARY KEY (pool, id)
) WITHOUT ROWID
"""

PLAYERS_BY_RATING = "CREATE INDEX players_by_rating ON players (pool, visible, rating)"

# Apart from the ratings: every player who joins has a name, only those who were rated have a row above.
NAMES = """
CREATE TABLE names (
    pool TEXT NOT NULL,
    player TEXT NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (pool, player)
) WITHOUT ROWID
"""

# `number` is the order in which rounds were applied, which is not that of `started_at`: a round can arrive late.
ROUNDS = """
CREATE TABLE rounds (
    number INTEGER PRIMARY KEY,
    server TEXT NOT NULL,
    id TEXT NOT NULL,
    pool TEXT NOT NULL,
    session TEXT NOT NULL,
    map TEXT NOT NULL,
    mode TEXT NOT NULL,
    started_at REAL NOT NULL,
    seconds REAL NOT NULL,
    winner TEXT CHECK (winner IN ('a', 'b')),
    captures_a INTEGER NOT NULL,
    captures_b INTEGER NOT NULL,
    partial INTEGER NOT NULL,
    waiting INTEGER NOT NULL,
    doors TEXT NOT NULL,
    standing TEXT,
    unrated TEXT,
    prediction REAL,
    recorded_at REAL NOT NULL,
    UNIQUE (server, id)
)
"""

ROUNDS_RATED = "CREATE INDEX rounds_rated ON rounds (pool, number) WHERE prediction IS NOT NULL"

# Clustered by player, so that a player's last W rows are one short range.
PARTICIPANTS = """
CREATE TABLE participants (
    pool TEXT NOT NULL,
    player TEXT NOT NULL,
    round INTEGER NOT NULL REFERENCES rounds (number),
    place INTEGER NOT NULL,
    side TEXT NOT NULL CHECK (side IN ('a', 'b')),
    seconds_a REAL NOT NULL,
    seconds_b REAL NOT NULL,
    before REAL NOT NULL,
    after REAL NOT NULL,
    prediction REAL NOT NULL,
    score REAL NOT NULL,
    rounds INTEGER NOT NULL,
    visible INTEGER NOT NULL,
    state TEXT NOT NULL,
    PRIMARY KEY (pool, player, round),
    FOREIGN KEY (pool, player) REFERENCES players (pool, id)
) WITHOUT ROWID
"""

PARTICIPANTS_BY_ROUND = "CREATE UNIQUE INDEX participants_by_round ON participants (round, place)"

DECISIONS = """
CREATE TABLE decisions (
    number INTEGER PRIMARY KEY,
    server TEXT NOT NULL,
    at REAL NOT NULL,
    kind TEXT NOT NULL,
    reason TEXT NOT NULL,
    order_id TEXT,
    detail TEXT
)
"""

DECISIONS_BY_SERVER = "CREATE INDEX decisions_by_server ON decisions (server, number)"

AUDIT = """
CREATE TABLE audit (
    number INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    who TEXT NOT NULL,
    action TEXT NOT NULL,
    target TEXT NOT NULL,
    before TEXT NOT NULL,
    after TEXT NOT NULL
)
"""

SESSIONS = """
CREATE TABLE sessions (
    server TEXT PRIMARY KEY,
    memory BLOB NOT NULL,
    at REAL NOT NULL
)
"""

# What a pool's ratings are made by, and what its system keeps of no single player.
POOLS = """
CREATE TABLE pools (
    pool TEXT PRIMARY KEY,
    system TEXT NOT NULL,
    params TEXT NOT NULL,
    shared TEXT NOT NULL,
    version INTEGER NOT NULL,
    changed_at REAL NOT NULL
)
"""

# Systems read it, so a round that is rated again needs it; of rounds before this step it is not known.
PARTICIPANTS_QUIT = "ALTER TABLE participants ADD COLUMN quit INTEGER NOT NULL DEFAULT 0"

# A round writes those of its parts that it changes.
SHARED = """
CREATE TABLE shared (
    pool TEXT NOT NULL REFERENCES pools (pool),
    key TEXT NOT NULL,
    part TEXT NOT NULL,
    PRIMARY KEY (pool, key)
) WITHOUT ROWID
"""

SHARED_GROUPS = """
INSERT INTO shared SELECT pools.pool, part.key, part.value
FROM pools, json_each(pools.shared) AS size, json_each(size.value) AS part WHERE system LIKE 'teamskill%'
"""

SHARED_ROUNDS = """
INSERT INTO shared SELECT pools.pool, part.key, part.value
FROM pools, json_each(pools.shared) AS part WHERE system = 'ns2' AND part.key IN ('all', 'lengths')
"""

SHARED_MAPS = """
INSERT INTO shared SELECT pools.pool, 'map:' || part.key, part.value
FROM pools, json_each(pools.shared, '$.maps') AS part WHERE system = 'ns2'
"""

POOLS_WITHOUT_SHARED = "ALTER TABLE pools DROP COLUMN shared"

ROUNDS_LINEUP = "ALTER TABLE rounds RENAME COLUMN doors TO lineup"

ROUNDS_SKILL_AT_START = "ALTER TABLE rounds RENAME COLUMN standing TO skill_at_start"

# Retention deletes the oldest lines first.
DECISIONS_BY_TIME = "CREATE INDEX decisions_by_time ON decisions (at)"

AUDIT_BY_TIME = "CREATE INDEX audit_by_time ON audit (at)"

# A pruned round has lost participants, so it is never rated again. It stays while a player's window needs its rows.
ROUNDS_PRUNED = "ALTER TABLE rounds ADD COLUMN pruned INTEGER NOT NULL DEFAULT 0"

POOLS_PRUNED = "ALTER TABLE pools ADD COLUMN pruned_rounds INTEGER NOT NULL DEFAULT 0"

ROUNDS_BY_TIME = "CREATE INDEX rounds_by_time ON rounds (pool, recorded_at) WHERE NOT pruned"

# With all that `predictions` reads: 20,000 rows of rounds lie on as many pages, and this index on 300.
ROUNDS_RATED_AGAIN = (
    "DROP INDEX rounds_rated",
    "CREATE INDEX rounds_rated ON rounds (pool, number, started_at, prediction, winner) WHERE prediction IS NOT NULL",
)

# The leaderboard is of active players, of whom there are few however old the pool is.
PLAYERS_BY_TIME = (
    "DROP INDEX players_by_rating",
    "CREATE INDEX players_by_time ON players (pool, visible, last_played, rating)",
)

# Sums over the players of a pool, those who are visible and those who are not. Triggers would keep them in three times
# the time that `store.player_rows` needs.
CROWDS = """
CREATE TABLE crowds (
    pool TEXT NOT NULL,
    visible INTEGER NOT NULL,
    players INTEGER NOT NULL,
    ratings REAL NOT NULL,
    squares REAL NOT NULL,
    PRIMARY KEY (pool, visible)
) WITHOUT ROWID
"""

CROWDS_OF_ALL = """
INSERT INTO crowds SELECT pool, visible, count(*), sum(rating), sum(rating * rating) FROM players GROUP BY pool, visible
"""

# The last rounds of a server that is seldom played on lie far apart.
ROUNDS_BY_SERVER = "CREATE INDEX rounds_by_server ON rounds (server, number)"
# Numbered together with the rounds: `store.sequence`.
EDITS = """
CREATE TABLE edits (
    number INTEGER PRIMARY KEY,
    pool TEXT NOT NULL,
    at REAL NOT NULL,
    who TEXT NOT NULL,
    action TEXT NOT NULL,
    detail TEXT NOT NULL,
    shared TEXT
)
"""

EDITS_BY_POOL = "CREATE INDEX edits_by_pool ON edits (pool, number)"

# Clustered by player, as participants are.
EDITED = """
CREATE TABLE edited (
    pool TEXT NOT NULL,
    player TEXT NOT NULL,
    edit INTEGER NOT NULL REFERENCES edits (number),
    struck INTEGER NOT NULL DEFAULT 0,
    before_rating REAL,
    before_rounds INTEGER,
    before_visible INTEGER,
    before_played REAL,
    before_state TEXT,
    after_rating REAL NOT NULL,
    after_rounds INTEGER NOT NULL,
    after_visible INTEGER NOT NULL,
    after_played REAL,
    after_state TEXT NOT NULL,
    PRIMARY KEY (pool, player, edit)
) WITHOUT ROWID
"""

EDITED_BY_EDIT = "CREATE INDEX edited_by_edit ON edited (edit)"

# The number of the edit that took the round out of the ratings.
ROUNDS_VOIDED = "ALTER TABLE rounds ADD COLUMN voided INTEGER"

# What a voided round had done: its first answer, and what to put back.
VOIDS = """
CREATE TABLE voids (
    round INTEGER PRIMARY KEY REFERENCES rounds (number),
    edit INTEGER NOT NULL REFERENCES edits (number),
    prediction REAL NOT NULL,
    participants TEXT NOT NULL
)
"""

# An hourly point is 60 bytes: half a megabyte a year.
QUALITIES = """
CREATE TABLE qualities (
    pool TEXT NOT NULL,
    at REAL NOT NULL,
    rounds INTEGER NOT NULL,
    brier REAL NOT NULL,
    log_loss REAL NOT NULL,
    calibration_error REAL NOT NULL,
    PRIMARY KEY (pool, at)
) WITHOUT ROWID
"""

# NS2: the time of a participant, stretch by stretch; null where only the seconds on each side are known.
PARTICIPANTS_SPANS = "ALTER TABLE participants ADD COLUMN spans TEXT"

# What a participant did in the round, and who played together; null where the script does not tell it.
PARTICIPANTS_COUNTS = "ALTER TABLE participants ADD COLUMN counts TEXT"

ROUNDS_SQUADS = "ALTER TABLE rounds ADD COLUMN squads TEXT"

# By the system that teams are made by, where it is another than the one that is shown. Derived: null until it is known.
ROUNDS_BALANCE_PREDICTION = "ALTER TABLE rounds ADD COLUMN balance_prediction REAL"

# As the system that made the teams predicted it; null where that knows no deviations, and before this step.
ROUNDS_UNEVENNESS = (
    "ALTER TABLE rounds ADD COLUMN unevenness REAL",
    "DROP INDEX rounds_rated",
    "CREATE INDEX rounds_rated ON rounds (pool, number, started_at, prediction, winner, unevenness) "
    "WHERE prediction IS NOT NULL",
)

# The state of a system that is a function of the sequence, after event `number`. Rounds before a `base` may be gone.
SNAPSHOTS = """
CREATE TABLE snapshots (
    pool TEXT NOT NULL,
    purpose TEXT NOT NULL CHECK (purpose IN ('system', 'balance')),
    number INTEGER NOT NULL,
    system TEXT NOT NULL,
    params TEXT NOT NULL,
    base INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (pool, purpose, number)
)
"""

# What a ladder shows of a player; apart from `players`, so that pruned rounds still count.
RECORDS = """
CREATE TABLE records (
    pool TEXT NOT NULL,
    player TEXT NOT NULL,
    wins INTEGER NOT NULL,
    draws INTEGER NOT NULL,
    losses INTEGER NOT NULL,
    leaves INTEGER NOT NULL,
    PRIMARY KEY (pool, player)
) WITHOUT ROWID
"""

RECORDS_OF_ALL = """
INSERT INTO records
SELECT pool, player, sum(score = 1.0), sum(score = 0.5), sum(score = 0.0), sum(quit) FROM participants
GROUP BY pool, player
"""

# The prediction as it was said, where a calibration made it another number.
ROUNDS_SAID = "ALTER TABLE rounds ADD COLUMN said REAL"

# NS2: the time of bots, stretch by stretch; null where there were none, or the script does not tell it.
ROUNDS_BOTS = "ALTER TABLE rounds ADD COLUMN bots TEXT"

# The course of a map: how even its sides were, from each change of them on.
CHANCES = """
CREATE TABLE chances (
    number INTEGER PRIMARY KEY,
    server TEXT NOT NULL,
    at REAL NOT NULL,
    session TEXT NOT NULL,
    map TEXT NOT NULL,
    round INTEGER NOT NULL,
    chance REAL NOT NULL,
    low REAL,
    high REAL,
    players_a INTEGER NOT NULL,
    players_b INTEGER NOT NULL,
    cause TEXT NOT NULL
)
"""

CHANCES_BY_SERVER = "CREATE INDEX chances_by_server ON chances (server, number)"

CHANCES_BY_TIME = "CREATE INDEX chances_by_time ON chances (at)"

# Players who are rated and shown nowhere.
HIDDEN = "CREATE TABLE hidden (player TEXT PRIMARY KEY) WITHOUT ROWID"

# The leaderboard as it stood when a season began.
SEASONS = """
CREATE TABLE seasons (
    pool TEXT NOT NULL,
    season TEXT NOT NULL,
    at REAL NOT NULL,
    place INTEGER NOT NULL,
    player TEXT NOT NULL,
    name TEXT,
    rating REAL NOT NULL,
    rounds INTEGER NOT NULL,
    wins INTEGER NOT NULL,
    draws INTEGER NOT NULL,
    losses INTEGER NOT NULL,
    leaves INTEGER NOT NULL,
    PRIMARY KEY (pool, season, place)
) WITHOUT ROWID
"""

# The journal of forgetting: empty but while somebody is being forgotten.
FORGETTING = "CREATE TABLE forgetting (player TEXT PRIMARY KEY, stand_in TEXT NOT NULL) WITHOUT ROWID"

# A map that is seldom played, or a name that no map has, is found without reading all rounds.
ROUNDS_BY_MAP = "CREATE INDEX rounds_by_map ON rounds (map, number)"

# Shared pools: the last event of the log that is here, and the numbers of rounds and edits for those of the log.
FOLLOWED = "CREATE TABLE followed (pool TEXT PRIMARY KEY, number INTEGER NOT NULL, digest BLOB NOT NULL)"

LOGGED = """
CREATE TABLE logged (
    pool TEXT NOT NULL,
    number INTEGER NOT NULL,
    local INTEGER NOT NULL,
    PRIMARY KEY (pool, number)
) WITHOUT ROWID
"""

# Shared pools whose log was not told yet of somebody who is forgotten. The id is a number: in a text the stand-in would
# take its place.
UNTOLD = """
CREATE TABLE untold (
    pool TEXT NOT NULL,
    player INTEGER NOT NULL,
    stand_in TEXT NOT NULL,
    at REAL NOT NULL,
    who TEXT NOT NULL,
    PRIMARY KEY (pool, player)
) WITHOUT ROWID
"""

LOGGED_BY_LOCAL = "CREATE UNIQUE INDEX logged_by_local ON logged (local)"

# With the record, which a round changes too. By rowid: who plays together lies together (`players.gather`).
PLAYERS_WITH_RECORDS = (
    "ALTER TABLE players RENAME TO players_before",
    "DROP INDEX players_by_time",
    """
    CREATE TABLE players (
        pool TEXT NOT NULL,
        id TEXT NOT NULL,
        version INTEGER NOT NULL,
        rating REAL NOT NULL,
        rounds INTEGER NOT NULL,
        visible INTEGER NOT NULL,
        last_played REAL,
        state TEXT NOT NULL,
        wins INTEGER NOT NULL DEFAULT 0,
        draws INTEGER NOT NULL DEFAULT 0,
        losses INTEGER NOT NULL DEFAULT 0,
        leaves INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (pool, id)
    )
    """,
    """
    INSERT INTO players
    SELECT players_before.*, coalesce(wins, 0), coalesce(draws, 0), coalesce(losses, 0), coalesce(leaves, 0)
    FROM players_before LEFT JOIN records ON records.pool = players_before.pool AND player = id
    ORDER BY last_played
    """,
    "CREATE INDEX players_by_time ON players (pool, visible, last_played, rating, id)",
    "DROP TABLE records",
)

# In the order in which rounds are stored: one is written on few pages, side by side.
PARTICIPANTS_IN_ORDER = (
    "ALTER TABLE participants RENAME TO participants_before",
    "DROP INDEX participants_by_round",
    """
    CREATE TABLE participants (
        pool TEXT NOT NULL,
        player TEXT NOT NULL,
        round INTEGER NOT NULL REFERENCES rounds (number),
        place INTEGER NOT NULL,
        side TEXT NOT NULL CHECK (side IN ('a', 'b')),
        seconds_a REAL NOT NULL,
        seconds_b REAL NOT NULL,
        before REAL NOT NULL,
        after REAL NOT NULL,
        prediction REAL NOT NULL,
        score REAL NOT NULL,
        rounds INTEGER NOT NULL,
        visible INTEGER NOT NULL,
        state TEXT NOT NULL,
        quit INTEGER NOT NULL DEFAULT 0,
        spans TEXT,
        counts TEXT,
        FOREIGN KEY (pool, player) REFERENCES players (pool, id)
    )
    """,
    # With all that a window reads: a player's last W rows are one short range of it.
    "CREATE INDEX participants_by_player ON participants (pool, player, round, after, prediction, score, visible)",
)

# In pieces, whose pages the next ones take: at once, the store would need its size three times.
PARTICIPANTS_MOVED = (
    "INSERT INTO participants SELECT * FROM participants_before ORDER BY pool, player, round LIMIT 20000",
    # By key: below a bound, SQLite would go through all rows of the pool for each piece.
    "DELETE FROM participants_before WHERE (pool, player, round) IN "
    "(SELECT pool, player, round FROM participants_before ORDER BY pool, player, round LIMIT 20000)",
)

MIGRATIONS = (
    Migration(
        "0001-first",
        statements=(
            PLAYERS,
            PLAYERS_BY_RATING,
            NAMES,
            ROUNDS,
            ROUNDS_RATED,
            PARTICIPANTS,
            PARTICIPANTS_BY_ROUND,
            DECISIONS,
            DECISIONS_BY_SERVER,
            AUDIT,
            SESSIONS,
        ),
    ),
    Migration("0002-pools", statements=(POOLS, PARTICIPANTS_QUIT)),
    Migration("0003-shared", statements=(SHARED, SHARED_GROUPS, SHARED_ROUNDS, SHARED_MAPS, POOLS_WITHOUT_SHARED)),
    Migration("0004-lineup", statements=(ROUNDS_LINEUP, ROUNDS_SKILL_AT_START)),
    Migration(
        "0005-growth",
        statements=(
            DECISIONS_BY_TIME,
            AUDIT_BY_TIME,
            ROUNDS_PRUNED,
            POOLS_PRUNED,
            ROUNDS_BY_TIME,
            *ROUNDS_RATED_AGAIN,
            *PLAYERS_BY_TIME,
            CROWDS,
            CROWDS_OF_ALL,
        ),
    ),
    Migration("0006-edits", statements=(EDITS, EDITS_BY_POOL, EDITED, EDITED_BY_EDIT, ROUNDS_VOIDED, VOIDS)),
    Migration("0007-rounds-by-server", statements=(ROUNDS_BY_SERVER,)),
    Migration("0008-qualities", statements=(QUALITIES,)),
    Migration("0009-spans", statements=(PARTICIPANTS_SPANS,)),
    Migration(
        "0010-balance",
        statements=(
            PARTICIPANTS_COUNTS,
            ROUNDS_SQUADS,
            ROUNDS_BALANCE_PREDICTION,
            *ROUNDS_UNEVENNESS,
            SNAPSHOTS,
            RECORDS,
            RECORDS_OF_ALL,
        ),
    ),
    Migration("0011-said", statements=(ROUNDS_SAID,)),
    Migration("0012-bots", statements=(ROUNDS_BOTS,)),
    Migration("0013-records-of-steps", statements=("DROP TABLE IF EXISTS migrations",)),
    Migration("0014-chances", statements=(CHANCES, CHANCES_BY_SERVER, CHANCES_BY_TIME)),
    Migration("0015-people", statements=(HIDDEN, SEASONS, FORGETTING)),
    Migration("0016-rounds-by-map", statements=(ROUNDS_BY_MAP,)),
    Migration("0017-shared", statements=(FOLLOWED, LOGGED, LOGGED_BY_LOCAL)),
    Migration("0018-untold", statements=(UNTOLD,)),
    Migration("0019-in-one-row", statements=(*PLAYERS_WITH_RECORDS, *PARTICIPANTS_IN_ORDER)),
    Migration(
        "0020-in-order",
        statements=("DROP TABLE participants_before", "DROP TABLE players_before", PARTICIPANTS_BY_ROUND),
        piece=PARTICIPANTS_MOVED,
        about="SELECT coalesce(sum(rounds), 0) FROM players",
    ),
)
"""Every step, oldest first."""
RECORDED = 13
"""The step from which on sqlite-utils keeps the records of steps, in a table of its own."""
