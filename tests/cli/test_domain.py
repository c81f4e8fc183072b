from __future__ import annotations

import json
from dataclasses import replace
from getpass import getuser
from typing import TYPE_CHECKING

import pytest

from cosched import __version__
from cosched.api.documents import Accuracy, GroupUseView, LearntRunView, PlanView, ResourceUseView, UtilisationView
from cosched.cli.main import run
from cosched.client import Client
from cosched.daemon.inbox import Inbox
from tests.daemon.makers import serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[None]:
    """A daemon with one task that waits, and the address in the environment."""
    with serving(tmp_path) as (_, address):
        monkeypatch.setenv("COSCHED_SERVER", address)
        assert run(["task", "submit", "halving", "--name", "night"]) == 0
        capsys.readouterr()
        yield


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run(["domain", *words]) == 0
    return capsys.readouterr().out


@pytest.mark.usefixtures("server")
def test_the_domain_is_told_to_people(capsys: pytest.CaptureFixture[str]) -> None:
    status = said(capsys, "status")
    assert f"cosched {__version__})\nhosts:   16 up, 0 down\ntasks:   1 queued\n" in status
    head, row = said(capsys, "schedule").splitlines()
    assert head.split()[:5] == ["TASK", "NAME", "OWNER", "APPLICATION", "IS"]
    assert row.split()[:5] == ["1", "night", getuser(), "halving", "planned"]
    assert "submitted" in said(capsys, "log")
    for empty in ("runs", "search", "accuracy", "usage"):
        assert len(said(capsys, empty).splitlines()) == 1  # the headings


