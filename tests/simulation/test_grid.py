from __future__ import annotations

from dataclasses import replace

import pytest

from cosched.agents import AgentSettings, Peer
from cosched.simulation import grid as grid_module
from cosched.simulation.grid import Grid, GridDomain, GridSettings, GridTask, HostOutage, KernelKnowledge
from cosched.simulation.kernels import kernel_profile
from cosched.simulation.network import NetworkFaults, SimulatedNetwork
from cosched.simulation.placement_rules import PlacementRule
from cosched.simulation.simulated_domain import Calendar
from tests.agents.makers import DOCUMENT, a_profile, a_task

SLOWNESS = {"fast": 1.0, "slow": 4.0}


def a_grid(
    *,
    agents: bool = False,
    loss: float = 0.0,
    placement: PlacementRule = PlacementRule.HOME,
    documents: bool = False,
    outages: tuple[HostOutage, ...] = (),
    noise: float = 1.0,
) -> Grid:
    domains = [GridDomain("A", 2, "slow", (Peer("B"),)), GridDomain("B", 4, "fast", (Peer("A"),))]
    settings = GridSettings("genetic", agents, 2, AgentSettings("", ""), lambda _: noise, placement, documents, outages)
    return Grid(domains, KernelKnowledge(SLOWNESS), settings, SimulatedNetwork(Calendar(), NetworkFaults(0.1, loss), 3))


def requests(count: int) -> list[GridTask]:
    return [GridTask(f"r{n}", "fft", "A", n + 5.0, n + 65.0) for n in range(count)]


def test_without_agents_a_task_runs_where_it_was_submitted() -> None:
    found = a_grid(agents=False).run(requests(4))
    assert {where for where, _ in found.values()} == {"A"}
    assert max(run.finished for _, run in found.values()) > 60


def test_with_agents_a_late_task_is_handed_over_and_ends_in_time() -> None:
    grid = a_grid(agents=True)
    found = grid.run(requests(4))
    assert [found[f"r{n}"][0] for n in range(4)] == ["B"] * 4  # 96 s on two slow hosts, 22 s on four fast ones
    assert all(found[task.name][1].finished <= task.deadline for task in requests(4))
    assert grid.network.carried > 0


def test_lost_letters_cost_time_and_no_task() -> None:
    found = a_grid(agents=True, loss=0.3).run(requests(12))
    assert len(found) == 12


def test_letters_may_pass_through_their_documents_and_nothing_else_changes() -> None:
    plain, written = a_grid(agents=True), a_grid(agents=True, documents=True)
    assert plain.run(requests(6)) == written.run(requests(6))
    assert plain.network.bytes == 0
    assert written.network.bytes > 200 * written.network.carried
    assert [one.sent for one in plain.figures()] == [one.sent for one in written.figures()]


def test_a_task_of_a_domain_that_goes_down_runs_once_more() -> None:
    grid = a_grid(agents=True, outages=(HostOutage("B", 20.0, 30.0),))
    found = grid.run(requests(4))
    assert len(found) == 4
    assert grid.repeated == 0
    assert all(run.finished <= 20.0 or run.started >= 30.0 for where, run in found.values() if where == "B")
    assert max(run.finished for _, run in found.values()) > 50.0


def test_the_same_seed_gives_the_same_runs() -> None:
    assert a_grid(agents=True, loss=0.2).run(requests(6)) == a_grid(agents=True, loss=0.2).run(requests(6))


@pytest.mark.parametrize("placement", [PlacementRule.RANDOM, PlacementRule.LEAST_LOADED, PlacementRule.EARLIEST_START])
def test_a_request_runs_once_where_it_was_placed(placement: PlacementRule) -> None:
    found = a_grid(placement=placement).run(requests(8))
    assert {where for where, _ in found.values()} == {"A", "B"}


def test_of_a_race_one_copy_runs_to_its_end() -> None:
    grid = a_grid(placement=PlacementRule.RACE)
    found = grid.run(requests(8))
    assert len(found) == 8
    assert sum(len(domain.runs) for domain in grid.domains.values()) == 8
    assert {where for where, _ in found.values()} == {"A", "B"}


@pytest.mark.parametrize("agents", [False, True])
def test_it_goes_on_until_all_are_done_however_long_they_take(agents: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid_module, "_LONGEST_WAIT", 5.0)
    outage = HostOutage("B", 100.0, 600.0)
    found = a_grid(agents=agents, noise=20.0, outages=(outage,)).run(requests(3))
    assert len(found) == 3
    assert max(run.finished for _, run in found.values()) > 600.0


@pytest.mark.parametrize("agents", [False, True])
def test_a_task_that_no_domain_can_run_is_an_error(agents: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid_module, "_LONGEST_WAIT", 50.0)  # agents tick for ever
    settings = GridSettings("fcfs-maximum", agents, 0, AgentSettings("", ""), lambda _: 1.0)
    network = SimulatedNetwork(Calendar(), NetworkFaults())
    grid = Grid([GridDomain("A", 0, "slow")], KernelKnowledge(SLOWNESS), settings, network)
    with pytest.raises(RuntimeError, match="1 tasks have never run"):
        grid.run(requests(1))


def test_times_are_those_of_the_kernel_on_that_hardware() -> None:
    knowledge = KernelKnowledge({"slow": 2.0}, kernel_profile)
    found = knowledge.profile(replace(DOCUMENT, application="fft"), "slow", 4)
    assert found is not None
    assert found.seconds == pytest.approx([50.0, 48.0, 46.0, 44.0])
    assert knowledge.profile(replace(DOCUMENT, application="fft"), "slow", 4) is found


def test_what_so_few_hosts_cannot_run_has_no_times() -> None:
    knowledge = KernelKnowledge({"slow": 2.0}, lambda _name: a_profile(float("inf"), 5.0))
    assert knowledge.profile(DOCUMENT, "slow", 1) is None


def test_a_task_is_described_by_its_kernel() -> None:
    assert KernelKnowledge({}, kernel_profile).document(a_task(), 4).application == "a"
