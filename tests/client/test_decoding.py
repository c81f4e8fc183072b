from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from cosched.api.documents import CurvesView, HostView, ParameterView, ProfileView, RunView
from cosched.client.http_caller import decode_document
from tests.portal.pages.makers import detail, forecast, host, profile

RUN = RunView(task="1", name="n", application="a", hosts=("x", "y"), start=1.0, end=2.0, deadline=None, state="failed")
CURVES = CurvesView(
    model="m",
    parameters=(ParameterView(name="p", default=1.0),),
    values={"p": 2.0},
    profiles={"h": ProfileView(seconds=(1.0, None), source="model", hardware="h")},
    faults={"g": "no"},
)


@pytest.mark.parametrize("document", [RUN, CURVES, detail(profile=profile((1.0, None))), forecast(profile=None)])
def test_a_document_comes_back_as_it_was(document: Any) -> None:
    assert decode_document(type(document), _as_json(asdict(document))) == document


def test_keys_of_a_later_version_are_left_out() -> None:
    assert decode_document(HostView, asdict(host("a")) | {"colour": "red"}) == host("a")


def _as_json(value: Any) -> Any:
    """Return a document as JSON brings it: tuples as lists."""
    if isinstance(value, dict):
        return {key: _as_json(each) for key, each in value.items()}
    return [_as_json(each) for each in value] if isinstance(value, list | tuple) else value
