"""Agents over bad networks: whatever is lost, repeated, late, cut or crashes, every accepted task runs exactly once."""

from __future__ import annotations

import io
import math
from collections import Counter

import pytest

from benchmarks.faults import virtual_session
from cosched.agents import AdvertisingChanged, Agent, Peer, PeerRole
from cosched.agents.agent_settings import AdvertisingSettings
from cosched.agents.protocol.letter_xml import read_letter, write_letter
from cosched.connector.jobs import JobReport, JobState
from cosched.coscheduler.events import CancelRequested, NeighboursChanged
from cosched.coscheduler.recording.lines import read_recording
from cosched.coscheduler.recording.replay import ReplayedEvent, replay
from cosched.coscheduler.task import TaskState
from tests.agents.grid import START, Faults, Grid, Node
from tests.exploring import examples

WORK = (40.0, 22.0, 15.0, 12.0)


def a_line(seed: int = 1, faults: Faults | None = None) -> Grid:
    """Make a — b — c: a is slow and small, c is fast and a does not know it."""
    grid = Grid(seed, faults)
    grid.add("a", 2, 1.0, [Peer("b")])
    grid.add("b", 2, 1.0, [Peer("a"), Peer("c")])
    grid.add("c", 4, 2.0, [Peer("b")])
    grid.run(START + 10.0)
    return grid


def test_what_is_on_time_here_stays() -> None:
    grid = a_line()
    grid.nodes["a"].submit("t", WORK, 100.0)
    grid.run(START + 100.0)
    assert [run[1] for run in grid.history] == ["a"]


def test_what_would_be_late_goes_where_it_is_not() -> None:
    grid = a_line()
    for number in range(4):
        grid.nodes["a"].submit(f"t{number}", WORK, 50.0)
    grid.run(START + 200.0)
    assert not grid.faults_of_history()
    assert {run[1] for run in grid.history} > {"a"}
    assert all(end <= START + 10.0 + 50.0 for _, _, _, end in grid.history)


def test_a_recording_of_each_core_replays_without_its_agent_and_through_crashes() -> None:
    grid = a_line(3, Faults(loss=0.05, twice=0.05))
    grid.crash = 0.002
    for number in range(6):
        grid.at(START + 20.0 + 5.0 * number, lambda: grid.nodes["a"].submit("t", WORK, 50.0))
    for name in "abc":
        grid.at(START + 60.0, grid.nodes[name].boot)
    grid.run(START + 120.0)
    for node in grid.nodes.values():
        lines = io.BytesIO("".join(node.recording).encode())
        events = [each for each in replay(read_recording(lines, node.name)) if isinstance(each, ReplayedEvent)]
        assert len(events) > 50
        assert all(each.same for each in events)
        assert any(isinstance(each.recorded.event, NeighboursChanged) for each in events)


def test_a_domain_that_is_not_a_neighbour_is_reached_through_one() -> None:
    grid = a_line()
    grid.nodes["a"].submit("t", WORK, 12.0)  # only c is fast enough
    grid.run(START + 100.0)
    assert not grid.faults_of_history()
    assert [run[1] for run in grid.history] == ["c"]
    task = grid.nodes["a"].disk.written.tasks["1"]
    assert task.status.peer == "c"
    assert next(iter(grid.nodes["a"].disk.written.handovers.values())).peer == "b"
    assert "c through b" in next(iter(grid.nodes["a"].disk.written.handovers.values())).why


def forwarded_to_b(*, busy: bool) -> Grid:
    """Return a grid in which a's task is with b: it waits there where b is busy, else it runs."""
    grid = Grid(1)
    grid.add("a", 1, 1.0, [Peer("b")])
    grid.add("b", 4, 4.0, [Peer("a")])
    grid.run(START + 10.0)
    if busy:
        grid.nodes["b"].submit("long", (100.0, 100.0, 100.0, 20.0), 1000.0)
    grid.nodes["a"].submit("t", (80.0, 80.0, 80.0, 40.0), 30.0)
    grid.run(START + 13.0)
    assert grid.state_of("t") is TaskState.FORWARDED
    return grid


@pytest.mark.parametrize("busy", [True, False])
def test_a_task_is_cancelled_wherever_it_is(busy: bool) -> None:
    grid = forwarded_to_b(busy=busy)
    a = grid.nodes["a"]
    a.happen(CancelRequested(a.now, "1"))
    grid.run(START + 60.0)
    assert grid.state_of("t") is TaskState.CANCELLED
    assert "t" not in [run[0] for run in grid.history]
    assert all(node.idle for node in grid.nodes.values())


