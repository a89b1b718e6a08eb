"""A daemon that starts and ends where this is imported: in the process whose forks are the tests' daemons.

What a first start reads, compiles and keeps (routes, types, statements) its forks then have, each in half the time.
"""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from equipoise import app, config
from tests.daemons import RealDaemon


async def _begin(path: Path) -> None:
    async with AsyncExitStack() as stack:
        await app.start(config.load(path, {}), stack, environ={})


with TemporaryDirectory() as folder:
    asyncio.run(_begin(RealDaemon(Path(folder)).config))
