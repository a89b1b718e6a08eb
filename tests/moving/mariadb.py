"""A real MariaDB server in a folder of its own, with HLstatsX:CE's two tables.

The columns that matter, their types and the keys are those of HLstatsX:CE's `sql/install.sql` (`hlstats_Players`,
`hlstats_PlayerUniqueIds`; utf8mb4, MyISAM); the ids and bots are stored as its `scripts/hlstats.pl` does.
"""

from __future__ import annotations

import getpass
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.programs import installed

START_SECONDS = 120.0

TABLES = """
CREATE TABLE hlstats_Players (
    playerId int unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY,
    last_event int NOT NULL DEFAULT 0,
    lastName varchar(64) NOT NULL DEFAULT '',
    lat float(7,4) NULL,
    kills int unsigned NOT NULL DEFAULT 0,
    skill int unsigned NOT NULL DEFAULT 1000,
    fullName varchar(128) DEFAULT NULL,
    mmrank tinyint DEFAULT NULL,
    game varchar(32) NOT NULL,
    hideranking int unsigned NOT NULL DEFAULT 0,
    KEY skill (skill), KEY game (game)
) ENGINE=MyISAM DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
CREATE TABLE hlstats_PlayerUniqueIds (
    playerId int unsigned NOT NULL DEFAULT 0,
    uniqueId varchar(64) NOT NULL DEFAULT '',
    game varchar(32) NOT NULL DEFAULT '',
    `merge` int unsigned DEFAULT NULL,
    PRIMARY KEY (uniqueId, game), KEY playerId (playerId)
) ENGINE=MyISAM DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
CREATE TABLE hlstats_Events_Chat (id int PRIMARY KEY, message varchar(255), packed blob) CHARSET=utf8mb4;
"""


@dataclass(frozen=True)
class Server:
    """The running server."""

    socket: Path

    def run(self, statements: str, *options: str) -> bytes:
        """Have the server do this; its output."""
        words = [installed("mariadb"), "--no-defaults", f"--socket={self.socket}", "--default-character-set=utf8mb4"]
        done = subprocess.run([*words, *options], input=statements.encode(), capture_output=True, timeout=300)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout

    def dump(self, *options: str) -> bytes:
        """What `mariadb-dump` writes of the database, or of some of its tables."""
        words = [installed("mariadb-dump"), "--no-defaults", f"--socket={self.socket}", *options]
        done = subprocess.run(words, capture_output=True, timeout=300)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """A server with an empty database `hlstats`."""
    data, user = folder / "data", getpass.getuser()
    install = [installed("mariadb-install-db"), "--no-defaults", f"--datadir={data}", f"--user={user}"]
    done = subprocess.run(
        [*install, "--auth-root-authentication-method=normal", "--skip-test-db"], capture_output=True, timeout=300
    )
    assert done.returncode == 0, done.stderr.decode()
    server = Server(folder / "socket")
    words = [installed("mariadbd"), "--no-defaults", f"--datadir={data}", f"--socket={server.socket}"]
    log = folder / "server.log"
    with log.open("wb") as file:
        process = subprocess.Popen([*words, "--skip-networking", f"--user={user}"], stderr=file, stdout=file)
    try:
        end = time.monotonic() + START_SECONDS
        while not server.socket.exists():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.05)
        server.run(f"CREATE DATABASE hlstats; USE hlstats; {TABLES}")
        yield server
    finally:
        process.terminate()
        process.wait(60)


def quoted(text: str) -> str:
    """A text as a statement has it, by its bytes: nothing of ours decides how it is escaped."""
    return f"CONVERT(0x{text.encode().hex()} USING utf8mb4)" if text else "''"
