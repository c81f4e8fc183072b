from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cosched.prediction.run_features import command_features, possible_files


def test_runs_that_differ_in_numbers_are_alike() -> None:
    first = command_features(["/opt/heat", "-n100", "--steps=20", "512", "1e3", "out-7.dat"])
    second = command_features(["/opt/heat", "-n200", "--steps=30", "1024", "-2.5", "out-8.dat"])
    assert first.key == second.key
    assert first.numbers == (100.0, 20.0, 512.0, 1000.0)
    assert second.numbers == (200.0, 30.0, 1024.0, -2.5)


def test_another_program_word_or_number_of_numbers_is_another_history() -> None:
    keys = [
        command_features(words).key
        for words in (["/a", "1"], ["/b", "1"], ["/a", "x", "1"], ["/a", "1", "2"], ["/a2", "1"], ["/a", "1 2"], ["/a"])
    ]
    assert len(set(keys)) == len(keys)
    assert command_features(["/a", "1"], "ann1").key != command_features(["/a", "1"], "ann2").key


def test_what_stands_for_a_number_is_none_in_a_command() -> None:
    for written, number in (("#", "5"), ("-n#", "-n5")):
        assert command_features(["grep", written]).key != command_features(["grep", number]).key


def test_numbers_inside_a_script_count_and_very_many_do_not() -> None:
    assert command_features(["/bin/sh", "-c", "sleep 0.3; run --size=7"]).numbers == (0.3, 7.0)
    many = [str(number) for number in range(100)]
    assert command_features(["/a", *many]).numbers == ()
    assert command_features(["/a", *many]).key != command_features(["/a", *many[:-1], "7"]).key


def test_files_are_alike_and_their_sizes_count() -> None:
    first = command_features(["/a", "--mesh=cube-7.dat", "3"], "", {"cube-7.dat": 700})
    second = command_features(["/a", "--mesh=ball.dat", "4"], "", {"ball.dat": 900})
    assert (first.key, first.numbers) == (second.key, (700.0, 3.0))
    assert second.numbers == (900.0, 4.0)
    assert command_features(["/a", "--mesh=ball.dat", "4"]).key != second.key


def test_of_many_files_sum_and_number_count() -> None:
    few, more = ({f"part{index}.dat": 10 for index in range(count)} for count in (5, 90))
    first, second = (command_features(["/a", *sizes, "7"], "", sizes) for sizes in (few, more))
    assert first.key == second.key
    assert (first.numbers, second.numbers) == ((7.0, 50.0, 5.0), (7.0, 900.0, 90.0))


def test_files_that_no_word_names_count_together() -> None:
    first = command_features(["/a"], "", {"/data/one": 5, "/data/two": 6})
    second = command_features(["/a"], "", {"/data/three": 20})
    assert (first.key, first.numbers, second.numbers) == (second.key, (11.0,), (20.0,))
    assert command_features(["/a"]).key != first.key


def test_what_is_written_is_no_file_to_be_read() -> None:
    words = ["in.dat", "-o", "out.dat", "--output=log", "-n8", "12", "sort a.txt > b.txt"]
    assert list(possible_files(words)) == ["in.dat", "sort", "a.txt"]


@given(st.lists(st.text(), min_size=1))
def test_any_command_has_features(command: list[str]) -> None:
    found = command_features(command)
    assert found == command_features(list(command))
    assert len(found.numbers) <= 32
