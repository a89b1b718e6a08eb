"""Processes that end, stand still, or are there twice: the daemon's and the scripts'."""

from __future__ import annotations

import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from threading import Barrier

from tests.chaos.daemon import free_port
from tests.chaos.faults.disks import locked
from tests.chaos.faults.trial import Fault, Trial
from tests.chaos.games import EPOCH
from tests.chaos.script import Script


def kill_at_random(trial: Trial) -> int:
    """SIGKILL at any moment, also shortly after a start."""
    with trial.arena.playing():
        for _ in range(trial.scale):
            time.sleep(trial.rng.uniform(0.02, 0.6))
            trial.arena.daemon.kill()
            trial.arena.daemon.start()
    return trial.scale


def kill_behind_an_answer(trial: Trial) -> int:
    """SIGKILL at once to 50 ms after a round is said to be stored, or kept; its script forgets it."""
    arena = trial.arena
    for _ in range(4 * trial.scale):
        script, kept = trial.rng.choice(arena.scripts), trial.rng.random() < 0.6
        with locked(arena.store) if kept else nullcontext():
            for _ in range(trial.rng.randint(1, 3)):
                script.end_round()
            asks = script.submit if trial.rng.random() < 0.3 else script.send
            # No sleep of none: it would give the processor away.
            if asks() is not None and (wait := trial.rng.choice((0.0, 0.0, trial.rng.uniform(0.0, 0.05)))):
                time.sleep(wait)
            arena.daemon.kill()
        script.restart(forget=True)
        arena.daemon.start()
    return 4 * trial.scale


def restart(trial: Trial) -> int:
    """SIGTERM while requests are under way."""
    with trial.arena.playing():
        for _ in range(trial.scale):
            time.sleep(trial.rng.uniform(0.02, 0.6))
            if (code := trial.arena.daemon.stop()) != 0:
                trial.arena.book.complain(f"exit {code} after SIGTERM: {trial.arena.daemon.last_words()}")
            trial.arena.daemon.start()
    return trial.scale


def stop_and_continue(trial: Trial) -> int:
    """SIGSTOP for so long that scripts give requests up, and for less."""
    with trial.arena.playing():
        for _ in range(trial.scale):
            time.sleep(trial.rng.uniform(0.0, 0.2))
            trial.arena.daemon.send(signal.SIGSTOP)
            time.sleep(trial.rng.choice((0.2, 1.5, 4.0)))
            trial.arena.daemon.send(signal.SIGCONT)
    return trial.scale


def second_daemon(trial: Trial) -> int:
    """Another daemon on the same store is refused, and the first goes on."""
    daemon = trial.arena.daemon
    config = daemon.config.with_name("second.toml")
    config.write_text(daemon.config.read_text().replace(f"port = {daemon.port}", f"port = {free_port()}"))
    with trial.arena.playing():
        if wrong := daemon.refuses_to_start(config, expected=1):
            trial.arena.book.complain(f"a second daemon on the store: {wrong}")
    return 1


def servers_at_once(trial: Trial) -> int:
    """The servers of a pool, which share its players, end rounds at the same moment."""
    scripts = trial.arena.scripts
    at_once = Barrier(len(scripts))

    def one(script: Script) -> None:
        for _ in range(10 * trial.scale):
            script.end_round()
            at_once.wait(60.0)
            script.send()

    with ThreadPoolExecutor(len(scripts)) as threads:
        list(threads.map(one, scripts))
    return 10 * trial.scale


def script_restarts(trial: Trial) -> int:
    """New boots: later, years ahead, back again; with late batches of the old one, and with rounds forgotten."""
    for _ in range(4 * trial.scale):
        for script in trial.arena.scripts:
            script.play()
            old = script.last
            ahead = 1000 * (EPOCH + trial.rng.randrange(-(10**9), 10**9))
            script.restart(trial.rng.choice((None, ahead)), forget=trial.rng.random() < 0.5)
            script.play()
            script.post(old)  # its rounds are taken, whatever boot is the last
            script.play()
    return 4 * trial.scale * len(trial.arena.scripts)


FAULTS = (
    Fault("kill -9 at random", kill_at_random),
    Fault("kill -9 behind an answer", kill_behind_an_answer),
    Fault("SIGTERM under load", restart),
    Fault("SIGSTOP and SIGCONT", stop_and_continue),
    Fault("a second daemon", second_daemon),
    Fault("servers of a pool at once", servers_at_once),
    Fault("script restarts", script_restarts),
)
