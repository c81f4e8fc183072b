"""Elastic tasks and pools for tests, worked out by hand or drawn."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from cosched.scheduling.elastic.tasks import ElasticPool, ElasticProgress, ElasticTask

HOSTS = 8


def elastic_task(
    name: str, work: float, most: int = HOSTS, *, least: int = 1, serial: float = 0.0, submitted: float = 0.0
) -> ElasticTask:
    """Return a task that can be suspended; its run time is the serial seconds and the others divided by the hosts."""
    seconds = tuple(serial + (work - serial) / count for count in range(1, HOSTS + 1))
    return ElasticTask(name, seconds, least, most, least, suspendable=True, submitted=submitted)


def firm(task: ElasticTask, *, cost: float = 0.0, drain: float = 0.0) -> ElasticTask:
    """Return the task so that it cannot be suspended, with its costs."""
    return replace(task, suspendable=False, grow_cost=cost, shrink_cost=cost, drain=drain)


def has(task: ElasticTask, hosts: int, left: float = 1.0, began: float = 0.0) -> ElasticProgress:
    """Return the progress of a task that has hosts."""
    return ElasticProgress(task, left, hosts, began=began)


def waits(task: ElasticTask, left: float = 1.0) -> ElasticProgress:
    """Return the progress of a task that waits since it came."""
    return ElasticProgress(task, left, queued=task.submitted)


@st.composite
def drawn_tasks(draw: st.DrawFn, name: str) -> ElasticTask:
    """Draw a task: rigid or elastic, suspendable or not, with any run times."""
    seconds = tuple(draw(st.lists(st.floats(1.0, 1e4), min_size=HOSTS, max_size=HOSTS)))
    least, preferred, most = sorted(draw(st.lists(st.integers(1, HOSTS), min_size=3, max_size=3)))
    cost, drain = draw(st.sampled_from([(0.0, 0.0), (5.0, 0.0), (3.0, 2.0)]))
    return ElasticTask(
        name,
        seconds,
        least,
        most,
        preferred,
        cost,
        cost,
        drain,
        draw(st.booleans()),
        draw(st.floats(0.0, 1000.0)),
    )


@st.composite
def drawn_pools(draw: st.DrawFn) -> ElasticPool:
    """Draw a pool with waiting and running tasks."""
    tasks = [draw(drawn_tasks(f"t{number}")) for number in range(draw(st.integers(1, 7)))]
    free = HOSTS
    running, waiting = [], []
    for task in tasks:
        left = draw(st.floats(0.01, 1.0))
        if task.least <= free and draw(st.booleans()):
            hosts = draw(st.integers(task.least, min(task.most, free)))
            running.append(ElasticProgress(task, left, hosts, draw(st.floats(0.0, 9.0)), began=task.submitted))
            free -= hosts
        else:
            waiting.append(ElasticProgress(task, left, queued=task.submitted - draw(st.floats(0.0, 9e4))))
    waiting.sort(key=lambda each: (each.task.submitted, each.task.id))
    return ElasticPool(1000.0, HOSTS, tuple(waiting), tuple(running), event=draw(st.integers(0, 9)))
