"""A daemon beside a simulated pool in bad weather: every task runs exactly once, by the pool's own history."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from cosched.api.documents import TaskRequest
from tests.history import faults, read_pool
from tests.testbed.forked.nursery import QuickSite

# The HTTP library leaves the socket to the garbage collector where nobody listens.
pytestmark = [
    pytest.mark.daemon,
    pytest.mark.filterwarnings("ignore:.*socket.socket:pytest.PytestUnraisableExceptionWarning"),
]

_WEATHER = {"busy": 0.1, "lost": 0.2, "repeat": 0.5, "latency": 0.02}
_TASKS = 60
_SEED = 1  # with it a daemon's first calls find the pool busy and the answer to its first submit is lost


@pytest.mark.daemon
@pytest.mark.slow
def test_in_bad_weather_every_task_runs_exactly_once() -> None:
    """Beside calls that fail and answers that are lost, a host goes, and the daemon is killed."""
    settings: dict[str, dict[str, Any]] = {
        "connector.simulated": _WEATHER,
        "dispatch": {"grace": "500ms", "retry": "100ms"},
    }
    requests = [TaskRequest(application=name, hosts="1-4") for name in ("jacobi", "fft", "memsort")] * (_TASKS // 3)
    with QuickSite("simulated", scale=0.02, noise=0.2, seed=_SEED, settings=settings) as site, site.client() as client:
        tasks = [task.id for task in client.submit_all(requests)]
        site.kill()
        site.start()
        site.take_host("host03")
        states = Counter(task.state for task in client.wait(tasks, 240))
        said = site.log.read_text()
        assert states == {"completed": _TASKS}, said[-2000:]
        assert "is busy" in said
        assert "was lost" in said
        assert not faults(read_pool(site.history), tasks)
