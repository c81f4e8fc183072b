"""The contract of recovery: a new connector object continues after a restart or crash."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from typing import TYPE_CHECKING

import pytest

from cosched.connector.contract.bench import ContractBase
from cosched.connector.jobs import JobState

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cosched.connector.contract.bench import Bench
    from cosched.connector.interface import Connector
    from cosched.connector.jobs import Launch

__all__ = ["CrashContract", "RestartContract"]


class RestartContract(ContractBase):
    """A new object takes up the jobs of an old one."""

    def test_a_restart_finds_what_runs(self, bench: Bench) -> None:
        """A new object knows the running job and hears of its end."""
        launch, gate = bench.waiter(hosts=bench.up(2))
        job = bench.submit(launch)
        began = bench.until(launch, JobState.RUNNING).started
        bench.restart()
        found = bench.connector.find(launch.attempt)
        assert found is not None
        assert (found.state, found.job) == (JobState.RUNNING, job)
        assert found.started == pytest.approx(began, abs=1.0)
        gate.touch()
        assert bench.listen(launch, JobState.COMPLETED, JobState.FAILED)[-1].exit_code == 0

    def test_a_restart_hears_of_what_ended_meanwhile(self, bench: Bench) -> None:
        """An end that no object has seen is reported to the next one."""
        launch, gate = bench.waiter(hosts=bench.up(1))
        bench.submit(launch)
        bench.until(launch, JobState.RUNNING)

        def meanwhile() -> None:
            gate.touch()
            bench.await_file(gate.with_name(gate.name + ".done"))

        bench.restart(meanwhile)
        assert bench.listen(launch, JobState.COMPLETED, JobState.FAILED)[-1].state is JobState.COMPLETED

    def test_a_restart_can_cancel(self, bench: Bench) -> None:
        """A new object cancels what an old one submitted."""
        launch, gate = bench.waiter(hosts=bench.up(1))
        bench.submit(launch)
        bench.until(launch, JobState.RUNNING)
        bench.restart()
        bench.connector.cancel(launch.attempt)
        bench.until(launch, JobState.REMOVED)
        gate.touch()
        time.sleep(self.quiet)
        assert not gate.with_name(gate.name + ".done").exists()


_VISIBLE_STEPS = frozenset(
    {
        "os.mkdir",
        "os.rename",
        "os.link",
        "os.symlink",
        "os.remove",
        "subprocess.Popen",
        "os.posix_spawn",
        "os.fork",
        "socket.connect",
    }
)
_MOST_STEPS = 60  # steps of one submit
_CRASH_SECONDS = (0.002, 0.008, 0.03)  # seconds from its beginning: also while another process is at work
_EXIT_DONE, _EXIT_CRASHED, _EXIT_FAILED = 0, 17, 18


class CrashContract(ContractBase):
    """Cut a submit off anywhere and look at what it leaves."""

    def test_a_submit_cut_off_between_any_two_steps_is_found_or_never_runs(
        self, bench: Bench, connect: Callable[[], Connector]
    ) -> None:
        """Each attempt is either found and runs once, or is fenced and never runs."""
        launches: list[tuple[Launch, Path]] = []

        def cut_off() -> None:
            for step in range(_MOST_STEPS):
                launches.append(bench.diary())
                if _submit_and_crash(connect, launches[-1][0], step=step) == _EXIT_DONE:
                    break
            else:
                pytest.fail(f"a submit has more than {_MOST_STEPS} steps")
            for moment in _CRASH_SECONDS:
                launches.append(bench.diary())
                _submit_and_crash(connect, launches[-1][0], moment=moment)

        bench.restart(cut_off)
        time.sleep(self.quiet)  # what was under way has arrived
        fenced = [launch.attempt for launch, _ in launches if bench.connector.find(launch.attempt) is None]
        for attempt in fenced:
            bench.connector.cancel(attempt)
        for launch, diary in launches:
            if launch.attempt not in fenced:
                bench.until(launch, JobState.COMPLETED)
                assert diary.read_text() == "0\n"
        time.sleep(self.quiet)
        ran = [diary.read_text() for launch, diary in launches if launch.attempt in fenced and diary.exists()]
        assert not ran


def _submit_and_crash(
    connect: Callable[[], Connector], launch: Launch, *, step: int = _MOST_STEPS, moment: float | None = None
) -> int:
    """Submit in a process that dies before a step or after some seconds.

    Return its exit code.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if not child:
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            connector = connect()
            connector.hosts()  # it has talked to the manager before
            if moment is not None:
                signal.setitimer(signal.ITIMER_REAL, moment)
            else:
                sys.addaudithook(_CrashBeforeStep(step))
            connector.submit(launch)
            os._exit(_EXIT_DONE)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(_EXIT_FAILED)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (_EXIT_DONE, _EXIT_CRASHED, -signal.SIGALRM)
    return code


class _CrashBeforeStep:
    """Ends the process before the step of this number: one that others can see."""

    def __init__(self, step: int) -> None:
        self._left = step

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        if event == "open":
            flags = arguments[2]
            if not isinstance(flags, int) or not flags & (os.O_WRONLY | os.O_RDWR):
                return
        elif event not in _VISIBLE_STEPS:
            return
        if not self._left:
            os._exit(_EXIT_CRASHED)
        self._left -= 1
