from __future__ import annotations

import pytest

from cosched.errors import UserError
from cosched.scheduling.formats.swf import parse_swf
from cosched.simulation.experiments.malleable_replay import malleable_replay
from tests.simulation.traces import swf


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
