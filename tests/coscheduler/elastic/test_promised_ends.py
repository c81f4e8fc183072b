from __future__ import annotations

import math

import pytest

from cosched.coscheduler.elastic.promised_ends import promised_ends
from cosched.coscheduler.elastic.values import ElasticSettings
from cosched.coscheduler.planning.what_if import predict_placement
from tests.coscheduler.makers import a_core, a_task, elastic_task, submit

SPEEDS = [math.inf, 60.0, 40.0, 30.0]
EAGER = ElasticSettings(payback=0.0, settle=0.0)


def test_each_useful_number_of_hosts_has_its_promised_and_its_expected_end() -> None:
    found = promised_ends(a_core(elastic=EAGER), elastic_task(1, SPEEDS), 5.0)
    assert [(each.hosts, each.start, each.promised) for each in found] == [
        (2, 5.0, 65.0),
        (3, 5.0, 45.0),
        (4, 5.0, 35.0),
    ]
    assert found[0].expected < 65.0
    assert found[1].expected < 45.0
    assert found[2].expected == 35.0  # there is nothing more to lend


def test_without_lending_both_ends_are_the_same() -> None:
    found = promised_ends(a_core(elastic=ElasticSettings(lending=False)), elastic_task(1, SPEEDS), 0.0)
    assert [each.expected for each in found] == [60.0, 40.0, 30.0]


def test_what_others_are_planned_on_is_not_lent() -> None:
    core = a_core(elastic=EAGER, staging=1e6)  # nobody leaves
    submit(core, a_task(1, [math.inf, 1000.0]))
    found = promised_ends(core, elastic_task(2, SPEEDS), 0.0)
    assert [(each.hosts, each.start, each.promised, each.expected) for each in found] == [
        (2, 0.0, 60.0, 60.0),
        (3, 1000.0, 1040.0, pytest.approx(found[1].expected)),
        (4, 1000.0, 1030.0, 1030.0),
    ]
    assert 1030.0 <= found[1].expected < 1040.0


def test_the_planned_number_has_the_end_that_is_foretold() -> None:
    core = a_core(elastic=EAGER, staging=1e6)
    submit(core, a_task(1, [math.inf, 35.0]))
    task = elastic_task(2, SPEEDS)
    place = predict_placement(core, task, 0.0)
    assert place is not None
    found = {each.hosts: each for each in promised_ends(core, task, 0.0)}
    assert found[len(place.hosts)].promised == place.end == min(each.promised for each in found.values())


def test_of_many_numbers_some_are_looked_at_with_the_fewest_and_the_most() -> None:
    found = promised_ends(a_core(40), elastic_task(1, [600.0 / hosts for hosts in range(1, 41)]), 0.0)
    counts = [each.hosts for each in found]
    assert (len(counts), counts[0], counts[-1]) == (8, 1, 40)
    assert counts == sorted(counts)


def test_nothing_is_said_of_a_task_that_is_not_elastic_or_that_nothing_foretells() -> None:
    assert promised_ends(a_core(), a_task(1), 0.0) == []
    assert promised_ends(a_core(), elastic_task(1, [math.inf] * 8 + [10.0]), 0.0) == []
