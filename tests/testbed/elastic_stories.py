"""Stories of elastic tasks on a real manager: each gives hosts to a task that comes, gets them back and ends.

Start at `STORIES`, and at `places_story` for hosts that tasks share. Each
ends with an `AssertionError` where anything is wrong: a host with two tenants, two starts of
one program at once, a task that is lost or run again. Daemons may be killed meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from cosched.api.documents import ElasticRequest, TaskRequest
from tests.testbed.node_size import NodeSize
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from cosched.client import Client
    from demo.site import Site

__all__ = [
    "PLACES_NODE",
    "PLACES_SETTINGS",
    "STORIES",
    "STORY_SETTINGS",
    "Ask",
    "places_story",
    "restart_story",
    "workers_story",
]

STORY_SETTINGS = {"elastic": {"settle": "1s", "payback": 0.0}}
PLACES_NODE = NodeSize(cores=8, memory=8192, gpus=0)
PLACES_SETTINGS = {
    **STORY_SETTINGS,
    "planning": {"share_hosts": True},
    "connector.local": {"cores": PLACES_NODE.cores, "memory": f"{PLACES_NODE.memory}M"},
}
"""Of a site of two such hosts, for `places_story`."""
_HOST = r"""ad=${_CONDOR_MACHINE_AD:-/dev/null}
machine=$(sed -n 's/^Machine = "\(.*\)"/\1/p' "$ad")
here=$(sed -n "$((${COSCHED_RANK:-0} + 1))p" "$COSCHED_HOST_FILE")
host=${SLURMD_NODENAME:-${machine:-$here}}
say() { echo "$1 $host $(date +%s.%N)" >> "$2"; }
"""
_WORKER = _HOST + 'while :; do say worker "$1"; sleep 0.1; done\n'
_RIGID = _HOST + 'say rigid "$1"; sleep 2; say rigid "$1"\n'
# It says by mail where its workers find it; for these, that is the journal.
_LEAD = """cd "$COSCHED_MAILBOX/answers" && echo '{"address": "'"$2"'"}' > a.new && mv a.new a.json
until [ -e "$1" ]; do sleep 0.1; done; echo done
"""
_TAKEN = 'until [ -e "$1" ]; do sleep 0.1; done\n'
# On each of its hosts, as a program of MPI: the number of its start, as long as it runs; then its code.
_MODEL = (
    _HOST
    + """until [ -e "$1" ]; do
    if [ -e "$COSCHED_MAILBOX/stop" ]; then say "stop-$COSCHED_START" "$2"; exit 85; fi
    say "$COSCHED_START" "$2"; sleep 0.1
done
"""
)
# Of a shared host: what it is, its process and the cores that the manager gives it, or that it is told to have.
_CORES = r"""cpus=$(sed -n 's/^Cpus = //p' "$ad")
cores=${SLURM_CPUS_ON_NODE:-${cpus:-$COSCHED_CORES}}
"""
_PART = _CORES + 'while :; do say "worker-$2-$$:$cores" "$1"; sleep 0.1; done\n'
_PART_RIGID = _CORES + 'say "rigid-$$:$cores" "$1"; sleep 2; say "rigid-$$:$cores" "$1"\n'
_PART_LEAD = (
    _CORES
    + """(cd "$COSCHED_MAILBOX/answers" && echo '{"address": "'"$2"'"}' > a.new && mv a.new a.json)
