from __future__ import annotations

import pytest

from cosched.cli.task.model_note import model_note

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
