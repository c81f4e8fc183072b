r"""Test what every connector must do; the author of a connector inherits these tests.

    # tests/conftest.py: lets pytest explain a failed assertion of the contract
    pytest.register_assert_rewrite("cosched.connector.contract")

    # tests/test_mine.py
    class TestMine(ConnectorContract):
        patience = 30.0

        @pytest.fixture
        def connect(self, pool):
            return lambda: MyConnector({"address": pool.address})

`connect` is the one fixture that must be given; the others have defaults that fit or skip with a reason. A test that a
manager cannot pass is overridden with `pytest.skip("why, and what the co-scheduler loses by it")`. Nothing here asserts
on speed: `patience` is how long to wait for what must come, `quiet` how long to watch for what must not.
Needs pytest and a POSIX shell on the hosts.
"""

from cosched.connector.contract.at_most_once import AtMostOnceContract
from cosched.connector.contract.bench import Bench
from cosched.connector.contract.hosts import HostsContract
from cosched.connector.contract.job_life import JobLifeContract
from cosched.connector.contract.recovery import CrashContract, RestartContract
from cosched.connector.contract.reports import EventsContract, LookupContract
from cosched.connector.contract.shared_hosts import ForeignSharesContract, SharedDevicesContract, SharedHostsContract
from cosched.connector.contract.submit_many import SubmitManyContract
from cosched.connector.contract.verbatim import VerbatimContract

__all__ = ["Bench", "ConnectorContract", "ForeignSharesContract", "SharedDevicesContract", "SharedHostsContract"]


class ConnectorContract(
    HostsContract,
    JobLifeContract,
    VerbatimContract,
    AtMostOnceContract,
    LookupContract,
    EventsContract,
    RestartContract,
    SubmitManyContract,
    CrashContract,
):
    """The whole contract.

    Inherit it in a class whose name starts with `Test` and give the fixture `connect`.

    Attributes:
        patience: seconds to wait for what must come; raise it for a manager that is slow to schedule.
        quiet: seconds to watch for what must not come: longer than the manager needs to start a job.
    """