until [ -e "$1" ]; do say "lead-$$:$cores" "$2"; sleep 0.1; done; echo done
"""
)
_FINAL = ("completed", "failed", "cancelled")
_T = TypeVar("_T")


class Ask(Protocol):
    """Asks the daemon, again and again where that may be dead."""

    def __call__(self, question: Callable[[Client], _T], /) -> _T:
        """Return the answer to a question, which may be put several times."""
        ...


class _Line(NamedTuple):
    what: str
    host: str
    at: float


def workers_story(site: Site, ask: Ask) -> None:
    """A task with workers grows over idle hosts, gives them to a task that comes, gets them back and ends."""
    journal, gate, taken = site.journal, site.folder / "gate", site.folder / "taken"
    lead, worker, rigid, filler = (
        _script(site.folder / name, text)
        for name, text in (("lead", _LEAD), ("worker", _WORKER), ("rigid", _RIGID), ("filler", _TAKEN))
    )
    _until(ask, lambda client: len(client.hosts()) == 4)
    # While two hosts are taken for long, two now are better than more later: so two are promised.
    holder = _submit(
        ask, TaskRequest(command=("/bin/sh", filler, str(taken)), hosts=2, profile=(None, 300.0)), "holder"
    )
    _until(ask, lambda client: client.task(holder).state == "running")
    elastic = _submit(
        ask,
        TaskRequest(
            command=("/bin/sh", lead, str(gate), str(journal)),
            profile=(None, 400.0, 399.0, 398.0),
            elastic=ElasticRequest(worker=("/bin/sh", worker, "{lead}")),
        ),
        "elastic",
    )
    _until(ask, lambda client: client.task(elastic).state == "running")
    taken.touch()
    _until(ask, lambda client: _running(client, elastic) == 3)
    assert len(ask(lambda client: client.workers(elastic)).promised) == 1
    short = _submit(ask, TaskRequest(command=("/bin/sh", rigid, str(journal)), profile=(None, 2.0)), "rigid")
    assert _ended(ask, short) == "completed"
    _until(ask, lambda client: _running(client, elastic) == 3)  # lent again
    gate.touch()
    assert _ended(ask, elastic) == "completed"
    workers = ask(lambda client: client.workers(elastic)).workers
    assert all(each.state not in ("running", "leaving") for each in workers)
    lines = _lines(journal)
    assert len({line.host for line in lines if line.what == "worker"}) >= 3
    _are_apart(lines)


def restart_story(site: Site, ask: Ask) -> None:
    """A program checkpoints for a task with a deadline, goes on on other hosts, gets these back and ends."""
    journal, gate = site.journal, site.folder / "gate"
    model, rigid = (_script(site.folder / name, text) for name, text in (("model", _MODEL), ("rigid", _RIGID)))
    _until(ask, lambda client: len(client.hosts()) == 4)
    request = TaskRequest(
        command=("/bin/sh", model, str(gate), str(journal)),
        profile=(None, 9000.0, 6000.0, 4000.0),
        elastic=ElasticRequest(kind="restart", grace="2m", cost=1.0),
    )
    task = _submit(ask, request, "model")
    _until(ask, lambda _client: len({line.host for line in _lines(journal) if line.what == "1"}) == 4)
    urgent = TaskRequest(command=("/bin/sh", rigid, str(journal)), profile=(None, 60.0), deadline="now+10m")
    assert _ended(ask, _submit(ask, urgent, "urgent")) == "completed"
    # It went on beside it on the others, or once it had ended; then it has been given all again.
    _until(ask, lambda client: client.task(task).state == "running" and len(client.task(task).hosts) == 4)
    _until(ask, lambda _client: len({line.host for line in _lines(journal) if line.what == _starts(journal)[-1]}) == 4)
    gate.touch()
    assert _ended(ask, task) == "completed"
    ended, starts = ask(lambda client: client.task(task)), _starts(journal)
    assert ended.restarts is not None
    assert starts == [str(number) for number in range(1, ended.restarts.count + 2)]
    assert len(starts) >= 2
    codes = [each.exit_code for each in ended.tries if each.started is not None]
    assert codes == [85] * ended.restarts.count + [0]
    _are_apart(_lines(journal))


def places_story(site: Site, ask: Ask) -> None:
    """A task has parts of both shared hosts, gives as many to one that comes as that needs, and gets them back."""
    journal, gate = site.journal, site.folder / "gate"
    lead, worker, rigid = (
        _script(site.folder / name, _HOST + text)
        for name, text in (("lead", _PART_LEAD), ("worker", _PART), ("rigid", _PART_RIGID))
    )
    _until(ask, lambda client: len(client.hosts()) == 2)
    elastic = _submit(
        ask,
        TaskRequest(
            command=("/bin/sh", lead, str(gate), str(journal)),
            profile=(None, *(400.0 - number for number in range(7))),
            cores=2,
            elastic=ElasticRequest(worker=("/bin/sh", worker, str(journal), "{worker}", "{lead}")),
        ),
        "elastic",
    )
    _until(ask, lambda client: _running(client, elastic) == 7)  # four places on each host, one of them the lead's
    assert len(ask(lambda client: client.workers(elastic)).promised) == 1
    other = TaskRequest(command=("/bin/sh", rigid, str(journal)), profile=(None, 2.0), cores=4)
    assert _ended(ask, _submit(ask, other, "rigid")) == "completed"
    _until(ask, lambda client: _running(client, elastic) == 7)
    gate.touch()
    assert _ended(ask, elastic) == "completed"
    jobs = _parts(journal)
    others = {job: parts for job, parts in jobs.items() if job.startswith("rigid")}
    assert len({part.host for part in others.values()}) == 2
    for part in others.values():
        at = [each for each in jobs.values() if each.host == part.host]
        full = [
            sum(each.cores for each in at if each.began <= now <= each.ended) for now in (each.began for each in at)
        ]
        assert max(full) <= PLACES_NODE.cores, "a host was overfilled"
        beside = [each for each in at if each.began < part.began and part.ended < each.ended]
        assert sum(each.cores for each in beside) == 4, "all or none of the places were taken back"


STORIES: Mapping[str, Callable[[Site, Ask], None]] = {"workers": workers_story, "restart": restart_story}
"""By the elastic kind; hosts are whole."""


class _Part(NamedTuple):
    host: str
    cores: int
    began: float
    ended: float


def _parts(journal: Path) -> dict[str, _Part]:
    """Return what each job had of its host and when it was seen there, by kind, number and process."""
    found: dict[str, _Part] = {}
    for what, host, at in _lines(journal):
        job, cores = what.rsplit(":", 1)
        key = f"{job}@{host}"
        found[key] = _Part(host, int(cores), found[key].began if key in found else at, at)
    return found


def _submit(ask: Ask, request: TaskRequest, key: str) -> str:
    return ask(lambda client: client.submit(request, key)).id


def _ended(ask: Ask, task: str) -> str:
    """Return the state in which a task has ended."""
    _until(ask, lambda client: client.task(task).state in _FINAL)
    return ask(lambda client: client.task(task)).state


def _until(ask: Ask, holds: Callable[[Client], bool]) -> None:
    until(lambda: ask(holds))


def _running(client: Client, task: str) -> int:
    return sum(each.state == "running" for each in client.workers(task).workers)


def _script(file: Path, text: str) -> str:
    file.write_text(text)
    return str(file)


def _lines(journal: Path) -> list[_Line]:
    words = [line.split() for line in journal.read_text().splitlines()] if journal.exists() else []
    return [_Line(what, host, float(at)) for what, host, at in words]


def _starts(journal: Path) -> list[str]:
    """Return the starts of the program that have been seen."""
    return sorted({line.what for line in _lines(journal) if line.what.isdecimal()}, key=int)


def _are_apart(lines: list[_Line]) -> None:
    """Check that no start of a program overlaps another one, nor the elastic task the other on any host."""
    spans: dict[int, list[float]] = {}
    for line in lines:
        if line.what not in ("rigid", "worker"):
            spans.setdefault(int(line.what.removeprefix("stop-")), []).append(line.at)
    for earlier, later in zip(sorted(spans), sorted(spans)[1:], strict=False):
        assert max(spans[earlier]) < min(spans[later]), "two starts of the program at once"
    rigid = [line for line in lines if line.what == "rigid"]
    assert len(rigid) == 4, "the other task was not run once"
    for host in {line.host for line in rigid}:
        began, ended = sorted(line.at for line in rigid if line.host == host)
        alive = [line.at for line in lines if line.what != "rigid" and line.host == host]
        assert not any(began <= at <= ended for at in alive), "a host with two tenants"
