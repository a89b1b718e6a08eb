"""One kept HTTP connection to the daemon, with as little work of its own as possible: it shares the machine."""

from __future__ import annotations

import asyncio


class Link:
    """Requests one after the other. `open` it first."""

    def __init__(self, port: int, secret: str) -> None:
        self._port = port
        self._head = (
            f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {secret}\r\nContent-Type: application/json\r\n"
        ).encode()

    async def open(self) -> None:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)

    def close(self) -> None:
        self._writer.close()

    async def post(self, path: str, body: bytes) -> bytes:
        """The answer, whatever its status."""
        self._writer.write(
            b"POST %s HTTP/1.1\r\n%sContent-Length: %d\r\n\r\n%s" % (path.encode(), self._head, len(body), body)
        )
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        return await self._reader.readexactly(length)
