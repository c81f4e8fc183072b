from __future__ import annotations

import os
import re
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cosched.connector.worker_process import WorkerEndedError
from cosched.daemon.processes import predictors
from cosched.daemon.processes.predictors import ModelProcesses
from cosched.errors import SystemFault, UserError
from cosched.prediction.history import Run
from cosched.prediction.learning import LearntRuns
from cosched.prediction.loads.host_load import Coupling
from cosched.prediction.model_predictor import ModelPredictor
from cosched.prediction.others.exponents import USUAL_NUMBER, Exponent

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.daemon

MODEL = """
application halves {
    var numeric: Work = 80, Nproc;
    proc exec init {
        step cpu { confdev Work * 1e6 / Nproc; }
    }
}
"""
ENDLESS = "application endless { var numeric: Nproc; proc exec init { while (1) { } } }\n"
HARDWARE = "config plain { hardware { Tclk = 1; } clc { CMLL = 1; } }\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "halves.psl").write_text(MODEL)
    (tmp_path / "plain.hmcl").write_text(HARDWARE)
    return tmp_path


@pytest.fixture
def models(folder: Path) -> Iterator[ModelProcesses]:
    with closing(ModelProcesses([folder])) as models:
        yield models


def test_what_a_model_says_of_its_parts_reaches_the_daemon(models: ModelProcesses) -> None:
    text = MODEL.replace("proc exec", 'option { coupling = "independent"; }\n    proc exec')
    assert models.text_profile(text, {}, "plain", 3).coupling is Coupling.INDEPENDENT
    assert models.model_profile("halves", {}, "plain", 3).coupling is Coupling.COUPLED
    with pytest.raises(UserError, match=r'your model:4:25: a coupling is "coupled" or "independent", not "loose"'):
        models.text_profile(text.replace("independent", "loose"), {}, "plain", 3)


def test_answers_and_faults_are_those_of_a_predictor(models: ModelProcesses, folder: Path) -> None:
    here = ModelPredictor([folder])
    assert models.model_profile("halves", {"Work": 8.0}, "plain", 3) == here.model_profile(
        "halves", {"Work": 8.0}, "plain", 3
    )
    assert models.text_profile(MODEL, {"Work": 8.0}, "plain", 3) == here.text_profile(MODEL, {"Work": 8.0}, "plain", 3)
    path = folder / "halves.psl"
    assert models.file_profile(path, {"Work": 8.0}, "plain", 3) == here.file_profile(path, {"Work": 8.0}, "plain", 3)
    for text, hardware in (("application half {", "plain"), ("é\ud800", "plain"), (MODEL, "none")):
        with pytest.raises(UserError) as expected:
            here.text_profile(text, {}, hardware, 1)
        with pytest.raises(UserError) as found:
            models.text_profile(text, {}, hardware, 1)
        assert str(found.value) == str(expected.value)
    with pytest.raises(UserError, match="no application"):
        models.model_profile("none", {}, "plain", 1)


@pytest.mark.parametrize("factor", [None, 1.6])
def test_runs_teach_there_what_they_teach_here(models: ModelProcesses, factor: float | None) -> None:
    runs = [
        Run((float(size),), hosts, "plain", size / hosts, "a", None if factor is None else size / hosts / factor)
        for size in (10, 20, 40)
        for hosts in (1, 2)
    ]
    number = Exponent(1.2, 0.5)
    found, expected = models.learnt(runs, number), LearntRuns.of(runs, number)
    assert models._named.calls["learn"] == 1
    for learnt in (found, found.with_runs(runs[:0])):
        assert learnt is not None
        assert learnt.history is not None
        assert expected.history is not None
        asked = (30.0,), [1, 2, 4], "plain"
        assert [list(part) for part in learnt.history.predict(*asked)] == [
            list(part) for part in expected.history.predict(*asked)
        ]
        assert (learnt.stated is None) == (factor is None)
        assert (learnt.count, learnt.anew, learnt.room) == (expected.count, expected.anew, expected.room)


