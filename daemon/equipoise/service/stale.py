"""Scripts that call one server although another start has superseded them, for operators to see."""

from __future__ import annotations

from dataclasses import dataclass, field

LEAST_SILENCE_SECONDS = 60.0
"""Twice the time after which a stale script calls again."""


@dataclass(frozen=True, slots=True)
class StaleScript:
    """A superseded script that calls."""

    boot: int
    since: float
    """When its first stale batch came; seconds since the epoch."""


@dataclass(slots=True)
class StaleScripts:
    """Those of one server. As many as boots are remembered, because others are not known to be superseded."""

    silence_seconds: float
    """A script that has been silent this long, and for `LEAST_SILENCE_SECONDS`, does not call any more."""
    _heard: dict[int, tuple[StaleScript, float]] = field(default_factory=dict)
    """By boot, with the time of the last batch."""

    def note(self, boot: int, now: float, epoch: float) -> bool:
        """Note a stale batch; True when its script was not known to call."""
        known = {script.boot: script for script in self.calling(now)}
        self._heard = {each: heard for each, heard in self._heard.items() if each in known}
        self._heard[boot] = known.get(boot, StaleScript(boot, epoch)), now
        return boot not in known

    def forget(self, boot: int) -> None:
        """The script is the server's own from now on."""
        self._heard.pop(boot, None)

    def calling(self, now: float) -> tuple[StaleScript, ...]:
        """Those that were heard lately, the longest stale first."""
        longest = max(self.silence_seconds, LEAST_SILENCE_SECONDS)
        return tuple(script for script, at in self._heard.values() if now - at < longest)
