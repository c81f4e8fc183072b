from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cosched.access import Principal, Role
from cosched.api.documents import Accuracy, LearntApplication, LearntRunView
from cosched.app.history import DomainHistory
from cosched.coscheduler.changes import Changes, RunRecord
from cosched.portal.pages.figures.accuracy import summary
from tests.documents import NOW
from tests.portal.makers import portal

if TYPE_CHECKING:
    from pathlib import Path

RUN = LearntRunView(
    task="1",
    owner="ann",
    numbers=(3.0,),
    hosts=2,
    hardware="fast",
    predicted=10.0,
    seconds=10.5,
    finished=NOW,
    stated=20.0,
    low=8.0,
    high=12.0,
)


def test_runs_are_counted_by_how_near_they_were() -> None:
    runs = [
        RUN,
        replace(RUN, seconds=15.0),
        replace(RUN, predicted=None, low=None, high=None),
        replace(RUN, stated=None),
    ]
    found = summary("x", runs)
    assert (found.runs, found.near, found.middle) == (3, 2, 1.05)
    assert (found.ranged, found.within, found.over) == (3, 2, 1)
    assert found.learnt == pytest.approx((1.05 + 1.5) / 2)
    assert found.stated == pytest.approx((20 / 10.5 + 20 / 15) / 2)


def test_nothing_is_said_of_runs_without_predictions() -> None:
    found = summary("x", [replace(RUN, predicted=None, low=None, high=None)])
    assert (found.runs, found.middle, found.ranged, found.stated) == (0, None, 0, None)


def test_the_page_shows_ones_own_runs_and_forgets_them(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        ann, bob = here.person("ann"), here.person("bob")
        assert "No run has completed yet" in ann.see("/accuracy")
        runs = [
            RunRecord(
                "7", "k", (3.0,), "ann", "<i>fft</i>", 2, "fast", 10.0, 10.5 + step, NOW + step, "", 20.0, 8.0, 12.0
            )
            for step in range(3)
        ]
        here.daemon.store.commit(Changes(runs=tuple(runs[:1])))
        assert "&lt;i&gt;fft&lt;/i&gt; (1 run)" in ann.see("/accuracy")
        here.daemon.store.commit(Changes(runs=tuple(runs[1:])))
        text = ann.see("/accuracy")
        assert "&lt;i&gt;fft&lt;/i&gt; (3 runs)" in text
        assert "<small>2 of 3; 90 % are to be. 1 took longer</small>" in text
        assert text.count('class="plot"') == 2
        assert "8.0 s to 12 s" in text
        assert "No run has completed yet" in bob.see("/accuracy")
        assert bob.send("/accuracy/forget", application="<i>fft</i>").status_code == 303
        assert "(3 runs)" in ann.see("/accuracy")
        assert ann.send("/accuracy/forget", application="<i>fft</i>").headers["Location"] == "/accuracy"
        assert "No run has completed yet" in ann.see("/accuracy")


def test_pages_of_accuracy_and_model_tell_what_others_cost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Accuracy(application="jacobi", hardware="slow", ratios=(1.0,), factor=1.0, runs=1)
    taught = replace(plain, hardware="fast", contention=0.08, contention_runs=14)
    monkeypatch.setattr(DomainHistory, "accuracy", lambda _: [plain, taught])
    (tmp_path / "applications.d").mkdir()
    entry = 'model = "jacobi_measured"\ncommand = ["/bin/true"]\n'
    (tmp_path / "applications.d" / "jacobi.toml").write_text(entry)
    with portal(tmp_path) as here:
        ann = here.person("ann")
        for page in ("/accuracy", "/models/applications/jacobi_measured"):
            text = ann.see(page)
            assert text.count("8 % slower on a host that others fill, from 14 runs") == 1
            assert text.count("slower on a host") == 1


def test_applications_are_told_the_newest_first(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        runs = [
            RunRecord("7", "k", (), owner, name, 2, "", None, 5.0, NOW + step)
            for step, (owner, name) in enumerate([("ann", "old"), ("ann", "new"), ("bob", "his")])
        ]
        here.daemon.store.commit(Changes(runs=tuple(runs)))
        ann = here.daemon.services.history.learnt_applications
        assert ann(Principal("ann", Role.USER)) == [
            LearntApplication(name="new", runs=1, finished=NOW + 1),
            LearntApplication(name="old", runs=1, finished=NOW),
        ]
        assert [each.name for each in ann(Principal("chief", Role.OPERATOR))] == ["his", "new", "old"]
