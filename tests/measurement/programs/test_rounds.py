from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.errors import UserError
from cosched.measurement.programs.observation import Observation
from cosched.measurement.programs.records import ObservedRun
from cosched.measurement.programs.rounds import Size, rounds, sizes_of

RECORD = ObservedRun("heat", "sha256:0", {}, 1, 2, "node_a", 10.0, 0.1, (0.1, 0.1), 0.0, 4096, False, 0)
COMMAND = ["mpirun", "-np", "{Nproc}", "./heat", "{n}", "{n}"]


def test_each_combination_is_a_size() -> None:
    sizes = sizes_of(COMMAND, {"n": [100.0, 200.0], "Nproc": [1.0, 2.0]}, {"steps": 5.0}, 3)
    assert [size.name for size in sizes] == ["n=100 Nproc=1", "n=100 Nproc=2", "n=200 Nproc=1", "n=200 Nproc=2"]
    assert sizes[1].command == ("mpirun", "-np", "2", "./heat", "100", "100")
    assert sizes[1].parameters == {"steps": 5.0, "n": 100.0}  # the number of processes is no parameter


def test_a_command_without_a_sweep_is_one_size() -> None:
    assert sizes_of(["./heat"], {}, {"n": 1.0}, 5) == [Size("", ("./heat",), {"n": 1.0})]


@pytest.mark.parametrize(
    ("swept", "constant", "repeat", "said"),
    [
        ({"m": [1.0]}, {}, 1, "--sweep m: no word of the command has {m}"),
        ({"n": [1.0]}, {"n": 2.0}, 1, "--sweep n: --set gives it, too"),
        ({"n": [1.0]}, {}, 0, "1 to 10,000 runs"),
        ({"Nproc": [1.0, 1.5]}, {}, 1, "--sweep Nproc: 1.5 processes cannot be: give whole numbers from 1"),
        ({"Nproc": [0.0]}, {}, 1, "--sweep Nproc: 0 processes cannot be"),
        ({"n": [*map(float, range(101))], "Nproc": [*map(float, range(100))]}, {}, 1, "1 to 10,000 runs"),
    ],
)
def test_what_cannot_be_swept(
    swept: dict[str, list[float]], constant: dict[str, float], repeat: int, said: str
) -> None:
    with pytest.raises(UserError, match=said):
        sizes_of(COMMAND, swept, constant, repeat)


@given(
    st.lists(st.lists(st.booleans(), min_size=12, max_size=12), min_size=1, max_size=6),
    st.integers(1, 4),
    st.integers(0, 9),
)
def test_each_size_gets_its_undisturbed_runs_or_three_tries_for_each(
    disturbed: list[list[bool]], repeat: int, seed: int
) -> None:
    sizes = [Size(str(number), ("true",), {}) for number in range(len(disturbed))]
    tries: Counter[str] = Counter()

    def observe(size: Size) -> Observation:
        busy = disturbed[int(size.name)][tries[size.name]]
        tries[size.name] += 1
        return Observation(replace(RECORD, delay=0.05 if busy else 0.0), ())

    seen = list(rounds(sizes, repeat, observe, seed))
    for size, course in zip(sizes, disturbed, strict=True):
        needed = next((count for count in range(1, 3 * repeat) if course[:count].count(False) == repeat), 3 * repeat)
        assert tries[size.name] == needed
    first = [size.name for size, _ in seen[: len(sizes)]]
    assert sorted(first) == sorted(size.name for size in sizes)  # all once before any of them again
    assert len(seen) == tries.total()


def test_each_round_has_an_order_of_its_own() -> None:
    sizes = [Size(str(number), ("true",), {}) for number in range(8)]
    names = [size.name for size, _ in rounds(sizes, 2, lambda _: Observation(RECORD, ()))]
    assert names[:8] != [size.name for size in sizes]
    assert names[:8] != names[8:]
