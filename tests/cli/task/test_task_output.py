"""What tasks wrote, as the command line gives it back: a real daemon with real processes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from cosched.cli.main import run
from cosched.client import Client, NotRunningError
from tests.testbed.forked.nursery import QuickSite

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cosched.api.documents import TaskDetail
    from demo.site import Site

# The HTTP library leaves the socket to the garbage collector where nobody listens.
pytestmark = [
    pytest.mark.daemon,
    pytest.mark.xdist_group("task-output"),  # its tests share one site
    pytest.mark.filterwarnings("ignore:.*socket.socket:pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with QuickSite("local", scale=0.05) as site:
        yield site


@pytest.fixture(autouse=True)
def server(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COSCHED_SERVER", site.server)


def _ended(site: Site, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run(["task", "submit", "--json", *words]) == 0
    task: str = json.loads(capsys.readouterr().out)["id"]
    with site.client() as client:
        client.wait([task], timeout=240)
    return task


def test_output_and_errors_of_each_rank_come_back(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    script = 'echo "out $COSCHED_RANK"; echo "err $COSCHED_RANK" >&2'
    task = _ended(site, capsys, "--hosts", "2", "--profile", "-,1", "--", "/bin/sh", "-c", script)
    for stream in ("out", "err"):
        assert run(["task", stream, task, "--rank", "1"]) == 0
        assert capsys.readouterr().out == f"{stream} 1\n"
    assert run(["task", "out", task, "--tail", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["text"] == "0\n"


def test_more_than_one_part_comes_back_whole(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    task = _ended(site, capsys, "--", "/bin/sh", "-c", "seq 300000")
    assert run(["task", "out", task, "--follow"]) == 0
    assert capsys.readouterr().out == "".join(f"{number}\n" for number in range(1, 300001))


def test_all_tries_of_a_task_are_followed_from_their_first_line_on(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of the second try all was missing that it had written until as much had come as of the first."""
    tries = tmp_path / "tries"
    script = (
        f"echo >> {tries}; n=$(wc -l < {tries}); for i in 1 2 3; do echo try $n line $i; sleep 0.4; done; [ $n = 3 ]"
    )
    assert run(["task", "submit", "--json", "--retries", "5", "--runtime", "5s", "--", "/bin/sh", "-c", script]) == 0
    task = json.loads(capsys.readouterr().out)["id"]
    assert run(["task", "out", task, "--follow"]) == 0
    told = [f"try {each} line {line}\n" for each in (1, 2, 3) for line in (1, 2, 3)]
    assert capsys.readouterr().out == "".join(told)
    assert run(["task", "out", task]) == 0
    assert capsys.readouterr().out == "".join(told[-3:])


def test_output_is_followed_across_a_restart_of_the_daemon(
    site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked, look = [0], Client.task

    def away(client: Client, task_id: str) -> TaskDetail:
        asked[0] += 1
        if asked[0] in (2, 3):
            raise NotRunningError("cosched is not running")
        return look(client, task_id)

    script = "echo before; sleep 2; echo after"
    assert run(["task", "submit", "--json", "--runtime", "5s", "--", "/bin/sh", "-c", script]) == 0
    task = json.loads(capsys.readouterr().out)["id"]
    monkeypatch.setattr(Client, "task", away)
    assert run(["task", "out", task, "--follow"]) == 0
    assert capsys.readouterr().out == "before\nafter\n"
    assert asked[0] > 3
    asked[0] = 1
    assert run(["task", "out", task, "--follow"]) == 2  # nobody is there from the first


def test_a_preparation_that_fails_says_so_and_its_words_are_kept(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    prepare = "/bin/sh -c 'echo no licence for $COSCHED_HOSTS >&2; exit 3'"
    task = _ended(site, capsys, "--profile", "1", "--prepare", prepare, "--", "/bin/echo", "ran")
    with site.client() as client:
        detail = client.task(task)
    assert (detail.state, detail.exit_code) == ("failed", 3)
    assert "preparation" in detail.reason
    assert run(["task", "err", task]) == 0
    assert "no licence for host" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [(("--rank", "5"), "has no rank 5"), (("--attempt", "9"), "no attempt 9")],
)
def test_what_is_not_there_is_named(
    site: Site, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    task = _ended(site, capsys, "--", "/bin/true")
    assert run(["task", "out", task, *words]) == 1
    assert message in capsys.readouterr().err


def test_a_program_that_is_launched_once_writes_as_one_and_knows_its_hosts(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    script = 'echo "$COSCHED_RANK of $COSCHED_HOST_COUNT: $(wc -l < "$COSCHED_HOST_FILE") names"'
    command = ("--", "/bin/sh", "-c", script)
    task = _ended(site, capsys, "--hosts", "2", "--profile", "-,1", "--launch", "once", *command)
    assert run(["task", "out", task]) == 0
    assert capsys.readouterr().out == "0 of 2: 2 names\n"
    assert run(["task", "out", task, "--rank", "1"]) == 1
    assert "is launched once" in capsys.readouterr().err
    assert run(["task", "show", task]) == 0
    assert "launch:      once\n" in capsys.readouterr().out
