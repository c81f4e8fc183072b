from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.language.check import check_files

if TYPE_CHECKING:
    from pathlib import Path


def test_faults_of_all_files_and_of_what_they_include_come_once_and_in_order(tmp_path: Path) -> None:
    first, second, shared = tmp_path / "b.psl", tmp_path / "a.psl", tmp_path / "shared.psl"
    for path in (first, second):
        path.write_text(f"application {path.stem} {{ include shared; proc exec init {{ x = 1; }} }}")
    shared.write_text("partmp shared { proc exec init { y = 1; } }")
    hardware, other = tmp_path / "h.hmcl", tmp_path / "notes.txt"
    hardware.write_text("")
    found = check_files([first, second, hardware, other], [])
    assert [(fault.file, fault.message) for fault in found] == [
        (str(second), "variable x is not declared"),
        (str(first), "variable x is not declared"),
        (str(hardware), "the file holds no config"),
        (str(other), "is neither .psl nor .hmcl"),
        (str(shared), "variable y is not declared"),
    ]


def test_a_file_that_is_not_there_is_a_fault(tmp_path: Path) -> None:
    found = check_files([tmp_path / "a.psl", tmp_path / "b.hmcl"], [])
    assert [fault.message for fault in found] == ["cannot be read: No such file or directory"] * 2
