from __future__ import annotations

import json
import sys
import threading
from typing import TYPE_CHECKING, Any, Self

import pytest

from benchmarks import elastic_kills
from benchmarks.elastic_kills import run_story
from cosched.errors import SystemFault

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Pool:
    """A site whose daemon is away for the first question after each kill."""

    def __init__(self, *_words: object, **_settings: object) -> None:
        self.killed = threading.Event()
        self.up = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        assert self.up, "its daemon was left dead"

    def client(self) -> Pool:
        if self.killed.is_set():
            self.killed.clear()
            raise SystemFault("the daemon does not answer")
        return self

    def kill(self) -> None:
        self.up = False

    def start(self) -> None:
        self.up = True
        self.killed.set()


def told(story: Callable[[Any, Any], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elastic_kills, "QuickSite", Pool)
    monkeypatch.setattr(elastic_kills, "STORIES", {"workers": story, "restart": story})


def until_killed(site: Any, ask: Any) -> None:
    assert site.killed.wait(60)
    assert ask(lambda client: client) is site


def two_tenants(site: Any, ask: Any) -> None:
    until_killed(site, ask)
    raise AssertionError("a host with two tenants")


def test_a_story_is_asked_on_while_its_daemon_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    told(until_killed, monkeypatch)
    story = run_story("local", "restart", 3)
    assert story.kills >= 1
    assert (story.connector, story.kind, story.seed, story.fault) == ("local", "restart", 3, "")


def test_what_is_wrong_is_told_and_is_no_success(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told(two_tenants, monkeypatch)
    monkeypatch.setattr(sys, "argv", ["kills", "--kills", "1", "--json", str(tmp_path / "kills.json")])
    with pytest.raises(SystemExit) as end:
        elastic_kills.main()
    assert end.value.code == 1
    assert "a host with two tenants" in capsys.readouterr().out
    (story,) = json.loads((tmp_path / "kills.json").read_text())
    assert story["kind"] == "workers"
    assert "two tenants" in story["fault"]
