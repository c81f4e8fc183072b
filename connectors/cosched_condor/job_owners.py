"""Whose jobs count as attempts: anybody may give a job of theirs the name of another's. Start at `JobOwners`."""

from __future__ import annotations

import contextlib
import re
import time
from typing import TYPE_CHECKING, Any

from cosched.connector import ConnectorError
from cosched.connector.launches import is_attempt
from cosched_condor.job_ads import ONE_PROCESS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cosched_condor.htcondor_client import CondorClient
    from cosched_condor.spool import CondorAttemptFolders

__all__ = ["JobOwners"]

_UNSAFE = re.compile(r'["\\\s]')
_AGAIN = 60.0  # seconds until the scheduler is asked again as whom it knows us: an administrator may change that


class JobOwners:
    """Tells jobs of attempts from others' that carry the name of one.

    A job is an attempt's if it is of a user as whom the scheduler knows cosched, or knew it: the spool keeps these
    names, so that jobs from before such a change still count. An adopted job is its user's; its attempt's folder says
    which it is. While nothing is known every job counts.

    Args:
        client: the process that talks to HTCondor.
        attempts: the spool.
    """

    def __init__(self, client: CondorClient, attempts: CondorAttemptFolders) -> None:
        self._client = client
        self._attempts = attempts
        self._asked = float("-inf")
        self._names: tuple[str, ...] = ()
        self._has_submitted = False

    def without_forged(self, ads: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Return the jobs that are their attempts'; ads have `Owner` and `GlobalJobId`.

        That an adopted one has a single process is our word: its user may write anything into its ad.
        """
        return [found for ad in ads if (found := self._own_view(ad)) is not None]

    def submitted(self, cluster: int) -> None:
        """Learn the owner of the first cluster that this object hears of, which cosched has just submitted."""
        if self._has_submitted:
            return
        with contextlib.suppress(ConnectorError):
            ads = self._client.call("queue", constraint=f"ClusterId == {cluster}", projection=["Owner"])
            for ad in ads:
                self._know()
                self._note(str(ad.get("Owner", "")))
                self._has_submitted = True

    def selection(self, attempt: str) -> str:
        """Return the expression that selects an attempt's jobs among all that carry its name."""
        if (key := self._attempts.adopted_key(attempt)) is not None:
            return f'GlobalJobId == "{key}"'
        return self.own_selection()

    def own_names(self) -> tuple[str, ...]:
        """Return as whom the scheduler knows cosched, or knew it ("cosched"); empty while that is not known."""
        self._know()
        return self._names

    def own_selection(self) -> str:
        """Return the expression that selects jobs that cosched has submitted."""
        names = ", ".join(f'"{name}"' for name in self.own_names())
        return f"member(Owner, {{{names}}})" if names else "true"

    def _own_view(self, ad: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the ad of a job as far as cosched believes it; None where it is not its attempt's."""
        owner, attempt = str(ad.get("Owner", "")), str(ad.get("CoschedAttempt", ""))
        if not is_attempt(attempt):
            return None
        if not owner or owner in self._names or not self._attempts.known(attempt):
            return ad
        key = self._attempts.adopted_key(attempt)
        # One that has no script of ours may have been adopted before keys.
        if key is not None or self._attempts.created(attempt) is None:
            return {**ad, **ONE_PROCESS} if key in (None, ad.get("GlobalJobId")) else None
        self._know(owner)
        return ad if not self._names or owner in self._names else None

    def _know(self, owner: str = "") -> None:
        """Learn as whom the scheduler knows us, unless that is known; again where another owner is seen."""
        if not self._names:
            self._names = self._attempts.own_names()
        if (self._names and (not owner or owner in self._names)) or time.monotonic() < self._asked + _AGAIN:
            return
        self._asked = time.monotonic()
        with contextlib.suppress(ConnectorError):  # it does not answer, or its library cannot ask
            self._note(str(self._client.call("user")).partition("@")[0])

    def _note(self, name: str) -> None:
        if name and not _UNSAFE.search(name) and name not in self._names:
            self._attempts.note_own_name(name)
            self._names = (*self._names, name)
