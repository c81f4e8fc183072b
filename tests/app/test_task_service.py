from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cosched.access import Principal, Role
from cosched.api.documents import TaskChange, TaskRequest
from cosched.api.problems import ConflictError, NotFoundError
from cosched.app.submission.resubmission import requests_again
from cosched.connector.jobs import JobReport, JobState, LaunchMode
from cosched.coscheduler.events import JobReported
from cosched.coscheduler.task import TaskState
from cosched.errors import UserError
from cosched.store import TaskSelection
from tests.daemon.makers import daemon

if TYPE_CHECKING:
    from pathlib import Path

    from cosched.api.documents import TaskDetail
    from tests.daemon.makers import Daemon

ME = Principal("me", Role.USER)
YOU = Principal("you", Role.USER)
CHIEF = Principal("chief", Role.OPERATOR)
HALVING = TaskRequest(application="halving")


def test_a_waiting_task_is_cancelled_at_once_and_stays_so(here: Daemon) -> None:
    here.services.submissions.submit(ME, [HALVING], "", "")
    assert here.services.tasks.cancel(ME, "1").state == "cancelled"
    assert here.services.tasks.cancel(ME, "1").state == "cancelled"
    explanation = here.services.tasks.explain(ME, "1")
    assert explanation.waits_for == ("it was cancelled: cancelled by the user",)


def test_the_explanation_of_a_failure_has_the_last_lines_that_its_program_wrote(tmp_path: Path) -> None:
    with daemon(tmp_path, hosts=8, staging=0.0) as here:
        here.services.submissions.submit(ME, [replace(HALVING, hosts=8)] * 2, "", "")
        attempt, _ = here.manager.submitted[0]
        lines = [f"step {number}" for number in range(1000)] + ["", "cannot open mesh.dat", ""]
        here.manager.written[attempt.uuid, "err", 0] = "\n".join(lines).encode()
        begun = JobReport(attempt.uuid, JobState.RUNNING, "job-1", started=here.clock.now())
        here.inbox.apply(JobReported(here.clock.now(), begun)).result(60)
        assert here.services.tasks.explain(ME, "1").errors == ()
        failed = JobReport(attempt.uuid, JobState.FAILED, finished=here.clock.now(), exit_code=3)
        here.inbox.apply(JobReported(here.clock.now(), failed)).result(60)
        found = here.services.tasks.explain(ME, "1")
        assert found.waits_for == ("it failed: exit code 3",)
        assert found.errors == ("step 996", "step 997", "step 998", "step 999", "cannot open mesh.dat")


def test_a_task_that_nobody_submitted_is_not_found(here: Daemon) -> None:
    for look in (here.services.tasks.task, here.services.tasks.explain, here.services.tasks.cancel):
        with pytest.raises(NotFoundError, match="there is no task '7'"):
            look(CHIEF, "7")


def test_the_list_is_filtered_and_paged(here: Daemon) -> None:
    here.services.submissions.submit(ME, [HALVING] * 5, "", "")
    here.services.tasks.cancel(ME, "3")
    page = here.services.tasks.tasks(ME, TaskSelection((TaskState.QUEUED,)), 2, 1)
    assert ([task.id for task in page.tasks], page.total) == (["4", "2"], 4)


def test_another_users_task_is_not_there(here: Daemon) -> None:
    here.services.submissions.submit(ME, [HALVING], "", "")
    for look in (here.services.tasks.task, here.services.tasks.explain, here.services.tasks.cancel):
        with pytest.raises(NotFoundError, match="there is no task '1'"):
            look(YOU, "1")
    assert here.services.tasks.task(ME, "1").owner == "me"
    assert here.services.tasks.tasks(YOU, TaskSelection(), 10, 0).total == 0
    assert here.services.tasks.tasks(YOU, TaskSelection(owner="me"), 10, 0).tasks == ()
    assert here.services.domain.status(YOU).tasks["queued"] == 0
    assert here.services.tasks.cancel(CHIEF, "1").state == "cancelled"


def test_tasks_are_found_by_owner_and_words(here: Daemon) -> None:
    here.services.submissions.submit(ME, [TaskRequest(application="halving", name="Night run 100%")], "", "")
    here.services.submissions.submit(YOU, [HALVING], "", "")
    found = {
        words: [task.id for task in here.services.tasks.tasks(CHIEF, TaskSelection(text=words), 10, 0).tasks]
        for words in ("night", "100%", "%", "HALV", "2", "none")
    }
    assert found == {"night": ["1"], "100%": ["1"], "%": ["1"], "HALV": ["2", "1"], "2": ["2"], "none": []}
    assert [task.id for task in here.services.tasks.tasks(CHIEF, TaskSelection(owner="you"), 10, 0).tasks] == ["2"]


def submitted(here: Daemon, *owners: Principal) -> None:
    for owner in owners:
        here.services.submissions.submit(owner, [HALVING], "", "")


