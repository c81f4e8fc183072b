"""Whole daemons that are neighbours: real processes, real mutual TLS, real jobs of the local connector."""

from __future__ import annotations

import itertools
import json
import math
import sqlite3
import time
from contextlib import closing, contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import httpx2
import pytest

from benchmarks.faults import federation_session
from cosched.agents.protocol.letter_xml import read_letter, write_letter
from cosched.agents.protocol.letters import (
    Accepted,
    Commit,
    Decline,
    Fenced,
    Granted,
    Letter,
    Offer,
    Refused,
    RemoteTaskState,
    RemoteTaskStatus,
    Report,
    Request,
    Reserve,
    Reserved,
    Start,
)
from cosched.agents.transport import tls
from cosched.agents.transport.allow_list import read_peer_entry
from cosched.agents.transport.peer_client import call_peer
from cosched.api.documents import TaskRequest
from cosched.coscheduler.handovers import NamedText, TaskDocument
from cosched.daemon.clock import Clock
from cosched.daemon.inbox import Inbox
from cosched.daemon.neighbours import GuestGate
from cosched.errors import UserError
from demo.grid import await_neighbours, peer
from tests.agents.identities import UUID
from tests.agents.protocol.test_letter_xml import LIES as POISON
from tests.tasks import make_task
from tests.testbed.federation import federation
from tests.testbed.liar import Liar
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cosched.agents.protocol.letters import Body
    from cosched.api.documents import PeerView, TaskDetail
    from tests.testbed.federation import Domain, Federation

# The HTTP library leaves the socket to the garbage collector where nobody listens.
pytestmark = [
    pytest.mark.daemon,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("ignore:.*socket.socket:pytest.PytestUnraisableExceptionWarning"),
]
PATIENCE = 180.0
# Tests that share domains run in one worker: each would have its own otherwise.
PAIR, TREE, DECEIVED = (pytest.mark.xdist_group(f"neighbours-{name}") for name in ("pair", "tree", "deceived"))


@pytest.fixture(scope="module")
def pair() -> Iterator[Federation]:
    """Two domains: one host against eight."""
    with federation({"north": 1, "south": 8}, [("north", "south", "neighbour")]) as found:
        yield found


def submit(domain: Domain, label: str, allowance: float, scale: float = 0.05, kernel: str = "jacobi") -> str:
    """Submit a task that takes 40 × scale seconds on one host and 13 × scale on eight."""
    request = TaskRequest(
        application=kernel, parameters={"Label": label, "Scale": scale}, deadline=time.time() + allowance
    )
    with domain.client() as client:
        return client.submit(request).id


def task(domain: Domain, name: str) -> TaskDetail:
    with domain.client() as client:
        return client.task(name)


def peers(domain: Domain) -> list[PeerView]:
    with domain.client() as client:
        return list(client.peers())


def ended(domain: Domain, name: str) -> TaskDetail:
    with domain.client() as client:
        client.wait([name], PATIENCE)
        return client.task(name)


def begun(domain: Domain, name: str) -> TaskDetail:
    """Wait until a task runs, wherever that is, and return what is known of it at that moment."""
    give_up = time.monotonic() + PATIENCE
    while (seen := task(domain, name)).started is None:
        assert time.monotonic() < give_up, "it did not come about in time"
        time.sleep(0.05)
    return seen


def guest_of(domain: Domain, origin: str) -> TaskDetail:
    """Return the newest task that has come from there."""
    with domain.client() as client:
        found = [one for one in client.tasks(limit=1000).tasks if one.origin == origin]
        return client.task(max(found, key=lambda one: int(one.id)).id)


@contextmanager
def busy(*domains: Domain) -> Iterator[None]:
    """Take all hosts of some domains: what is submitted meanwhile waits there until another domain has it."""
    request = TaskRequest(command=("/bin/sleep", "1000"), profile=(100.0,), exclusive=True)
    blockers = []
    for domain in domains:
        with domain.client() as client:
            blockers.append((domain, client.submit(request).id))
    until(lambda: all(task(domain, name).state == "running" for domain, name in blockers))
    yield
    for domain, name in blockers:
        with domain.client() as client:
            client.cancel(name)


