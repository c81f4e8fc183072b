from __future__ import annotations

import io
from typing import Any
from xml.etree import ElementTree

from rich.console import Console

from cosched.api.documents import WorkersView, WorkerView
from demo.elastic_picture import DEADLINE, LENT, PROMISED, Piece, drawn, pieces_of, shown
from tests.demo.views import ran


def worker(number: int, host: str, **fields: Any) -> WorkerView:
    values: dict[str, Any] = {
        "worker": number,
        "host": host,
        "state": "running",
        "promised": False,
        "since": 110.0,
        "finished": None,
        "leave_by": None,
        "job": "",
        "reason": "",
    }
    return WorkerView(**{**values, **fields})


def of_task(*workers: WorkerView) -> WorkersView:
    return WorkersView(
        task="1",
        state="running",
        host="h1",
        lead="",
        drains=True,
        promised=("h2",),
        promised_end=None,
        expected_end=None,
        workers=workers,
    )


PIECES = pieces_of(
    ran("1", ("h1", "h2"), 105.0, 160.0),
    of_task(
        worker(1, "h2", promised=True, finished=160.0),
        worker(2, "h3", finished=130.0),
        worker(3, "h3", since=145.0, finished=160.0),
        worker(4, "h4", since=None),
    ),
    [(ran("2", ("h3",), 131.0, 141.0, deadline=150.0), DEADLINE)],
)


def test_each_worker_that_ran_is_a_piece_and_so_is_the_lead() -> None:
    assert [
        Piece("h1", 105.0, 160.0, PROMISED, "lead"),
        Piece("h2", 110.0, 160.0, PROMISED, "worker 1"),
        Piece("h3", 110.0, 130.0, LENT, "worker 2"),
        Piece("h3", 145.0, 160.0, LENT, "worker 3"),
        Piece("h3", 131.0, 141.0, DEADLINE, "task 2", 150.0),
    ] == PIECES
    assert pieces_of(None, None, []) == []


def test_the_terminal_shows_whose_each_host_was() -> None:
    console = Console(file=io.StringIO(), width=120)
    console.print(shown(PIECES, ["h1", "h2", "h3"], 100.0, 172.0))  # a column a second
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    row = lines[2].removeprefix("h3 ")
    assert row.startswith(" " * 10 + "▒" * 20)
    assert row[31:42] == "#" * 11
    assert row[45:61] == "▒" * 16
    assert "lent to Dask" in lines[3]


def test_the_picture_has_a_bar_for_each_piece_and_a_legend() -> None:
    picture = drawn(PIECES, ["h1", "h2", "h3"], 100.0, "local")
    root = ElementTree.fromstring(picture)
    tips = [title.text or "" for title in root.iter("{http://www.w3.org/2000/svg}title")]
    assert sum("worker" in tip for tip in tips) == 3
    assert "9 s before its deadline" in " ".join(tips)
    assert {PROMISED, LENT, DEADLINE} <= {text.text for text in root.iter("{http://www.w3.org/2000/svg}text")}
