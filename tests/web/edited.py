"""A running daemon whose configuration is edited and read again."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from tests.web.daemon import Answer, Daemon

DUSTBOWL = "[server.dustbowl]\nsecret_sha256 = '{}'\n"


def digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


class Edited:
    """A running daemon and its files."""

    def __init__(self, daemon: Daemon, folder: Path) -> None:
        self.daemon, self.folder, self.config = daemon, folder, folder / "config.toml"

    def edit(self, old: str, new: str) -> None:
        text = self.config.read_text()
        assert old in text
        self.config.write_text(text.replace(old, new))

    def add(self, text: str) -> None:
        self.config.write_text(self.config.read_text() + text)

    def add_server(self, name: str, secret: str) -> Path:
        (self.folder / "servers.d").mkdir(exist_ok=True)
        path = self.folder / "servers.d" / f"{name}.toml"
        new = path.with_suffix(".new")
        new.write_text(DUSTBOWL.format(digest(secret)).replace("dustbowl", name))
        return new.replace(path)

    def reload(self, *, dry: bool = False) -> Answer:
        return self.daemon.call("POST", "/v1/admin/reload", {"dry_run": dry})

    def changes(self, *, dry: bool = False) -> list[str]:
        answer = self.reload(dry=dry)
        assert answer.status == 200, answer.body
        changes: list[str] = answer.body["changes"]
        return changes

    def refusal(self) -> str:
        answer = self.reload()
        assert (answer.status, answer.code) == (409, "configuration")
        message: str = answer.body["error"]["message"]
        return message

    def configuration(self) -> Any:
        return self.daemon.call("GET", "/v1/admin/servers").body["configuration"]

    def as_caller(self, secret: str, method: str, path: str, body: bytes | None = None) -> Answer:
        return self.daemon.request(method, path, body, authorization=f"Bearer {secret}")
