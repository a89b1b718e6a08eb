"""Requests and answers that are lost, cut, late, doubled or out of order, and requests that no script should send."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from tests.chaos.calls import Answer, ask
from tests.chaos.daemon import secret_of
from tests.chaos.faults.trial import Fault, Trial
from tests.chaos.hostile import requests
from tests.chaos.proxy import proxy
from tests.chaos.script import Script


def lost_answers(trial: Trial) -> int:
    """Six of ten requests go wrong on their way."""
    with proxy(trial.arena.daemon.port, trial.rng) as between, trial.arena.playing(port=between.port):
        time.sleep(3.0 * min(trial.scale, 3))
    return sum(between.counts.values()) - between.counts["pass"]


def duplicates(trial: Trial) -> int:
    """Every batch three times at the same moment, and once more later; all copies get one reply."""
    rounds = 8 * trial.scale
    with ThreadPoolExecutor(3 * len(trial.arena.scripts)) as threads:

        def one(script: Script) -> None:
            for _ in range(rounds):
                script.end_round()
                batch = script.batch(script.waiting[:3])
                answers = list(threads.map(script.post, [batch] * 3))
                answers.append(script.post(batch))
                check_same(trial, script, answers)
                for answer in answers:
                    script.take(answer)

        with ThreadPoolExecutor(len(trial.arena.scripts)) as players:
            list(players.map(one, trial.arena.scripts))
    return 3 * rounds * len(trial.arena.scripts)


def check_same(trial: Trial, script: Script, answers: list[Answer | None]) -> None:
    """Replies to copies of a batch are equal, but for those that came too late to get one."""
    replies = [answer.json for answer in answers if answer is not None and answer.ok]
    if any(reply != replies[0] for reply in replies):
        trial.arena.book.complain(f"{script.server}: copies of a batch got {replies}")


def reordering(trial: Trial) -> int:
    """Batches overtake each other: all but the last arrive as stale ones, and their rounds count."""
    tried = 0
    for _ in range(4 * trial.scale):
        for script in trial.arena.scripts:
            script.send()
            batches = []
            for _ in range(4):
                event = script.end_round()
                batches.append(script.batch([event]))
            trial.rng.shuffle(batches)
            with ThreadPoolExecutor(len(batches)) as threads:
                at_once = trial.rng.random() < 0.5
                answers = list(threads.map(script.post, batches) if at_once else map(script.post, batches))
            for answer in answers:
                script.take(answer)
            tried += len(batches)
    return tried


def hostile(trial: Trial) -> int:
    """Requests that are wrong in every way, while others play."""
    count, port = 500 * trial.scale, trial.arena.daemon.port
    sent = 0
    with trial.arena.playing():
        for request in requests(trial.rng, count, secret_of("junk"), secret_of("arena-1")):
            answer = ask(port, request, 10.0)
            sent += 1
            if answer is not None and answer.fault:
                trial.arena.book.complain(f"{request.method} {request.path} {request.body[:300]!r}: {answer.fault}")
            trial.arena.daemon.expect()
    return sent


FAULTS = (
    Fault("lost and cut answers", lost_answers),
    Fault("simultaneous duplicates", duplicates),
    Fault("batches out of order", reordering),
    Fault("malformed requests", hostile),
)
