from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.api.documents import ProfileView
from cosched.client import Client
from cosched.errors import UserError
from tests.daemon.makers import serving

if TYPE_CHECKING:
    from pathlib import Path


def test_the_library_comes_typed(tmp_path: Path) -> None:
    with serving(tmp_path) as (_, address), Client(address) as client:
        halving = next(entry for entry in client.applications() if entry.name == "halving")
        assert (halving.least, halving.most, halving.parameters[0].default) == (1, 8, 80.0)
        assert ("hardware", "sgi_origin2000") in {(model.kind, model.name) for model in client.models()}
        assert "application jacobi" in client.model("applications", "jacobi").text
        found = client.curves("jacobi_measured", {"Scale": 2.0}, 4)
        once = client.curves("jacobi_measured", {"Scale": 1.0}, 4)
        assert isinstance(found.profiles["sgi_origin2000"], ProfileView)
        doubled, single = (each.profiles["sgi_origin2000"].seconds[0] for each in (found, once))
        assert doubled is not None
        assert single is not None
        assert doubled == pytest.approx(2 * single)


@pytest.mark.parametrize(
    ("name", "values", "said"),
    [
        ("nothing", {}, "no model 'nothing'"),
        ("jacobi", {"cell": 1.0}, "no parameter cell"),
        ("../x", {}, "there is"),
    ],
)
def test_what_is_not_there_is_said(tmp_path: Path, name: str, values: dict[str, float], said: str) -> None:
    with serving(tmp_path) as (_, address), Client(address) as client, pytest.raises(UserError, match=said):
        client.curves(name, values)
