"""Recordings of the core's events are read here, by administrators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.access.principals import require_administrator
from cosched.api.problems import NotFoundError
from cosched.errors import SystemFault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cosched.access.principals import Principal

__all__ = ["RecordingService"]


class RecordingService:
    """Answers for the recording. Methods may block; any thread may call them."""

    def __init__(self, blocks: Callable[[], Iterator[bytes]] | None = None) -> None:
        """Set up.

        Args:
            blocks: gives all that is recorded, up to now; None where nothing is.
        """
        self._blocks = blocks

    def blocks(self, principal: Principal) -> Iterator[bytes]:
        """Return the content of the recording, oldest events first, with all names.

        Raises:
            ForbiddenError: the principal is no administrator.
            NotFoundError: nothing is recorded.
            SystemFault: it cannot be read.
        """
        require_administrator(principal, "read what is recorded")
        if self._blocks is None:
            raise NotFoundError("this daemon records nothing: set [recorder] files to 1 or more and start it again")
        try:
            return self._blocks()
        except OSError as error:
            raise SystemFault(f"the recording cannot be read: {error.strerror or error}") from error
