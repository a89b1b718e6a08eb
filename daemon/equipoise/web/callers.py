"""Callers: game servers' scripts and holders of tokens. Secrets are known by their SHA-256 only."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Role = Literal["script", "viewer", "admin"]


@dataclass(frozen=True, slots=True)
class Caller:
    """A caller whose secret is known."""

    role: Role
    name: str
    """The script's server, or the token's name."""

    @property
    def who(self) -> str:
        """The caller's name in the audit."""
        return f"{'script' if self.role == 'script' else 'token'}:{self.name}"


@dataclass(frozen=True, slots=True)
class Callers:
    """Every caller by the SHA-256 of their secret."""

    digests: Mapping[bytes, Caller] = field(default_factory=dict)

    def names(self) -> frozenset[str]:
        """All callers as the audit names them."""
        return frozenset(caller.who for caller in self.digests.values())

    def known(self, secret: str) -> Caller | None:
        """The caller who has this secret. All digests are compared, so that the time taken reveals none."""
        digest = hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()
        found = None
        for known, caller in self.digests.items():
            if hmac.compare_digest(known, digest):
                found = caller
        return found
