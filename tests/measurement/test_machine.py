"""The programs that time a machine are compiled and run here; what they measure is not judged."""

from __future__ import annotations

import pytest

from cosched.errors import UserError
from cosched.measurement.machine import CompilerChoice, MachineBench
from cosched.measurement.samples import Samples
from cosched.measurement.writing import MeasuredMachine
from tests.measurement.makers import FACTS
from tests.testbed.software.compiler import compiler


@pytest.mark.daemon
def test_this_machine_is_measured() -> None:
    samples = Samples()
    with MachineBench(CompilerChoice(compiler()), 0.0) as bench:
        bench.operations(samples)
        bench.memory(samples)
        bench.noise(samples)
        bench.messages(samples, "shm", "local")
        bench.messages(samples, "network", "tcp")
        assert bench.others() >= 0
    machine = MeasuredMachine("here", FACTS, samples)
    assert machine.noise is not None
    assert machine.samples.value("noise slowest") >= 1
    assert "config here {" in machine.hmcl()
    # What holds on any machine: a division takes longer than an addition, and a message longer than both.
    assert machine.operations["DILL"] > machine.operations["AILL"]
    assert machine.samples.value("network pingpong 0") > machine.operations["DILL"]


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        (CompilerChoice("no-such-compiler"), "'no-such-compiler' cannot be run: install one"),
        (CompilerChoice(flags="-O2 -fno-such-thing"), "does not compile the programs with '-O2 -fno-such-thing'"),
    ],
)
def test_a_compiler_that_does_not_do_is_named(choice: CompilerChoice, words: str) -> None:
    usual = CompilerChoice(choice.command if choice.command != "cc" else compiler(), choice.flags)
    with MachineBench(usual, 0.0) as bench, pytest.raises(UserError, match=words):
        bench.memory(Samples())
