from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.connector.jobs import Output
from cosched.portal.pages import output
from cosched.portal.pages.output import output_part
from tests.documents import detail
from tests.portal.makers import portal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def reader(data: bytes) -> Callable[[int, int], Output]:
    return lambda offset, limit: Output(data[offset : offset + limit], min(offset, len(data)), len(data))


@given(st.binary(max_size=400), st.integers(1, 60))
def test_parts_from_the_beginning_are_all_of_it_and_so_are_parts_from_the_end(data: bytes, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(output, "PART", size)
        forwards, place = [], 0
        while place < len(data):
            part = output_part(reader(data), begin=place)
            assert part is not None
            forwards.append((part.begin, part.end))
            assert part.begin == place < part.end
            place = part.end
        backwards, place = [], len(data)
        while place > 0:
            part = output_part(reader(data), end=place)
            assert part is not None
            backwards.append((part.begin, part.end))
            assert part.begin < place == part.end
            place = part.begin
        assert b"".join(data[begin:end] for begin, end in forwards) == data
        assert b"".join(data[begin:end] for begin, end in reversed(backwards)) == data


def test_parts_have_whole_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "PART", 10)
    data = b"one\ntwo\nthree\nfour\n"
    first, last = output_part(reader(data), begin=0), output_part(reader(data))
    assert first is not None
    assert last is not None
    assert (first.text, last.text) == ("one\ntwo\n", "four\n")
    assert output_part(reader(data), begin=10**9) == last  # behind its end
    assert output_part(lambda _offset, _limit: None) is None
    empty = output_part(reader(b""))
    assert empty is not None
    assert (empty.text, empty.size) == ("", 0)


def test_a_part_is_shown_with_ways_to_the_others_and_all_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = b"".join(b"<b>line %06d\n" % number for number in range(100_000))
    with portal(tmp_path) as here:
        ann, tasks = here.person("ann"), here.daemon.services.tasks
        monkeypatch.setattr(tasks, "task", lambda *_: detail(id="7"))
        monkeypatch.setattr(tasks, "output", lambda *asked: reader(data)(*asked[-2:]))
        page = ann.see("/tasks/7/output/out")
        assert "&lt;b&gt;line 099999" in page
        assert ">Earlier<" in page
        assert ">Later<" not in page
        page = ann.see("/tasks/7/output/err?begin=0&rank=3")
        assert "&lt;b&gt;line 000000" in page
        assert ">Later<" in page
        assert ">Earlier<" not in page
        answer = ann.client.get("/tasks/7/output/out/all")
        assert answer.content == data
        assert answer.headers["Content-Type"] == "application/octet-stream"
        assert answer.headers["Content-Disposition"] == 'attachment; filename="7.out.0"'
        monkeypatch.setattr(tasks, "output", lambda *_: None)
        for path in ("/tasks/7/output/out", "/tasks/7/output/out/all"):
            assert ann.client.get(path).status_code == 404


def test_another_users_output_is_not_there(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        here.person("ann").submit()
        for path in ("/tasks/1/output/out", "/tasks/1/output/out/all"):
            assert here.person("bob").client.get(path).status_code == 404
