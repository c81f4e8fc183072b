from __future__ import annotations

from dataclasses import replace

import pytest

from cosched.simulation.grid import KernelKnowledge
from cosched.simulation.kernels import kernel_profile
from tests.agents.makers import DOCUMENT, a_profile, a_task


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
