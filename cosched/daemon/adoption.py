"""Adoption makes tasks of jobs in the manager's queue, which their users submitted there themselves.

Each look compares the manager's queue with the core's tasks; start at `Adopter.look`. A restart loses nothing: a job's
key is the idempotency key of its task.
"""

from __future__ import annotations

import json
import threading
import time
from typing import TYPE_CHECKING, NamedTuple

import structlog

from cosched.access.principals import Principal, Role
from cosched.api.deadlines import parse_typed_deadline
from cosched.api.documents import TaskRequest
from cosched.api.runtimes import parse_runtime
from cosched.connector.jobs import JobState
from cosched.connector.spool import write_durably
from cosched.connector.values import NativeDescription
from cosched.coscheduler.attempts.attempt import AttemptState
from cosched.coscheduler.edits import TaskEdit
from cosched.coscheduler.events import (
    AdoptedJobGone,
    AdoptedJobStarted,
    EditRequested,
    HoldRequested,
    JobReported,
    ReleaseRequested,
)
from cosched.coscheduler.task import TaskState
from cosched.durations import parse_duration
from cosched.errors import CoschedError, SystemFault, UserError
from cosched.licence_requests import parse_licences

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cosched.app.core_access import CoreClient
    from cosched.app.submission.submissions import SubmissionService
    from cosched.connector.interface import AdoptableJob, AdoptsJobs
    from cosched.connector.jobs import JobReport
    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.task import Task

__all__ = ["Adopter", "adoption_request"]

_log = structlog.get_logger("cosched.adoption")

_PAUSE = 1.0  # seconds between two looks
_RENEWALS = 3.0  # in the time of a lease
_NOT_FOR_JOBS = ("begin", "after", "retries", "no-requeue")
_BY_OWNER = "{} (in the resource manager's queue)"


class _Live(NamedTuple):
    task: Task
    attempt: Attempt | None


class Adopter(threading.Thread):
    """Looks at the users' own jobs until `stop`.

    Attributes:
        fault: what keeps it from its work; empty where nothing does.
    """

    def __init__(
        self,
        connector: AdoptsJobs,
        core: CoreClient,
        submissions: SubmissionService,
        locate: Callable[[str], None],
        lease: float,
        memory: Path,
    ) -> None:
        """Set up; nothing is called before `start`.

        Args:
            connector: shows the jobs.
            core: has the tasks.
            submissions: takes new ones in.
            locate: has the manager find out what became of an attempt.
            lease: seconds that jobs wait for cosched after its last word.
            memory: file of the jobs' deadlines at the last look, also that of a former daemon.
        """
        super().__init__(name="adoption", daemon=True)
        self._connector = connector
        self._core = core
        self._submissions = submissions
        self._locate = locate
        self._lease = lease
        self._renew_at = 0.0
        self._settled: set[str] = set()  # keys of jobs that are no task's any more
        self._reports: dict[str, JobReport] = {}  # the last of each attempt
        self._memory = memory
        self._deadlines = _remembered(memory)  # as the jobs had them at the last look
        self.fault = ""
        self._stopped = threading.Event()

    def stop(self) -> None:
        """End after the look under way; leases go on."""
        self._stopped.set()
        if self.ident is not None:
            self.join()

    def run(self) -> None:
        """Look again and again."""
        while not self._stopped.wait(_PAUSE):
            try:
                self.look()
                self.fault = ""
            except CoschedError as fault:
                if str(fault) != self.fault:
                    _log.warning("adoption", fault=str(fault))
                self.fault = str(fault)
            except Exception:  # jobs go on after their leases all the same
                _log.exception("cosched made a mistake with jobs to adopt and goes on")

    def look(self) -> None:
        """Compare queue and tasks once.

        Raises:
            CoschedError: the manager or the core does not answer.
        """
        live = self._core.ask(_adopted)
        jobs = {job.key: job for job in self._connector.adoptable_jobs()}
        if time.monotonic() >= self._renew_at:
            self._connector.renew(self._core.now() + self._lease)
            self._renew_at = time.monotonic() + self._lease / _RENEWALS
        faults: list[CoschedError] = []
        for job in jobs.values():
            try:
                self._take(job, live.get(job.key))
            except CoschedError as fault:  # the other jobs are others'
                faults.append(fault)
            except Exception:
                _log.exception("cosched made a mistake with a job to adopt and lets it go", job=job.job)
                self._connector.abandon(job.key, "cosched cannot plan this job: the daemon's log says why")
                self._settled.add(job.key)
        for key in live.keys() - jobs.keys():
            self._miss(live[key])
        self._settled &= jobs.keys()
        self._remember({key: job.options.get("deadline", "") for key, job in jobs.items()})
        attempts = {each.attempt.uuid for each in live.values() if each.attempt is not None}
        self._reports = {uuid: report for uuid, report in self._reports.items() if uuid in attempts}
        if faults:
            raise faults[0]

    def _take(self, job: AdoptableJob, known: _Live | None) -> None:
        """Bring a job and its task together."""
        if known is not None:
            self._follow(job, known)
        elif job.key in self._settled or job.ended:
            return
        elif job.report is None:
            self._adopt(job)
        else:  # of an attempt that a restored backup lacks, or that a user made up; its lease is not to be renewed
            self._connector.abandon(job.key, "cosched has no record of this job")
            self._settled.add(job.key)

    def _adopt(self, job: AdoptableJob) -> None:
        """Take a job in; let it go where it cannot be planned.

        One whose task was cancelled is removed.
        """
        try:
            task = self._submissions.adopt(
                Principal(job.owner, Role.USER), lambda: adoption_request(job, self._connector.name), job.key
            )
        except SystemFault:
            raise  # tried again at the next look
        except CoschedError as error:
            _log.warning("not adopted", job=job.job, owner=job.owner, reason=str(error))
            self._connector.abandon(job.key, f"cosched does not plan this job: {error}")
            self._settled.add(job.key)
            return
        if not task.status.state.final:
            _log.info("adopted", job=job.job, owner=job.owner, task=task.id)
            return
        self._settled.add(job.key)
        if task.status.state is TaskState.CANCELLED:
            self._connector.remove(job.key, f"task {task.id} was cancelled through cosched")
        else:
            self._connector.abandon(job.key, f"task {task.id} has ended: {task.status.reason}")

    def _follow(self, job: AdoptableJob, known: _Live) -> None:
        task, attempt, now = known.task, known.attempt, self._core.now()
        if attempt is not None:
            report = job.report
            if report is not None and report.attempt == attempt.uuid and report != self._reports.get(attempt.uuid):
                self._reports[attempt.uuid] = report
                self._core.apply(JobReported(now, report))
            return
        if task.status.state is not TaskState.QUEUED:
            return
        by_owner, started = _BY_OWNER.format(job.owner), job.running or job.ended
        if job.held and not started and not task.status.held_by:  # also one marked for another attempt
            self._core.apply(HoldRequested(now, task.id, by_owner))
        if job.report is not None:
            if job.report.state is JobState.EVICTED:  # its attempt is over, and the manager would start it by itself
                self._connector.retract(job.report.attempt, job.key)
            return
        if started:  # its attempt tells the rest
            self._core.apply(AdoptedJobStarted(now, task.id))
        elif not job.held and task.status.held_by == by_owner:
            self._core.apply(ReleaseRequested(now, task.id, by_owner))
        deadline = job.options.get("deadline", "")
        if deadline != self._deadlines.get(job.key, deadline):
            self._core.apply(EditRequested(now, task.id, TaskEdit(deadline=_deadline(job)), job.owner))

    def _remember(self, deadlines: dict[str, str]) -> None:
        """Keep the deadlines for the next look, and for a later daemon."""
        if deadlines == self._deadlines:
            return
        self._deadlines = deadlines
        try:
            write_durably(self._memory, json.dumps(deadlines))
        except OSError as error:
            raise SystemFault(f"{self._memory} cannot be written: {error.strerror}: make room") from error

    def _miss(self, known: _Live) -> None:
        """Find out about a task whose job the queue does not show."""
        if known.attempt is None:
            if known.task.status.state is TaskState.QUEUED:
                ran = self._connector.ran_alone(known.task.spec.adopted)
                gone = AdoptedJobStarted if ran else AdoptedJobGone
                self._core.apply(gone(self._core.now(), known.task.id))
        elif known.attempt.state is not AttemptState.SUBMITTING:
            self._locate(known.attempt.uuid)


