from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.language import check_files

if TYPE_CHECKING:
    from pathlib import Path

INIT = "proc exec init { }"


def faults(folder: Path, **files: str) -> list[str]:
    for name, text in files.items():
        (folder / f"{name}.psl").write_text(text, encoding="utf-8")
    found = check_files([folder / f"{next(iter(files))}.psl"], [folder / "library"])
    return [str(fault).removeprefix(f"{folder}/").replace(str(folder), "") for fault in found]


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", '"/etc/passwd"', "a.b", "$HOME", "`id`"])
def test_a_model_has_no_word_for_a_file_elsewhere(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret.psl").write_text(f"subtask secret {{ {INIT} }}")
    folder = tmp_path / "models"
    folder.mkdir()
    (found, *_) = faults(folder, main=f"application main {{ include {name}; {INIT} }}")
    assert found.startswith("main.psl:1:2")
    assert "expected" in found or "unexpected" in found


def test_objects_are_found_in_the_file_beside_it_and_in_the_library(tmp_path: Path) -> None:
    (tmp_path / "library" / "templates").mkdir(parents=True)
    (tmp_path / "library" / "templates" / "far.psl").write_text(f"partmp far {{ {INIT} }}")
    main = f"application main {{ include here; include near; include far; {INIT} }} partmp here {{ {INIT} }}"
    assert faults(tmp_path, main=main, near=f"subtask near {{ include far; {INIT} }}") == []


@pytest.mark.parametrize(
    ("main", "message"),
    [
        ("include main;", "main.psl:1:20: objects include one another in a circle: main → main"),
        ("include a;", "b.psl:1:13: objects include one another in a circle: a → b → a"),
        ("include zzz;", "main.psl:1:20: zzz is not found beside this file or in the library"),
        ("include rong;", "main.psl:1:20: rong is not found beside this file or in the library: did you mean wrong?"),
        ("include wrong;", "main.psl:1:20: /wrong.psl holds no object wrong"),
        ("include other;", "main.psl:1:20: other (/other.psl:1:1) is an application: an application cannot include it"),
        ("include idle;", "idle.psl:1:1: subtask idle does nothing: include a partmp or write `proc exec init`"),
        ("include t; link { t: size = 1; }", "main.psl:1:41: t (/t.psl:1:1) has no variable size: did you mean sizes?"),
        ('include t; link { t: sizes = "x"; }', "main.psl:1:41: sizes (/t.psl:1:25) is numeric: string does not fit"),
        ("include t; link { t: name = 3; }", "main.psl:1:41: name (/t.psl:1:50) is string: numeric does not fit"),
        (
            "include t; link { t: sizes = 5 us; }",
            "main.psl:1:41: a time does not fit: a size in bytes is needed for sizes (/t.psl:1:25)",
        ),
        (
            "include hardware; link { hardware: Nprocs = 1; }",
            "main.psl:1:55: hardware has no variable Nprocs: did you mean Nproc?",
        ),
    ],
)
def test_faults_across_objects(tmp_path: Path, main: str, message: str) -> None:
    found = faults(
        tmp_path,
        main=f"application main {{ {main} {INIT} }}",
        a=f"subtask a {{ include b; {INIT} }}",
        b=f"subtask b {{ include a; {INIT} }}",
        wrong=f"partmp right {{ {INIT} }}",
        other=f"application other {{ {INIT} }}",
        idle="subtask idle { }",
        t=f"partmp t {{ var numeric: sizes = 1 B; var string: name; {INIT} }}",
    )
    assert found == [message]


def test_faults_of_included_files_are_reported_with_theirs(tmp_path: Path) -> None:
    found = faults(
        tmp_path,
        main=f"application main {{ include t; link {{ t: a = 1, b = 2; }} {INIT} }}",
        t="partmp t { ; var numeric: a; proc exec init { a = c; } }",
    )
    assert found == [
        "main.psl:1:48: t (/t.psl:1:1) has no variable b",
        "t.psl:1:12: unexpected ';': expected '}' or include or link or option or proc or var",
        "t.psl:1:51: variable c is not declared",
    ]


def test_an_object_in_a_file_that_cannot_be_read_is_not_missing(tmp_path: Path) -> None:
    found = faults(tmp_path, main=f"application main {{ include t; {INIT} }}", t="partmp { }")
    assert found[0] == "main.psl:1:20: t has faults: see /t.psl"


def test_two_objects_of_one_name(tmp_path: Path) -> None:
    found = faults(tmp_path, main=f"application main {{ {INIT} }}\npartmp main {{ {INIT} }}")
    assert found == ["main.psl:2:1: main is already the name of the application in line 1"]


def test_empty_and_foreign_files(tmp_path: Path) -> None:
    assert faults(tmp_path, main="(* nothing *)") == ["main.psl:1:1: the file holds no application, subtask or partmp"]
    (tmp_path / "x.txt").write_text("")
    assert "is neither .psl nor .hmcl" in str(check_files([tmp_path / "x.txt"], [])[0])