def test_what_a_silent_neighbour_has_not_started_is_taken_back_and_fenced() -> None:
    grid = forwarded_to_b(busy=True)
    grid.cut = {frozenset("ab")}
    grid.run(START + 45.0)
    assert [run for run in grid.history if run[0] == "t"] == []
    assert grid.state_of("t") is not TaskState.FORWARDED
    grid.heal()
    grid.settle(300.0)
    assert not grid.faults_of_history()
    assert [run[1] for run in grid.history if run[0] == "t"] == ["a"]


def test_what_a_silent_neighbour_may_have_started_is_waited_for() -> None:
    grid = forwarded_to_b(busy=False)
    grid.cut = {frozenset("ab")}
    grid.run(START + 200.0)
    assert grid.state_of("t") is TaskState.FORWARDED
    grid.heal()
    grid.settle(300.0)
    assert not grid.faults_of_history()
    assert [run[1] for run in grid.history] == ["b"]


def test_a_neighbour_that_is_paused_gets_and_gives_nothing_new() -> None:
    grid = Grid(1)
    grid.add("a", 1, 1.0, [Peer("b", paused=True)])
    grid.add("b", 4, 4.0, [Peer("a")])
    grid.run(START + 10.0)
    grid.nodes["a"].submit("t", (80.0, 80.0, 80.0, 40.0), 30.0)
    grid.run(START + 200.0)
    assert [run[1] for run in grid.history] == ["a"]


def test_messages_for_a_task_do_not_grow_with_the_domains() -> None:
    counts = []
    for domains in (3, 12):
        grid = Grid(1)
        names = [f"d{number}" for number in range(domains)]
        for name in names:
            grid.add(name, 1 if name == "d0" else 4, 4.0, [Peer(peer) for peer in names if peer != name], period=1e6)
        grid.run(START + 3.0)
        before = grid.letters
        grid.nodes["d0"].submit("t", (80.0, 80.0, 80.0, 40.0), 12.0)
        grid.settle(60.0)
        assert [run[1] for run in grid.history] != ["d0"]
        counts.append(grid.letters - before)
    assert counts[1] <= counts[0] + 6


def test_what_an_agent_does_is_counted() -> None:
    grid = a_line()
    grid.nodes["a"].submit("t", WORK, 12.0)  # only c is fast enough
    grid.run(START + 100.0)
    figures = {name: agent_of(node).figures() for name, node in grid.nodes.items()}
    assert (figures["a"].offered, figures["a"].forwarded, figures["a"].came_back) == (1, 1, 0)
    assert (figures["b"].taken, figures["b"].hops) == (1, 1.0)
    assert (figures["c"].taken, figures["c"].hops) == (1, 2.0)
    assert figures["a"].staleness is not None
    assert 0.0 <= figures["a"].staleness <= 60.0
    assert figures["a"].sent["request"] == 1
    assert figures["a"].letters_each is not None


def test_advertising_changes_while_it_runs() -> None:
    grid = a_line()
    agent = agent_of(grid.nodes["b"])
    grid.nodes["b"].happen(AdvertisingChanged(grid.nodes["b"].now, AdvertisingSettings(5.0, False, 0, 20.0)))
    told = agent.figures().sent["advertisement"]
    grid.run(START + 40.0)
    assert agent.figures().sent["advertisement"] - told <= 12  # only where it was asked
    assert {entry.service.domain for entry in agent_of(grid.nodes["a"]).entries(grid.time)} == {
        "b"
    }  # of c it tells no more


def a_tree(**changes: object) -> Grid:
    """Make a root with two lower agents, l and r; l has two slow ones below it, r a fast and a slow one."""
    grid = Grid(1)
    lower, upper = PeerRole.LOWER, PeerRole.UPPER
    grid.add("root", 1, 1.0, [Peer("l", lower), Peer("r", lower)], **changes)
    grid.add("l", 1, 1.0, [Peer("root", upper), Peer("ll", lower), Peer("lr", lower)], **changes)
    grid.add("r", 1, 1.0, [Peer("root", upper), Peer("rl", lower), Peer("rr", lower)], **changes)
    for name, above in (("ll", "l"), ("lr", "l"), ("rl", "r"), ("rr", "r")):
        hosts, speed = (4, 4.0) if name == "rr" else (1, 1.0)
        grid.add(name, hosts, speed, [Peer(above, upper)], **changes)
    grid.run(START + 30.0)
    return grid


