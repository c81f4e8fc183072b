from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import get_args

import pytest

from cosched.connector.hosts import Host
from cosched.connector.interface import StartDiagnosis, StartVerdict
from cosched.connector.values import NativeDescription
from cosched.coscheduler.attempts.attempt import Attempt
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.core_settings import CoreSettings
from cosched.coscheduler.edits import TaskEdit
from cosched.coscheduler.events import (
    AttemptDiagnosed,
    AttemptSubmitted,
    CancelRequested,
    EditRequested,
    Event,
    HoldRequested,
    HostsObserved,
    HostsReserved,
    SharesChanged,
    SubmitFailed,
    TaskSubmitted,
)
from cosched.coscheduler.recording.codec import type_hints
from cosched.coscheduler.recording.lines import RecordingWriter, read_recording
from cosched.coscheduler.recording.redaction import redaction
from cosched.coscheduler.recording.replay import ReplayedEvent, replay
from cosched.coscheduler.recording.snapshot import CoreSnapshot
from cosched.coscheduler.reservations import Reservation
from cosched.coscheduler.sharing.shares import Share, Shares
from cosched.coscheduler.task import TaskState
from tests.coscheduler.makers import a_core, a_task, restore, settings
from tests.tasks import change_task

SECRET = change_task(
    a_task(1, [3.0], owner="ann", correction="merger/fast"),
    name="merger",
    application="merger",
    command=("/home/ann/merger", "--key=k1"),
    environment={"KEY": "hunter2"},
    notify=("https://hooks.example.org/hunter2",),
    native=NativeDescription("slurm", {"comment": "hunter2"}, "export KEY=hunter2"),
    parameters={"file": "offer.doc", "size": 3.0},
    directory="/home/ann/merger",
    stdin="/home/ann/merger/input",
    prepare=("/home/ann/stage",),
    model="application merger {}",
)
PEOPLE = ("ann", "merger", "hunter2", "offer", "k1", "quota", "audit", "too late")


def recording() -> list[bytes]:
    core, writer = a_core(), RecordingWriter()
    core.handle(TaskSubmitted(0.0, replace(SECRET, id="0", number=0)))
    lines = [writer.start(core.settings, 0.0, core.snapshot())]
    events: tuple[Event, ...] = (
        TaskSubmitted(1.0, SECRET),
        HostsReserved(2.0, Reservation("r1", ("node04",), 5.0, 9.0, "audit", "ann")),
        SubmitFailed(3.0, next(iter(core.attempts)), "quota of ann", transient=True, refused=True),
        HoldRequested(3.2, "1", "ann"),
        EditRequested(3.4, "1", TaskEdit("of ann"), "ann"),
        CancelRequested(4.0, "1", "too late for ann"),
        SharesChanged(4.5, Shares(groups={"audit": Share(2.0)}, users={"ann": Share(3.0)}, members={"ann": "audit"})),
    )
    lines += [writer.handled(event, core.handle(event)) for event in events]
    lines.append(writer.start(core.settings, 4.0, core.snapshot()))
    return "".join(lines).encode().splitlines(keepends=True)


def saved(*, names: bool = False) -> str:
    return "".join(map(RecordingWriter(redacted=not names).again, read_recording(recording(), "file")))


def test_secrets_are_not_even_in_the_file_of_the_daemon() -> None:
    text = b"".join(recording()).decode()
    assert "hunter2" not in text
    assert "--key=k1" in text  # the command is kept for those who have the file


@pytest.mark.parametrize("word", PEOPLE)
def test_a_saved_recording_names_nobody(word: str) -> None:
    assert word not in saved()


def test_names_are_kept_where_that_is_wanted() -> None:
    text = saved(names=True)
    assert all(word in text for word in PEOPLE if word != "hunter2")
    assert "hunter2" not in text


