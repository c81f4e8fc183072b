"""What a process of a task wrote, however much that is: read by parts, or downloaded whole."""

# No `from __future__ import annotations`: FastAPI reads the annotations of routes when it takes them.

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from fastapi import Query, Request, Response
from fastapi.responses import StreamingResponse

from cosched.api.problems import NotFoundError
from cosched.connector.jobs import Output
from cosched.portal.dependencies import Reader, Services
from cosched.portal.pages import page_router
from cosched.portal.pages.rendering import render_page
from cosched.portal.pages.wording import as_terminal
from cosched.portal.routes.tasks import MOST_OUTPUT_BYTES, Stream

__all__ = ["OutputPart", "output_part", "router"]

PART = 128 << 10
"""Bytes that are shown at once."""

_Read = Callable[[int, int], Output | None]  # offset and limit


@dataclass(frozen=True, slots=True)
class OutputPart:
    """Whole lines of an output, of bytes `begin` to `end` of `size`; of a longer line a part."""

    text: str
    begin: int
    end: int
    size: int


def output_part(read: _Read, begin: int | None = None, end: int | None = None) -> OutputPart | None:
    """Read a part of an output: from a byte on, or up to one; its end where neither is given, or it is shorter.

    Args:
        read: returns so many bytes from an offset on; None where nothing is kept.
        begin: the first byte.
        end: the byte after the last one.
    """
    if begin is None:
        probe = read(0, 1)
        if probe is None:
            return None
        end = probe.size if end is None else min(end, probe.size)
        found = read(max(end - PART, 0), end - max(end - PART, 0)) if end else probe
    else:
        found = read(begin, PART)
        if found is not None and found.size and not found.data:  # behind its end
            return output_part(read)
    if found is None:
        return None
    data, offset = found.data, found.offset
    if begin is None:  # its first line may have begun before
        data = data[: max((end or 0) - offset, 0)]
        skipped = data.find(b"\n") + 1 if offset else 0
        skipped = skipped if skipped < len(data) else 0
        data, offset = data[skipped:], offset + skipped
    elif offset + len(data) < found.size:  # its last line goes on behind it
        data = data[: data.rfind(b"\n") + 1] or data
    return OutputPart(as_terminal(data.decode(errors="replace")), offset, offset + len(data), found.size)


router = page_router()


@router.get("/tasks/{task_id}/output/{stream}")
def show(
    request: Request,
    services: Services,
    principal: Reader,
    task_id: str,
    stream: Stream,
    rank: Annotated[int, Query(ge=0, le=10**6)] = 0,
    begin: Annotated[int | None, Query(ge=0, le=2**62)] = None,
    end: Annotated[int | None, Query(ge=0, le=2**62)] = None,
) -> Response:
    """Show a part; without `begin` and `end` the last one."""
    task = services.tasks.task(principal, task_id)
    read = partial(services.tasks.output, principal, task.id, str(stream), rank, 0)
    part = output_part(read, begin, end)
    if part is None:
        raise NotFoundError(f"nothing that process {rank} of task {task_id[:80]!r} wrote is kept")
    return render_page(request, "output.html", task=task, stream=str(stream), rank=rank, part=part, step=PART)


@router.get("/tasks/{task_id}/output/{stream}/all")
def download(
    services: Services,
    principal: Reader,
    task_id: str,
    stream: Stream,
    rank: Annotated[int, Query(ge=0, le=10**6)] = 0,
) -> Response:
    """Send all of it; what is written meanwhile is left out."""
    task = services.tasks.task(principal, task_id)
    read = partial(services.tasks.output, principal, task.id, str(stream), rank, 0)
    first = read(0, MOST_OUTPUT_BYTES)
    if first is None:
        raise NotFoundError(f"nothing that process {rank} of task {task_id[:80]!r} wrote is kept")
    headers = {
        "Content-Length": str(first.size),
        "Content-Disposition": f'attachment; filename="{task.id}.{stream}.{rank}"',
        "Cache-Control": "no-store",
    }
    # Never a page: a browser must not interpret a job's output.
    return StreamingResponse(_blocks(read, first), media_type="application/octet-stream", headers=headers)


def _blocks(read: _Read, first: Output) -> Iterator[bytes]:
    """Yield an output as long as it was at first; a shorter answer than that ends the connection."""
    yield first.data
    sent = len(first.data)
    while sent < first.size:
        found = read(sent, min(MOST_OUTPUT_BYTES, first.size - sent))
        if found is None or not found.data:
            return
        yield found.data
        sent += len(found.data)
