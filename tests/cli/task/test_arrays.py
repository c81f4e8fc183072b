from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from cosched.api.documents import TaskRequest
from cosched.cli.task.arrays import array_indices, read_lines, task_array
from cosched.errors import UserError

if TYPE_CHECKING:
    from pathlib import Path

COMMAND = TaskRequest(command=("/bin/echo", "a"), name="n", environment={"A": "1"})


def test_one_task_is_as_it_was_asked_for() -> None:
    assert task_array(COMMAND, None, 0, None) == [COMMAND]


def test_each_of_many_finds_its_place() -> None:
    made = task_array(COMMAND, range(3), 0, None)
    assert [task.name for task in made] == ["n.0", "n.1", "n.2"]
    assert [task.environment for task in made] == [{"A": "1", "TASK_INDEX": str(index)} for index in range(3)]
    assert {task.command for task in made} == {COMMAND.command}
    assert not task_array(TaskRequest(command=("/bin/echo",)), range(2), 0, None)[1].name  # the daemon names it


def test_indices_are_those_of_the_array() -> None:
    made = task_array(COMMAND, *array_indices("3-9:3%2", 1, "", lines=False), None)
    assert [(task.name, task.array_index, task.array_at_most) for task in made] == [
        ("n.3", 3, 2),
        ("n.6", 6, 2),
        ("n.9", 9, 2),
    ]
    assert [task.environment["TASK_INDEX"] for task in made] == ["3", "6", "9"]
    made = task_array(COMMAND, *array_indices("", 2, "1", lines=False), None)
    assert [(task.array_index, task.array_at_most) for task in made] == [(0, 1), (1, 1)]


@pytest.mark.parametrize(
    ("array", "count", "at_most", "lines", "says"),
    [
        ("0-3", 2, "", False, "leave --count and --from out"),
        ("0-3", 1, "", True, "leave --count and --from out"),
        ("0-3%2", 1, "2", False, "give one of them"),
        ("", 1, "2", False, "--at-most is for arrays"),
        ("", 3, "two", False, "--at-most is 'two'"),
        ("3-0", 1, "", False, "--array=3-0"),
    ],
)
def test_an_array_that_is_said_twice_or_badly_is_refused(
    array: str, count: int, at_most: str, lines: bool, says: str
) -> None:
    with pytest.raises(UserError, match=says):
        array_indices(array, count, at_most, lines=lines)


def test_a_line_is_a_task_with_these_arguments(tmp_path: Path) -> None:
    file = tmp_path / "tasks"
    file.write_text("one 'two words'\n\n# a comment\nthree # here too\n")
    made = task_array(COMMAND, range(2), 0, read_lines(str(file)))
    assert [task.command[2:] for task in made] == [("one", "two words")] * 2 + [("three",)] * 2
    assert [task.environment["TASK_INDEX"] for task in made] == ["0", "1", "2", "3"]


def test_a_line_of_an_application_sets_its_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("Scale=2\nScale=3 Width=4\n"))
    made = task_array(TaskRequest(application="sweep3d", parameters={"Scale": "1"}), range(1), 0, read_lines("-"))
    assert [task.parameters for task in made] == [{"Scale": "2"}, {"Scale": "3", "Width": "4"}]


def test_a_line_that_is_no_parameter_is_named() -> None:
    with pytest.raises(UserError, match="line 2: 'Scale' is not NAME=VALUE"):
        task_array(TaskRequest(application="sweep3d"), range(1), 0, [["Scale=1"], ["Scale"]])


@pytest.mark.parametrize(
    ("text", "says"), [("a 'b\n", ":1: cannot be split"), ("", "has no line"), ("# nothing\n", "has no line")]
)
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "tasks"
    file.write_text(text)
    with pytest.raises(UserError, match=f"{file}.*{says}"):
        read_lines(str(file))


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "tasks"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UserError, match=f"--from {file}: cannot be read"):
        read_lines(str(file))


def test_a_row_of_a_table_is_a_task(tmp_path: Path) -> None:
    """A CSV file's heading became a task, and the commas stayed in the words."""
    file = tmp_path / "runs.csv"
    file.write_text('Scale,Label\n1,"a, b"\n\n2,c\n')
    assert read_lines(str(file)) == [["1", "a, b"], ["2", "c"]]
    assert read_lines(str(file), application=True) == [["Scale=1", "Label=a, b"], ["Scale=2", "Label=c"]]


def test_a_table_of_a_spreadsheet_is_read_with_its_mark_and_lines_in_cells(tmp_path: Path) -> None:
    """Regression: a byte order mark was part of the first word, and lines within a cell were joined."""
    file = tmp_path / "runs.csv"
    file.write_bytes('\ufeffScale,Label\r\n1,"two\r\nlines"\r\n2,a\u2028b\r\n'.encode())
    assert read_lines(str(file), application=True) == [["Scale=1", "Label=two\r\nlines"], ["Scale=2", "Label=a\u2028b"]]
    plain = tmp_path / "tasks"
    plain.write_bytes("\ufeffone\r\ntwo\r\n".encode())
    assert read_lines(str(plain)) == [["one"], ["two"]]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('Scale\n"1\n2\n3\n', "close its quotes"),
        ('Scale\n"' + 200_000 * "1", "close its quotes"),
        ("", "has no row"),
        ("Scale\n", "has no row"),
        ("a,b\n1\n", "row 2 has 1 cells, and there are 2"),
        (",b\n1,2\n", "no name"),
    ],
)
def test_a_table_that_cannot_be_used_is_named(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "runs.csv"
    file.write_text(text)
    with pytest.raises(UserError, match=f"--from {file}: .*{says}"):
        read_lines(str(file), application=True)


def test_a_sweep_says_how_many_tasks_there_are() -> None:
    request = TaskRequest(command=("./heat", "{n}"))
    assert [task.command[1] for task in task_array(request, None, 0, None, ["n=1,2"])] == ["1", "2"]
    for indices, lines in ((range(3), None), (None, [["x"]])):
        with pytest.raises(UserError, match="--sweep says how many tasks there are"):
            task_array(request, indices, 0, lines, ["n=1,2"])