def test_a_redacted_recording_takes_a_reason_that_comes_again_for_the_same() -> None:
    """The recording begun in between had hidden our own words with the manager's."""
    core, writer = a_core(), RecordingWriter()
    core.handle(TaskSubmitted(0.0, a_task(1, None)))
    (uuid,) = core.attempts
    core.handle(AttemptSubmitted(1.0, uuid, "1.0"))
    said = AttemptDiagnosed(2.0, uuid, StartDiagnosis(StartVerdict.BLOCKED, "no licence for ann"))
    core.handle(said)
    lines = [writer.start(core.settings, 3.0, core.snapshot())]
    lines.append(writer.handled(said, core.handle(said)))
    entries = read_recording("".join(lines).encode().splitlines(keepends=True), "file")
    hidden = "".join(map(RecordingWriter(redacted=True).again, entries))
    assert "ann" not in hidden
    again = replay(read_recording(hidden.encode().splitlines(keepends=True), "file"))
    assert [each.same for each in again if isinstance(each, ReplayedEvent)] == [True]


@pytest.mark.parametrize("correction", ["merger/test", ""])
def test_a_redacted_recording_knows_again_who_costs_whom_what(correction: str) -> None:
    """Runs without a model are known by their user's and their program's names, which a redaction changes."""
    core = Coscheduler(settings(share_hosts=True))
    core.handle(HostsObserved(0.0, (Host("node01", memory=16000, cores=8),)))
    ran = a_task(1, [100.0], owner="ann", correction=correction)
    ran = change_task(ran, name="merger", application="merger", cores=2)
    ended = [
        ran.with_status(state=TaskState.COMPLETED, hosts=("node01",), actual=100.0 * (1 + beside), beside=beside)
        for beside in (0.0,) * 4 + (0.5,) * 4
    ]
    restore(core, 0.0, completed=ended)
    core.handle(HostsObserved(0.0, (Host("node01", memory=16000, cores=8),)))
    writer, said = RecordingWriter(), TaskSubmitted(1.0, replace(ran, id="2", number=2))
    lines = [writer.start(core.settings, 0.0, core.snapshot())]
    lines.append(writer.handled(said, core.handle(said)))
    (attempt,) = core.attempts.values()
    assert attempt.predicted == pytest.approx(100.0 * 1.5 ** (0.75 / 0.5))
    entries = read_recording("".join(lines).encode().splitlines(keepends=True), "file")
    hidden = "".join(map(RecordingWriter(redacted=True).again, entries))
    assert "ann" not in hidden
    assert "merger" not in hidden
    again = replay(read_recording(hidden.encode().splitlines(keepends=True), "file"))
    assert [each.same for each in again if isinstance(each, ReplayedEvent)] == [True]


def test_an_owner_and_an_application_have_one_pseudonym_throughout() -> None:
    text = saved()
    assert "owner-1" in text
    assert "owner-2" not in text
    assert "application-1/fast" in text
    assert "application-2" not in text


