from __future__ import annotations

import os
import re
import tempfile
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from cosched import evaluation
from cosched.errors import UserError
from cosched.prediction import model_predictor
from cosched.prediction.catalogue import CatalogueEntry
from cosched.prediction.model_predictor import ModelPredictor
from cosched.prediction.profile import PredictionSource, Profile

if TYPE_CHECKING:
    from pathlib import Path

MODEL = """
application halves {
    var numeric: Work = 80, Nproc;
    proc exec init {
        step cpu { confdev Work * 1e6 / Nproc; }
    }
}
"""
HARDWARE = "config plain { hardware { Tclk = 1; } clc { CMLL = 1; } }\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "halves.psl").write_text(MODEL)
    (tmp_path / "plain.hmcl").write_text(HARDWARE)
    return tmp_path


def application(**more: Any) -> CatalogueEntry:
    entry = {"name": "app", "model": "halves", "command": ["/x"], "parameters": {"Work": {"default": 80}}}
    return CatalogueEntry.model_validate(entry | more)


def test_a_profile_covers_the_hosts_that_the_application_can_use(folder: Path) -> None:
    predictor = ModelPredictor([folder])
    profile = predictor.profile(application(), {"Work": 80.0}, "plain", 4)
    assert profile.seconds == pytest.approx((80.0, 40.0, 80 / 3, 20.0))
    assert (profile.source, profile.hardware) == (PredictionSource.MODEL, "plain")
    assert len(predictor.profile(application(hosts={"max": 2}), {"Work": 80.0}, "plain", 4).seconds) == 2


