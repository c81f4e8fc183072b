from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from cosched.errors import UserError
from cosched.evaluation import load_hardware
from cosched.evaluation.costs import PiecewiseCost
from cosched.language import check_files, format_source, read
from cosched.measurement.samples import Samples
from cosched.measurement.writing import MeasuredMachine, read_samples
from tests.measurement.makers import FACTS, made_up_samples

if TYPE_CHECKING:
    from pathlib import Path


def test_what_is_written_is_a_resource_model_with_the_costs_measured(tmp_path: Path) -> None:
    machine = MeasuredMachine("node_a", FACTS, made_up_samples())
    file = tmp_path / "node_a.hmcl"
    file.write_text(machine.hmcl())
    found = load_hardware(file)
    assert (found.name, found.processors) == ("node_a", FACTS.processors)
    assert dict(found.operations) == pytest.approx(machine.operations, rel=1e-3)
    for size in (0, 1000, 1 << 20):
        for group, base in (("shm", 10.0), ("mpi", 20.0), ("pvm", 20.0)):
            cost = found.messages[group]
            total = cost.transfer(size) + cost.send(size) + cost.receive(size)
            assert total == pytest.approx(base + 0.001 * size, rel=1e-6)
    assert found.memory is not None
    assert list(found.memory.sizes) == [2 << 20]
    assert list(found.memory.a_byte) == pytest.approx([1 / 50e3, 1 / 10e3], rel=1e-3)


def test_samples_are_read_back_as_they_were() -> None:
    machine = MeasuredMachine("node_a", FACTS, made_up_samples())
    facts, samples = read_samples(machine.samples_text(), "x")
    again = MeasuredMachine("node_a", facts, samples)
    assert again.samples_text() == machine.samples_text()
    assert again.operations == machine.operations


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "Expecting value"),
        ("[]", "holds no samples"),
        ('{"schema": 9}', "its schema is 9, and this cosched knows 1"),
        (json.dumps({"schema": 1, "samples": {}, "facts": {"who": 1}}), "unexpected keyword"),
    ],
)
def test_what_holds_no_samples_is_refused_in_a_line(text: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        read_samples(text, "x")


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
def test_a_time_that_cannot_be_is_refused(value: float) -> None:
    document = json.loads(MeasuredMachine("a", FACTS, made_up_samples()).samples_text())
    document["samples"]["operation ADL"] = [value]
    with pytest.raises(UserError, match="operation ADL"):
        read_samples(json.dumps(document), "x")


def test_curve_points_and_noise_are_written_and_old_samples_do_without(tmp_path: Path) -> None:
    samples = made_up_samples()
    file = tmp_path / "node_a.hmcl"
    file.write_text(MeasuredMachine("node_a", FACTS, samples).hmcl())
    found = load_hardware(file)
    assert found.memory is not None
    assert found.memory.curve[0] == (16384.0, 50e3)
    assert list(found.noise.items()) == [("phase", 0.02)]
    assert [type(cost.send) for cost in found.messages.values()] == [PiecewiseCost] * 3
    before = Samples({name: samples.of(name) for name in samples if not name.startswith("noise")})
    file.write_text(MeasuredMachine("node_a", FACTS, before).hmcl())
    assert not load_hardware(file).noise
    assert check_files([file]) == []
    assert format_source(read(file)) == file.read_text()
