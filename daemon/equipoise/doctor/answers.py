"""What the running daemon's answers say of itself and of its game servers."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

from equipoise.doctor.finding import Finding, Findings

CLOCK_OFF_SECONDS = 60.0
LATE_JOB_SECONDS = 3600.0
WRONG_NAMES = ("not_found", "server")
"""Codes of batches that name no configured server, or another one than their secret is of."""
WRONG_SECRETS = ("credentials", "throttled")

Answer = Mapping[str, Any]


def version(running: str, ours: str) -> Findings:
    """A daemon that was not restarted after an upgrade."""
    if running != ours:
        yield Finding("bad", "daemon", f"version {running} runs, {ours} is installed", "restart it")
    else:
        yield Finding("good", "daemon", f"version {running} answers")


def store(health: Answer, waiting: int) -> Findings:
    """Whether rounds are stored, and how many wait."""
    if health["state"] != "ok":
        yield Finding("bad", "store", f"it is {health['state']}, {waiting} rounds wait", health["advice"])
    elif waiting:
        yield Finding("note", "ring", f"{waiting} rounds wait for the store", "they are tried again every 30 s")
    else:
        yield Finding("good", "ring", "no round waits for the store")


def jobs(known: Sequence[Answer], now: float | None = None) -> Findings:
    """Jobs that failed, or that should have run long ago."""
    now = time.time() if now is None else now
    wrong = False
    for job in known:
        due = job["next_run"]
        if job["last_error"]:
            yield Finding("bad", f"job {job['name']}", job["last_error"], "the daemon's log has more")
            wrong = True
        elif due is not None and now - due > LATE_JOB_SECONDS:
            yield Finding(
                "bad", f"job {job['name']}", f"it is late by {(now - due) / 3600:.0f} h", "restart the daemon"
            )
            wrong = True
    if not wrong:
        yield Finding("good", "jobs", f"{len(known)} jobs, none failed")


def refusals(refused: Sequence[Answer], servers: Sequence[str]) -> Findings:
    """Wrong secrets and names that were tried in the last hour."""
    for each in refused:
        where = each["server"] if each["server"] in servers else "requests"
        tried = f"from {each['peer']}, {each['count']} times in the last hour"
        named = f" as {each['server']!r}" if each["server"] else ""
        if each["code"] in WRONG_SECRETS:
            advice = f"equipoise server secret {each['server']} --rotate makes a new one" if where != "requests" else ""
            yield Finding("bad", where, f"a wrong secret was tried{named} {tried}", advice)
        elif each["code"] in WRONG_NAMES and each["server"]:
            advice = f"the configuration has {', '.join(servers) or 'no server'}: correct equipoise_server there"
            yield Finding("bad", where, f"a script called{named}, which is not its name, {tried}", advice)


def server(status: Answer, game: str | None, plugin: str) -> Findings:
    """One game server: its script, and what that says of the game."""
    name = status["server"]
    if status["silent_seconds"] is None:
        what = "its script was never heard of"
        yield Finding("bad", name, what, "load the plugin with this name and secret: sm plugins load equipoise")
        return
    if status["lost"]:
        yield Finding("bad", name, f"its script is silent for {status['silent_seconds']:.0f} s", "is the server up?")
    found = [*_stands_aside(status), *_script(status, game, plugin)]
    yield from found
    if not found and not status["lost"]:
        yield Finding("good", name, f"{status['plugin'] or 'its script'} calls")


def _script(status: Answer, game: str | None, plugin: str) -> Findings:
    name = status["server"]
    if status["stale_scripts"]:
        count = len(status["stale_scripts"]) + 1
        yield Finding("bad", name, f"{count} scripts call with this name", "give each a name and a secret of its own")
    if game == "tf2" and status["plugin"] and (order := _compared(status["plugin"], plugin)):
        what = f"its plugin {status['plugin']} is {'newer' if order > 0 else 'older'} than the daemon's {plugin}"
        yield Finding("bad", name, what, "upgrade the daemon" if order > 0 else "install the daemon's own plugin")
    if status["dropped_rounds"]:
        what = f"its script has lost {status['dropped_rounds']} rounds while the daemon did not answer"
        yield Finding("note", name, what)
    off = status["clock_ahead"]
    if off is not None and abs(off) > CLOCK_OFF_SECONDS:
        what = f"its clock is {abs(off):,.0f} s {'ahead of' if off > 0 else 'behind'} this machine's"
        yield Finding("bad", name, what, "set both by the network: timedatectl set-ntp true")


def _stands_aside(status: Answer) -> Findings:
    name = status["server"]
    if status["inactive_reason"]:
        yield Finding("note", name, f"it stands aside: {status['inactive_reason']}")
    elif status["level"] != "balance":
        what = f"on {status['map']} it {'stands aside' if status['level'] == 'off' else 'only rates'}"
        yield Finding("note", name, f"{what}: [maps] {status['level_reason']}")
    if not status["enabled"]:
        yield Finding("note", name, "an admin has switched Equipoise off", f"equipoise server on {name}")


def _compared(one: str, other: str) -> int:
    """1, 0 or -1: which of two versions is newer, by their numbers.

    >>> _compared("0.2.0", "0.10.0"), _compared("1.0", "1.0.0")
    (-1, 0)
    """
    numbers = [[int(part) for part in re.findall(r"\d+", text)[:3]] for text in (one, other)]
    first, second = (each + [0] * (3 - len(each)) for each in numbers)
    return (first > second) - (first < second)