@PAIR
def test_a_task_that_would_be_late_is_run_by_the_neighbour_and_all_that_it_did_comes_back(pair: Federation) -> None:
    north, south = pair.domains["north"], pair.domains["south"]
    with busy(north):
        name = submit(north, "away", allowance=8.0, scale=0.3)
        seen = begun(north, name)
        assert (seen.state, seen.peer) == ("forwarded", "south")
        done = ended(north, name)
    assert (done.state, done.exit_code) == ("completed", 0)
    guest = guest_of(south, "north")
    assert done.hosts == guest.hosts
    assert done.actual == guest.actual
    assert guest.owner == f"{done.owner}:north"
    assert (done.handovers[-1].state, done.handovers[-1].outcome) == ("ended", "completed in south")
    with north.client() as client:
        for rank in range(len(guest.hosts)):
            written = client.output(name, "out", rank=rank)
            assert written is not None
            assert written.data.decode().startswith(f"jacobi rank {rank} of {len(guest.hosts)}: ")
    assert pair.ran()["away"] == ["south"]


def refused_letters(domain: Domain, peer: str) -> int:
    """Return how many letters of a neighbour a domain has refused, by its metrics."""
    with httpx2.Client(transport=httpx2.HTTPTransport(uds=domain.server.removeprefix("unix:"))) as client:
        text = client.get("http://cosched/metrics", timeout=PATIENCE).text
    counted = f'cosched_refused_letters_total{{peer="{peer}"}} '
    return sum(int(float(line.removeprefix(counted))) for line in text.splitlines() if line.startswith(counted))


@PAIR
def test_poisoned_letters_end_no_daemon_and_are_refused_recorded_and_counted(pair: Federation) -> None:
    """They come with the neighbour's own key; `<seconds>1e-300</seconds>` is among them."""
    north, south = pair.domains["north"], pair.domains["south"]
    entry, state = read_peer_entry(south.folder / "peer.toml"), north.folder / "state"
    context = tls.client_context(state / "agent.crt", state / "agent.key", entry.certificate)
    lives, before = [domain.pid for domain in (north, south)], refused_letters(south, "north")
    for text in POISON.values():
        body = text.replace('sender="a" receiver="b"', 'sender="north" receiver="south"').encode()
        reply = call_peer(entry, context, "POST", "/letters", body)
        assert (reply.status, reply.body.count(b"\n")) == (400, 0)
    assert refused_letters(south, "north") == before + len(POISON)
    assert south.log.read_text().count("refused a letter") >= len(POISON)
    with busy(north):
        name = submit(north, "after poison", allowance=8.0, scale=0.3)
        assert ended(north, name).state == "completed"
    assert pair.ran()["after poison"] == ["south"]
    assert [domain.pid for domain in (north, south)] == lives
    for domain in (north, south):
        with domain.client() as client:
            assert not client.status().faults


@PAIR
def test_a_task_that_runs_at_the_neighbour_is_cancelled_from_home(pair: Federation) -> None:
    north, south = pair.domains["north"], pair.domains["south"]
    with busy(north):
        name = submit(north, "cancelled", allowance=240.0, scale=8.0)
        begun(north, name)
        until(lambda: any(line.task == "cancelled" for line in pair.history()))  # it itself, and not only its runner
    with north.client() as client:
        client.cancel(name)
    assert ended(north, name).state == "cancelled"
    until(lambda: guest_of(south, "north").state == "cancelled")
    kinds = [line.kind for line in pair.history() if line.task == "cancelled"]
    assert set(kinds) == {"start"}


_SHARED: dict[str, dict[str, object]] = {"planning": {"share_hosts": True}}
_MODEL = "application part { proc exec init { step cpu { confdev 80 s / Nproc; } } }"


def test_of_a_range_of_cores_the_neighbour_chooses_among_its_own() -> None:
    """At home the largest host has 4 cores, and all are taken; the neighbour's have 8."""
    configured: dict[str, dict[str, dict[str, object]]] = {
        "north": {**_SHARED, "connector.local": {"cores": 4}},
        "south": {**_SHARED, "connector.local": {"cores": 8}},
    }
    command = ("/bin/sh", "-c", "echo $COSCHED_CORES")
    links = [("north", "south", "neighbour")]
    with federation({"north": 1, "south": 2}, links, agent={"commands": True}, configured=configured) as found:
        north, south = found.domains["north"], found.domains["south"]
        with busy(north):
            request = TaskRequest(command=command, model=_MODEL, cores="2-8", hosts=1, deadline=time.time() + 30.0)
            with north.client() as client:
                name = client.submit(request).id
            at_home = task(north, name)
            assert {each.cores for each in at_home.alternatives} == {2, 3, 4}
            done = ended(north, name)
        guest = guest_of(south, "north")
        with north.client() as client:
            written = client.output(name, "out")
    assert (done.state, done.peer) == ("completed", "south")
    assert (guest.state, guest.cores_range) == ("completed", "2-8")
    assert max(each.cores for each in guest.alternatives) == 8
    assert written is not None
    assert int(written.data) == guest.cores
    assert guest.cores in {each.cores for each in guest.alternatives}


