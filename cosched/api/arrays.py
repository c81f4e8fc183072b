"""An array is one request with many indices; command line and pages make its tasks here."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cosched.api.documents.task_requests import TaskRequest

__all__ = ["array_element"]

_INDEX = "TASK_INDEX"


def array_element(request: TaskRequest, index: int, at_most: int) -> TaskRequest:
    """Return the request of the task with an index, which stands in its name and its environment.

    Args:
        request: of the whole array.
        index: its place.
        at_most: how many tasks of the array may run at once; 0: all.
    """
    return replace(
        request,
        name=f"{request.name}.{index}" if request.name else "",
        environment={**request.environment, _INDEX: str(index)},
        array_index=index,
        array_at_most=at_most,
    )