def agent_of(node: Node) -> Agent:
    assert node.broker is not None
    assert node.broker.agent is not None
    return node.broker.agent


def tables(grid: Grid, name: str) -> dict[str, str]:
    return {entry.service.domain: str(entry.table) for entry in agent_of(grid.nodes[name]).entries(grid.time)}


def test_the_tables_say_from_where_each_domain_is_known() -> None:
    grid = a_tree(scope=1)
    assert tables(grid, "l") == {"root": "G", "r": "G", "ll": "L", "lr": "L"}
    assert tables(grid, "rr") == {"r": "G", "root": "G", "rl": "G"}
    assert agent_of(grid.nodes["l"]).service(grid.time).domain == "l"  # T: its own
    assert tables(a_line(), "a") == {"b": "C", "c": "C"}


@pytest.mark.parametrize(("scope", "reach"), [(0, {"l"}), (1, {"l", "root", "lr"}), (2, {"l", "root", "lr", "r"})])
def test_scope_says_how_far_a_domain_is_told_of(scope: int, reach: set[str]) -> None:
    assert tables(a_tree(scope=scope), "ll").keys() == reach


def test_a_request_climbs_to_the_head_and_down_to_the_one_that_can() -> None:
    grid = a_tree(scope=4)
    grid.nodes["ll"].submit("t", (80.0, 60.0, 50.0, 40.0), 30.0)  # only rr is fast enough
    grid.run(START + 200.0)
    assert not grid.faults_of_history()
    assert [run[1] for run in grid.history] == ["rr"]
    assert grid.history[0][3] <= START + 60.0
    ways = {name: [h.peer for h in node.disk.written.handovers.values()] for name, node in grid.nodes.items()}
    assert ways == {"ll": ["l"], "l": ["root"], "root": ["r"], "r": ["rr"], "lr": [], "rl": [], "rr": []}
    assert [guest.visited for guest in grid.nodes["rr"].disk.written.guests.values()] == [("ll", "l", "root", "r")]


def test_the_upper_one_is_asked_where_nobody_that_is_known_ends_it_in_time() -> None:
    grid = Grid(1)
    grid.add("root", 1, 1.0, [Peer("left", PeerRole.LOWER), Peer("right", PeerRole.LOWER)], scope=1)
    grid.add("right", 4, 4.0, [Peer("root", PeerRole.UPPER)], scope=1)
    grid.add("left", 1, 1.0, [Peer("root", PeerRole.UPPER), Peer("leaf", PeerRole.LOWER)], scope=1)
    grid.add("leaf", 1, 1.0, [Peer("left", PeerRole.UPPER)], scope=1)
    grid.run(START + 30.0)
    assert tables(grid, "leaf").keys() == {"left", "root"}  # both as slow as itself
    grid.nodes["leaf"].submit("t", (80.0, 60.0, 50.0, 40.0), 30.0)
    grid.run(START + 200.0)
    assert not grid.faults_of_history()
    assert [run[1] for run in grid.history] == ["right"]


def test_our_own_then_the_best_neighbour_then_the_upper_one() -> None:
    grid = a_tree(scope=0)
    grid.nodes["l"].submit("here", WORK, 100.0)
    grid.run(START + 35.0)
    grid.nodes["l"].submit("beside", WORK, 50.0)  # behind the first it would be late
    grid.run(START + 200.0)
    assert not grid.faults_of_history()
    where = {run[0]: run[1] for run in grid.history}
    assert where["here"] == "l"
    assert where["beside"] in ("ll", "lr", "root")
    assert where["beside"] != "rr"  # nobody told l of it


@pytest.mark.parametrize("hops", [1, 3])
def test_no_task_goes_further_than_it_may(hops: int) -> None:
    grid = a_tree(scope=4, hops=hops)
    grid.nodes["ll"].submit("t", (80.0, 60.0, 50.0, 40.0), 30.0)  # rr is four hops away
    grid.run(START + 400.0)
    assert not grid.faults_of_history()
    assert grid.history[0][1] != "rr"
    for node in grid.nodes.values():
        assert all(len(guest.visited) <= hops for guest in node.disk.written.guests.values())


def test_a_ring_is_cut_where_it_would_close() -> None:
    grid = Grid(1)
    names = ("a", "b", "c")
    for name in names:
        grid.add(name, 1, 1.0, [Peer(other) for other in names if other != name], hops=8)
    grid.run(START + 10.0)
    for number in range(9):
        grid.nodes["a"].submit(f"t{number}", (20.0,), 25.0)  # too many for all: they look for better places on and on
    grid.settle(600.0)
    assert not grid.faults_of_history()
    for node in grid.nodes.values():
        for guest in node.disk.written.guests.values():
            assert len(set(guest.visited)) == len(guest.visited)
            assert node.name not in guest.visited


