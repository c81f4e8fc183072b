"""A bad network on purpose: a TCP proxy on loopback that cuts, refuses, delays and loses answers when it is told to."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

__all__ = ["Wire"]

_PIECE = 65536


class Wire:
    """Connects whoever comes to a port of this machine; a context manager.

    Attributes:
        port: where it listens.
        refuses: whether connections are ended as they come.
        delay: seconds that every piece waits, each way.
        drip: seconds between two bytes of what is answered; 0 for whole pieces.
        done: how many connections were "refused" or "cut", and how many answers "lost".
    """

    def __init__(self, target: int) -> None:
        """Describe a wire to this port."""
        self.port = 0
        self.refuses = False
        self.delay = 0.0
        self.drip = 0.0
        self.done: Counter[str] = Counter()
        self._target = target
        self._open: set[_Pair] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="wire", daemon=True)
        self._door = socket.create_server(("127.0.0.1", 0))

    def __enter__(self) -> Self:
        self._thread.start()
        self._door.setblocking(False)
        self.port = int(self._door.getsockname()[1])
        self._loop.call_soon_threadsafe(self._loop.add_reader, self._door, self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def cut(self) -> None:
        """End all connections in the middle of whatever they carry."""

        self._tell(self._cut)

    def lose_answers(self) -> None:
        """End each connection when the next answer comes, which is lost: what was asked has arrived all the same."""

        self._tell(_Pair.deafen)

    def heal(self) -> None:
        """Be a good wire again."""
        self.refuses, self.delay, self.drip = False, 0.0, 0.0

    def _tell(self, what: Callable[[_Pair], None]) -> None:
        """Do this to all connections; it is done when this returns."""

        async def told() -> None:
            for pair in list(self._open):
                what(pair)

        asyncio.run_coroutine_threadsafe(told(), self._loop).result()

    def _cut(self, pair: _Pair) -> None:
        self.done["cut"] += 1
        pair.end()

    def _accept(self) -> None:
        """Take a connection in; asyncio's own server leaves those open that come as it is closed."""
        try:
            caller, _ = self._door.accept()
        except OSError:
            return  # it has gone again
        task = self._loop.create_task(self._connect(caller))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _task: caller.close())  # it may have been cancelled before its first step

    async def _connect(self, caller: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=caller)
        try:
            await self._serve(reader, writer)
        finally:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.refuses:
            self.done["refused"] += 1
            return
        try:
            there = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            return
        pair = _Pair(writer, there[1])
        self._open.add(pair)
        try:
            await asyncio.gather(self._ask(reader, there[1]), self._answer(pair, there[0], writer))
        except (OSError, asyncio.CancelledError):
            pass  # cancelled it is only in the end, and asyncio's own callback would report that as a mistake
        finally:
            pair.end()
            self._open.discard(pair)

    async def _ask(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await reader.read(_PIECE):
            await self._bring(piece, writer)
        with suppress(OSError):
            writer.write_eof()

    async def _answer(self, pair: _Pair, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await reader.read(_PIECE):
            if pair.deaf:
                self.done["lost"] += 1
                break
            if not self.drip:
                await self._bring(piece, writer)
                continue
            for byte in piece:
                await asyncio.sleep(self.drip)
                await self._bring(bytes([byte]), writer)
        pair.end()

    async def _bring(self, piece: bytes, writer: asyncio.StreamWriter) -> None:
        if self.delay:
            await asyncio.sleep(self.delay)
        writer.write(piece)
        await writer.drain()

    async def _end(self) -> None:
        self._loop.remove_reader(self._door)
        self._door.close()
        own = asyncio.current_task()
        while others := [task for task in asyncio.all_tasks() if task is not own]:
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)


class _Pair:
    """A connection and the one that goes on from it."""

    def __init__(self, *ends: asyncio.StreamWriter) -> None:
        self.deaf = False
        self._ends = ends

    def deafen(self) -> None:
        self.deaf = True

    def end(self) -> None:
        for writer in self._ends:
            writer.transport.abort()
