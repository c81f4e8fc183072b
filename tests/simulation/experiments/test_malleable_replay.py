from __future__ import annotations

from dataclasses import replace

import pytest

from cosched.errors import UserError
from cosched.scheduling.formats.swf import RecordedJob, parse_swf
from cosched.simulation.experiments.malleable_replay import elastic_job, malleable_replay
from tests.simulation.traces import swf

RECORD = RecordedJob(7, 50.0, 100.0, 8, None)


def test_a_rigid_job_is_as_recorded_and_an_elastic_one_around_it() -> None:
    rigid = elastic_job(RECORD, 100, 0.0, 1, 5.0)
    assert (rigid.least, rigid.most, rigid.on(8), rigid.submitted) == (8, 8, 100.0, 50.0)
    elastic = elastic_job(RECORD, 100, 1.0, 1, 5.0)
    assert (elastic.least, elastic.preferred, elastic.most) == (2, 8, 32)
    assert elastic.on(8) == pytest.approx(100.0)
    assert elastic.on(2) > 100.0 > elastic.on(32)
    assert (elastic.grow_cost, elastic.suspendable) == (5.0, False)
    assert elastic_job(RECORD, 10, 1.0, 1, 5.0).most == 10
    assert elastic_job(replace(RECORD, processors=1), 100, 1.0, 1, 0.0).least == 1


def test_a_job_that_is_elastic_at_some_share_is_so_at_every_larger_one() -> None:
    records = [replace(RECORD, number=number) for number in range(400)]

    def elastic(share: float) -> set[int]:
        tasks = [elastic_job(record, 100, share, 1, 0.0) for record in records]
        return {number for number, task in enumerate(tasks) if task.least < task.most}

    some, more = elastic(0.2), elastic(0.5)
    assert some < more < elastic(1.0)
    assert len(some) == pytest.approx(80, abs=30)


def test_elastic_jobs_shorten_turnarounds_and_policies_without_them_agree() -> None:
    chosen = malleable_replay(parse_swf(swf(100, processors=16)), "drawn.swf")
    rows = chosen.run(1, chosen.settings({}))
    found = {(row["policy"], row["share"]): row for row in rows}
    assert len(found) == 9 * 4
    same = ("ideal", "moldable-now", "ib-harvest", "keep-preferred", "satin", "marginal")
    assert len({found[policy, 0.0]["turnaround"] for policy in same}) == 1  # all are EASY where every job is rigid
    assert all(row["against_rigid"] == 0 for (_, share), row in found.items() if share == 0)
    for policy in ("marginal", "keep-preferred", "equi"):
        changes = [float(found[policy, share]["against_rigid"] or 0.0) for share in (0.2, 0.5, 1.0)]
        assert max(changes) < -0.05
    assert all(0 < float(row["utilisation"] or 0.0) <= 1 for row in rows)
    assert set(chosen.charts(rows, 1, {})) == {"turnaround"}


def test_a_machine_that_is_too_small_is_refused() -> None:
    chosen = malleable_replay(parse_swf(swf(20)), "drawn.swf")
    with pytest.raises(UserError, match="give more with --set processors=N"):
        chosen.run(1, chosen.settings({"processors": "1"}))
