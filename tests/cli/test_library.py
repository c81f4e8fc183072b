from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from cosched.cli.main import run
from tests.daemon.makers import serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with serving(tmp_path) as (_, address):
        monkeypatch.setenv("COSCHED_SERVER", address)
        yield


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run(["library", *words]) == 0
    return capsys.readouterr().out


def test_the_library_is_told_to_people(capsys: pytest.CaptureFixture[str]) -> None:
    row = next(line for line in said(capsys, "applications").splitlines() if line.startswith("halving"))
    assert row.split() == ["halving", "halving", "1-8", "work=80.0"]
    assert "sgi_origin2000" in said(capsys, "models")
    assert "config sgi_origin2000 {" in said(capsys, "source", "sgi_origin2000", "--kind", "hardware")
    head, *rows = said(capsys, "curves", "jacobi_measured", "--set", "Scale=2", "--hosts", "2").splitlines()
    assert head.split() == ["SECONDS", "ON", "1", "2"]
    assert all(len(row.split()) == 3 for row in rows)


@pytest.mark.parametrize("words", [["applications"], ["models"], ["source", "jacobi"], ["curves", "jacobi"]])
def test_every_verb_speaks_json(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    assert json.loads(said(capsys, *words, "--json"))


@pytest.mark.parametrize("words", [["source", "no"], ["curves", "no"], ["curves", "jacobi", "--set", "cells"]])
def test_what_is_not_there_is_one_line(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    assert run(["library", *words]) == 1
    assert capsys.readouterr().err.count("\n") == 1
