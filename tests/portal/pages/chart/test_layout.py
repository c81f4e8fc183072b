from __future__ import annotations

import re
from dataclasses import replace
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from cosched.api.documents import ReservationView
from cosched.portal.pages.chart.blocks import ChartBlock
from cosched.portal.pages.chart.colours import ApplicationColours
from cosched.portal.pages.chart.layout import CHART_WIDTH, schedule_chart
from tests.documents import NOW, host

UTC = ZoneInfo("UTC")
COLOURS = ApplicationColours(["a", "b"])
HOSTS = [host(f"h{number}") for number in range(8)]


def block(hosts: tuple[str, ...], start: float = 0.0, end: float = 50.0, **changes: object) -> ChartBlock:
    values = {"task": "1", "name": "night", "application": "b", "deadline": None, "kind": "planned", **changes}
    return ChartBlock(hosts=hosts, start=NOW + start, end=NOW + end, **values)  # type: ignore[arg-type]  # of the right types


def test_neighbouring_hosts_are_one_rectangle_of_one_path() -> None:
    drawn = schedule_chart([block(("h0", "h1", "h2", "h5"))], HOSTS, (NOW, NOW + 100), NOW, COLOURS, UTC)
    (bar,) = drawn.bars
    assert bar.path.count("M") == 2
    assert bar.colour == "c1"
    assert bar.label == "night"
    assert bar.y < drawn.row * 3  # in the larger of the two


def test_what_lies_outside_or_on_no_host_is_left_out() -> None:
    blocks = [block(("h0",), -50, -10), block(("h0",), 200, 300), block(("gone",)), block(())]
    assert schedule_chart(blocks, HOSTS, (NOW, NOW + 100), NOW, COLOURS, UTC).bars == ()


def test_a_bar_is_cut_at_the_edges() -> None:
    (bar,) = schedule_chart([block(("h0",), -1000, 1000)], HOSTS, (NOW, NOW + 100), NOW, COLOURS, UTC).bars
    assert f"h{CHART_WIDTH:.1f}v" in bar.path
    assert bar.path.startswith("M0.0 ")


def test_a_missed_deadline_is_marked_and_told() -> None:
    (bar,) = schedule_chart([block(("h0",), deadline=NOW + 20)], HOSTS, (NOW, NOW + 100), NOW, COLOURS, UTC).bars
    assert bar.late
    assert bar.tip == "1 night\nplanned on 1 host, 50 s\n15:06:40 to 15:07:30\n30 s after its deadline"


def test_another_users_task_has_no_name() -> None:
    (bar,) = schedule_chart(
        [block(("h0",), task="", name="", application="")], HOSTS, (NOW, NOW + 100), NOW, COLOURS, UTC
    ).bars
    assert bar.tip.startswith("another user's task\n")
    assert bar.label == ""


def test_hosts_that_are_down_are_said_to_be() -> None:
    hosts = [*HOSTS, host("h8", up=False, reason="<taken>")]
    assert [text for _, _, text in schedule_chart([], hosts, (NOW, NOW + 100), NOW, COLOURS, UTC).down] == [
        "h8 is down: <taken>"
    ]


def test_a_domain_without_hosts_is_a_chart_all_the_same() -> None:
    assert schedule_chart([], [], (NOW, NOW + 100), NOW, COLOURS, UTC).rows == ()


@given(st.floats(10, 1e7), st.sampled_from(["UTC", "Asia/Kolkata", "America/St_Johns"]))
def test_ticks_are_few_round_and_inside(span: float, zone: str) -> None:
    ticks = schedule_chart([], HOSTS, (NOW, NOW + span), NOW, COLOURS, ZoneInfo(zone)).ticks
    assert 1 <= len(ticks) <= 11
    assert all(0 <= x <= CHART_WIDTH + 0.1 for x, _ in ticks)