@pytest.mark.parametrize(("longest", "forwarded"), [(2.0, 0), (10.0, 8)])
def test_over_a_slow_network_answers_are_waited_for_that_are_worth_it(longest: float, forwarded: int) -> None:
    grid = Grid(1, Faults(delay=4.0))  # there and back: 1.6 to 8 s
    grid.add("a", 1, 1.0, [Peer("b")], longest_timeout=longest)
    grid.add("b", 16, 4.0, [Peer("a")], longest_timeout=longest)
    grid.run(START + 20.0)
    for number in range(10):
        grid.nodes["a"].submit(f"t{number}", (80.0, 80.0, 80.0, 40.0), 40.0)
        grid.run(grid.time + 100.0)  # it is late on a's host, which is free
    grid.settle(600.0)
    assert not grid.faults_of_history()
    assert sum(run[1] == "b" for run in grid.history) >= forwarded
    if not forwarded:
        assert {run[1] for run in grid.history} == {"a"}


WIDE = (math.inf, math.inf, math.inf, 24.0)  # on four hosts, and no fewer


def ways(grid: Grid) -> dict[str, list[str]]:
    """Return to whom each node has handed tasks."""
    return {name: [h.peer for h in node.disk.written.handovers.values()] for name, node in grid.nodes.items()}


def test_what_has_too_few_hosts_in_the_middle_goes_on_to_who_has_enough() -> None:
    grid = a_line()
    grid.nodes["a"].submit("t", WIDE, 30.0)
    grid.settle(200.0)
    assert not grid.faults_of_history()
    assert ways(grid) == {"a": ["b"], "b": ["c"], "c": []}
    assert grid.history[0][3] <= START + 10.0 + 30.0
    (handover,) = grid.nodes["a"].disk.written.handovers.values()
    assert "a cannot run it, c through b would end it" in handover.why
    guest = grid.nodes["b"].disk.written.tasks["1"]
    assert guest.in_transit
    assert (guest.status.state, guest.status.peer, guest.status.attempts) == (TaskState.COMPLETED, "c", 0)


def test_what_the_middle_refuses_for_others_goes_on_to_who_takes_it() -> None:
    grid = a_line()
    grid.nodes["b"].refuses = "nothing is run for others here"
    for number in range(3):
        grid.nodes["a"].submit(f"t{number}", WORK, 15.0)
    grid.settle(200.0)
    assert not grid.faults_of_history()
    assert "b" not in [run[1] for run in grid.history]
    assert ways(grid)["b"].count("c") == ways(grid)["a"].count("b") > 0


def a_chain(**changes: object) -> Grid:
    """Make leaf — left — root — right, each the lower one of the next but right of root; only right can run it in time.

    Services are told to neighbours alone: left does not know of right.
    """
    grid = Grid(1)
    lower, upper = PeerRole.LOWER, PeerRole.UPPER
    grid.add("leaf", 1, 1.0, [Peer("left", upper)], scope=0, **changes)
    grid.add("left", 1, 1.0, [Peer("leaf", lower), Peer("root", upper)], scope=0, **changes)
    grid.add("root", 1, 1.0, [Peer("left", lower), Peer("right", lower)], scope=0, **changes)
    grid.add("right", 4, 4.0, [Peer("root", upper)], scope=0, **changes)
    grid.run(START + 30.0)
    return grid


@pytest.mark.parametrize("refusing", [(), ("left",), ("root",), ("left", "root")])
def test_a_request_is_passed_on_by_who_knows_nobody_that_can(refusing: tuple[str, ...]) -> None:
    grid = a_chain()
    for name in refusing:
        grid.nodes[name].refuses = "nothing is run for others here"
    grid.nodes["leaf"].submit("t", (80.0, 60.0, 50.0, 40.0), 30.0)
    grid.settle(200.0)
    assert not grid.faults_of_history()
    assert ways(grid) == {"leaf": ["left"], "left": ["root"], "root": ["right"], "right": []}
    assert grid.history[0][3] <= START + 60.0


