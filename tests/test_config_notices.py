"""Webhooks of the configuration: the tables [notice.X]."""

from __future__ import annotations

import base64
import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from equipoise import config
from equipoise.config.differences import compare, printed
from equipoise.errors import ConfigError
from tests.test_config import SMALL, load

TOKEN = "s3cret-t0ken"
DISCORD = f"https://discord.com/api/webhooks/1234/{TOKEN}"
KEY = base64.b64encode(bytes(range(32))).decode()


def table(keys: str) -> str:
    return f"{SMALL}\n[notice.club]\n{keys}\n"


def webhook(folder: Path, keys: str, *, url: str = DISCORD, **environ: str) -> config.Webhook:
    (folder / "url").write_text(url + "\n")
    (folder / "key").write_text(f"whsec_{KEY}\n")
    return load(folder, table(keys), **environ).webhooks["club"]


def test_a_webhook_hears_of_everything_on_all_servers_unless_its_table_says_less(tmp_path: Path) -> None:
    read = webhook(tmp_path, "kind = 'discord'\nurl_file = 'url'")
    assert (read.url, read.key, read.events, read.servers) == (DISCORD, b"", get_args(config.Event), ())
    keys = (
        "kind = 'generic'\nurl = 'http://[::1]:80/a?b=c'\nsecret_file = 'key'\nevents = ['lost']\nservers = ['arena-1']"
    )
    read = webhook(tmp_path, keys)
    assert (read.url, read.key, read.events, read.servers) == (
        *("http://[::1]:80/a?b=c", bytes(range(32))),
        *(("lost",), ("arena-1",)),
    )


@pytest.mark.parametrize(
    "url",
    [
        "https://discord.com/api/v10/webhooks/1/a_B-c",
        "https://discord.com/api/webhooks/1/a?thread_id=2",
        "http://127.0.0.1:8080/api/webhooks/1/a",
        "http://localhost/api/webhooks/1/a",
    ],
)
def test_discords_urls_are_taken_as_discord_shows_them(url: str, tmp_path: Path) -> None:
    assert webhook(tmp_path, "kind = 'discord'\nurl_file = 'url'", url=url).url == url


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("url = 'https://a.example/'", "kind: this key is required: discord, generic"),
        ("kind = 'slack'\nurl_file = 'url'", "kind: there is discord, generic, not 'slack'"),
        ("kind = 'discord'", "url: this key, or url_file, is required"),
        (f"kind = 'discord'\nurl_file = 'url'\nurl = '{DISCORD}'", "url: url_file is there too: only one of them"),
        ("kind = 'discord'\nurl_file = 'gone'", "url_file: {folder}/gone: No such file or directory"),
        ("kind = 'discord'\nurl = 'https://discord.com/channels/1/s3cret-t0ken'", "url: expected Discord's URL, as "),
        (f"kind = 'discord'\nurl = '{DISCORD}/slack'", "url: expected Discord's URL, as "),
        ("kind = 'discord'\nurl = 'http://discord.com/api/webhooks/1/s3cret-t0ken'", "url: only https, except to "),
        ("kind = 'discord'\nurl = 's3cret-t0ken'", "url: expected the URL of a webhook in one line, as https://"),
        ("kind = 'discord'\nurl = 'https://a.example:x/s3cret-t0ken'", "url: expected the URL of a webhook"),
        ('kind = "discord"\nurl = "https://a.example/s3cret-t0ken\\nb"', "url: expected the URL of a webhook"),
        ("kind = 'discord'\nurl_file = 'url'\nsecret_file = 'key'", "secret_file: Discord asks for no signature"),
        ("kind = 'generic'\nurl_file = 'url'", "secret_file: this key is required: deliveries are signed"),
        ("kind = 'generic'\nurl_file = 'url'\nsecret_file = 'url'", "secret_file: expected whsec_ and 24 to 64 bytes"),
        (
            "kind = 'generic'\nurl_file = 'url'\nsecret_file = 'key'\nstatus = true",
            "status: only Discord has a message",
        ),
        ("kind = 'discord'\nurl_file = 'url'\nservers = ['arena-2']", "servers[0]: there is no [server.arena-2]"),
        (
            "kind = 'discord'\nurl_file = 'url'\nevents = ['lost', 'los']",
            "events[1]: there is scramble, lost, refused, ",
        ),
        ("kind = 'discord'\nurl_file = 'url'\nevnts = []", "evnts: no such key; is it events?"),
    ],
)
def test_a_wrong_key_is_named_and_neither_url_nor_key_is_shown(keys: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refusal:
        webhook(tmp_path, keys)
    assert f"$.notice.club.{said.format(folder=tmp_path)}" in str(refusal.value)
    assert TOKEN not in str(refusal.value)


def test_systemd_hands_url_and_key_over_and_what_root_read_is_newer(tmp_path: Path) -> None:
    credentials = tmp_path / "credentials"
    credentials.mkdir()
    keys = "kind = 'generic'\nurl_file = 'secrets/club.url'\nsecret_file = 'secrets/club.key'"
    (credentials / "secrets_club.url").write_text("https://a.example/old")
    (credentials / "secrets_club.key").write_text(f"whsec_{KEY}")
    environ = {"CREDENTIALS_DIRECTORY": str(credentials)}
    assert webhook(tmp_path, keys, **environ).url == "https://a.example/old"
    passed = {"secrets/club.url": "https://a.example/new\n"}
    read = config.load(tmp_path / "config.toml", environ, passed=passed).webhooks["club"]
    assert (read.url, read.key) == ("https://a.example/new", bytes(range(32)))


def test_what_is_printed_and_compared_shows_no_secret(tmp_path: Path) -> None:
    keys = "kind = 'generic'\nurl_file = 'url'\nsecret_file = 'key'"
    webhook(tmp_path, keys)
    read = load(tmp_path, table(keys))
    lines = "\n".join(printed(read))
    assert tomllib.loads(lines)["notice"]["club"] == {
        "kind": "generic",
        "url": "(set)",
        "secret_file": "(read)",
        "events": list(get_args(config.Event)),
        "servers": [],
        "status": False,
    }
    shown = f"{lines} {read.webhooks}"
    assert TOKEN not in shown
    assert KEY not in shown
    other = replace(read.webhooks["club"], url=f"{DISCORD}x", key=b"other", events=("lost",))
    said = compare(read, replace(read, webhooks={"club": other})).live
    assert said == (
        "notice.club.url: secret changed",
        "notice.club.key: secret changed",
        f'notice.club.events: {json.dumps(get_args(config.Event))} -> ["lost"]',
    )
    assert compare(read, replace(read, webhooks={})).live == ("[notice.club] removed",)
    assert compare(replace(read, webhooks={}), read).live == ("[notice.club] added",)
