"""A program that checkpoints gives hosts to a task with a deadline on real managers, gets them back and ends."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

import pytest

from cosched.api.documents import ElasticRequest, TaskRequest
from tests.testbed.debian import PackageError
from tests.testbed.nursery import QuickSite

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_PATIENCE = 150.0
_SETTINGS = {"elastic": {"settle": "1s", "payback": 0.0}}
_HOST = r"""ad=${_CONDOR_MACHINE_AD:-/dev/null}
machine=$(sed -n 's/^Machine = "\(.*\)"/\1/p' "$ad")
here=$(sed -n "$((${COSCHED_RANK:-0} + 1))p" "$COSCHED_HOST_FILE")
host=${SLURMD_NODENAME:-${machine:-$here}}
say() { echo "$1 $host $(date +%s.%N)" >> "$2"; }
"""
# On each of its hosts, as a program of MPI: the number of its start, as long as it runs; then its code.
_MODEL = (
    _HOST
    + """until [ -e "$1" ]; do
    if [ -e "$COSCHED_MAILBOX/stop" ]; then say "stop-$COSCHED_START" "$2"; exit 85; fi
    say "$COSCHED_START" "$2"; sleep 0.1
done
"""
)
_RIGID = _HOST + 'say rigid "$1"; sleep 2; say rigid "$1"\n'


class _Line(NamedTuple):
    what: str
    host: str
    at: float


@pytest.mark.parametrize(
    "connector",
    [
        pytest.param("local", marks=pytest.mark.daemon),
        pytest.param("condor", marks=[pytest.mark.pool, pytest.mark.xdist_group("condor-sites")]),
        pytest.param("slurm", marks=[pytest.mark.pool, pytest.mark.xdist_group("slurm-sites")]),
    ],
)
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*socket:pytest.PytestUnraisableExceptionWarning")
def test_a_program_checkpoints_for_a_task_with_a_deadline_and_gets_its_hosts_back(connector: str) -> None:
    if connector == "condor":
        pytest.importorskip("htcondor2", reason="the package htcondor is not installed")
    with ExitStack() as stack:
        try:
            site = stack.enter_context(QuickSite(connector, scale=1.0, hosts=4, settings=_SETTINGS))
        except PackageError as error:
            pytest.skip(f"the manager cannot be had here: {error}")
        client, journal, gate = stack.enter_context(site.client()), site.journal, site.folder / "gate"
        model, rigid = (_script(site.folder / name, text) for name, text in (("model", _MODEL), ("rigid", _RIGID)))
        _until(lambda: len(client.hosts()) == 4)
        request = TaskRequest(
            command=("/bin/sh", model, str(gate), str(journal)),
            profile=(None, 9000.0, 6000.0, 4000.0),
            elastic=ElasticRequest(kind="restart", grace="2m", cost=1.0),
        )
        task = client.submit(request).id
        _until(lambda: _starts(journal) == ["1"] and len({line.host for line in _lines(journal)}) == 4)
        urgent = TaskRequest(command=("/bin/sh", rigid, str(journal)), profile=(None, 60.0), deadline="now+10m")
        assert client.wait([client.submit(urgent).id], _PATIENCE)[0].state == "completed"
        # It went on beside it on the others, or once it had ended; then it has been given all again.
        _until(lambda: client.task(task).state == "running" and len(client.task(task).hosts) == 4)
        _until(lambda: len({line.host for line in _lines(journal) if line.what == _starts(journal)[-1]}) == 4)
        gate.touch()
        assert client.wait([task], _PATIENCE)[0].state == "completed"
        ended = client.task(task)
        assert ended.restarts is not None
        starts = _starts(journal)
        assert starts == [str(number) for number in range(1, ended.restarts.count + 2)]
        assert len(starts) >= 2
        assert [each.exit_code for each in ended.tries] == [85] * ended.restarts.count + [0]
        _is_one_at_a_time(_lines(journal))


def _is_one_at_a_time(lines: list[_Line]) -> None:
    """Check that no start of the program overlaps another one, nor the other task on a host."""
    spans: dict[str, list[float]] = {}
    for line in lines:
        if line.what != "rigid":
            spans.setdefault(line.what.removeprefix("stop-"), []).append(line.at)
    for earlier, later in zip(sorted(spans, key=int), sorted(spans, key=int)[1:], strict=False):
        assert max(spans[earlier]) < min(spans[later]), "two starts of the program at once"
    for host in {line.host for line in lines if line.what == "rigid"}:
        began, ended = sorted(line.at for line in lines if line.what == "rigid" and line.host == host)
        alive = [line.at for line in lines if line.what != "rigid" and line.host == host]
        assert not any(began <= at <= ended for at in alive), "a host with two tenants"


def _script(file: Path, text: str) -> str:
    file.write_text(text)
    return str(file)


def _until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + _PATIENCE
    while not holds():
        assert time.monotonic() < until, "it does not come about"
        time.sleep(0.2)


def _lines(journal: Path) -> list[_Line]:
    words = [line.split() for line in journal.read_text().splitlines()] if journal.exists() else []
    return [_Line(what, host, float(at)) for what, host, at in words]


def _starts(journal: Path) -> list[str]:
    """Return the starts of the program that have been seen."""
    return sorted({line.what for line in _lines(journal) if line.what.isdecimal()}, key=int)