def test_a_neighbour_whose_only_host_is_half_free_is_asked() -> None:
    """It was taken for full until its host would be wholly free, and the task stayed at home and was late."""
    eight: dict[str, dict[str, object]] = {**_SHARED, "connector.local": {"cores": 8}}
    links = [("north", "south", "neighbour")]
    both = {"north": eight, "south": eight}
    with federation({"north": 1, "south": 1}, links, agent={"commands": True}, configured=both) as found:
        north, south = found.domains["north"], found.domains["south"]
        half = TaskRequest(command=("/bin/sleep", "1000"), profile=(1000.0,), cores=4)
        with busy(north), south.client() as client:
            beside = client.submit(half).id
            until(lambda: task(south, beside).state == "running")
            until(lambda: [(peer.free, peer.free_cores, peer.cores) for peer in peers(north)] == [(0, 4, 8)])
            request = TaskRequest(command=("/bin/true",), profile=(1.0,), cores=4, deadline=time.time() + 60.0)
            with north.client() as home:
                name = home.submit(request).id
            done = ended(north, name)
            client.cancel(beside)
    assert (done.state, done.peer) == ("completed", "south")


@PAIR
def test_a_failure_at_the_neighbour_is_one_at_home(pair: Federation) -> None:
    north = pair.domains["north"]
    with busy(north):
        name = submit(north, "failing", allowance=4.0, scale=0.15)
        done = ended(north, name)
    assert (done.state, done.peer, done.exit_code) == ("failed", "south", 3)
    assert guest_of(pair.domains["south"], "north").reason == done.reason


@pytest.mark.slow(45)
def test_daemons_killed_and_cut_off_run_every_task_exactly_once() -> None:
    report = federation_session.run(faults=28, seconds=30.0, seed=1)
    print(report)
    assert not report.wrong
    assert report.forwarded + report.came_back


@pytest.fixture(scope="module")
def tree() -> Iterator[Federation]:
    """A root with two below it, and a leaf below the left one; all but the right one have one host."""
    hosts = {"root": 1, "left": 1, "right": 8, "leaf": 1}
    links = [("left", "root", "upper"), ("right", "root", "upper"), ("leaf", "left", "upper")]
    with federation(hosts, links, agent={"hops": 3, "scope": 2, "lease": "20s"}) as found:
        yield found


def visited(domain: Domain) -> list[list[str]]:
    """Return the domains in which each guest has been before, by the daemon's database."""
    with closing(sqlite3.connect(f"file:{domain.folder}/state/cosched.db?mode=ro", uri=True)) as database:
        return [json.loads(row[0]) for row in database.execute("SELECT visited FROM guests ORDER BY created")]


def restart(domain: Domain, configuration: str) -> None:
    domain.stop()
    domain.config.write_text(configuration)
    domain.start()


def offered_in_vain(domain: Domain, name: str) -> bool:
    with domain.client() as client:
        return any("no other domain has offered" in reason for reason in client.explain(name).waits_for)


@TREE
def test_a_request_climbs_to_the_head_and_down_to_the_domain_that_can(tree: Federation) -> None:
    leaf, left, root, right = (tree.domains[name] for name in ("leaf", "left", "root", "right"))
    with busy(leaf, left, root):
        name = submit(leaf, "climbs", allowance=30.0, scale=0.1)
        assert (ended(leaf, name).state, task(leaf, name).peer) == ("completed", "right")
        with leaf.client() as client:
            written = client.output(name, "out")
    assert tree.ran()["climbs"] == ["right"]
    assert visited(right) == [["leaf", "left", "root"]]
    assert task(leaf, name).handovers[-1].peer == "left"
    assert "right through left" in task(leaf, name).handovers[-1].why
    assert guest_of(left, "leaf").handovers[-1].peer == "root"
    assert guest_of(root, "left").handovers[-1].peer == "right"
    assert written is not None  # fetched through two domains
    assert written.data.startswith(b"jacobi rank 0 of ")


