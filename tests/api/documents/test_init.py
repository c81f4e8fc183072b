from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, fields, is_dataclass
from enum import StrEnum
from typing import Any, get_type_hints

import pytest

from cosched.api import documents
from cosched.api.documents import ElasticRequest, ShapeFigure, TaskRequest
from cosched.connector import LaunchMode, NativeDescription
from cosched.portal.request_bodies import read_requests, requests_digest

KINDS = [getattr(documents, name) for name in documents.__all__]
# What JSON has words for; nothing else may travel.
PLAIN = {"str", "float", "int", "bool", "None", "tuple", "dict", "..."}

FULL = TaskRequest(
    application="sweep3d",
    model="m",
    command=("/x", "ü"),
    parameters={"nx": 5.0, "mode": "fast"},
    deadline=1e9,
    begin=1e9 - 5,
    hosts="2-8",
    profile=(None, 5.0),
    shapes=(ShapeFigure(hosts=2, cores=8, seconds=5.0),),
    name="n",
    environment={"A": "1"},
    directory="/tmp",
    stdin="/tmp/in",
    best_effort=True,
    time_limit="2h",
    prepare=("/y",),
    notify=("mailto:a@b.example",),
    after=("1",),
    native=NativeDescription("slurm", {"qos": "high"}, "#!/bin/sh\n"),
    launch=LaunchMode.ONCE,
    processes_per_host=2,
    retries=3,
    requeue=False,
    priority=-4,
    array_index=3,
    array_at_most=2,
    memory="4G",
    cores="8-16",
    processes=12,
    gpus=1,
    memory_per_process="1G",
    cores_per_process=2,
    gpus_per_process=1,
    exclusive=True,
    licences={"matlab": 2},
    elastic=ElasticRequest(worker=("/bin/worker", "{lead}"), grace="1m"),
    file_sizes={"mesh.dat": 7},
    program_digest="a1",
    least_quality=0.5,
)


def test_a_client_that_only_sends_loads_no_server() -> None:
    code = "import sys, cosched.api.documents; print([m for m in ('pydantic', 'fastapi') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("kind", KINDS)
def test_a_document_says_what_each_of_its_fields_means_in_types_that_json_has(kind: Any) -> None:
    assert is_dataclass(kind)
    for hint in get_type_hints(kind).values():
        if isinstance(hint, type) and issubclass(hint, StrEnum):
            continue  # text
        text = str(hint).replace("<class '", "").replace("'>", "")
        for mark in "[]|,":
            text = text.replace(mark, " ")
        own = ("cosched.api.documents.", "cosched.connector.values.")
        words = {word for word in text.split() if not word.startswith(own)}
        assert words <= PLAIN, str(hint)


@pytest.mark.parametrize("request_", [TaskRequest(), FULL])
def test_a_request_arrives_as_it_was_sent(request_: TaskRequest) -> None:
    assert read_requests(json.dumps(asdict(request_)).encode()) == [request_]


def test_what_is_left_out_is_the_same_as_its_default() -> None:
    short, long = (
        read_requests(b'{"application": "sweep3d"}'),
        read_requests(json.dumps(asdict(TaskRequest(application="sweep3d"))).encode()),
    )
    assert requests_digest(short) == requests_digest(long)


@pytest.mark.parametrize("name", [field.name for field in fields(TaskRequest)])
def test_another_value_of_any_key_is_another_request(name: str) -> None:
    """A key left out of the digest would let two different requests pass for one under one idempotency key."""
    plain = TaskRequest()
    other = TaskRequest(**{name: getattr(FULL, name)})
    assert requests_digest([plain]) != requests_digest([other])