def _remembered(memory: Path) -> dict[str, str]:
    """Return the deadlines that a former daemon saw, none where they cannot be read."""
    try:
        found = json.loads(memory.read_text())
    except (OSError, ValueError):
        return {}
    return {str(key): str(text) for key, text in found.items()} if isinstance(found, dict) else {}


def _adopted(core: Coscheduler, _time: float) -> dict[str, _Live]:
    """Return the live tasks of users' own jobs, by the jobs' keys."""
    return {
        task.spec.adopted: _Live(task, core.attempt_of(task.id)) for task in core.tasks.values() if task.spec.adopted
    }


def adoption_request(job: AdoptableJob, manager: str) -> TaskRequest:
    """Return the request of a job, as a submit file with these lines makes it."""
    options = job.options
    if job.fault:
        raise UserError(job.fault)
    refused = [name for name in _NOT_FOR_JOBS if name in options]
    if refused:
        raise UserError(
            f"a job that was submitted to the resource manager itself takes no {refused[0]}: "
            "submit its file with cosched task submit --file"
        )
    if not job.hosts and options.get("hosts", "1") != "1":
        raise UserError(
            "a job that was submitted to the resource manager itself runs on one host: "
            "submit its file with cosched task submit --file"
        )
    return TaskRequest(
        application=options.get("application", ""),
        parameters=dict(job.parameters),
        command=job.command,
        # Its program stands in the job, beside an application, too.
        native=NativeDescription(manager, {"partition": job.partition} if job.partition else {}),
        deadline=_deadline(job),
        begin=job.begin,
        profile=_profile(job),
        hosts=options.get("hosts") or job.hosts or 1,
        name=options.get("name", ""),
        priority=_whole("priority", options.get("priority", "0")),
        best_effort="besteffort" in options and options["besteffort"].lower() != "false",
        directory=job.directory,
        memory=job.needs.memory,
        cores=job.needs.cores,
        gpus=job.needs.gpus,
        licences=parse_licences(options.get("licences", "")),
    )


def _profile(job: AdoptableJob) -> tuple[float | None, ...] | None:
    """Return the seconds on 1, 2, … hosts that a job states, if any."""
    options, most = job.options, None if job.hosts else 1
    if "profile" in options:
        words = options["profile"].split(",")[:most]
        return tuple(None if word.strip() in ("", "-") else parse_duration(word) for word in words)
    if "runtime" not in options:
        return None
    return parse_runtime(options["runtime"], options.get("hosts") or job.hosts or "1", option="")


def _whole(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise UserError(f"{name} is {text!r}: give a whole number") from error


def _deadline(job: AdoptableJob) -> float:
    """Return a job's deadline; relative times count from its submission."""
    return parse_typed_deadline(job.options.get("deadline", ""), job.submitted)[0]