@pytest.mark.usefixtures("server")
def test_the_schedule_is_in_the_order_of_starts_and_numbers_and_says_what_has_not_begun_or_has_no_end(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was 1, 10, 2; what was sent was said to run; and the end of a run without a prediction ran away."""
    known = Client.plan

    def plan(client: Client) -> PlanView:
        found = known(client)
        (place,) = found.placements
        places = [replace(place, task=str(number), start=100.9 - number / 20) for number in (10, 2, 1)]
        running = replace(places[0], running=True, state="running", end=None, reckoned=200.0)
        return replace(found, placements=(running, replace(places[1], running=True, state="dispatching"), places[2]))

    monkeypatch.setattr(Client, "plan", plan)
    assert run(["domain", "schedule"]) == 0
    told = capsys.readouterr()
    rows = [line.split() for line in told.out.splitlines()[1:]]
    assert [(row[0], row[4]) for row in rows] == [("1", "planned"), ("2", "dispatching"), ("10", "running")]
    assert [len(row) for row in rows] == [10, 10, 8]
    assert ", without 1 run that nobody predicted" in told.err


@pytest.mark.usefixtures("server")
def test_a_status_that_is_not_of_now_says_of_when_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "as of:" not in said(capsys, "status")
    monkeypatch.setattr(Inbox, "silence", lambda _: 60.0)
    assert "as of:   2" in said(capsys, "status")


@pytest.mark.usefixtures("server")
def test_tasks_at_risk_are_told_whole_where_none_is_late(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    known, told = Client.status, (0, 29)
    monkeypatch.setattr(Client, "status", lambda client: replace(known(client), late=told[0], at_risk=told[1]))
    assert "tasks:   1 queued; 29 at risk of being late\n" in said(capsys, "status")
    told = (2, 1)
    assert "1 queued; 2 expected to be late; 1 at risk of being late\n" in said(capsys, "status")


@pytest.mark.usefixtures("server")
def test_what_was_said_alone_is_beside_what_runs_made_of_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = Accuracy(application="heat", hardware="fast", ratios=(1.0,), factor=1.0, runs=1)
    runs = [
        LearntRunView(
            task="1",
            owner="ann",
            numbers=(),
            hosts=1,
            hardware="",
            predicted=predicted,
            seconds=10.0,
            finished=1.0,
            stated=5.0,
            low=None if predicted is None else predicted - 1,
            high=None if predicted is None else predicted + 0.5,
        )
        for predicted in (9.0, 10.5, None)
    ]
    monkeypatch.setattr(Client, "accuracy", lambda _: [entry])
    monkeypatch.setattr(Client, "learnt_runs", lambda *_: runs)
    _, alone, predicted = said(capsys, "accuracy", "--sources").splitlines()
    assert alone.split() == ["heat", "model", "or", "user", "alone", "3", "50.0%", "50.0%"]
    assert predicted.split() == ["heat", "as", "predicted", "2", "7.5%", "7.5%", "50%"]
    assert len(json.loads(said(capsys, "accuracy", "--sources", "--json"))) == 2


@pytest.mark.usefixtures("server")
def test_what_others_cost_an_application_is_beside_its_accuracy(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = Accuracy(application="heat", hardware="fast", ratios=(1.0,), factor=1.0, runs=1)
    monkeypatch.setattr(Client, "accuracy", lambda _: [plain])
    assert "BESIDE OTHERS" not in said(capsys, "accuracy")
    monkeypatch.setattr(Client, "accuracy", lambda _: [plain, replace(plain, contention=0.08, contention_runs=14)])
    head, first, second = said(capsys, "accuracy").splitlines()
    assert head.endswith("BESIDE OTHERS")
    assert first.split()[-1] == "1.000"
    assert second.endswith("+8% (14 runs)")


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize("verb", ["status", "schedule", "search", "runs", "accuracy", "log"])
def test_every_verb_speaks_json(capsys: pytest.CaptureFixture[str], verb: str) -> None:
    assert json.loads(said(capsys, verb, "--json")) is not None


@pytest.mark.usefixtures("server")
def test_the_plans_of_a_task_are_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["task", "plans", "1"]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["PLANNED", "AT", "START", "END", "HOSTS"]
    assert len(rows) == 1
    assert int(rows[0].split()[-1]) >= 1


@pytest.mark.usefixtures("server")
def test_the_use_of_hosts_is_told_for_the_past_now_and_the_plan(capsys: pytest.CaptureFixture[str]) -> None:
    head, together, ann = said(capsys, "utilisation", "--last", "8h", "--by", "user").splitlines()
    assert head.split() == ["RESOURCE", "TOTAL", "USER", "LAST", "8h", "NOW", "PLANNED"]
    assert together.split()[:5] == ["hosts", "16", "together", "0.0%", "0.0%"]
    assert ann.split()[:3] == [getuser(), "0.0%", "0.0%"]
    assert ann.split()[3] == together.split()[5] != "0.0%"
    (found,) = json.loads(said(capsys, "utilisation", "--json"))["resources"]
    assert (found["resource"], found["total"]) == ("hosts", 16.0)


@pytest.mark.parametrize(
    ("words", "fault"), [(("--by", "group"), "write class or user"), (("--last", "1s"), "write a time from 1m")]
)
def test_a_use_that_cannot_be_told_says_what_can(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], fault: str
) -> None:
    assert run(["domain", "utilisation", *words]) == 1
    assert fault in capsys.readouterr().err


def test_cores_memory_and_gpus_are_told_with_their_units(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    group = GroupUseView(name="node", past=0.25, now=0.5, planned=0.125, amounts=())
    resources = tuple(
        ResourceUseView(resource=name, total=total, past=0.25, now=0.5, planned=0.125, groups=(group,))
        for name, total in (("cores", 1024.0), ("memory", 4096.0), ("gpus", 64.0))
    )
    found = UtilisationView(
        since=0, time=1, until=2, planned_until=2, part=1, past_parts=1, complete=False, resources=resources
    )
    monkeypatch.setattr(Client, "utilisation", lambda *_: found)
    assert run(["domain", "utilisation"]) == 0
    told = capsys.readouterr()
    rows = [line.split() for line in told.out.splitlines()[1:]]
    assert rows[::2] == [
        ["cores", "1024", "together", "25.0%", "50.0%", "12.5%"],
        ["memory", "4G", "together", "25.0%", "50.0%", "12.5%"],
        ["gpus", "64", "together", "25.0%", "50.0%", "12.5%"],
    ]
    assert rows[1] == ["node", "25.0%", "50.0%", "12.5%"]
    assert "the oldest are left out" in told.err
