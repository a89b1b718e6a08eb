"""A daemon that starts and ends where this is imported: in the process whose forks are the tests' daemons.

What a first start reads, compiles and keeps (routes, types, statements) its forks then have, each in half the time.
"""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from equipoise import app, config
from equipoise.install.configuration import write_new
from equipoise.install.server_files import NewServer


async def _begin(folder: Path) -> None:
    write_new(folder, [NewServer("begun")])
    path = folder / "config.toml"
    written = path.read_text().replace("port = 27500", "port = 0")
    path.write_text(f'{written}\n[store]\ndirectory = "{folder / "state"}"\n')
    async with AsyncExitStack() as stack:
        await app.start(config.load(path, {}), stack, environ={})


with TemporaryDirectory() as folder:
    asyncio.run(_begin(Path(folder)))