def test_a_waiting_task_gets_another_deadline_and_name_on_disk(here: Daemon) -> None:
    submitted(here, ME)
    changed = here.services.tasks.edit(ME, "1", TaskChange(deadline="now+9h", name="renamed"))
    assert changed.deadline is not None
    assert changed == here.services.tasks.tasks(ME, TaskSelection(), 1, 0).tasks[0]
    assert changed.name == "renamed"
    assert here.services.tasks.edit(ME, "1", TaskChange(deadline="none")).deadline is None
    assert [line.detail for line in here.services.tasks.task(ME, "1").log if line.kind == "edited"] == [
        "by me: deadline, name",
        "by me: deadline",
    ]


@pytest.mark.parametrize(
    ("request_", "change", "times"),
    [
        (HALVING, TaskChange(hosts=2), (None, 40.0)),
        (HALVING, TaskChange(hosts="3-4"), (None, None, 80 / 3, 20.0)),
        (HALVING, TaskChange(runtime="2m", hosts=3), (None, None, 120.0)),
        (HALVING, TaskChange(runtime="1:2m,2:90s"), (120.0, 90.0)),
        (TaskRequest(command=("/bin/true",), hosts=2), TaskChange(runtime=30), (None, 30.0)),
        (TaskRequest(command=("/bin/true",), hosts=2), TaskChange(hosts=3), None),
        (TaskRequest(command=("/bin/true",), profile=(4.0, 2.0)), TaskChange(hosts="2"), (None, 2.0)),
    ],
)
def test_a_waiting_task_gets_other_hosts_and_run_times(
    here: Daemon, request_: TaskRequest, change: TaskChange, times: tuple[float | None, ...] | None
) -> None:
    here.services.submissions.submit(ME, [replace(request_, begin="now+1h")], "", "")
    here.services.tasks.edit(ME, "1", change)
    task = here.services.tasks.task(ME, "1")
    assert (task.profile and task.profile.seconds) == (times and pytest.approx(times))
    assert times is not None or task.count == 3
    assert [line.detail for line in task.log if line.kind == "edited"] == ["by me: hosts and run time"]


def test_a_waiting_task_gets_other_shapes_and_loses_them(here: Daemon) -> None:
    def after(change: TaskChange) -> TaskDetail:
        here.services.tasks.edit(ME, "1", change)
        return here.services.tasks.task(ME, "1")

    request = TaskRequest(command=("/bin/true",), begin="now+1h", memory="2G")
    here.services.submissions.submit(ME, [request], "", "")
    chosen = after(TaskChange(runtime="1x4:60s,1x8:33s,2x8:18s", cores="4-16"))
    assert [each.cores for each in chosen.alternatives] == [4, 8]
    assert (chosen.cores, chosen.cores_range, chosen.memory) == (4, "4-16", 2048)
    assert chosen.profile is not None
    assert chosen.profile.seconds == (33.0, 18.0)
    larger = after(TaskChange(memory="3G"))
    assert [(each.cores, each.memory) for each in larger.alternatives] == [(4, 3072), (8, 3072)]
    on_one = after(TaskChange(hosts=1))
    assert on_one.profile is not None
    assert on_one.profile.seconds == (33.0,)
    one = after(TaskChange(cores=8))
    assert (one.alternatives, one.cores, one.cores_range, one.memory) == ((), 8, "", 3072)
    assert one.profile is not None
    assert one.profile.seconds == (33.0,)
    submit, change = here.services.submissions.submit, TaskChange(runtime="1x4:60s,1x8:33s")
    again = submit(ME, requests_again(here.services, ME, ["1"], change), "", "")
    like = submit(ME, requests_again(here.services, ME, [again[0].id]), "", "")
    first, second = (here.services.tasks.task(ME, each.id) for each in (again[0], like[0]))
    assert first.alternatives == second.alternatives
    assert (second.cores_range, second.memory) == ("4-8", 3072)


