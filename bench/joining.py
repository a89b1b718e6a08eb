"""How long a pool with a past takes into a log, and out of it by a machine that joins: `python -m bench.joining STATE`.

STATE is the folder of a store that `bench.filled_store` made; a copy of it is shared, on a PostgreSQL of its own. Both
machines are this process: the first beside nobody, then the second.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from equipoise import ratings
from equipoise.app import SystemClock
from equipoise.service.ring import Ring
from equipoise.service.shared_pool import SharedPool
from equipoise.shared.log import SharedLog
from equipoise.store.store import Store
from tests.postgres import PASSWORD, cluster

POOL = "main"


async def followed(folder: Path, url: str) -> None:
    """Follow the log with this machine's pool, and print what that took until all was there."""
    store, log = Store(folder / "equipoise.db"), SharedLog(url, PASSWORD, folder.name)
    await store.open()
    pool = SharedPool(POOL, ratings.create("synelo"), store, Ring(folder / f"{POOL}.ring"), SystemClock(), log)
    began, spent = time.perf_counter(), time.process_time()
    await pool.open()
    while not await asyncio.sleep(0.05, POOL in store.followed):
        pass
    took, used = time.perf_counter() - began, time.process_time() - spent
    _, rounds, _ = await store.holds(POOL)
    print(f"{folder.name:6} {rounds:,} rounds in {took:.0f} s, {used:.0f} s of this process", flush=True)
    await pool.close()
    await log.close()
    await store.close()


def main() -> None:
    parser = argparse.ArgumentParser(description="Share a pool with a past, and join it.")
    parser.add_argument("state", type=Path, help="a state folder that bench.filled_store filled")
    options = parser.parse_args()
    with TemporaryDirectory(dir=options.state) as place, cluster() as server:
        url = server.url(server.database())
        for name in ("shared", "joined"):
            (folder := Path(place) / name).mkdir()
            if name == "shared":
                shutil.copy(options.state / "equipoise.db", folder)
            asyncio.run(followed(folder, url))


if __name__ == "__main__":
    main()
