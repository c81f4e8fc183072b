from __future__ import annotations

import pytest

from cosched.api.documents import HostView, ProfileView
from cosched.cli.task.model_note import hosts_of, model_note

MODEL = 'application heat { option { hrduse = "node_a"; } proc exec init { step cpu { confdev 1 s; } } }'


def test_a_model_for_other_hosts_is_remarked() -> None:
    assert model_note(MODEL, ["node_b", "node_b", "node_c"]) == (
        "your model is made for node_a, and the hosts are node_b, node_c: "
        "measured times are taken as they are, other costs are those of the hosts"
    )


@pytest.mark.parametrize(
    ("text", "classes"),
    [
        (MODEL, ["node_a", "node_b"]),
        (MODEL, [""]),
        (MODEL.replace("hrduse", "decompose"), ["b"]),
        ("application", ["b"]),
    ],
)
def test_nothing_is_remarked_where_it_fits_or_nobody_knows(text: str, classes: list[str]) -> None:
    assert model_note(text, classes) == ""


def test_hosts_without_a_class_are_those_that_they_are_predicted_as() -> None:
    """Local slots have no class: nothing was said, and messages of a model had the costs of another machine."""
    profile = ProfileView(seconds=(5.0,), source="model", hardware="sgi_origin2000")
    unnamed = HostView(name="host01", host_class="", up=True, reason="", task="", free_at=None)
    named = HostView(name="host02", host_class="node_b", up=True, reason="", task="", free_at=None)
    assert hosts_of([unnamed], profile) == {"sgi_origin2000"}
    assert hosts_of([unnamed, named], profile) == {"node_b"}
    assert hosts_of([unnamed], None) == set()
