"""What the testbeds build once is complete or absent."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from tests.testbed.software import cache
from tests.testbed.software.cache import cached

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cache, "cache_folder", lambda: tmp_path)
    return tmp_path


def test_it_is_built_once() -> None:
    builds: list[Path] = []
    assert cached("thing", builds.append) == cached("thing", builds.append)
    assert builds == [cached("thing", builds.append)]


def test_it_is_built_where_it_stays() -> None:
    def build(target: Path) -> None:
        (target / "me").write_text(str(target))

    place = cached("thing", build)
    assert (place / "me").read_text() == str(place)


def test_an_interrupted_build_leaves_nothing(folder: Path) -> None:
    def interrupted(target: Path) -> None:
        (target / "half").touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cached("thing", interrupted)
    assert not (folder / "thing").exists()
    assert not list(folder.glob("thing.part-*"))


def test_what_a_killed_build_left_is_swept(folder: Path) -> None:
    (folder / "thing.part-killed").mkdir()
    place = cached("thing", lambda _: None)
    assert list(folder.glob("thing.part-*")) == [place]


def test_two_at_once_build_it_once() -> None:
    builds: list[Path] = []
    places: list[Path] = []
    together = threading.Barrier(4)

    def one() -> None:
        together.wait()
        places.append(cached("thing", builds.append))

    threads = [threading.Thread(target=one) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(builds) == 1
    assert set(places) == set(builds)


def test_others_may_read_it() -> None:
    assert cached("thing", lambda _: None).stat().st_mode & 0o005 == 0o005
