"""Whatever a task or attempt holds comes back from the database as it was."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.connector import LaunchMode, NativeDescription
from cosched.coscheduler.attempts.attempt import Attempt, AttemptState
from cosched.coscheduler.task import Task, TaskState
from cosched.prediction.profile import PredictionSource, Profile
from cosched.store import Store
from tests.changes import changed
from tests.exploring import examples
from tests.tasks import make_task

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
TIMES = st.floats(min_value=0, max_value=1e11, allow_subnormal=False)
SECONDS = st.one_of(st.just(math.inf), st.floats(min_value=1e-6, max_value=3e8))
PROFILES = st.builds(
    Profile,
    seconds=st.lists(SECONDS, min_size=1, max_size=20).filter(lambda row: any(map(math.isfinite, row))).map(tuple),
    source=st.sampled_from(PredictionSource),
    hardware=TEXT,
)
WITH_RANGES = st.builds(
    lambda profile, share: profile.with_spread([share] * len(profile.seconds), [2 * share] * len(profile.seconds)),
    PROFILES,
    st.floats(0, 1),
)
BY_CLASS = st.builds(
    lambda whole, each: replace(whole, classes=tuple(each)), PROFILES, st.lists(PROFILES | WITH_RANGES, max_size=3)
)
TASKS = st.builds(
    make_task,
    name=TEXT,
    application=TEXT,
    command=st.lists(TEXT, max_size=4).map(tuple),
    submitted=TIMES,
    owner=TEXT,
    parameters=st.dictionaries(TEXT, st.one_of(TEXT, st.floats(allow_nan=False, allow_infinity=False)), max_size=4),
    environment=st.dictionaries(TEXT, TEXT, max_size=4),
    directory=TEXT,
    deadline=st.none() | TIMES,
    begin=st.none() | TIMES,
    profile=st.none() | PROFILES | WITH_RANGES | BY_CLASS,
    correction=TEXT,
    count=st.integers(1, 10**6),
    prepare=st.lists(TEXT, max_size=3).map(tuple),
    notify=st.lists(TEXT, max_size=2).map(tuple),
    after=st.lists(TEXT, max_size=2).map(tuple),
    model=TEXT,
    native=st.none()
    | st.builds(NativeDescription, manager=TEXT, settings=st.dictionaries(TEXT, TEXT, max_size=3), script=TEXT),
    best_effort=st.booleans(),
    time_limit=st.none() | TIMES,
    launch=st.sampled_from(LaunchMode),
    processes_per_host=st.integers(1, 1024),
    state=st.sampled_from(TaskState),
    reason=TEXT,
    dispatched=st.none() | TIMES,
    started=st.none() | TIMES,
    finished=st.none() | TIMES,
    predicted=st.none() | TIMES,
    actual=st.none() | TIMES,
    exit_code=st.none() | st.integers(-(2**31), 2**31 - 1),
    attempts=st.integers(0, 100),
    hosts=st.lists(TEXT, max_size=4).map(tuple),
    origin=TEXT,
    held=st.booleans(),
    peer=TEXT,
)
ATTEMPTS = st.builds(
    Attempt,
    uuid=st.uuids().map(str),
    task=st.just("1"),
    hosts=st.lists(TEXT, max_size=4).map(tuple),
    count=st.integers(1, 10**6),
    predicted=st.none() | TIMES,
    created=TIMES,
    state=st.sampled_from(AttemptState),
    job=TEXT,
    started=st.none() | TIMES,
    finished=st.none() | TIMES,
    exit_code=st.none() | st.integers(-(2**31), 2**31 - 1),
    reason=TEXT,
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    store = Store(f"sqlite:///{tmp_path_factory.mktemp('store')}/cosched.db")
    yield store
    store.close()


@given(TASKS)
@settings(max_examples=examples(13))
def test_a_task_comes_back_as_it_was(store: Store, task: Task) -> None:
    store.commit(changed([task]))
    assert store.task("1") == task


@given(ATTEMPTS)
@settings(max_examples=examples(13))
def test_an_attempt_comes_back_as_it_was(store: Store, attempt: Attempt) -> None:
    store.commit(
        changed([make_task(1, name="", application="", command=())], [replace(attempt, state=AttemptState.RUNNING)])
    )
    store.commit(changed((), [attempt]))  # the second time it is changed, not inserted
    assert next(item for item in store.attempts("1") if item.uuid == attempt.uuid) == attempt