@TREE
def test_a_domain_in_the_middle_that_does_not_run_it_hands_it_on(tree: Federation) -> None:
    leaf, left, root, right = (tree.domains[name] for name in ("leaf", "left", "root", "right"))
    before = left.config.read_text()
    restart(left, before.replace("[agent]\n", '[agent]\napplications = ["sweep3d"]\n'))
    await_neighbours(list(tree.domains.values()))
    with busy(leaf, root):
        name = submit(leaf, "through", allowance=30.0, scale=0.1)
        assert (ended(leaf, name).state, task(leaf, name).peer) == ("completed", "right")
    assert tree.ran()["through"] == ["right"]
    assert visited(right)[-1] == ["leaf", "left", "root"]
    guest = guest_of(left, "leaf")
    assert (guest.state, guest.profile, guest.attempts) == ("completed", None, 0)
    assert "left cannot run it, right through root" in guest.handovers[-1].why
    restart(left, before)


@TREE
def test_no_task_goes_further_than_it_may(tree: Federation) -> None:
    leaf, left, root, right = (tree.domains[name] for name in ("leaf", "left", "root", "right"))
    before = len(visited(right))
    restart(leaf, leaf.config.read_text().replace("hops = 3", "hops = 2"))
    await_neighbours(list(tree.domains.values()))
    with busy(leaf, left, root):
        name = submit(leaf, "stays near", allowance=30.0, scale=0.1)
        until(lambda: offered_in_vain(leaf, name) or task(leaf, name).peer)
    assert ended(leaf, name).state == "completed"
    assert tree.ran()["stays near"] != ["right"]
    assert len(visited(right)) == before


@TREE
def test_a_loop_is_cut_where_it_would_close(tree: Federation) -> None:
    leaf, root = tree.domains["leaf"], tree.domains["root"]
    peer(leaf, "add", str(root.folder / "peer.toml"))
    peer(root, "add", str(leaf.folder / "peer.toml"))
    await_neighbours(list(tree.domains.values()))
    with busy(tree.domains["right"]):
        names = [submit(leaf, f"round-{number}", allowance=2.0) for number in range(8)]  # too many for all of them
        assert {ended(leaf, name).state for name in names} == {"completed"}
    ran = tree.ran()
    assert [len(ran[f"round-{number}"]) for number in range(8)] == [1] * 8
    for name, domain in tree.domains.items():
        for been in visited(domain):
            assert len(set(been)) == len(been)
            assert name not in been
    assert visited(root)


@pytest.fixture(scope="module")
def deceived(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Federation, Liar]]:
    """A domain of one host whose only neighbour advertises what it does not have."""
    with federation({"north": 1}, [], agent={"lease": "2s"}) as found:
        liar = Liar(tmp_path_factory.mktemp("liar"), found.domains["north"])
        await_neighbours(list(found.domains.values()))
        yield found, liar
        liar.stop()


def takes(*afterwards: Callable[[Commit], Body]) -> Callable[[Body], list[Body]]:
    """Promise everything, take the task, and say this about it then."""

    def manner(body: Body) -> list[Body]:
        match body:
            case Request() as word:
                return [Offer(word.task, word.epoch, 0.5, "liar")]
            case Reserve() as word:
                return [Reserved(word.task, word.epoch, 0.5, 30.0)]
            case Commit() as word:
                return [each(word) for each in afterwards]
        return []

    return manner


def takes_no_place(body: Body) -> list[Body]:
    if isinstance(body, Reserve):
        return [Refused(body.task, body.epoch, "it is gone")]
    return takes()(body)


def declines(body: Body) -> list[Body]:
    return [Decline(body.task, body.epoch, "not mine")] if isinstance(body, Request) else []


def accepted(word: Commit) -> Body:
    return Accepted(word.task, word.epoch)


def refused(word: Commit) -> Body:
    return Refused(word.task, word.epoch, "changed my mind")


def reported(state: RemoteTaskState) -> Callable[[Commit], Body]:
    return lambda word: Report(
        (RemoteTaskStatus(word.task, word.epoch, state, "liar", finished=0.0, actual=0.1, exit_code=0),)
    )


