from __future__ import annotations

import asyncio
import errno
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest

from cosched.connector.mailboxes import ANSWERS, make_mailbox
from cosched.dask.control import Control
from cosched.dask.lead import _report, main

if TYPE_CHECKING:
    from pathlib import Path

_SCRIPT = """\
import sys
from distributed import Client
with Client() as client:
    print(sum(client.gather(client.map(abs, [-1, -2, -3]))))
sys.exit(int(sys.argv[1]))
"""


def run_lead(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    make_mailbox(folder / "box")
    (folder / "script.py").write_text(_SCRIPT)
    return subprocess.run(
        [sys.executable, "-m", "cosched.dask.lead", *arguments],
        env={**os.environ, "COSCHED_MAILBOX": str(folder / "box"), "COSCHED_TASK": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=250,
    )


@pytest.mark.daemon
@pytest.mark.slow
@pytest.mark.parametrize("code", [0, 7])
def test_a_script_finds_its_cluster_and_its_end_is_the_tasks(tmp_path: Path, code: int) -> None:
    done = run_lead(tmp_path, str(tmp_path / "script.py"), str(code))
    assert (done.stdout, done.returncode) == ("6\n", code), done.stderr
    assert "INFO" not in done.stderr
    answers = tmp_path / "box" / ANSWERS
    first, *_ = (json.loads(file.read_text()) for file in sorted(answers.glob("*.json")))
    assert first["drains"] is True
    address, _, folder = first["address"].partition("#")
    assert address.startswith("tls://")
    assert folder == str(answers / "dask")
    assert not (answers / "dask").exists()  # nor its key


def test_a_scale_is_told_again_after_a_full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cosched.dask.lead._REPORT_EACH", 0.01)
    lead, control = Mock(), Control()
    lead.resize.side_effect = [OSError(errno.ENOSPC, "No space left on device"), None]

    async def report() -> None:
        task = asyncio.ensure_future(_report(Mock(task_prefixes={}, task_groups={}), control, lead))
        await asyncio.sleep(0.05)
        control.wish(2, 2)
        await asyncio.sleep(0.5)
        task.cancel()

    asyncio.run(report())
    assert [each.args for each in lead.resize.call_args_list] == [(2, 2), (2, 2)]


@pytest.mark.daemon
def test_a_cluster_whose_notebook_falls_silent_fails_and_says_why(tmp_path: Path) -> None:
    done = run_lead(tmp_path, "--serve", "0.5")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("nothing has been heard of the notebook for 0.5 s, its lease: the cluster ends")


def test_a_process_that_leads_no_task_is_told_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COSCHED_MAILBOX", raising=False)
    assert main(["script.py"]) == 2
    assert "is no lead of an elastic task" in capsys.readouterr().err
    assert main([]) == 2
    assert "usage" in capsys.readouterr().err


def test_an_interface_that_the_host_lacks_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    make_mailbox(tmp_path / "box")
    monkeypatch.setenv("COSCHED_MAILBOX", str(tmp_path / "box"))
    monkeypatch.setenv("COSCHED_TASK", "1")
    monkeypatch.setenv("COSCHED_DASK_INTERFACE", "nosuch0")
    assert main(["script.py"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("cosched.dask.lead: COSCHED_DASK_INTERFACE: 'nosuch0' is not a valid network interface")
    assert said.count("\n") == 1
    assert not (tmp_path / "box" / ANSWERS / "dask").exists()  # nor a key
