"""Jobs that a manager takes and does not start, on all hosts of a real pool, and what becomes of a task behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.api.documents import TaskRequest
from tests.waiting import until

if TYPE_CHECKING:
    from cosched.api.documents import TaskDetail
    from cosched.client import Client
    from demo.site import Site

__all__ = ["SETTINGS", "check_others_run"]

SETTINGS = {"dispatch": {"start_grace": "3s"}}


def check_others_run(site: Site, client: Client, request: TaskRequest, reason: str) -> None:
    """Check that a task with a deadline runs in time behind as many greedy jobs as there are hosts.

    The daemon is killed as it calls the first of them back. Each greedy one says the manager's `reason`, and is tried
    again.
    """
    hosts = len(client.hosts())
    greedy = client.submit_all([request] * hosts)
    until(lambda: all(client.task(task.id).attempts for task in greedy))
    until(lambda: any(_called_back(client.task(task.id)) for task in greedy))
    site.kill()
    site.start()
    sane = client.submit(TaskRequest(command=("/bin/sleep", "1"), profile=(1.0,), deadline="now+10m"))
    (done,) = client.wait([sane.id], 240.0)
    assert (done.state, done.on_time) == ("completed", True)
    until(lambda: all(reason in client.task(task.id).reason for task in greedy))
    until(lambda: any(client.task(task.id).attempts > 1 for task in greedy))
    for task in greedy:
        client.cancel(task.id)
    assert {task.state for task in client.wait([task.id for task in greedy], 180.0)} == {"cancelled"}


def _called_back(task: TaskDetail) -> bool:
    return task.state == "queued" or any(attempt.state == "cancelling" for attempt in task.tries)
