"""The database of a shared pool in the configuration: its URL, its password's file, and what is refused."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from equipoise.config.differences import compare, pool_table, printed, without_restart
from equipoise.config.sources import Database
from equipoise.errors import ConfigError
from tests.test_config import SMALL, load

URL = "postgresql://equipoise@db.example.org/equipoise"
SECRET = "correct horse"


def text(url: str = URL, more: str = "database_password_file = 'database'") -> str:
    return SMALL.replace("[pool.main]", f"[pool.main]\ndatabase = '{url}'\n{more}\n")


def read(folder: Path, content: str, **environ: str) -> Database | None:
    (folder / "database").write_text(f"{SECRET}\n")
    return load(folder, content, **environ).pools["main"].database


def refusal(folder: Path, content: str) -> str:
    with pytest.raises(ConfigError) as caught:
        read(folder, content)
    assert "hunter2" not in str(caught.value)
    return str(caught.value).partition("config.toml: ")[2]


@pytest.mark.parametrize(
    "url",
    [
        URL,
        "postgres://equipoise@[::1]:5433/equipoise",
        "postgresql://equipoise@a.example,b.example:5433/equipoise?target_session_attrs=read-write",
        "postgresql://equipoise@10.0.0.5/equipoise?sslmode=verify-full&sslrootcert=/etc/hostname",
        "postgresql://equipoise@%2Frun%2Fpostgresql/equipoise",
    ],
)
def test_a_pool_is_local_unless_its_table_names_a_database_by_a_url_of_postgresql(url: str, tmp_path: Path) -> None:
    assert read(tmp_path, SMALL) is None
    assert read(tmp_path, text(url)) == Database(url, "database", SECRET)
    socket = "postgresql:///equipoise?host=/run/postgresql"
    assert read(tmp_path, text(socket, "")) == Database(socket)


def test_systemd_hands_the_password_over(tmp_path: Path) -> None:
    credentials = tmp_path / "credentials"
    credentials.mkdir()
    (credentials / "secrets_database").write_text("of systemd\n")
    content = text(more="database_password_file = 'secrets/database'")
    database = read(tmp_path, content, CREDENTIALS_DIRECTORY=str(credentials))
    assert database == Database(URL, "secrets/database", "of systemd")


PASSWORDLESS = (
    "a password in it could be read by others: write it into a file of its own, and its name into "
    "database_password_file"
)
EXPECTED = "expected the URL of a PostgreSQL database, as postgresql://equipoise@db.example.org/equipoise"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("postgresql://equipoise:hunter2@db.example.org/equipoise", PASSWORDLESS),
        ("postgresql://equipoise@db.example.org/equipoise?password=hunter2", PASSWORDLESS),
        ("mysql://db.example.org/equipoise", EXPECTED),
        ("db.example.org", EXPECTED),
        ("postgresql://db.example.org", EXPECTED),
        ("postgresql://[::1/equipoise", EXPECTED),
        (
            "postgresql:///equipoise",
            f"the host is missing: as {EXPECTED.partition(', as ')[2]}, or of a socket ?host=/run/postgresql",
        ),
        (
            "postgresql://db.example.org:port/equipoise",
            "expected a host and perhaps a port, as db.example.org:5432, not 'db.example.org:port'",
        ),
        (
            "postgresql://db.example.org:99999/equipoise",
            "expected a host and perhaps a port, as db.example.org:5432, not 'db.example.org:99999'",
        ),
        (
            f"{URL}?sslrootcert=/nowhere/db.pem",
            "sslrootcert: the daemon's user cannot read /nowhere/db.pem, or it is not there",
        ),
        (
            f"{URL}?sslmode=verify-full",
            "sslmode=verify-full needs sslrootcert too, the file of who signed its certificate, or "
            "sslrootcert=/etc/ssl/certs/ca-certificates.crt",
        ),
        (
            f"{URL}?sslmode=on",
            "sslmode is disable, allow, prefer, require, verify-ca, verify-full, not on",
        ),
        (
            f"{URL}?search_path=x",
            "there is no parameter search_path, but host, port, sslmode, sslrootcert, sslcert, sslkey, sslcrl, "
            "target_session_attrs",
        ),
    ],
)
def test_what_is_no_url_of_a_database_is_refused_with_what_to_write(url: str, message: str, tmp_path: Path) -> None:
    assert refusal(tmp_path, text(url)) == f"$.pool.main.database: {message}"


def test_a_password_file_without_a_database_or_without_a_password_is_refused(tmp_path: Path) -> None:
    key = "$.pool.main.database_password_file"
    alone = SMALL.replace("[pool.main]", "[pool.main]\ndatabase_password_file = 'database'")
    assert refusal(tmp_path, alone) == f"{key}: database, which it belongs to, is missing"
    (tmp_path / "empty").write_text("\n")
    assert refusal(tmp_path, text(more="database_password_file = 'empty'")) == (
        f"{key}: empty must hold the password in one line"
    )
    assert refusal(tmp_path, text(more="database_password_file = 'nowhere'")).endswith("No such file or directory")
    assert refusal(tmp_path, text(more="database_password_file = 3")) == f"{key}: expected a string, not 3"


def test_another_database_password_or_machine_needs_a_restart_and_no_password_is_shown(tmp_path: Path) -> None:
    (tmp_path / "database").write_text(f"{SECRET}\n")
    before = load(tmp_path, text())
    lines = "\n".join(printed(before))
    table = tomllib.loads(lines)["pool"]["main"]
    assert (table["database"], table["database_password_file"]) == (URL, "database")
    assert SECRET not in f"{lines} {before.pools}"
    assert load(tmp_path, "\n".join(pool_table(before.pools["main"]))).pools["main"].database == Database(
        URL, "database", SECRET
    )
    (tmp_path / "database").write_text("another\n")
    after = load(tmp_path, text(URL.replace("db.", "db2.")) + "[shared]\nmachine = 'attic'\n")
    changes = compare(before, after)
    assert changes.live == ()
    assert sorted(changes.restart) == [
        f"pool.main.database: {URL} -> {URL.replace('db.', 'db2.')}",
        "pool.main.database_password: secret changed",
        'shared.machine: "" -> attic',
    ]
    assert compare(before, without_restart(before, after)).restart == ()