LIES = {
    "never answers": (lambda _body: [], Request),
    "declines": (declines, Request),
    "takes no place": (takes_no_place, Reserve),
    "does not answer to a commit": (takes(), Commit),
    "refuses what it has promised": (takes(refused), Commit),
    "falls silent with it": (takes(accepted), Commit),
    "gives it back": (takes(accepted, reported(RemoteTaskState.RETURNED)), Commit),
    "says that it runs": (takes(accepted, reported(RemoteTaskState.RUNNING)), Commit),
    "says that it has ended": (takes(accepted, reported(RemoteTaskState.COMPLETED)), Commit),
    "says that it has failed": (takes(reported(RemoteTaskState.FAILED)), Commit),
}


@DECEIVED
@pytest.mark.parametrize("lie", LIES)
def test_a_neighbour_that_lies_costs_time_and_never_a_task(deceived: tuple[Federation, Liar], lie: str) -> None:
    found, liar = deceived
    north = found.domains["north"]
    liar.heard.clear()
    liar.manner, comes_to = LIES[lie]
    with busy(north):
        name = submit(north, lie, allowance=1.0)
        until(lambda: liar.heard[comes_to])
    assert ended(north, name).state == "completed"
    assert liar.heard[comes_to]
    assert found.ran()[lie] == ["north"]
    assert not [fault for fault in found.faults([lie]) if lie in fault and "never submitted" not in fault]


@DECEIVED
def test_who_asks_to_start_what_was_taken_back_is_refused(deceived: tuple[Federation, Liar]) -> None:
    found, liar = deceived
    north = found.domains["north"]
    commits: list[Commit] = []
    fenced: list[str] = []
    promise = takes(accepted)

    def manner(body: Body) -> list[Body]:
        if isinstance(body, Commit):
            commits.append(body)
        if isinstance(body, Fenced):
            fenced.append(body.task)
        return promise(body)

    liar.heard.clear()
    liar.manner = manner
    with busy(north):
        name = submit(north, "asked for late", allowance=1.0)
        until(lambda: commits and commits[0].task in fenced)  # silent for too long
        before = fenced.count(commits[0].task)
        liar.say(Start(commits[0].task, commits[0].epoch, 1))
        until(lambda: fenced.count(commits[0].task) > before)
    assert ended(north, name).state == "completed"
    assert not liar.heard[Granted]
    assert found.ran()["asked for late"] == ["north"]


def test_a_task_that_cannot_be_kept_is_refused_before_the_core_hears_of_it() -> None:
    """It could not be written down: core and agent began anew with what was stored, as after a mistake of cosched."""
    text = (NamedText("TEXT", "quotes"),)
    commit = Commit(UUID, 1, 1, (), TaskDocument("t", "", "ann", 9.0, seconds=(1.0,), environment=4 * text))
    letter = write_letter(Letter("liar", "north", 1, 1, 1, commit))
    small = letter.replace(b'"quotes"', b"'" + 1_000_000 * b'"' + b"'")  # as we write it, each is six bytes
    inbox, taken = Inbox(Clock()), SimpleNamespace(task=lambda *_: make_task(1))
    gate = GuestGate(inbox, cast("Any", taken), cast("Any", lambda: None))
    with pytest.raises(UserError, match=r"the document has 24\d* bytes, and peers take"):
        gate.deliver(read_letter(small))
    assert inbox.empty()
    gate.deliver(read_letter(letter))
    assert not inbox.empty()


EDGES = (1e-9, 315360000.0, math.inf)  # of what the schema lets pass


@DECEIVED
def test_figures_at_the_edge_of_the_schema_end_no_daemon(deceived: tuple[Federation, Liar]) -> None:
    found, liar = deceived
    north = found.domains["north"]
    life = north.pid
    liar.manner = lambda _body: ()
    for number, (seconds, deadline) in enumerate(itertools.product(EDGES, (-3155760000.0, 0.0, 3155760000.0))):
        document = TaskDocument("t", "", "ann", deadline, command=("/bin/true",), seconds=(seconds,) * 4)
        liar.heard.clear()
        liar.say(Request(f"{UUID[:-3]}{number:03d}", 2**53 - 1, 64, ("liar",), document))
        until(lambda: liar.heard[Offer] or liar.heard[Decline])
    with north.client() as client:
        assert not [fault for fault in client.status().faults if fault.startswith("mistake")]
    assert north.pid == life
    with busy(north):
        name = submit(north, "after the edges", allowance=60.0)
    assert ended(north, name).state == "completed"