def test_a_request_that_is_passed_on_goes_no_further_than_it_may() -> None:
    grid = a_chain(hops=2)
    grid.nodes["left"].refuses = grid.nodes["root"].refuses = "nothing is run for others here"
    grid.nodes["leaf"].submit("t", (80.0, 60.0, 50.0, 40.0), 30.0)
    grid.settle(300.0)
    assert not grid.faults_of_history()
    assert [run[1] for run in grid.history] == ["leaf"]
    assert ways(grid)["leaf"] == []


@pytest.mark.parametrize("refusing", ["b", "bc"])
def test_what_a_neighbours_manager_refuses_for_good_comes_back_and_runs_elsewhere(refusing: str) -> None:
    grid = Grid(1)
    grid.add("a", 1, 1.0, [Peer("b"), Peer("c")])
    grid.add("b", 1, 2.0, [Peer("a")])
    grid.add("c", 1, 1.0, [Peer("a")])
    grid.run(START + 10.0)
    for name in refusing:
        grid.nodes[name].manager_refuses = "sbatch: invalid account"
    grid.nodes["a"].submit("first", (40.0,), 60.0)
    grid.nodes["a"].submit("late", (40.0,), 60.0)
    grid.settle(400.0)
    assert not grid.faults_of_history()
    assert sorted(run[0] for run in grid.history) == ["first", "late"]
    assert [run[1] for run in grid.history if run[0] == "late"] == ["c" if refusing == "b" else "a"]
    outcomes = [each.outcome for each in grid.nodes["a"].disk.written.handovers.values()]
    assert "b gave it back: sbatch: invalid account" in outcomes


def in_transit_at_b() -> Grid:
    """Return a grid in which b has taken a's task, which it cannot run, and waits for a word of c."""
    grid = a_line()
    grid.nodes["b"].refuses = "nothing is run for others here"
    grid.cut = {frozenset("bc")}
    grid.nodes["a"].submit("t", WORK, 15.0)
    grid.run(START + 12.0)
    assert (grid.state_of("t"), ways(grid)) == (TaskState.FORWARDED, {"a": ["b"], "b": [], "c": []})
    return grid


def test_whatever_a_job_says_of_its_end_its_origin_hears_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = forwarded_to_b(busy=False)
    deliver, b = grid.deliver, grid.nodes["b"]
    monkeypatch.setattr(grid, "deliver", lambda letter: deliver(read_letter(write_letter(letter))))
    ((uuid, job),) = b.jobs.items()
    words = "removed by \x1b[31mits user " + 5000 * "x"
    job.over = JobReport(uuid, JobState.FAILED, "1", START + 11.0, -1e12, 2**40, words)
    b.happen(b.report(uuid))
    grid.run(START + 60.0)
    assert grid.state_of("t") is TaskState.FAILED
    assert "removed by ?[31mits user xxx" in grid.nodes["a"].disk.written.tasks["1"].status.reason
    assert b.idle


def test_what_the_middle_cannot_get_rid_of_goes_back() -> None:
    grid = in_transit_at_b()
    grid.nodes["c"].refuses = "nothing is run for others here"
    grid.heal()
    grid.settle(300.0)
    assert not grid.faults_of_history()
    assert [run[1] for run in grid.history] == ["a"]
    (handover,) = grid.nodes["a"].disk.written.handovers.values()
    assert handover.outcome == "b gave it back: b knows nobody that takes it (c: has not answered)"


def test_what_is_in_transit_goes_on_after_a_crash_of_the_middle() -> None:
    grid = in_transit_at_b()
    grid.nodes["b"].broker = None
    grid.heal()
    grid.settle(300.0)
    assert not grid.faults_of_history()
    assert ways(grid) == {"a": ["b"], "b": ["c"], "c": []}


def test_what_is_in_transit_is_cancelled_from_home() -> None:
    grid = in_transit_at_b()
    grid.nodes["a"].happen(CancelRequested(grid.time, "1"))
    grid.heal()
    grid.run(START + 100.0)
    assert grid.state_of("t") is TaskState.CANCELLED
    assert not grid.history
    assert all(node.idle for node in grid.nodes.values())


@pytest.mark.parametrize("first", range(0, examples(10), 10))
def test_every_accepted_task_runs_exactly_once(first: int) -> None:
    """Each time more than 300 faults, of all kinds."""
    sessions = [virtual_session.run(seed) for seed in range(first, first + 10)]
    faults = sum((Counter(session.faults) for session in sessions), Counter[str]())
    assert [wrong for session in sessions for wrong in session.wrong] == []
    assert sum(session.tasks for session in sessions) > 50
    assert faults.total() >= 300
    assert faults.keys() == set(virtual_session.KINDS)
