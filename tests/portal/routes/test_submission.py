from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.portal.routes.tasks import _EXAMPLES
from tests.portal.pages.makers import portal

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", ["a command with its own figures"])
def test_the_examples_of_the_description_are_accepted(tmp_path: Path, name: str) -> None:
    with portal(tmp_path) as here:
        ann = here.person("ann")
        client, csrf = ann.client, {"X-CSRF-Token": ann.csrf()}
        example = _EXAMPLES[name]
        foreseen = client.post("/api/v1/tasks?dry_run=true", json=example, headers=csrf)
        made = client.post("/api/v1/tasks", json=example, headers=csrf)
        assert (foreseen.status_code, made.status_code) == (200, 201)
        assert isinstance(foreseen.json(), list) == isinstance(made.json(), list) == isinstance(example, list)