# Texts that a redacted recording shows: identifiers, states, hosts and domains.
PLAIN = {
    *(("Attempt", name) for name in ("uuid", "task", "hosts", "job", "state")),
    *(("AttemptsSnapshot", name) for name in ("lost", "cancel_requests", "distrusted", "refusals")),
    ("AvoidedHosts", "hosts"),
    *(
        (kind, "attempt")
        for kind in (
            "AttemptSubmitted",
            "AttemptMissing",
            "AttemptAbsent",
            "AttemptBegun",
            "SubmitFailed",
            "PredictionPassed",
        )
    ),
    ("PredictionPassed", "attempt"),
    *(("UnstartedSnapshot", name) for name in ("waiting", "tries", "retry", "tried", "accusers", "aside", "avoids")),
    *((kind, "task") for kind in ("CancelRequested", "OfferEnded", "PeerReported", "StartPermitted")),
    *((kind, "task") for kind in ("TaskForwarded", "TaskReturned", "AdoptedJobGone", "AdoptedJobStarted")),
    *((kind, "task") for kind in ("EditRequested", "HoldRequested", "ReleaseRequested")),
    *(("CoreSettings", name) for name in ("contention", "instance", "interruption", "policy", "trigger")),
    *(("OccupancySnapshot", "hosts"), ("OccupancySnapshot", "runs"), ("BegunRun", "hosts")),
    *(("CoreSnapshot", name) for name in ("claimed", "last_improvement", "loads", "overruns", "looked_at")),
    *(("Host", name) for name in ("name", "host_class", "cluster")),
    ("HostsObserved", "loads"),
    *(("JobReport", name) for name in ("attempt", "state", "job", "hosts")),
    *(("PeerReported", name) for name in ("state", "hosts", "where")),
    *(("Profile", name) for name in ("source", "hardware", "coupling")),
    *(("QueueSnapshot", name) for name in ("held_back", "start_requests", "offered_to_neighbours")),
    *(("QueueSnapshot", name) for name in ("in_transit", "unmodelled", "searched")),
    *(("Reservation", name) for name in ("id", "hosts")),
    *(("TaskPlan", name) for name in ("tasks", "classes")),
    *(("Task", name) for name in ("id", "origin")),
    *(("TaskStatus", name) for name in ("state", "hosts", "peer", "avoids")),
    *((kind, "licences") for kind in ("CoreSettings", "TaskEdit", "TaskSpec")),  # names of what a site has, as classes
    ("AttemptDiagnosed", "attempt"),
    *((kind, "attempt") for kind in ("HostsWished", "LeadAnnounced", "WorkerDrained", "WorkerRefused", "WorkReported")),
    *((kind, "attempt") for kind in ("SpeedsMeasured", "OverheadsMeasured", "StageDone", "ResizeWished")),
    ("StageDone", "stage"),
    *(("BadPlacesRecord", name) for name in ("parts", "since", "avoided", "times")),
    *(("WorkerStatistics", name) for name in ("host", "cluster")),
    *(("LeadStatus", name) for name in ("promised", "why", "behind", "job_of")),
    ("RestartRecord", "why"),
    ("Attempt", "needed_by"),
    *(("ElasticSnapshot", name) for name in ("work", "next_look", "setbacks", "speeds", "links", "overheads")),
    ("AttemptsSnapshot", "ended_leads"),
    ("AttemptSubmitted", "job"),
    ("ReservationReleased", "reservation"),
    ("StageInChain", "chain"),
    ("StageWork", "control"),
    ("StartDiagnosis", "verdict"),
    ("TaskForwarded", "peer"),
    ("TaskSpec", "after"),
    ("TaskSpec", "array"),
    ("TaskSpec", "launch"),
    ("TaskSpec", "partition"),
    ("Host", "partitions"),
    *((kind, "hosts_range") for kind in ("TaskSpec", "HostChoice")),
    *((kind, name) for kind in ("TaskSpec", "ShapeChoice") for name in ("cores_range", "processes")),
}


def texts(kind: object, found: dict[tuple[str, str], None], seen: set[object]) -> None:
    """Collect the fields of recorded classes that hold texts."""
    if kind in seen:
        return
    seen.add(kind)
    if is_dataclass(kind) and isinstance(kind, type):
        for each in fields(kind):
            hint = type_hints(kind)[each.name]
            inside = {hint, *get_args(hint), *(deep for part in get_args(hint) for deep in get_args(part))}
            if (kind.__name__, each.name) not in redaction():
                if any(isinstance(part, type) and issubclass(part, str) for part in inside):
                    found[kind.__name__, each.name] = None
                texts(hint, found, seen)
    for part in get_args(kind):
        texts(part, found, seen)


def test_every_text_that_is_recorded_is_redacted_or_known_to_be_plain() -> None:
    found: dict[tuple[str, str], None] = {}
    for kind in (Event, CoreSnapshot, CoreSettings):
        texts(kind, found, set())
    assert found.keys() - PLAIN == set(), "redact these, or say here that they tell nothing of anybody"
    assert PLAIN - found.keys() == set(), "these are not recorded any more"


def test_every_rule_is_of_a_field_that_exists() -> None:
    kinds: set[object] = set()
    for kind in (Event, CoreSnapshot, CoreSettings, Attempt):
        texts(kind, {}, kinds)
    known = {
        (kind.__name__, each.name)
        for kind in kinds
        if isinstance(kind, type) and is_dataclass(kind)
        for each in fields(kind)
    }
    assert redaction().keys() - known == {("OwnerLimit", "why")}  # its mapping is redacted whole
