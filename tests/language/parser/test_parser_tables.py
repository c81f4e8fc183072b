from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from lark import Lark

from cosched.language import default_library
from cosched.language.parser import parser_tables
from cosched.language.parser.parser_tables import parser

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = {
    "psl": [path.read_text(encoding="utf-8") for root in default_library() for path in sorted(root.rglob("*.psl"))],
    "hmcl": [path.read_text(encoding="utf-8") for root in default_library() for path in sorted(root.rglob("*.hmcl"))],
}


@pytest.mark.parametrize("language", TEXTS)
def test_tables_that_were_kept_parse_as_the_grammar_does(language: str, tmp_path: Path) -> None:
    tables = parser_tables._tables(language, tmp_path)
    made = parser_tables._made(language)
    parser_tables._save(made, tables)
    kept = parser_tables._load(tables)
    assert [kept.parse(text) for text in TEXTS[language]] == [made.parse(text) for text in TEXTS[language]]


def test_tables_are_kept_once_and_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _copy_of_the_grammars(tmp_path, monkeypatch)
    parser.__wrapped__("psl")
    (tables,) = (tmp_path / "__pycache__").iterdir()
    with monkeypatch.context() as patched:
        patched.setattr(Lark, "open", _refuse)
        assert parser.__wrapped__("psl").parse("subtask a { }").children
    (tmp_path / "expressions.lark").write_text(
        (tmp_path / "expressions.lark").read_text() + "\n// another one\n", encoding="utf-8"
    )
    parser.__wrapped__("psl")
    (others,) = (tmp_path / "__pycache__").iterdir()
    assert others != tables


@pytest.mark.parametrize("damage", ["", "[]", "[1, 2]", '[{"parser": {}}, {"1": {}}]', "[{}, {}]", "\x00"])
def test_damaged_tables_are_made_again(damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _copy_of_the_grammars(tmp_path, monkeypatch)
    tables = parser_tables._tables("hmcl", tmp_path / "__pycache__")
    tables.parent.mkdir()
    tables.write_text(damage, encoding="utf-8")
    assert parser.__wrapped__("hmcl").parse("config a { }").children
    assert parser_tables._load(tables).parse("config a { }").children


@pytest.mark.parametrize("unwritten", ["not wanted", "not possible"])
def test_where_no_byte_code_is_written_tables_are_kept_in_the_cache_of_the_user(
    unwritten: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _copy_of_the_grammars(tmp_path, monkeypatch)
    if unwritten == "not wanted":
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
    else:
        (tmp_path / "__pycache__").write_text("", encoding="utf-8")
    parser.__wrapped__("hmcl")
    assert [path.name.partition(".")[0] for path in (tmp_path / "cache" / "cosched").iterdir()] == ["hmcl"]
    assert not (tmp_path / "__pycache__").is_dir()
    monkeypatch.setattr(Lark, "open", _refuse)
    assert parser.__wrapped__("hmcl").parse("config a { }").children


def test_folders_that_cannot_be_written_do_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _copy_of_the_grammars(tmp_path, monkeypatch)
    for folder in ("__pycache__", "cache"):
        (tmp_path / folder).write_text("", encoding="utf-8")
    assert parser.__wrapped__("hmcl").parse("config a { }").children


def test_a_user_without_a_home_has_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _copy_of_the_grammars(tmp_path, monkeypatch)
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(type(tmp_path), "home", _homeless)
    (tmp_path / "__pycache__").write_text("", encoding="utf-8")
    assert parser.__wrapped__("hmcl").parse("config a { }").children


def _copy_of_the_grammars(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in parser_tables._FOLDER.glob("*.lark"):
        (folder / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(parser_tables, "_FOLDER", folder)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))


def _homeless() -> Path:
    raise RuntimeError


def _refuse(*_: object, **__: object) -> None:
    raise AssertionError("the grammar is read again")
