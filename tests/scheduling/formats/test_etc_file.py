from __future__ import annotations

import numpy as np
import pytest

from cosched.errors import UserError
from cosched.scheduling.formats.etc_file import parse_etc
from cosched.scheduling.policies import PolicyName, plan
from cosched.scheduling.schedule import check_schedule


def test_each_machine_is_a_class_and_each_task_runs_on_one() -> None:
    problem = parse_etc("3 2 0\n1.5\n2\n3 4\n5\n6e2\n")
    assert problem.hosts == problem.classes == ("machine0", "machine1")
    assert problem.seconds[:, :, 0].T.tolist() == [[1.5, 2.0], [3.0, 4.0], [5.0, 600.0]]
    assert not np.isfinite(problem.seconds[:, :, 1]).any()


def test_a_matrix_can_be_planned() -> None:
    problem = parse_etc("4 2\n1 9 9 1 1 9 9 1")
    schedule, _ = plan(problem, PolicyName.TWO_PHASE)
    assert check_schedule(problem, schedule) == []
    assert schedule.makespan == 2.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: neither"),
        ("hello", "line 1: neither"),
        ("2", "line 1: neither"),
        ("-1 4", "line 1: neither"),
        ("0 4", "line 1: 0 tasks on 4 machines"),
        ("99999999 99999999", "line 1: 99999999 tasks"),
        ("2 1\n1\nx\n", "line 3: 'x' is no time of task 1 on machine 0: give seconds from 1e-09 to"),
        ("1 1\n1e-320\n", "line 2: '1e-320' is no time"),
        ("1 2\n1 1_0\n", "line 2: '1_0' is no time of task 0 on machine 1"),
        ("1 2\n1 \u0663\n", "line 2: '\\u0663' is no time"),
        ("2 1\n1\nnan\n", "line 3: 'nan' is no time"),
        ("2 1\n1 inf\n", "line 2: 'inf' is no time"),
        ("2 1\n0 1\n", "line 2: '0' is no time"),
        ("2 1\n1\n", "line 2: the file ends after 1 of 2 times"),
        ("2 1\n1\n2\n3\n", "line 4: more times than 2 tasks x 1 machines"),
    ],
)
def test_a_bad_matrix_is_refused_with_the_line(text: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_etc(text)
    assert str(caught.value).startswith(message)
