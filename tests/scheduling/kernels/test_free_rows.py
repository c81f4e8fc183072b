from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling.decoding.free_hosts import IdenticalFreeHosts
from cosched.scheduling.kernels.decode_kernel import free_rows, occupy_first


@given(st.data())
def test_a_row_is_the_free_times_after_each_task(data: st.DataObject) -> None:
    times = st.integers(0, 5).map(float) | st.floats(0.0, 99.0)
    begin = sorted(data.draw(st.lists(times, min_size=1, max_size=40)))
    hosts = len(begin)
    known, rows = IdenticalFreeHosts(begin), free_rows(2, hosts)
    free, after = rows
    free[:hosts] = begin
    for _ in range(data.draw(st.integers(1, 9))):
        count = data.draw(st.integers(1, hosts))
        end = known.earliest(count) + data.draw(times)
        known.take(count, end)
        occupy_first(free, hosts, count, end, after)
        free, after = after, free
        assert free[:hosts].tolist() == [known.earliest(each) for each in range(1, hosts + 1)]
