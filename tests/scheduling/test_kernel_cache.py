from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from cosched.scheduling import kernel_cache

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine on which nothing has been compiled; what follows in this process is compiled already."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def warmed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The modules that were warmed up, in place of the minute that it takes."""
    from cosched.scheduling.mapping import dual_price
    from cosched.scheduling.search import genetic_search, titan_classic

    done: list[str] = []
    for module in (genetic_search, dual_price, titan_classic):
        monkeypatch.setattr(module, "warm_up", lambda name=module.__name__: done.append(name))
    return done


def test_it_is_ready_once_it_has_been_kept(empty: Path, warmed: list[str]) -> None:
    assert not kernel_cache.ready()
    kernel_cache.keep()
    assert len(warmed) == 3
    assert kernel_cache.ready()


@pytest.mark.usefixtures("warmed")
def test_another_source_is_compiled_anew(empty: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "one.py").write_text("a = 1\n")
    monkeypatch.setattr(kernel_cache, "_SOURCES", source)
    kernel_cache.keep()
    assert kernel_cache.ready()
    (source / "one.py").write_text("a = 12\n")
    assert not kernel_cache.ready()


@pytest.mark.usefixtures("warmed")
def test_where_nothing_can_be_kept_it_is_never_ready(empty: Path) -> None:
    empty.write_text("a file where the folder should be")
    kernel_cache.keep()
    assert not kernel_cache.ready()


@pytest.mark.usefixtures("empty")
def test_a_second_process_leaves_the_work_to_the_first(warmed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "nice", lambda _: 0)
    kernel_cache._keep_alone()
    assert len(warmed) == 3
    path = kernel_cache._folders()[-1] / "cosched-machine-code.lock"
    import fcntl

    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kernel_cache._keep_alone()
    assert len(warmed) == 3
