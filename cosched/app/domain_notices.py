"""Notices are lines that administrators write for everybody: they are made, shown and removed here."""

from __future__ import annotations

import secrets
import threading
from dataclasses import asdict
from typing import TYPE_CHECKING

from cosched.access.principals import require_administrator
from cosched.api.deadlines import check_deadline
from cosched.api.documents import NoticeView
from cosched.api.problems import ConflictError, NotFoundError
from cosched.errors import UserError
from cosched.store.domain_notices import DomainNotice

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.access.principals import Principal
    from cosched.api.documents import NoticeRequest
    from cosched.store.domain_notices import DomainNoticeTable

__all__ = ["LONGEST_NOTICE", "MOST_NOTICES", "NoticeService"]

LONGEST_NOTICE = 300
MOST_NOTICES = 10
"""That are shown at once."""

_ACTION = "write and remove notices"


class NoticeService:
    """Answers for notices. Any thread may call it; to read them waits for nothing, for every page shows them."""

    def __init__(self, table: DomainNoticeTable, now: Callable[[], float]) -> None:
        """Read the notices that are kept.

        Args:
            table: keeps them.
            now: returns seconds since the epoch.
        """
        self._table = table
        self._now = now
        self._writing = threading.Lock()
        self._known = table.after(now())

    def notices(self) -> list[NoticeView]:
        """Return the notices that are shown now, the oldest first."""
        now = self._now()
        return [NoticeView(**asdict(each)) for each in self._known if each.until > now]

    def write(self, principal: Principal, request: NoticeRequest) -> NoticeView:
        """Show a line on all pages until a time.

        Raises:
            ForbiddenError: the principal is no administrator.
            ConflictError: there are too many already.
            UserError: the line cannot be shown, or its time is past.
        """
        require_administrator(principal, _ACTION)
        text, now = " ".join(request.text.split()), self._now()
        if not text or len(text) > LONGEST_NOTICE or not text.isprintable():
            raise UserError(f"a notice is one line of 1 to {LONGEST_NOTICE} characters that can be printed")
        until = check_deadline(request.until, now, "end of the notice")
        notice = DomainNotice(secrets.token_hex(4), text, until, principal.name, now)
        with self._writing:
            known = tuple(each for each in self._known if each.until > now)
            if len(known) >= MOST_NOTICES:
                raise ConflictError(f"{MOST_NOTICES} notices are shown already: remove one first")
            self._table.add(notice)
            self._known = (*known, notice)
        return NoticeView(**asdict(notice))

    def remove(self, principal: Principal, identifier: str) -> NoticeView:
        """Show a notice no more, and return what it was.

        Raises:
            ForbiddenError: the principal is no administrator.
            NotFoundError: it is not shown.
        """
        require_administrator(principal, _ACTION)
        with self._writing:
            removed = next((each for each in self.notices() if each.id == identifier), None)
            if removed is None:
                raise NotFoundError(
                    f"there is no notice {identifier[:80]!r}: `cosched notice list` shows what there is"
                )
            self._table.remove(identifier)
            self._known = tuple(each for each in self._known if each.id != identifier)
        return removed