def test_a_thousand_tasks_on_256_hosts_are_a_thousand_paths_of_few_bytes() -> None:
    hosts = [host(f"node{number:03}") for number in range(256)]
    sets = [tuple(f"node{(number * 7 + step) % 256:03}" for step in range(number % 32 + 1)) for number in range(1000)]
    blocks = [block(held, number, number + 60, task=str(number)) for number, held in enumerate(sets)]
    drawn = schedule_chart(blocks, hosts, (NOW, NOW + 1100), NOW, COLOURS, UTC)
    assert len(drawn.bars) == 1000
    assert sum(len(bar.path) for bar in drawn.bars) < 100_000
    assert len(drawn.rows) <= 52  # names that have room
    assert all(re.fullmatch(r"(M[\d.]+ [\d.]+h[\d.]+v[\d.]+h-[\d.]+z)+", bar.path) for bar in drawn.bars)


def test_a_reservation_is_a_band_with_its_name() -> None:
    kept = [
        ReservationView(
            id="r1",
            name="course",
            hosts=("h1", "h2", "gone"),
            start=NOW + 20,
            end=NOW + 900,
            owner="chief",
            created=NOW,
        ),
        ReservationView(id="r2", name="", hosts=("gone",), start=NOW, end=NOW + 9, owner="c", created=NOW),
        ReservationView(id="r3", name="", hosts=("h1",), start=NOW + 200, end=NOW + 900, owner="c", created=NOW),
    ]
    (band,) = schedule_chart([], HOSTS, (NOW, NOW + 100), NOW, COLOURS, UTC, kept).bands
    assert (band.label, band.path.count("M"), band.path.startswith("M240.0 ")) == ("course", 1, True)
    assert f"h{CHART_WIDTH * 0.8:.1f}" in band.path
    assert band.tip.startswith("course\n3 hosts reserved by chief\n")


def test_tasks_that_share_a_host_are_side_by_side_in_its_row() -> None:
    nodes = [replace(host(name), cores=8) for name in ("h0", "h1")]
    blocks = [
        block(("h0",), task="1", cores=2),
        block(("h0", "h1"), task="2", cores=4),
        block(("h0",), 60, 90, task="3", cores=8),
        block(("h1",), 60, 90, task="4"),
    ]
    drawn = schedule_chart(blocks, nodes, (NOW, NOW + 100), NOW, COLOURS, UTC)
    bands = {
        bar.task: [(float(y), float(high)) for y, high in re.findall(r"M\S+ ([\d.]+)h[\d.]+v([\d.]+)", bar.path)]
        for bar in drawn.bars
    }
    rows = {task: [(y / drawn.row, high / drawn.row) for y, high in found] for task, found in bands.items()}
    assert [round(y * 4) / 4 for y, _ in rows["2"]] == [0.25, 1.0]  # below the first, and at the top of the other
    assert all(abs(high - 0.5) < 0.15 for _, high in rows["2"])
    assert abs(rows["1"][0][1] - 0.25) < 0.15
    assert [len(rows[task]) for task in "34"] == [1, 1]
    assert all(rows[task][0][1] > 0.85 for task in "34")
    assert [bar.tip.splitlines()[1] for bar in drawn.bars][:2] == [
        "planned on 1 host, 2 cores, 50 s",
        "planned on 2 hosts, 4 cores of each, 50 s",
    ]


def test_a_task_that_outlasts_its_place_is_drawn_all_the_same() -> None:
    nodes = [replace(host("h0"), cores=2)]
    drawn = schedule_chart(
        [block(("h0",), cores=2), block(("h0",), 10, 20, cores=1)], nodes, (NOW, NOW + 100), NOW, COLOURS, UTC
    )
    assert len(drawn.bars) == 2


def test_hosts_of_one_class_stand_under_its_name() -> None:
    hosts = [replace(each, host_class="fast" if number < 3 else "slow") for number, each in enumerate(HOSTS)]
    drawn = schedule_chart([], hosts, (NOW, NOW + 100), NOW, COLOURS, UTC)
    assert drawn.groups == ((0.0, "fast"), (3 * drawn.row, "slow"))
    assert schedule_chart([], HOSTS, (NOW, NOW + 100), NOW, COLOURS, UTC).groups == ()


