"""A Python client for the daemon's API.

with cosched.Client() as client:
    task = client.submit(TaskRequest(application="sweep3d", deadline=time.time() + 7200))
    print(client.wait([task.id])[0].on_time)
"""

from __future__ import annotations

import json
import math
import os
import time
import types
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar, Union, get_args, get_origin, get_type_hints
from urllib.parse import quote
from uuid import uuid4

import httpx2

from cosched import __version__
from cosched.access.private_file import read_secret
from cosched.connector.interface import Output
from cosched.errors import SystemFault, UserError
from cosched.portal.documents import (
    AccountChange,
    AccountRequest,
    AccountView,
    DeedView,
    Explanation,
    Forecast,
    HostView,
    LoginLink,
    Me,
    NewToken,
    PeerView,
    PlanView,
    Status,
    TaskDetail,
    TaskPage,
    TaskRequest,
    TaskView,
    TokenRequest,
    TokenView,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType

__all__ = ["AbsentError", "Client"]

_T = TypeVar("_T")
_TIMEOUT = 30.0
_FINAL = ("completed", "failed", "cancelled")
_LOOK_FIRST, _LOOK_SLOWEST = 0.1, 2.0  # seconds between looks at tasks that are waited for


class AbsentError(SystemFault):
    """No daemon answers at the address."""


class _LostAnswerError(SystemFault):
    """The request may or may not have arrived."""


class Client:
    """Talks to one daemon. Not for use from several threads at once; each may have its own.

    Every method raises `UserError` where the daemon refuses, `SystemFault` where it or the manager fails, and
    `AbsentError` where nobody answers.
    """

    def __init__(self, server: str = "", timeout: float = _TIMEOUT, token: str = "") -> None:
        """Prepare; the connection is made when it is needed.

        Args:
            server: `unix:/path` or `http://host:port`; empty: $COSCHED_SERVER, else the socket of a daemon of this
                user that runs without a configuration.
            timeout: seconds for one answer.
            token: says who you are where the socket does not; empty: $COSCHED_TOKEN, else the first line of
                $COSCHED_TOKEN_FILE, else none.

        Raises:
            UserError: the address is neither, or the token's file can be read by everybody.
        """
        self.server = server or os.environ.get("COSCHED_SERVER", "") or _own_socket()
        transport, base = _transport(self.server)
        headers = {"User-Agent": f"cosched/{__version__}"} | _authorization(token)
        self._http = httpx2.Client(transport=transport, base_url=base, timeout=timeout, trust_env=False,
                                   headers=headers)  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def submit(self, request: TaskRequest, key: str = "") -> TaskView:
        """Submit a task; on return it survives a crash of the daemon.

        Args:
            request: the task.
            key: idempotency key: the same key and request again return the same task. Empty: a new one.
        """
        return self.submit_all([request], key)[0]

    def submit_all(self, requests: Sequence[TaskRequest], key: str = "") -> list[TaskView]:
        """Submit tasks, all or none."""
        body = [_request_document(request) for request in requests]
        # A lost answer is asked for once more under the same key, so that nothing is submitted twice.
        headers = {"Idempotency-Key": key or str(uuid4())}
        try:
            answer = self._call("POST", "/tasks", body, headers=headers)
        except _LostAnswerError:
            answer = self._call("POST", "/tasks", body, headers=headers)
        return [_decode(TaskView, item) for item in answer]

    def foresee(self, request: TaskRequest) -> Forecast:
        """Say what submitting a task would lead to; nothing is stored."""
        answer = self._call("POST", "/tasks", _request_document(request), params={"dry_run": "true"})
        return _decode(Forecast, answer)

    def tasks(self, states: Sequence[str] = (), limit: int = 100, offset: int = 0, *, owner: str = "",
              search: str = "") -> TaskPage:  # fmt: skip
        """Return tasks in these states (none given: in any), newest first.

        Args:
            states: by name.
            limit: at most so many.
            offset: leave out so many of the newest.
            owner: only this user's; empty: all that you may see.
            search: only with these words in name, application or identifier.
        """
        params = {"state": list(states), "limit": str(limit), "offset": str(offset), "search": search}
        if owner:
            params["owner"] = owner
        return _decode(TaskPage, self._call("GET", "/tasks", params=params))

    def task(self, task_id: str) -> TaskDetail:
        """Return all that is known of a task."""
        return _decode(TaskDetail, self._call("GET", f"/tasks/{_segment(task_id)}"))

    def output(self, task_id: str, stream: str = "out", *, rank: int = 0, attempt: int = 0, offset: int = 0,
               limit: int = 1 << 20) -> Output | None:  # fmt: skip
        """Return part of what a process of a task wrote; None where nothing is kept (yet).

        Args:
            task_id: the task.
            stream: "out" or "err".
            rank: of the process.
            attempt: which try, from 1; 0 for the last.
            offset: first byte; negative counts from the end.
            limit: most bytes to return, at most a mebibyte.
        """
        params = {"rank": rank, "attempt": attempt, "offset": offset, "limit": limit}
        response = self._response("GET", f"/tasks/{_segment(task_id)}/output/{_segment(stream)}", params=params)
        if response.status_code == HTTPStatus.NO_CONTENT:
            return None
        return Output(response.content, int(response.headers["Cosched-Offset"]), int(response.headers["Cosched-Size"]))

    def explain(self, task_id: str) -> Explanation:
        """Say why a task is where it is."""
        return _decode(Explanation, self._call("GET", f"/tasks/{_segment(task_id)}/explain"))

    def cancel(self, task_id: str) -> TaskView:
        """Take the wish that a task does not run (any more)."""
        return _decode(TaskView, self._call("POST", f"/tasks/{_segment(task_id)}/cancel", {}))

    def wait(self, task_ids: Sequence[str], timeout: float = math.inf) -> list[TaskDetail]:
        """Wait until all of these tasks have ended, or for `timeout` seconds; return them as they are then."""
        until = time.monotonic() + timeout
        pause = _LOOK_FIRST
        found: dict[str, TaskDetail] = {}
        while True:
            for task_id in task_ids:
                if task_id not in found or found[task_id].state not in _FINAL:
                    found[task_id] = self.task(task_id)
            left = until - time.monotonic()
            if left <= 0 or all(task.state in _FINAL for task in found.values()):
                return [found[task_id] for task_id in task_ids]
            time.sleep(min(pause, left))
            pause = min(pause * 1.5, _LOOK_SLOWEST)

    def hosts(self) -> list[HostView]:
        """Return all hosts of the domain."""
        return [_decode(HostView, item) for item in self._call("GET", "/hosts")]

    def glue(self, *, ldif: bool = False) -> str:
        """Return the domain described in GLUE 2.0, as XML, or as LDIF for a directory."""
        return self._response("GET", "/glue2/ldif" if ldif else "/glue2").content.decode()

    def peers(self) -> list[PeerView]:
        """Return the neighbouring domains."""
        return [_decode(PeerView, item) for item in self._call("GET", "/peers")]

    def plan(self) -> PlanView:
        """Return the schedule in force."""
        return _decode(PlanView, self._call("GET", "/plan"))

    def status(self) -> Status:
        """Return the daemon's state in short."""
        return _decode(Status, self._call("GET", "/status"))

    def me(self) -> Me:
        """Return who you are to the daemon, and what you may do."""
        return _decode(Me, self._call("GET", "/me"))

    def create_token(self, request: TokenRequest) -> NewToken:
        """Have a token given out; its secret is shown only now."""
        return _decode(NewToken, self._call("POST", "/tokens", asdict(request)))

    def tokens(self, *, everybody: bool = False) -> list[TokenView]:
        """Return your tokens, or everybody's."""
        found = self._call("GET", "/tokens", params={"everybody": str(everybody).lower()})
        return [_decode(TokenView, item) for item in found]

    def revoke_token(self, token_id: str) -> None:
        """Make a token good for nothing."""
        self._call("DELETE", f"/tokens/{_segment(token_id)}")

    def add_account(self, request: AccountRequest) -> AccountView:
        """Make a local account."""
        return _decode(AccountView, self._call("POST", "/accounts", asdict(request)))

    def accounts(self) -> list[AccountView]:
        """Return all local accounts."""
        return [_decode(AccountView, item) for item in self._call("GET", "/accounts")]

    def change_account(self, name: str, change: AccountChange) -> AccountView:
        """Change a local account; its sessions and tokens end."""
        return _decode(AccountView, self._call("PATCH", f"/accounts/{_segment(name)}", asdict(change)))

    def remove_account(self, name: str) -> None:
        """Forget a local account."""
        self._call("DELETE", f"/accounts/{_segment(name)}")

    def login_link(self) -> LoginLink:
        """Have a link made that logs a browser in as you."""
        return _decode(LoginLink, self._call("POST", "/login-links", {}))

    def audit(self, limit: int = 100, offset: int = 0) -> list[DeedView]:
        """Return lines of the audit log, newest first."""
        found = self._call("GET", "/audit", params={"limit": str(limit), "offset": str(offset)})
        return [_decode(DeedView, item) for item in found]

    def _call(self, method: str, path: str, body: Any = None, *, params: dict[str, Any] | None = None,
              headers: dict[str, str] | None = None) -> Any:  # fmt: skip
        return self._response(method, path, body, params=params, headers=headers).json()

    def _response(self, method: str, path: str, body: Any = None, *, params: dict[str, Any] | None = None,
                  headers: dict[str, str] | None = None) -> httpx2.Response:  # fmt: skip
        if self.server.startswith("unix:") and not Path(self.server.removeprefix("unix:")).exists():
            # Asked first because the HTTP library leaves a socket that cannot connect to the garbage collector.
            raise _absent(self.server)
        content = None if body is None else _encoded(body)
        headers = {**(headers or {}), "Content-Type": "application/json"} if content is not None else headers
        with _explained(self.server):
            response = self._http.request(method, f"/api/v1{path}", content=content, params=params, headers=headers)
        if response.is_success:
            return response
        raise _error(response)


def _authorization(token: str) -> dict[str, str]:
    token = token or os.environ.get("COSCHED_TOKEN", "")
    file = os.environ.get("COSCHED_TOKEN_FILE", "")
    if not token and file:
        token = read_secret(Path(file), "the token file")
    if not token:
        return {}
    if not token.isascii() or not token.isprintable() or " " in token:
        raise UserError("the token is no token: it has characters that none has; copy it again")
    return {"Authorization": f"Bearer {token}"}


def _own_socket() -> str:
    from cosched.service.places import default_socket

    return default_socket(os.environ)


def _transport(server: str) -> tuple[httpx2.HTTPTransport, str]:
    if server.startswith("unix:/"):
        return httpx2.HTTPTransport(uds=server.removeprefix("unix:")), "http://cosched"
    if server.startswith(("http://", "https://")):
        return httpx2.HTTPTransport(), server
    raise UserError(f"{server!r} is not the address of a server: write unix:/path or http://host:port")


@contextmanager
def _explained(server: str) -> Iterator[None]:
    try:
        yield
    except httpx2.ConnectError as error:
        raise _absent(server) from error
    except (httpx2.InvalidURL, httpx2.UnsupportedProtocol) as error:
        raise UserError(f"{server!r} is not the address of a server ({error}): write unix:/path or http://host:port"
                        ) from error  # fmt: skip
    except httpx2.TransportError as error:
        what = str(error) or type(error).__name__
        raise _LostAnswerError(f"cosched at {server} did not answer ({what}): try again, or look at its log") from error


def _absent(server: str) -> AbsentError:
    return AbsentError(f"cosched is not running at {server}: start it with `cosched serve`")


def _error(response: httpx2.Response) -> UserError | SystemFault:
    try:
        detail = str(response.json()["detail"])
    except (ValueError, KeyError, TypeError):
        detail = f"the server answered {response.status_code} {response.reason_phrase}: is that cosched?"
    if response.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return SystemFault(detail)
    return UserError(detail)


def _segment(text: str) -> str:
    """Return an identifier as one segment of a path."""
    return quote(text, safe="") if text not in ("", ".", "..") else quote(f" {text}")


def _request_document(request: TaskRequest) -> dict[str, Any]:
    return {key: value for key, value in asdict(request).items() if value not in (None, "", (), {}, False)}


def _encoded(body: Any) -> bytes:
    try:
        return json.dumps(body, allow_nan=False, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        near = str(error.object)[max(error.start - 20, 0) : error.end]
        raise UserError(f"{near!r} is not UTF-8 text: leave out what cannot be read as text") from error
    except ValueError as error:
        raise UserError("a number of the request is infinite or not a number: give finite ones") from error


def _decode(kind: type[_T], document: Any) -> _T:
    """Read a document; keys that this version does not know are left out."""
    decoded: _T = _value(kind, document)
    return decoded


def _value(kind: Any, document: Any) -> Any:
    if document is None:
        return None
    if isinstance(kind, type) and is_dataclass(kind):
        hints = _hints(kind)
        return kind(**{name: _value(hints[name], value) for name, value in document.items() if name in hints})
    if get_origin(kind) is tuple:
        return tuple(_value(get_args(kind)[0], item) for item in document)
    if get_origin(kind) in (Union, types.UnionType):
        candidates = [each for each in get_args(kind) if is_dataclass(each) or get_origin(each) is tuple]
        return _value(candidates[0], document) if candidates else document
    return document


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)
