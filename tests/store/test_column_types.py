"""A record's value comes back from its column as it was, through JSON as databases keep it."""

from __future__ import annotations

import json
import math
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import pytest

from cosched.connector.values import NativeDescription
from cosched.coscheduler.elastic.values import Elastic, LeadStatus, RestartRecord
from cosched.coscheduler.places.alternatives import Alternative
from cosched.coscheduler.task import TaskState
from cosched.prediction.loads.host_load import Coupling
from cosched.prediction.profile import PredictionSource, Profile
from cosched.store.column_types import (
    ALTERNATIVES,
    ELASTIC,
    LEAD_STATUS,
    NATIVE,
    PROFILE,
    RESTARTS,
    STRING_MAP,
    STRINGS,
    state_type,
)

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

TIMES = (math.inf, 20.0, 12.5)
PLAIN = Profile(TIMES, PredictionSource.MODEL, "sun")
FULL = Profile(
    TIMES,
    PredictionSource.HISTORY,
    "fast+slow",
    low=(math.inf, 18.0, 11.0),
    high=(math.inf, 23.0, 15.0),
    classes=(replace(PLAIN, hardware="fast"), replace(PLAIN, hardware="slow")),
    runs=7,
    stated=(math.inf, 19.0, 12.0),
    explores=True,
    changed=3,
    coupling=Coupling.INDEPENDENT,
)
SHAPE = Alternative(8, FULL, memory=1024, gpus=1, processes_per_host=4)
STARTED = Elastic(("work", "{lead}"), needs_lead=True, grace=5.0, restart=True, cost=2.5, force=True, whole_chain=True)
STOPPED = RestartRecord(2, 0.5, 1.5, 3.0, 1, "a host is loaded", 1, 1, 0.25, 1.25)


def kept(column: Any, value: Any) -> Any:
    """Return a value as it is read again."""
    stored = column.process_bind_param(value, None)
    return column.process_result_value(json.loads(json.dumps(stored)), None)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        (PROFILE, PLAIN),
        (PROFILE, FULL),
        (ALTERNATIVES, (SHAPE, Alternative(1, PLAIN))),
        (ALTERNATIVES, ()),
        (ELASTIC, STARTED),
        (RESTARTS, STOPPED),
        (RESTARTS, replace(STOPPED, stop=None, spent=None)),
        (LEAD_STATUS, LeadStatus(("h2", "h3"), 4, "tcp://h1:1", most=None, enough=3, why="", stage_done=12.5)),
        (NATIVE, NativeDescription("slurm", {"mem": "4G"}, "#!/bin/sh\n")),
        (STRINGS, ("a", "", "ö\n")),
        (STRING_MAP, {"n": 1.5, "mode": "fast"}),
        (state_type(TaskState), TaskState.CANCELLING),
        (PROFILE, None),
    ],
)
def test_a_value_comes_back_as_it_was(column: Any, value: Any) -> None:
    found = kept(column, value)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("value", [FULL, SHAPE, STARTED, STOPPED])
def test_every_field_is_among_those_that_were_tried(value: DataclassInstance) -> None:
    """A field that is new, and that the column forgets, has its default when it is read again."""
    usual = {each.name: each.default for each in fields(value)}
    assert not [name for name, default in usual.items() if getattr(value, name) == default]
