"""What runs on local slots teaches the next predictions: real tasks, by the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from cosched.cli.main import run
from tests.testbed.forked.nursery import QuickSite

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cosched.client import Client

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    with QuickSite("local", scale=0.02, hosts=2) as site, site.client() as client:
        monkeypatch.setenv("COSCHED_SERVER", site.server)
        yield client


def submitted(capsys: Capture, *words: str) -> dict[str, Any]:
    capsys.readouterr()
    code = run(["task", "submit", "--json", *words])
    out, err = capsys.readouterr()
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    return found


def waited(capsys: Capture, *ids: str) -> None:
    assert run(["task", "wait", *ids, "--timeout", "2m"]) == 0
    capsys.readouterr()


@pytest.mark.daemon
@pytest.mark.slow(30)
def test_a_program_that_is_slower_on_two_hosts_goes_to_one_after_three_runs_on_each(
    client: Client, capsys: Capture
) -> None:
    """It takes 2 s on one host and 4 s on two, and its user says 4 s and 2 s."""
    says, program = ("--profile", "4,2"), ("--", "/bin/sh", "-c", "exec sleep $((2 * COSCHED_HOST_COUNT))")
    said = submitted(capsys, *says, "--hosts", "1-2", *program)
    waited(capsys, said["id"])
    assert len(client.task(said["id"]).hosts) == 2  # as its user says
    for hosts, more in (("2", 2), ("1", 3)):
        for _ in range(more):
            waited(capsys, submitted(capsys, *says, "--hosts", hosts, *program)["id"])
    last = submitted(capsys, *says, "--hosts", "1-2", *program)
    waited(capsys, last["id"])
    shown = client.task(last["id"])
    assert len(shown.hosts) == 1
    assert shown.profile is not None
    assert (shown.profile.stated, shown.profile.runs) == ((4.0, 2.0), 6)
    one, two = shown.profile.seconds
    assert one is not None
    assert two is not None
    assert 1.9 < one < 3.2  # a busy machine starts programs late
    assert two > 1.2 * one