def test_a_text_whose_evaluation_is_killed_leaves_no_file(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each model that took too long left a folder among the machine's temporary ones."""
    temporary = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    left: list[Path] = []

    def killed(*_: object) -> Profile:
        left.extend(temporary.iterdir())
        raise KeyboardInterrupt

    monkeypatch.setattr(model_predictor, "predict_profile", killed)
    with pytest.raises(KeyboardInterrupt):
        ModelPredictor([folder]).text_profile(MODEL, {}, "plain", 2)
    assert left == []


def test_the_first_faults_of_a_text_are_told_with_their_places(folder: Path) -> None:
    predictor = ModelPredictor([folder])
    broken = "application a {\n  wrong;\n  var numeric: n\n  proc exec init { }\n}\n"
    with pytest.raises(UserError) as told:
        predictor.text_profile(broken, {}, "plain", 2)
    assert re.findall(r"(?:^|; )your model:(\d):", str(told.value))[:2] == ["2", "4"]
    unknown = "".join(f"    step cpu {{ confdev x{number}; }}\n" for number in range(20))
    many = f"application a {{\n  proc exec init {{\n{unknown}  }}\n}}\n"
    with pytest.raises(UserError, match=r"\(and \d+ more: `cosched model check` lists them\)$") as told:
        predictor.text_profile(many, {}, "plain", 2)
    assert str(told.value).count("your model:") == 8


def test_the_same_question_is_evaluated_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    predictor = ModelPredictor([folder])
    first = predictor.profile(application(), {"Work": 80.0}, "plain", 4)
    monkeypatch.delattr(evaluation, "profile")
    assert predictor.profile(application(), {"Work": 80.0}, "plain", 4) is first


def test_a_fault_is_found_once_until_the_model_changes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An array whose tasks may have more cores than the model knows asked for the same fault again and again."""
    predictor = ModelPredictor([folder])
    good = (folder / "halves.psl").read_text()
    (folder / "halves.psl").write_text(good.replace("1e6", "1e6 / 0"))
    with monkeypatch.context() as patch:
        with pytest.raises(UserError) as first:
            predictor.profile(application(), {"Work": 80.0}, "plain", 4)
        patch.delattr(evaluation, "profile")
        with pytest.raises(UserError) as second:
            predictor.profile(application(), {"Work": 80.0}, "plain", 4)
    assert str(second.value) == str(first.value)
    (folder / "halves.psl").write_text(good)
    os.utime(folder / "halves.psl", ns=(0, 0))
    assert predictor.profile(application(), {"Work": 80.0}, "plain", 1).seconds == pytest.approx((80.0,))


def test_what_is_known_is_told_while_something_else_is_evaluated(folder: Path) -> None:
    predictor = ModelPredictor([folder])
    first = predictor.profile(application(), {"Work": 80.0}, "plain", 4)
    with predictor._evaluating, ThreadPoolExecutor(1) as pool:
        assert pool.submit(predictor.profile, application(), {"Work": 80.0}, "plain", 4).result(60) is first


def test_what_was_evaluated_while_its_model_changed_is_not_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    predictor = ModelPredictor([folder])
    evaluate = evaluation.profile

    def changed(*asked: Any) -> Any:
        (folder / "halves.psl").write_text(MODEL.replace("1e6", "2e6"))
        os.utime(folder / "halves.psl", ns=(0, 0))
        predictor._known(("another", "plain", 1, 0, ()))  # whoever asks meanwhile notices the change
        return evaluate(*asked)

    monkeypatch.setattr(evaluation, "profile", changed)
    assert predictor.profile(application(), {"Work": 80.0}, "plain", 1).seconds == pytest.approx((80.0,))
    assert predictor.profile(application(), {"Work": 80.0}, "plain", 1).seconds == pytest.approx((160.0,))


def test_a_changed_model_is_read_again(folder: Path) -> None:
    predictor = ModelPredictor([folder])
    assert predictor.profile(application(), {"Work": 80.0}, "plain", 1).seconds == pytest.approx((80.0,))
    (folder / "halves.psl").write_text(MODEL.replace("1e6", "2e6"))
    os.utime(folder / "halves.psl", ns=(0, 0))
    assert predictor.profile(application(), {"Work": 80.0}, "plain", 1).seconds == pytest.approx((160.0,))


def test_files_are_looked_at_no_more_often_than_wished(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    predictor = ModelPredictor([folder], look=5.0)
    now = 100.0
    monkeypatch.setattr("cosched.prediction.model_predictor.time.monotonic", lambda: now)
    first = predictor.profile(application(), {"Work": 80.0}, "plain", 1)
    (folder / "halves.psl").write_text(MODEL.replace("1e6", "2e6"))
    os.utime(folder / "halves.psl", ns=(0, 0))
    now = 104.9
    assert predictor.profile(application(), {"Work": 80.0}, "plain", 1) is first
    now = 105.0
    assert predictor.profile(application(), {"Work": 80.0}, "plain", 1).seconds == pytest.approx((160.0,))


def test_a_model_named_by_its_path_is_read_again_too(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("outside") / "mine.psl"
    path.write_text(MODEL)
    predictor = ModelPredictor([folder])
    assert predictor.model_profile(str(path), {"Work": 80.0}, "plain", 1).seconds == pytest.approx((80.0,))
    path.write_text(MODEL.replace("1e6", "2e6"))
    os.utime(path, ns=(0, 0))
    assert predictor.model_profile(str(path), {"Work": 80.0}, "plain", 1).seconds == pytest.approx((160.0,))


def test_text_and_what_concerns_the_command_alone_do_not_enter_the_model(folder: Path) -> None:
    entry = application(parameters={"Title": {"type": "text"}, "Verbose": {"model": False}})
    assert ModelPredictor([folder]).profile(entry, {"Title": "x", "Verbose": 3.0}, "plain", 1).seconds == pytest.approx(
        (80.0,)
    )


@pytest.mark.parametrize(
    ("change", "hardware", "message"),
    [
        ({"model": "halvse"}, "plain", "no application 'halvse' in the library"),
        ({}, "plian", "no hardware 'plian' in the library"),
        ({"parameters": {"Wrok": {"default": 1}}}, "plain", "has no parameter Wrok"),
    ],
)
def test_what_is_wrong_is_named_in_one_line(folder: Path, change: dict[str, Any], hardware: str, message: str) -> None:
    values = dict.fromkeys(change.get("parameters", {"Work": 1}), 1.0)
    with pytest.raises(UserError, match=message) as caught:
        ModelPredictor([folder]).profile(application(**change), values, hardware, 2)
    assert "\n" not in str(caught.value)


def test_a_time_that_cannot_be_is_refused_with_the_model_named(folder: Path) -> None:
    (folder / "halves.psl").write_text(MODEL.replace("Work * 1e6 / Nproc", "0 * Work"))
    with pytest.raises(UserError, match=r"the model halves is wrong: the prediction for 1 host is 0\.0 s"):
        ModelPredictor([folder]).profile(application(), {"Work": 1.0}, "plain", 2)


def test_a_fault_in_the_model_is_given_with_its_place(folder: Path) -> None:
    (folder / "halves.psl").write_text(MODEL.replace("Work * 1e6", "Wrok * 1e6"))
    with pytest.raises(UserError, match=r"halves\.psl:5:\d+: ") as caught:
        ModelPredictor([folder]).profile(application(), {"Work": 1.0}, "plain", 2)
    assert "\n" not in str(caught.value)


def test_the_error_that_a_model_states_becomes_a_range(folder: Path) -> None:
    text = MODEL.replace("proc exec", "option { error = 0.1 * Nproc; } proc exec")
    (folder / "halves.psl").write_text(text)
    profile = ModelPredictor([folder]).profile(application(), {"Work": 80.0}, "plain", 2)
    assert profile.low == pytest.approx((80 * 0.9, 40 * 0.8))
    assert profile.high == pytest.approx((80 * 1.1, 40 * 1.2))


def test_a_model_that_is_given_as_text_is_evaluated_and_its_faults_are_in_your_model(folder: Path) -> None:
    predictor = ModelPredictor([folder])
    known = predictor.model_profile("halves", {"Work": 3.0}, "plain", 2)
    assert predictor.text_profile(MODEL, {"Work": 3.0}, "plain", 2).seconds == known.seconds
    with pytest.raises(UserError, match=r"^your model:\d+:\d+: "):
        predictor.text_profile(MODEL.replace("Work", "Wrok", 1), {}, "plain", 2)
    with pytest.raises(UserError, match="at most"):
        predictor.text_profile("x" * 300_000, {}, "plain", 2)


def test_ranks_that_the_launcher_starts_count_instead_of_the_hosts_processors(folder: Path) -> None:
    (folder / "plain.hmcl").write_text(HARDWARE.replace("Tclk = 1;", "processors = 2;"))
    predictor = ModelPredictor([folder])
    assert predictor.profile(application(), {"Work": 80.0}, "plain", 2).seconds == pytest.approx((40.0, 20.0))
    assert predictor.profile(application(), {"Work": 80.0}, "plain", 2, 1).seconds == pytest.approx((80.0, 40.0))
    assert predictor.text_profile(MODEL, {}, "plain", 1, 4).seconds == pytest.approx((20.0,))
    assert predictor.file_profile(folder / "halves.psl", {}, "plain", 1, 8).seconds == pytest.approx((10.0,))
