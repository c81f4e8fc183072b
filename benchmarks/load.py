"""A load of HTTP requests that costs little itself: prepared bytes over kept connections, on one event loop."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Measured", "offer", "request"]


@dataclass
class Measured:
    """What came of a load.

    Attributes:
        seconds: from the first request to the last answer.
        took: seconds of each request, from when it was due.
        statuses: of the answers, by number.
    """

    seconds: float = 0.0
    took: list[float] = field(default_factory=list)
    statuses: dict[int, int] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        """Answers a second."""
        return len(self.took) / self.seconds


def request(method: str, path: str, token: str, body: bytes = b"", **headers: str) -> bytes:
    """Return the bytes of a request."""
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {token}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def offer(port: int, requests: Sequence[bytes], connections: int, rate: float = 0.0) -> Measured:
    """Send requests over several connections.

    Args:
        port: of this machine.
        requests: in the order in which they are due.
        connections: that are kept open.
        rate: requests that are due each second, however slow the answers are; 0: as fast as they are answered.
    """
    return asyncio.run(_offer(port, requests, connections, rate))


async def _offer(port: int, requests: Sequence[bytes], connections: int, rate: float) -> Measured:
    measured = Measured()
    due = iter(enumerate(requests))
    streams = [await asyncio.open_connection("127.0.0.1", port) for _ in range(connections)]
    began = time.perf_counter()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for place, content in due:
            start = began + place / rate if rate else time.perf_counter()
            await asyncio.sleep(max(start - time.perf_counter(), 0.0))
            writer.write(content)
            status = await _answer(reader)
            measured.took.append(time.perf_counter() - start)
            measured.statuses[status] = measured.statuses.get(status, 0) + 1

    await asyncio.gather(*(serve(reader, writer) for reader, writer in streams))
    measured.seconds = time.perf_counter() - began
    for _, writer in streams:
        writer.close()
    return measured


async def _answer(reader: asyncio.StreamReader) -> int:
    head = await reader.readuntil(b"\r\n\r\n")
    length = next((int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0)
    await reader.readexactly(length)
    return int(head[9:12])
