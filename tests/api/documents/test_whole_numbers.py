from __future__ import annotations

from typing import get_type_hints

import pytest
from pydantic import TypeAdapter

from cosched.api.documents import ParameterView, TaskDetail


@pytest.mark.parametrize(
    ("document", "name", "value"),
    [
        (TaskDetail, "parameters", {"points": 600000}),
        (ParameterView, "default", 400000),
        (ParameterView, "choices", (1, 2)),
        (ParameterView, "max", 9),
    ],
)
def test_whole_numbers_are_written_without_a_warning(document: type, name: str, value: object) -> None:
    """Each answer with a parameter of whole numbers left five lines of warnings in the daemon's log."""
    written = TypeAdapter(get_type_hints(document)[name])
    assert written.validate_json(written.dump_json(value)) == value
