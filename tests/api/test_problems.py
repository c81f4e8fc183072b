from __future__ import annotations

import json
from http import HTTPStatus

import pytest
from starlette.requests import Request

from cosched.api.problems import ConflictError, NotFoundError, RequestError
from cosched.connector.interface import ConnectorError
from cosched.errors import CoschedError, SystemFault, UserError
from cosched.portal.responses import error_response

REQUEST = Request({"type": "http", "method": "GET", "path": "/", "headers": []})


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UserError("u"), 422),
        (NotFoundError("n"), 404),
        (ConflictError("c"), 409),
        (RequestError(HTTPStatus.BAD_REQUEST, "r"), 400),
        (SystemFault("s"), 503),
        (ConnectorError("busy", transient=True), 503),
    ],
)
def test_every_error_has_its_status_and_its_words(error: CoschedError, status: int) -> None:
    response = error_response(REQUEST, error)
    assert response.status_code == status
    document = json.loads(bytes(response.body))
    assert document == {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": str(error),
    }
