"""Secrets that the configuration names: the SHA-256 of a caller's secret, and files that hold one.

systemd's credentials come before files beside the configuration: the user of the unit cannot read those.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from equipoise.config.tables import SecretKeys
from equipoise.errors import ConfigError
from equipoise.files import read_small

LONGEST = 4096
"""Bytes of a file with a secret."""


@dataclass(frozen=True, slots=True)
class Secrets:
    """Finds files with secrets: first among systemd's credentials, then beside the configuration."""

    beside: Path
    credentials: str | None
    late: list[str] | None = None
    """Where keys are noted whose files systemd hands over at the next start only. None: this is a start."""

    def digest(self, keys: SecretKeys, path: str) -> bytes:
        """The SHA-256 of a caller's secret, from one of the two keys; `path` is that of their table."""
        if keys.secret_file and keys.secret_sha256:
            raise ConfigError("secret_sha256 is there too: only one of them", path=f"{path}.secret_file")
        if keys.secret_file:
            key = f"{path}.secret_file"
            return _digest(self.text(keys.secret_file, key), key, f" in {self._place(keys.secret_file)}")
        if keys.secret_sha256:
            return _digest(keys.secret_sha256, f"{path}.secret_sha256", "")
        raise ConfigError("this key, or secret_file, is required", path=f"{path}.secret_sha256")

    def password(self, name: str, path: str) -> str | None:
        """What a file holds, or None, noted in `late`, where systemd has not handed it over and only root reads it."""
        if self.late is not None and self.credentials and self._is_closed(name):
            self.late.append(f"{path}: systemd hands {name} over when the unit starts")
            return None
        return self.text(name, path)

    def text(self, name: str, path: str) -> str:
        """What a file holds, without white space around it; `path` is the key's for the error."""
        place = self._place(name)
        try:
            return read_small(place, LONGEST).decode().strip()
        except OSError as error:
            advice = ""
            if self.credentials:
                advice = "; systemd hands credentials over when the unit starts: restart it"
            raise ConfigError(f"{place}: {error.strerror}{advice}", path=path) from None
        except ValueError:
            raise ConfigError(f"{place}: this is no text", path=path) from None

    def _place(self, name: str) -> Path:
        return next((file for file in self._handed_over(Path(name)) if file.is_file()), self.beside / _expanded(name))

    def _is_closed(self, name: str) -> bool:
        try:
            read_small(self._place(name), LONGEST)
        except PermissionError:
            return True
        except OSError:
            return False
        return False

    def _handed_over(self, name: Path) -> Iterator[Path]:
        """Where systemd puts it: `LoadCredential=` of a file, and of the folder that it stands in."""
        if self.credentials:
            yield Path(self.credentials, name.name)
            yield Path(self.credentials, f"{name.parent.name}_{name.name}")


def _expanded(name: str) -> Path:
    try:
        return Path(name).expanduser()
    except RuntimeError:  # ~ of a user who does not exist
        return Path(name)


def _digest(text: str, path: str, where: str) -> bytes:
    # The text is not shown: it may be the secret.
    if not re.fullmatch(r"[0-9a-fA-F]{64}", text):
        raise ConfigError(f"expected a SHA-256 in 64 hexadecimal digits{where}, not the secret itself", path=path)
    return bytes.fromhex(text)
