"""In a whole daemon the search leads a waiting chain along another way than that in which it was admitted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.api.documents import TaskRequest
from tests.testbed.forked.nursery import QuickSite
from tests.waiting import until

if TYPE_CHECKING:
    from cosched.api.documents import WayView
    from cosched.client import Client
    from demo.site import Site

_MODEL = """
application look {
    var control: width;
    proc tunable main {
        task sample [] [width] [({1}, {1, 300 s}, 1.0), ({4}, {4, 90 s}, 1.0)];
        task_select {
            when (width == 1) task examine [] [] [({}, {2, 100 s}, 1.0)];
            when (width == 4) task examine [] [] [({}, {3, 80 s}, 1.0)];
        }
    }
}
"""


def _catalogue(site: Site) -> None:
    (site.folder / "look.psl").write_text(_MODEL)
    entry = f'model = "{site.folder / "look.psl"}"\ncommand = ["/bin/echo", "{{width}}"]\n[stages.examine]\n'
    (site.folder / "applications.d" / "look.toml").write_text(f'{entry}command = ["/bin/echo", "{{width}}"]\n')


def _taken(ways: tuple[WayView, ...]) -> list[float]:
    return [way.control["width"] for way in ways if way.chosen]


@pytest.mark.daemon
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*socket:pytest.PytestUnraisableExceptionWarning")
def test_the_search_leads_a_waiting_chain_along_another_way_and_says_so() -> None:
    """Admission takes the way that takes least of the hosts, as others might come; the other one is quicker."""
    with QuickSite("local", scale=1.0, hosts=4, prepare=_catalogue) as site, site.client() as client:
        gate = site.folder / "gate"
        until(lambda: len(client.hosts()) == 4)
        wait = ("/bin/sh", "-c", f"until [ -e {gate} ]; do sleep 0.1; done")
        (busy,) = client.submit_all([TaskRequest(command=wait, hosts=4, profile=(None, None, None, 600.0))])
        until(lambda: client.task(busy.id).state == "running")
        request = TaskRequest(application="look", deadline="now+1h", directory=str(site.folder))
        assert _taken(client.foresee(request).ways) == [1.0]
        sample, examine = (task.id for task in client.submit_all([request]))

        def led(client: Client) -> bool:
            chain = client.explain(sample).chain
            return chain is not None and _taken(chain.ways) == [4.0]

        until(lambda: led(client))
        (line,) = [line for line in client.log(1000) if line.kind == "other way"]
        assert (line.task, line.detail) == (sample, "the search found a better plan with it")
        gate.touch()
        until(lambda: client.task(examine).state == "completed")
        assert [len(client.task(task).hosts) for task in (sample, examine)] == [4, 3]
        assert all(client.task(task).on_time for task in (sample, examine))
