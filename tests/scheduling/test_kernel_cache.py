from __future__ import annotations

import fcntl
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from cosched.scheduling import kernel_cache

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine on which nothing has been compiled; what follows in this process is compiled already."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def warmed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The modules that were warmed up by one processor, in place of the minute that it takes."""
    from cosched.scheduling.mapping import dual_price
    from cosched.scheduling.search import genetic_search, titan_classic

    done: list[str] = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    for module in (genetic_search, dual_price, titan_classic):
        monkeypatch.setattr(module, "warm_up", lambda name=module.__name__, **_: done.append(name))
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


def test_on_two_processors_another_process_compiles_a_part(
    empty: Path, warmed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A newcomer waited for all of it on one processor, with another one idle."""
    done: list[str] = []

    class Beside:
        def __init__(self, command: list[str], **_: object) -> None:
            done.append(command[-1])

        def wait(self) -> None:
            done.append(f"waited after {len(warmed)}")

    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(subprocess, "Popen", Beside)
    kernel_cache.keep()
    assert done == ["--shared-hosts", "waited after 1"]
    assert len(warmed) == 4
    kernel_cache.keep()
    assert len(done) == 2, "what is kept is loaded alone"


@pytest.mark.usefixtures("warmed")
def test_where_nothing_can_be_kept_it_is_never_ready(empty: Path) -> None:
    empty.write_text("a file where the folder should be")
    kernel_cache.keep()
    assert not kernel_cache.ready()


def test_a_process_in_the_background_leaves_the_work_to_the_one_that_is_at_it(
    empty: Path, warmed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel_cache._keep_alone(wait=False)
    assert len(warmed) == 3
    with _locked(empty):
        kernel_cache._keep_alone(wait=False)
    assert len(warmed) == 3


def test_a_command_waits_for_the_one_that_is_at_it(empty: Path, warmed: list[str]) -> None:
    empty.mkdir()
    with ThreadPoolExecutor() as pool:
        with _locked(empty):
            waiting = pool.submit(kernel_cache._keep_alone, wait=True)
            with pytest.raises(TimeoutError):
                waiting.result(timeout=0.3)
            assert not warmed
        waiting.result()
    assert len(warmed) == 3


def test_another_tree_does_not_keep_one_waiting(
    warmed: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Each tree locked the same folder of its user, and a command of the second ended with nothing compiled."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(kernel_cache, "_SOURCES", tmp_path / "second")
    (tmp_path / "second/kernels").mkdir(parents=True)
    (tmp_path / "cosched").mkdir()
    with _locked(tmp_path / "cosched"):
        kernel_cache._keep_alone(wait=False)
    assert len(warmed) == 3


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """As another process that compiles."""
    with (folder / "cosched-machine-code.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
