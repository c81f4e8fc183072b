"""What every call to the daemon shares: its address, who asks, and errors as exceptions."""

from __future__ import annotations

import json
import os
import socket
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

import httpx2

from cosched import __version__
from cosched.access.private_file import read_secret
from cosched.errors import SystemFault, UserError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

__all__ = ["AbsentError", "Caller", "LostAnswerError", "segment"]

_TIMEOUT = 30.0


class AbsentError(SystemFault):
    """No daemon answers at the address."""


class LostAnswerError(SystemFault):
    """The request may or may not have arrived."""


class Caller:
    """Talks to one daemon."""

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
        self._socket = Path(self.server.removeprefix("unix:")) if self.server.startswith("unix:") else None
        self._answered = False
        self._http = httpx2.Client(
            transport=transport, base_url=base, timeout=timeout, trust_env=False, headers=headers
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def _call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        params: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
    ) -> Any:
        return self._response(method, path, body, params=params, headers=headers).json()

    def _response(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        params: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
    ) -> httpx2.Response:
        if self._socket is not None and not (self._socket.exists() if self._answered else _is_listening(self._socket)):
            # Asked first because the HTTP library leaves a socket that cannot connect to the garbage collector.
            raise _absent(self.server)
        content = None if body is None else _encoded(body)
        headers = {**(headers or {}), "Content-Type": "application/json"} if content is not None else headers
        with _explained(self.server):
            response = self._http.request(method, f"/api/v1{path}", content=content, params=params, headers=headers)
        self._answered = True
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


def _is_listening(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(_TIMEOUT)
        try:
            probe.connect(str(path))
        except TimeoutError:
            return True
        except OSError:
            return False
    return True


def _own_socket() -> str:
    from cosched.service.places import default_socket

    return default_socket(os.environ)


def _transport(server: str) -> tuple[httpx2.HTTPTransport, str]:
    if server.startswith("unix:/"):
        return httpx2.HTTPTransport(uds=server.removeprefix("unix:"), verify=False), "http://cosched"
    if server.startswith(("http://", "https://")):
        # The authorities of this machine are read where there is something to verify only: it takes 40 ms.
        return httpx2.HTTPTransport(verify=server.startswith("https://")), server
    raise UserError(f"{server!r} is not the address of a server: write unix:/path or http://host:port")


@contextmanager
def _explained(server: str) -> Iterator[None]:
    try:
        yield
    except httpx2.ConnectError as error:
        raise _absent(server) from error
    except (httpx2.InvalidURL, httpx2.UnsupportedProtocol) as error:
        raise UserError(
            f"{server!r} is not the address of a server ({error}): write unix:/path or http://host:port"
        ) from error
    except httpx2.TransportError as error:
        what = str(error) or type(error).__name__
        raise LostAnswerError(f"cosched at {server} did not answer ({what}): try again, or look at its log") from error


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


def segment(text: str) -> str:
    """Return an identifier as one segment of a path."""
    return quote(text, safe="") if text not in ("", ".", "..") else quote(f" {text}")


def _encoded(body: Any) -> bytes:
    try:
        return json.dumps(body, allow_nan=False, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        near = str(error.object)[max(error.start - 20, 0) : error.end]
        raise UserError(f"{near!r} is not UTF-8 text: leave out what cannot be read as text") from error
    except ValueError as error:
        raise UserError("a number of the request is infinite or not a number: give finite ones") from error
