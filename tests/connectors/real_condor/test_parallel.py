"""Groups as jobs of the parallel universe, all of their hosts or none: what the contract says of groups.

A job on one host is submitted alike in both modes (`is_parallel`): the rest of the contract is test_contract.py's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("htcondor2", reason="the package htcondor is not installed")

from cosched.connector.contract.at_most_once import AtMostOnceContract
from cosched.connector.contract.job_life import JobLifeContract
from cosched.connector.contract.recovery import RestartContract
from cosched.connector.contract.reports import EventsContract
from cosched.connector.contract.submit_many import SubmitManyContract
from cosched_condor import CondorConnector
from tests.connectors.real_condor import test_contract

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.testbed.condor.pool import CondorPool

pytestmark = pytest.mark.pool


@pytest.fixture
def connect(pool: CondorPool, spool: Path) -> Callable[[], CondorConnector]:
    return lambda: CondorConnector({"config": str(pool.config), "spool": str(spool), "groups": "parallel"})


class TestGroups(test_contract.OnThePool):
    patience = 60.0

    test_one_process_that_fails_fails_the_job = JobLifeContract.test_one_process_that_fails_fails_the_job
    test_every_host_runs_it_once_and_knows_its_place = JobLifeContract.test_every_host_runs_it_once_and_knows_its_place
    test_an_unpinned_job_runs_somewhere = JobLifeContract.test_an_unpinned_job_runs_somewhere
    test_what_it_wrote_comes_back = JobLifeContract.test_what_it_wrote_comes_back
    test_its_preparation_comes_first = JobLifeContract.test_its_preparation_comes_first_and_knows_where_it_is
    test_output_is_kept_for_each_rank = JobLifeContract.test_output_is_kept_for_each_rank
    test_cancel_ends_a_running_job = AtMostOnceContract.test_cancel_ends_a_running_job
    test_events_tell_start_and_end = EventsContract.test_events_tell_start_and_end
    test_a_restart_finds_what_runs = RestartContract.test_a_restart_finds_what_runs
    test_each_of_many_runs_on_its_hosts = SubmitManyContract.test_each_of_many_runs_on_its_hosts
