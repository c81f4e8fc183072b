from __future__ import annotations

import math
from dataclasses import replace

import pytest

from cosched.errors import UserError
from cosched.measurement.programs.records import ObservedRun
from cosched.modelling.observed import observed_runs

RECORD = ObservedRun("heat", "sha256:0", {"nx": 5.0}, 1, 2, "node_a", 10.0, 0.1, (0.1, 0.1), 0.0, 4096, False, 0)


def test_a_record_is_a_run() -> None:
    (run,) = observed_runs([RECORD], "heat").runs
    assert (run.parameters, run.processors, run.hosts, run.hardware) == ({"nx": 5.0}, 2, 1, "node_a")
    assert (run.seconds, run.memory) == (0.1, 4096.0)


def test_what_watching_took_is_taken_off() -> None:
    (run,) = observed_runs([replace(RECORD, shim=True, calls=1000)], "heat").runs
    assert run.seconds == pytest.approx(0.1 - 0.8e-3)


def test_records_that_tell_little_are_left_out_and_said() -> None:
    records = [
        RECORD,
        replace(RECORD, application="fft"),
        replace(RECORD, digest="sha256:1", started=5.0),
        replace(RECORD, delay=0.01),
        replace(RECORD, shim=True, calls=10_000),
        replace(RECORD, started=11.0),
    ]
    found = observed_runs(records, "heat")
    assert len(found.runs) == 2
    assert found.remarks == (
        "left out: 1 run of the program before it was built anew",
        "left out: 1 run that waited for a processor",
        "left out: 1 run in which watching took more than 2 %: observe them with --times",
    )
    assert len(observed_runs(records, "heat", math.inf).runs) == 3


def test_runs_that_waited_a_little_count_where_that_is_wished() -> None:
    """On a machine that others use all the time there was nothing between 0.5 % and any disturbance."""
    waited = (0.02, 0.035, 0.04, 0.6)
    records = [replace(RECORD, parameters={"nx": 5.0 + place}, delay=0.1 * part) for place, part in enumerate(waited)]
    with pytest.raises(UserError, match=r"those of half the sizes with --waited 4%, all with --disturbed$"):
        observed_runs(records, "heat")
    found = observed_runs(records, "heat", 0.04)
    assert [run.parameters["nx"] for run in found.runs] == [5.0, 6.0]
    assert found.remarks == ("left out: 2 runs that waited for a processor, all runs of 2 sizes",)


def test_what_disturbs_tasks_is_a_part_of_how_long_they_take() -> None:
    """Of tasks on two hosts, which waited for 4 to 20 % of their time, the least disturbed foretold 17 % too little."""
    task = replace(RECORD, by_task=True)
    disturbed = [replace(task, wall=0.12, delay=0.02, parameters={"nx": 5.0 + place}) for place in range(4)]
    found = observed_runs([task, *disturbed], "heat")
    assert [run.seconds for run in found.runs] == [0.1, *[0.12] * 4]
    assert found.remarks == ()
    assert len(observed_runs([task, *disturbed, replace(RECORD, delay=0.02)], "heat").runs) == 5
    assert len(observed_runs([task, *[task] * 4, *disturbed[:1]], "heat", 0.1).runs) == 5


def test_few_undisturbed_runs_of_each_size_are_enough() -> None:
    """None had been taken where most were disturbed, as on a busy machine until some are not."""
    disturbed = replace(RECORD, delay=0.01)
    lost = replace(disturbed, processors=1)
    found = observed_runs([RECORD, replace(RECORD, parameters={"nx": 6.0}), *[disturbed] * 5, lost], "heat")
    assert len(found.runs) == 2
    assert found.remarks == ("left out: 6 runs that waited for a processor, all runs of 1 size",)


@pytest.mark.parametrize(
    ("records", "said"),
    [
        ([], "no record is of heat: they are of nothing"),
        ([replace(RECORD, application="fft")], "no record is of heat: they are of fft"),
        (
            [RECORD, *(replace(RECORD, parameters={"nx": nx}, delay=0.01) for nx in (6.0, 7.0, 7.0))],
            "3 of 4 runs waited for processors that others kept busy, all runs of 2 sizes: .*--disturbed",
        ),
        ([replace(RECORD, shim=True, calls=10_000)], "watching took more than 2% of the time of all runs of heat"),
        ([replace(RECORD, parameters={"loop": 1.0})], "parameter loop means something else in PSL"),
        ([replace(RECORD, hardware="a *) b")], "class 'a .. b' cannot stand in a model"),
    ],
)
def test_records_that_make_no_runs_are_refused(records: list[ObservedRun], said: str) -> None:
    with pytest.raises(UserError, match=said):
        observed_runs(records, "heat")