def test_tasks_that_do_not_stand_out_are_pale_and_their_deadlines_unmarked() -> None:
    blocks = [
        block(("h0", "h1", "h5"), task="1", owner="ann", deadline=NOW + 40),
        block(("h2",), task="2", owner="bob", deadline=NOW + 30),
    ]
    drawn = schedule_chart(blocks, HOSTS, (NOW, NOW + 100), NOW, COLOURS, UTC, (), lambda each: each.owner == "ann")
    assert [bar.dim for bar in drawn.bars] == [False, True]
    marks = re.findall(r"M([\d.]+) ", drawn.deadlines)
    assert marks == [f"{CHART_WIDTH * 0.4:.1f}"] * 2  # h0 with h1, and h5


def test_a_deadline_that_is_not_on_its_task_is_shown_where_that_is_pointed_at() -> None:
    dates = {"1": NOW + 101, "2": NOW + 60, "3": NOW - 5}
    blocks = [block((f"h{task}",), task=task, deadline=deadline) for task, deadline in dates.items()]
    drawn = schedule_chart(blocks, HOSTS, (NOW, NOW + 100), NOW, COLOURS, UTC)
    assert drawn.deadlines == ""  # a mark would be taken for another task's
    assert {bar.task: bar.due for bar in drawn.bars} == {"1": None, "2": CHART_WIDTH * 0.6, "3": None}


def heights(path: str) -> list[float]:
    """Return how high each rectangle of a path is drawn."""
    return [float(height) for height in re.findall(r"v([\d.]+)h", path)]


def test_a_task_of_one_core_that_has_a_nodes_gpus_is_seen() -> None:
    nodes = [replace(host(f"h{number}"), cores=64) for number in range(16)]
    blocks = [block(("h0",), task="1", cores=30), block(("h0",), task="2", cores=1), block(("h0",), task="3", cores=1)]
    drawn = schedule_chart(blocks, nodes, (NOW, NOW + 100), NOW, COLOURS, UTC)
    wide, *narrow = drawn.bars
    assert heights(wide.path)[0] > drawn.row * 0.4
    assert all(heights(bar.path)[0] >= 2.5 for bar in narrow)
    assert narrow[0].y + 4 <= narrow[1].y + 0.1 < drawn.row  # neither is upon the other


def test_where_cores_are_full_tasks_of_one_core_are_seen_all_the_same() -> None:
    nodes = [replace(host(f"h{number}"), cores=64) for number in range(16)]
    blocks = [block(("h0",), task=str(number), cores=cores) for number, cores in enumerate((62, 1, 1))]
    drawn = schedule_chart(blocks, nodes, (NOW, NOW + 100), NOW, COLOURS, UTC)
    tops = [float(top) for bar in drawn.bars for top in re.findall(r"M\S+ ([\d.]+)h", bar.path)]
    high = [heights(bar.path)[0] for bar in drawn.bars]
    assert high[0] > drawn.row * 0.85  # but for the gaps between bars
    assert all(each >= 1.5 for each in high[1:])
    assert all(top + each <= drawn.row for top, each in zip(tops, high, strict=True))


def test_what_others_hold_is_drawn_and_told_in_the_managers_words() -> None:
    held = block(("h0",), task="", name="taken by job 7 of eva", application="", kind="others")
    (bar,) = schedule_chart([held], HOSTS, (NOW, NOW + 100), NOW, COLOURS, UTC).bars
    assert (bar.kind, bar.label, bar.task) == ("others", "taken by job 7 of eva", "")
    assert bar.tip == "taken by job 7 of eva\nruns on 1 host, 50 s\n15:06:40 to 15:07:30"


def test_what_an_elastic_task_is_lent_is_marked_and_told() -> None:
    blocks = [block(("h1",), kind="running"), block(("h2",), kind="running", lent=True)]
    chart = schedule_chart(blocks, HOSTS, (NOW, NOW + 100), NOW, COLOURS, UTC)
    assert [bar.lent for bar in chart.bars] == [False, True]
    assert "lent until others need it" in chart.bars[1].tip
    assert "lent" not in chart.bars[0].tip
