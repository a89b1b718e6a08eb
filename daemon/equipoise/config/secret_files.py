"""The files that the configuration names for secrets: each holds a secret's SHA-256, never the secret itself."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from equipoise.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Secrets:
    """Finds files with secrets: first among systemd's credentials, then beside the configuration."""

    beside: Path
    credentials: str | None

    def digest(self, name: str, path: str) -> bytes:
        """The SHA-256 that a file holds in hexadecimal; `path` is the key's path for the error."""
        place = self._place(name)
        try:
            text = place.read_text("ascii").strip()
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "not ASCII text"
            raise ConfigError(f"{place}: {why}; `equipoise init` makes secrets", path=path) from None
        if not re.fullmatch(r"[0-9a-fA-F]{64}", text):
            raise ConfigError(f"{place} must hold a SHA-256 in 64 hexadecimal digits, not the secret", path=path)
        return bytes.fromhex(text)

    def _place(self, name: str) -> Path:
        credential = Path(self.credentials or "", Path(name).name)
        return credential if self.credentials and credential.is_file() else self.beside / Path(name).expanduser()
