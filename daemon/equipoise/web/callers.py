"""Who calls: a game server's script, or the holder of a token. Only SHA-256 of secrets are known here."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Role = Literal["script", "viewer", "admin"]


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody whose secret is known."""

    role: Role
    name: str
    """A script's server, else the token's name."""

    @property
    def who(self) -> str:
        """How the audit names him."""
        return f"{'script' if self.role == 'script' else 'token'}:{self.name}"


@dataclass(frozen=True, slots=True)
class Callers:
    """Everybody who may call, by the SHA-256 of his secret."""

    digests: Mapping[bytes, Caller]

    def known(self, secret: str) -> Caller | None:
        """Who has this secret. Compares with every one, so that the time says nothing."""
        digest = hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()
        found = None
        for known, caller in self.digests.items():
            if hmac.compare_digest(known, digest):
                found = caller
        return found
