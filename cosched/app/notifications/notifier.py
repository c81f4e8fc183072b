"""The notifier sends notices from the outbox until their receivers have taken them.

A crash between sending and writing that down sends one twice, with the same identifier, and loses none.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import structlog

from cosched.app.notifications.transports import (
    MailServer,
    NotificationTargets,
    hook_body,
    hook_headers,
    mail,
    notice_id,
    post_hook,
    send_mail,
)
from cosched.app.views.task_views import task_view
from cosched.coscheduler.places.hosts import predicted_end
from cosched.errors import SystemFault
from cosched.store.notice_outbox import NoticeOutbox
from cosched.store.rows import Notice

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.coscheduler.core import Coscheduler
    from cosched.store.store import Store

__all__ = ["NotificationSettings", "Notifier", "late_notices"]

_log = structlog.get_logger("cosched.notifier")

_LOOK_AHEAD = 15.0  # seconds between looks for tasks that will be late
_AT_ONCE = 20
_FIRST, _LONGEST = 5.0, 3600.0  # seconds to wait after a fault, doubled each time


def late_notices(core: Coscheduler, time: float) -> list[Notice]:
    """Return notices of live tasks that will be or are late, or were not started."""
    notices = [
        Notice(name, "unstarted", target, time, time)
        for name in core.unstarted.refused()
        for target in core.tasks[name].spec.notify
    ]
    deadlines = {
        name: task.spec.deadline
        for name, task in core.tasks.items()
        if task.spec.notify and task.spec.deadline is not None
    }
    if not deadlines:
        return notices
    live = [attempt for attempt in core.attempts.values() if attempt.hosts and not attempt.worker]
    ends = {attempt.task: predicted_end(attempt, time) for attempt in live}
    if not deadlines.keys() <= ends.keys():
        forecast = core.planning_view.forecast(time)
        planned = () if forecast is None else forecast[1].assignments
        ends |= {place.task: time + place.end for place in planned if place.task not in ends}
    late = [name for name, deadline in deadlines.items() if max(ends.get(name) or time, time) > deadline]
    return notices + [Notice(name, "late", each, time, time) for name in late for each in core.tasks[name].spec.notify]


@dataclass(frozen=True, slots=True)
class NotificationSettings:
    """An administrator's settings of notices.

    Attributes:
        targets: the addresses that are allowed.
        secret: the key that signs web hooks.
        server: the mail server; None if there is none.
        sender: address that mail comes from.
        patience: seconds after which an undelivered notice is given up.
        pause: seconds between looks into the outbox.
    """

    targets: NotificationTargets = field(default_factory=NotificationTargets)
    secret: str = ""
    server: MailServer | None = None
    sender: str = "cosched@localhost"
    patience: float = 86400.0
    pause: float = 2.0


class Notifier(threading.Thread):
    """Send due notices until `stop`."""

    def __init__(
        self,
        store: Store,
        settings: NotificationSettings,
        domain: str,
        late: Callable[[], list[Notice]],
        now: Callable[[], float],
    ) -> None:
        """Set up.

        Args:
            store: has the outbox, and the tasks.
            settings: the administrator's settings.
            domain: its name, for people.
            late: returns notices of live tasks that are planned to end after their deadlines.
            now: seconds since the epoch.
        """
        super().__init__(name="notifier", daemon=True)
        self._store = store
        self._outbox = NoticeOutbox(store)
        self._settings = settings
        self._domain = domain
        self._late = late
        self._now = now
        self._stopped = threading.Event()
        self._looked_ahead = now()

    def stop(self) -> None:
        """End after the notice under way."""
        self._stopped.set()
        if self.ident is not None:
            self.join()

    def run(self) -> None:
        """Look into the outbox again and again."""
        while not self._stopped.wait(self._settings.pause):
            try:
                self.look()
            except SystemFault as fault:  # the database, or an engine that is busy: they say so themselves
                _log.warning("notices wait", fault=str(fault))

    def look(self) -> None:
        """Send everything that is due now."""
        if self._now() >= self._looked_ahead + _LOOK_AHEAD:
            self._looked_ahead = self._now()
            self._outbox.add(self._late())
        for notice in self._outbox.due(self._now(), _AT_ONCE):
            if self._stopped.is_set():
                return
            self._outbox.put(self._deliver(notice))

    def _deliver(self, notice: Notice) -> Notice:
        """Try to send a notice; return it as it is then."""
        try:
            self._send(notice)
        except SystemFault as fault:
            return self._postponed(notice, str(fault))
        _log.info("told", task=notice.task, kind=notice.kind, target=notice.target)
        return replace(notice, due=None, tries=notice.tries + 1, fault="")

    def _postponed(self, notice: Notice, fault: str) -> Notice:
        now = self._now()
        pause = min(_FIRST * 2.0 ** min(notice.tries, 30), _LONGEST)
        given_up = now + pause > notice.created + self._settings.patience
        _log.warning("given up" if given_up else "not told", task=notice.task, target=notice.target, fault=fault)
        return replace(notice, due=None if given_up else now + pause, tries=notice.tries + 1, fault=fault)

    def _send(self, notice: Notice) -> None:
        settings = self._settings
        if not settings.targets.allows(notice.target):
            raise SystemFault("it is not allowed any more")
        identifier = notice_id(notice, self._store.instance)
        task = self._store.task(notice.task)
        view = None if task is None else task_view(task)
        if not notice.target.startswith("mailto:"):
            body = hook_body(notice, identifier, self._domain, view)
            post_hook(notice.target, body, hook_headers(body, settings.secret, self._now()))
            return
        if settings.server is None:
            raise SystemFault("there is no mail server: set [notify] smtp")
        send_mail(mail(notice, identifier, self._domain, settings.sender, view), settings.server)
