from __future__ import annotations

import pytest

from cosched.errors import UserError
from cosched.portal.pages.forms import requests_of_upload

BATCH = """#!/bin/sh
#SBATCH --nodes=2-4 --time=10 --mem=2G
#COSCHED --profile=9,8,7 --name=mine --deadline=now+2h --best-effort
echo
"""


def test_a_file_says_what_it_wants_and_the_form_wins() -> None:
    (request,) = requests_of_upload(BATCH, "../../job.sh", {}, None)
    assert (request.hosts, request.profile, request.name) == ("2-4", (9.0, 8.0, 7.0), "mine")
    assert (request.deadline, request.best_effort, request.time_limit) == ("now+2h", True, 600.0)
    assert request.native is not None
    assert request.native.settings == {"mem": "2G"}
    assert request.directory == ""
    (changed,) = requests_of_upload(
        BATCH, "job.sh", {"name": "other", "hosts": "3", "deadline": "2030-01-31T18:00+00:00"}, None
    )
    assert (changed.name, changed.hosts, changed.deadline) == ("other", "3", 1896112800.0)


def test_a_file_names_those_it_comes_after() -> None:
    (request,) = requests_of_upload(BATCH.replace("--best-effort", "--after=17"), "job.sh", {}, None)
    assert request.after == ("17",)


def test_an_array_is_many_tasks() -> None:
    assert len(requests_of_upload(BATCH.replace("--mem", "--array=1-5 --mem"), "job.sh", {}, None)) == 5


@pytest.mark.parametrize("line", ["include command : touch /tmp/x", "queue a from ls |", "x = $ENV(PATH)"])
def test_a_file_from_elsewhere_reaches_nothing(line: str) -> None:
    """Bad inputs 2."""
    with pytest.raises(UserError, match="may reach beyond the file"):
        requests_of_upload(
            f"executable = /bin/true\n{line}\n{'' if 'queue' in line else 'queue'}\n", "job.sub", {}, None
        )