def test_what_each_process_needs_gives_way_to_what_a_host_is_to_have(here: Daemon) -> None:
    """Regression: of a number of processes neither memory nor cores could be changed, whatever was given."""
    request = replace(HALVING, launch=LaunchMode.OPENMPI, processes="4-8", memory_per_process="1G")
    submit, tasks = here.services.submissions.submit, here.services.tasks
    submit(ME, [request], "", "")
    tasks.edit(ME, "1", TaskChange(memory="8G"))
    found = tasks.task(ME, "1")
    assert (found.memory, found.processes) == (8192, "4-8")
    with pytest.raises(UserError, match="leave the processes on each host and its cores out"):
        tasks.edit(ME, "1", TaskChange(processes=8, cores=4))
    tasks.edit(ME, "1", TaskChange(cores=4))
    found = tasks.task(ME, "1")
    assert (found.cores, found.processes, found.processes_per_host, found.memory) == (4, "", 1, 8192)
    submit(ME, [request], "", "")
    (again,) = submit(ME, requests_again(here.services, ME, ["2"], TaskChange(memory="2G")), "", "")
    assert {each.memory for each in tasks.task(ME, again.id).alternatives} == {2048}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (TaskChange(cores="8-4"), "give a number, or a range"),
        (TaskChange(processes=8), "for a number of processes have it launched by MPI .launch"),
        (TaskChange(hosts=99), "can use 1 to 8"),
        (TaskChange(hosts="many"), "give a number"),
        (TaskChange(runtime="30m"), "runtime 30m is a time on how many hosts"),
        (TaskChange(runtime="soon", hosts=2), "is not a duration"),
        (TaskChange(runtime="1:9h", deadline="now+1h"), "cannot be met"),
        (TaskChange(), "nothing is to be changed"),
        (TaskChange(deadline="soon"), "is not a time"),
        (TaskChange(deadline="now+1s"), "cannot be met"),
        (TaskChange(retries=-1), "retries is -1"),
        (TaskChange(time_limit="0s"), "the time limit is 0"),
        (TaskChange(memory="much"), "the memory is 'much'"),
        (TaskChange(cores=-1), "give numbers from 0 on"),
        (TaskChange(array_at_most=2), "task 1 is of no array"),
        (TaskChange(name="x" * 300, deadline="now+9h"), "at most 200"),
    ],
)
def test_an_edit_at_fault_changes_nothing(here: Daemon, change: TaskChange, words: str) -> None:
    submitted(here, ME)
    before = here.services.tasks.task(ME, "1")
    with pytest.raises(UserError, match=words):
        here.services.tasks.edit(ME, "1", change)
    assert here.services.tasks.task(ME, "1") == before


def test_licences_of_a_waiting_task_are_changed_and_checked(here: Daemon) -> None:
    submitted(here, ME)
    with pytest.raises(UserError, match="it asks for 1 of matlab, and this domain has none of it"):
        here.services.tasks.edit(ME, "1", TaskChange(licences={"matlab": 1}))
    here.services.tasks.edit(ME, "1", TaskChange(licences={}))
    task = here.services.tasks.task(ME, "1")
    assert task.licences == {}


def test_a_waiting_task_gets_what_its_job_is_to_be_like(here: Daemon) -> None:
    submitted(here, ME)
    change = TaskChange(memory="2G", cores=2, exclusive=True, retries=3, requeue=False, time_limit="2h")
    here.services.tasks.edit(ME, "1", change)
    task = here.services.tasks.task(ME, "1")
    assert (task.memory, task.cores, task.gpus, task.retries, task.time_limit) == (2048, 2, 0, 3, 7200.0)
    assert (task.requeue, task.exclusive) == (False, True)
    here.services.tasks.edit(ME, "1", TaskChange(time_limit="none", cores=0, requeue=True))
    task = here.services.tasks.task(ME, "1")
    assert (task.memory, task.cores, task.retries, task.time_limit, task.requeue) == (2048, 0, 3, None, True)
    assert [line.detail for line in task.log if line.kind == "edited"] == [
        "by me: memory, cores, hosts for itself, retries, requeue, time limit",
        "by me: cores, requeue, time limit",
    ]


def test_a_job_is_adopted_once_and_stays_on_one_host(here: Daemon) -> None:
    request = TaskRequest(command=("/bin/true",), begin="now+1h")
    first, again = (here.services.submissions.adopt(ME, lambda: request, "pool#1.0#1700000000") for _ in range(2))
    assert first.id == again.id
    with pytest.raises(UserError, match="on how many hosts it runs"):
        here.services.tasks.edit(ME, first.id, TaskChange(hosts=2))
    with pytest.raises(UserError, match="which says its memory, time limit"):
        here.services.tasks.edit(ME, first.id, TaskChange(memory=5, time_limit=9))


def test_a_task_that_has_ended_is_refused_and_stays_as_it_is(here: Daemon) -> None:
    submitted(here, ME)
    before = here.services.tasks.cancel(ME, "1")
    for change in (here.services.tasks.hold, here.services.tasks.release):
        with pytest.raises(ConflictError, match="task 1 has ended"):
            change(ME, "1")
    with pytest.raises(ConflictError, match="task 1 has ended"):
        here.services.tasks.edit(ME, "1", TaskChange(name="late"))
    assert here.services.tasks.tasks(ME, TaskSelection(), 1, 0).tasks == (before,)


def test_a_hold_by_an_operator_is_not_released_by_the_owner(here: Daemon) -> None:
    submitted(here, ME)
    assert here.services.tasks.hold(ME, "1").held_by == "me"
    assert here.services.tasks.release(ME, "1").held_by == ""
    assert here.services.tasks.hold(CHIEF, "1").held_by == "chief"
    for change in (here.services.tasks.hold, here.services.tasks.release):
        with pytest.raises(ConflictError, match="held by chief"):
            change(ME, "1")
    assert here.services.tasks.release(CHIEF, "1").held_by == ""


def test_another_users_task_is_not_changed(here: Daemon) -> None:
    submitted(here, ME)
    for change in (here.services.tasks.hold, here.services.tasks.release):
        with pytest.raises(NotFoundError):
            change(YOU, "1")
    with pytest.raises(NotFoundError):
        here.services.tasks.edit(YOU, "1", TaskChange(name="mine"))
