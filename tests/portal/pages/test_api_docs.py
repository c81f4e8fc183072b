from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fastapi.testclient import TestClient

from cosched.portal.application import build_application
from cosched.portal.pages.api_docs import ApiField, api_reference
from tests.access.memory import Trusting
from tests.portal.makers import portal
from tests.portal.test_application import Recorder, services_of

if TYPE_CHECKING:
    from pathlib import Path


def test_the_page_has_all_operations_and_documents_of_the_description(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        description = here.app.openapi()
        text = here.person("ann").see("/docs")
        for path, methods in description["paths"].items():
            assert text.count(f"<code>{path}</code>") == len(methods), path
        for name in description["components"]["schemas"]:
            assert f'<article class="panel" id="{name}">' in text, name
        links = re.findall(r'href="#([^"]+)"', text)
        assert [link for link in set(links) if f'id="{link}"' not in text] == []
        names = re.findall(r'\bid="([^"]+)"', text)
        assert len(names) == len(set(names))


def test_whoever_is_not_logged_in_may_read_it_and_nothing_is_loaded_from_elsewhere(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        stranger = TestClient(here.app, base_url="http://127.0.0.1", headers={"Accept": "text/html"})
        answer = stranger.get("/docs")
        assert answer.status_code == 200
        assert re.findall(r'(?:src|href)="https?:', answer.text) == []


def test_what_fields_mean_is_what_their_documents_say() -> None:
    app = build_application(services_of(Recorder()), Trusting())
    reference = api_reference(app.openapi())
    found = {each.name: each for each in reference.documents}
    keys = {each.name: each for each in found["PeerView"].fields}
    assert found["PeerView"].text == "A neighbouring domain."
    assert keys["given"].text == "our tasks that it has."
    assert str(keys["heard"].type) == "number or null"
    assert str(keys["hardware"].type) == "list of text"
    operations = {(each.method, each.path): each for chapter in reference.chapters for each in chapter.operations}
    submit = operations["POST", "/api/v1/tasks"]
    assert {"application", "deadline", "command"} <= {each.name for each in submit.body}
    assert any("epoch" in each.text for each in submit.body if each.name == "deadline")
    state = next(each for each in operations["GET", "/api/v1/tasks"].parameters if each.name == "limit")
    assert isinstance(state, ApiField)
    assert (state.place, state.needed, str(state.type).startswith("whole number, at least")) == ("query", False, True)
    assert '<a href="#TaskDetail">' in operations["GET", "/api/v1/tasks/{task_id}"].answer


def test_what_the_description_says_is_only_text() -> None:
    schema = {"type": "string", "enum": ["<b>"], "description": "<i>"}
    parameter = {"name": "<u>", "in": "query", "schema": schema}
    operation = {"parameters": [parameter], "responses": {"200": {"content": {"<s>": {}}}}}
    (chapter,) = api_reference({"paths": {"/x": {"get": operation}}}).chapters
    (field,) = chapter.operations[0].parameters
    assert field.type == "<code>&#39;&lt;b&gt;&#39;</code>"
    assert chapter.operations[0].answer == "&lt;s&gt;"
