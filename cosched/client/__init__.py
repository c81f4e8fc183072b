"""A Python client for the daemon's API.

with Client() as client:
    task = client.submit(TaskRequest(application="sweep3d", deadline=time.time() + 7200))
    print(client.wait([task.id])[0].on_time)
"""

from __future__ import annotations

from cosched.client.calls import AccessCalls, DomainCalls, LibraryCalls, TaskCalls
from cosched.client.http_caller import NotRunningError

__all__ = ["Client", "NotRunningError"]


class Client(TaskCalls, DomainCalls, LibraryCalls, AccessCalls):
    """Talks to one daemon, for one thread at a time.

    Each thread may have a client of its own.

    Every method raises `UserError` where the daemon refuses, `SystemFault` where it or the manager fails, and
    `NotRunningError` where no daemon answers.
    """