def test_runs_teach_here_where_the_process_is_gone(models: ModelProcesses) -> None:
    runs = [Run((10.0,), 1, "", 5.0)] * 3
    models.close()
    learnt = models.learnt(runs, USUAL_NUMBER)
    assert learnt.history is not None
    assert (learnt.count, models._named.calls["learn"]) == (3, 1)
    assert models.learnt(runs[:2], USUAL_NUMBER).history is None
    assert models._named.calls["learn"] == 1


def test_a_model_that_takes_too_long_is_ended_and_the_next_one_answered(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(ModelProcesses([folder])) as models:
        monkeypatch.setattr(models._texts, "_timeout", 0.0)  # less than any evaluation takes
        with pytest.raises(UserError, match="let it take fewer steps"):
            models.text_profile(ENDLESS, {}, "plain", 4)
        monkeypatch.undo()
        assert models.text_profile(MODEL, {"Work": 8.0}, "plain", 1).seconds == pytest.approx((8.0,))


def test_each_process_has_four_gigabytes(models: ModelProcesses) -> None:
    models.text_profile(MODEL, {"Work": 8.0}, "plain", 1)
    limits = [
        re.findall(r"Max address space +(\d+)", (process / "limits").read_text())
        for process in Path("/proc").glob("[0-9]*")
        if _is_predictor_of_ours(process)
    ]
    assert limits
    assert {limit for (limit,) in limits} == {str(4 << 30)}


def _is_predictor_of_ours(process: Path) -> bool:
    try:
        parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
        return int(parent) == os.getpid() and b"predictors" in (process / "cmdline").read_bytes()
    except OSError:  # it has just ended
        return False


def test_a_process_that_was_killed_is_no_fault_of_the_model(models: ModelProcesses) -> None:
    """Its user was told to let the model take fewer steps, and the task was refused."""
    models.text_profile(MODEL, {"Work": 8.0}, "plain", 1)
    process = models._texts._process
    assert process is not None
    process.send_signal(signal.SIGSTOP)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(models.text_profile, MODEL, {"Work": 8.0}, "plain", 2)
        while models._texts.calls["text"] < 2:
            time.sleep(0.001)
        process.kill()
        assert waiting.result(60).seconds == pytest.approx((8.0, 4.0))


def test_a_process_that_was_killed_twice_is_no_reason_to_refuse_a_task(
    models: ModelProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is a system's fault is tried again under the same key; a refusal is for good."""

    def killed(*_: object, **__: object) -> None:
        raise WorkerEndedError("killed", transient=True)

    monkeypatch.setattr(models._texts, "call", killed)
    with pytest.raises(SystemFault, match="was killed twice: try again"):
        models.text_profile(MODEL, {"Work": 8.0}, "plain", 1)


def test_a_long_line_is_not_made_longer_and_the_librarys_models_do_not_stand_in_it(
    models: ModelProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrived, over = threading.Semaphore(0), threading.Event()

    def stuck(*_: object, **__: object) -> dict[str, str]:
        arrived.release()
        over.wait(60)
        return {"fault": "over"}

    monkeypatch.setattr(models._texts, "call", stuck)

    def ask() -> None:
        with pytest.raises(UserError, match="over"):
            models.text_profile(MODEL, {}, "plain", 1)

    threads = [threading.Thread(target=ask) for _ in range(predictors._QUEUE)]
    for thread in threads:
        thread.start()
        arrived.acquire()
    with pytest.raises(SystemFault, match="try again"):
        models.text_profile(MODEL, {}, "plain", 1)
    assert models.model_profile("halves", {"Work": 8.0}, "plain", 1).seconds == pytest.approx((8.0,))
    over.set()
    for thread in threads:
        thread.join()
    ask()  # there is room again


def test_waiting_clients_are_told_at_once_that_the_daemon_ends(models: ModelProcesses) -> None:
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(models.text_profile, ENDLESS, {}, "plain", 4)
        while not models._texts.calls:
            time.sleep(0.001)
        models.close()
        with pytest.raises(SystemFault, match="cosched is ending"):
            waiting.result(60)
    with pytest.raises(SystemFault, match="cosched is ending"):
        models.model_profile("halves", {}, "plain", 1)
