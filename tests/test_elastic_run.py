from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cosched.elastic_lead import Lead, LeadOffer, LeadOrder
from cosched.elastic_run import Follower, main
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
STAYS, LEAVES = LeadOrder(1, "h2", "stay"), LeadOrder(2, "h3", "leave", 9.0)


@pytest.fixture
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "answers").mkdir()
    monkeypatch.setenv("COSCHED_MAILBOX", str(tmp_path))
    return tmp_path


@pytest.fixture(autouse=True)
def _signals_as_before() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    before |= {number: signal.getsignal(number) for number in (signal.SIGUSR1, signal.SIGUSR2)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def said(box: Path) -> list[object]:
    return [json.loads(file.read_text()) for file in sorted((box / "answers").iterdir())]


def script(box: Path, text: str) -> str:
    file = box / "resize"
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return str(file)


def test_the_hosts_file_has_the_hosts_that_stay(box: Path) -> None:
    Follower(Lead(), box / "hosts", ()).take(LeadOffer(1, (STAYS, LEAVES)))
    assert (box / "hosts").read_text() == "h2\n"
    assert said(box) == []


def test_a_worker_may_go_once_the_command_has_said_so(box: Path) -> None:
    note = 'echo "$COSCHED_RESIZE_EVENT $COSCHED_RESIZE_WORKER $COSCHED_RESIZE_HOST" >> ' + str(box / "notes")
    follower = Follower(Lead(), None, (script(box, note),))
    for _ in range(2):  # offers come again
        follower.take(LeadOffer(1, (STAYS, LEAVES)))
    assert (box / "notes").read_text().splitlines() == ["join 1 h2", "leave 2 h3"]
    assert said(box) == [{"drained": [2]}]


def test_a_command_that_fails_keeps_the_worker_until_its_grace_is_over(box: Path) -> None:
    command = script(box, '[ "$COSCHED_RESIZE_EVENT" = join ]')
    Follower(Lead(), None, (command,)).take(LeadOffer(1, (STAYS, LEAVES)))
    assert said(box) == [{"refused": {"2": f"{command} ended with code 1"}}]
    Follower(Lead(), None, ("/no/such/program",)).take(LeadOffer(1, (LEAVES,)))
    assert said(box)[-1] == {"refused": {"2": "/no/such/program ended with code 127"}}


class FullDisk(Lead):
    """A lead whose first word finds no room on the disk."""

    said = 0

    def offers(self) -> Iterator[LeadOffer]:
        yield from (LeadOffer(1, (LEAVES,)), LeadOffer(2, (LEAVES, replace(LEAVES, worker=3))))

    def drained(self, *workers: int) -> None:
        self.said += 1
        if self.said == 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        super().drained(*workers)


def test_after_a_full_disk_it_follows_offers_as_before(box: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Follower(FullDisk(), None, ("/bin/true",)).follow()
    assert said(box) == [{"drained": [3]}]
    assert capsys.readouterr().err.count("No space left on device") == 1


def test_workers_leave_in_good_order_where_the_hosts_file_cannot_be_written(
    box: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Follower(Lead(), box / "no" / "hosts", ("/bin/true",)).take(LeadOffer(1, (LEAVES,)))
    assert said(box) == [{"drained": [2]}]
    assert "no/hosts cannot be written: No such file or directory" in capsys.readouterr().err


@pytest.mark.parametrize(("command", "drains"), [("", False), ("/bin/true", True)])
def test_it_announces_the_program_and_hands_its_exit_code_on(box: Path, command: str, drains: bool) -> None:
    more = ["--on-resize", command] if command else []
    assert main(["--address", "here:1", *more, "--", "/bin/sh", "-c", "exit 7"]) == 7
    assert said(box)[0] == {"address": "here:1", "drains": drains}


def test_a_program_that_cannot_start_is_said(box: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--", str(box / "nothing")]) == 127
    assert "cannot start" in capsys.readouterr().err


def asked_to_stop(box: Path) -> None:
    """Ask the program that `main` will start: it says that it is ready by a file."""

    def ask() -> None:
        while not (box / "ready").exists():
            time.sleep(0.02)
        offer = {"task": "1", "revision": 1, "workers": [], "stop": {"by": 9.0, "reason": "task 2 would be late"}}
        (box / "offer.new").write_text(json.dumps(offer))
        (box / "offer.new").rename(box / "offer.json")

    threading.Thread(target=ask, daemon=True).start()


@pytest.mark.parametrize(
    ("name", "program", "code"),
    [
        ("USR1", "trap 'exit 85' USR1", 85),
        ("SIGUSR1", ":", 85),  # it ends by the signal itself
        ("USR1", "trap 'exit 0' USR1", 0),  # its work was done
        ("USR1", "trap 'exit 3' USR1", 3),
        ("USR1", "trap 'kill -TERM $$' USR1", 128 + signal.SIGTERM),
    ],
)
def test_a_program_that_is_to_stop_gets_the_signal_and_its_end_by_it_is_a_checkpoint(
    box: Path, name: str, program: str, code: int
) -> None:
    asked_to_stop(box)
    words = ("/bin/sh", "-c", f"{program}; touch {box / 'ready'}; while :; do sleep 0.05; done")
    assert main(["--signal", name, "--", *words]) == code
    assert said(box) == [], "a program that checkpoints has nothing to announce"


def test_a_program_that_was_not_asked_and_ends_by_the_signal_has_not_checkpointed(box: Path) -> None:
    assert main(["--signal", "TERM", "--", "/bin/sh", "-c", "kill -TERM $$"]) == 128 + signal.SIGTERM


def test_a_signal_that_does_not_exist_is_said(box: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--signal", "STOPNOW", "--", "/bin/true"]) == 2
    assert "write TERM, USR1" in capsys.readouterr().err
    assert said(box) == []


def test_outside_of_a_task_it_says_what_it_is_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COSCHED_MAILBOX", raising=False)
    assert main(["--", "/bin/true"]) == 2
    assert "--elastic workers" in capsys.readouterr().err


def test_signals_reach_the_program(box: Path) -> None:
    ready = box / "ready"
    program = f"trap 'exit 9' TERM; touch {ready}; while :; do sleep 0.05; done"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    running = subprocess.Popen(
        [sys.executable, "-m", "cosched.elastic_run", "--", "/bin/sh", "-c", program], env=environment
    )
    until(ready.exists)
    running.send_signal(signal.SIGTERM)
    assert running.wait(60) == 9


def test_a_signal_that_comes_as_the_program_starts_reaches_it(box: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ended the follower, and the program was never told: an elastic lead that was cancelled as it began ran on."""

    class Signalled(subprocess.Popen[bytes]):
        def __init__(self, command: list[str]) -> None:
            os.kill(os.getpid(), signal.SIGUSR1)
            super().__init__(command)

    ready, usual = box / "ready", signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    monkeypatch.setattr(subprocess, "Popen", Signalled)
    try:
        assert main(["--", "/bin/sh", "-c", f"touch {ready}; while :; do sleep 0.05; done"]) == 128 + signal.SIGUSR1
        assert signal.getsignal(signal.SIGUSR1) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGUSR1, usual)


def test_it_needs_nothing_but_the_standard_library() -> None:
    probe = (
        "import sys; import cosched.elastic_run; "
        "print([name for name in sys.modules if name.partition('.')[0] in ('numpy', 'httpx2', 'pydantic', 'typer')])"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", probe], env=environment, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
