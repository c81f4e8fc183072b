from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.errors import UserError
from cosched.measurement.programs.records import Block
from cosched.measurement.programs.traces import merged, read_trace

TRACE = """rank {rank} 2 0.5 0.4 0.001 2048 7 1 0 node01 /opt/my heat
site isend 14c5 /opt/my heat
site isend 14d5 /opt/my heat
site waitall 14f9 /opt/my heat
item 0 +1 800 2 0.001
item 0 +1 1600 1 0.001
item 1 none 0 1 0.001
item 2 none 0 3 0.1
block -1 0 1 0.25
block 0 2 3 0.1 0.2 0.3
calls 0 3 0 3 1 2 3
end
"""


def test_a_trace_is_read_and_merged_with_those_of_the_other_ranks() -> None:
    traces = [read_trace(TRACE.format(rank=rank), "x") for rank in (0, 1)]
    first = traces[0]
    assert (first.rank, first.size, first.wall, first.rss, first.host) == (0, 2, 0.5, 2 << 20, "node01")
    assert (first.program, first.finalized, first.cut) == ("/opt/my heat", True, False)
    found = merged(traces)
    begin, between = found.blocks[:2]
    assert begin == Block("begin>isend", 0, 1, (0.25, 0.25, 0.25))
    assert (between.id, between.rank, between.visits) == ("isend>waitall", 0, 3)
    assert between.quantiles == pytest.approx((0.15, 0.2, 0.25))
    assert [(each.site, each.rank, each.peer, each.count) for each in found.messages] == [
        ("isend", rank, "+1", 3) for rank in (0, 1)
    ]
    assert {each.bytes for each in found.messages} == {3200 / 3}
    assert found.loops == "2*(isend waitall) isend isend#2 waitall"


def test_loops_whose_turns_send_ever_less_are_told_by_their_places() -> None:
    """A factorization sends a shorter row each time: its record was `bcast bcast bcast …`."""
    rows = 300
    items = [f"item 0 root {8 * (rows - row)} 1 0.001" for row in range(rows)]
    lines = [
        "rank 0 2 0.5 0.4 0.001 2048 301 1 0 node01 /opt/lu",
        "site bcast 14c5 /opt/lu",
        "site allreduce 14d5 /opt/lu",
        *items,
        "item 1 all 8 2 0.001",
        "calls " + " ".join(str(call) for call in [*range(rows), rows] * 2),
        "end",
        "",
    ]
    assert merged([read_trace("\n".join(lines), "x")]).loops == "2*(300*bcast allreduce)"


@pytest.mark.parametrize("cut", [0, 10, 200, -5])
def test_what_is_not_whole_is_refused(cut: int) -> None:
    with pytest.raises(UserError, match=r"x is no trace of a process .*observe the program once more"):
        read_trace(TRACE.format(rank=0)[:cut], "x")


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        read_trace(f"{text}\nend\n", "x")
    except UserError as error:
        assert "no trace" in str(error)  # noqa: PT017  both ends are right
