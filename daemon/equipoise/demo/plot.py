"""What the stories of all games have in common: pauses, and the daemon that dies and comes back."""

from __future__ import annotations

from equipoise.demo.evening import Evening

READ = 1.0
"""Seconds to read something important."""
SLOW, FAST = 0.4, 0.06
"""Seconds for each of a round's screens."""
SLOW_ROUNDS = 5
"""The first rounds are shown slowly, until viewers know what they see."""
LEAST_ROUNDS = 6
LEAST_PLAYERS = 8


def pace(evening: Evening) -> float:
    """Seconds for a screen of the present round."""
    return SLOW if evening.number <= SLOW_ROUNDS else FAST


async def pause(evening: Evening, seconds: float) -> None:
    """Show the present state for so long."""
    evening.show()
    await evening.stage.rest(seconds)


async def crash(evening: Evening, also: str = "") -> None:
    """Kill the daemon in the middle of a round."""
    # Not before the daemon has written everything: what a kill loses would differ from run to run.
    await evening.settle()
    await evening.daemon.kill()
    evening.up = False
    evening.report("trouble", f"The daemon is killed (SIGKILL) in round {evening.number}{also}")
    await pause(evening, READ)


async def revive(evening: Evening, place: str) -> None:
    """Start the daemon again; `place` is where finished rounds wait for it."""
    waiting = len(evening.script.ring)
    rounds = "1 finished round waits" if waiting == 1 else f"{waiting} finished rounds wait"
    evening.report("trouble", f"The game went on: {rounds} in {place} of 8 slots")
    await pause(evening, READ)
    await evening.daemon.start()
    await evening.sync()
    delivered = waiting - len(evening.script.ring)
    evening.record.restarts += 1
    evening.record.delivered += delivered
    evening.report("trouble", f"The daemon is back: {delivered} of {waiting} rounds delivered, stored and rated")
    await pause(evening, READ)
