"""Call the API over a unix socket or port and decode its documents."""

from __future__ import annotations

import json
import math
import os
import socket
import ssl
import types
from contextlib import contextmanager
from dataclasses import is_dataclass
from datetime import date
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar, Union, cast, get_args, get_origin, get_type_hints
from urllib.parse import quote, urlsplit

import httpx2

from cosched.addresses import is_loopback_host
from cosched.client.configured_address import configured_address
from cosched.errors import CoschedError, SystemFault, UserError
from cosched.secret_files import read_secret
from cosched.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

__all__ = [
    "RESTART_PATIENCE",
    "ApiCaller",
    "LostAnswerError",
    "NotRunningError",
    "decode_document",
    "foreign_answer",
    "segment",
]

RESTART_PATIENCE = 60.0
"""Seconds that the daemon may be away, as while it is started again, for those that wait for what it tells."""


_T = TypeVar("_T")


def decode_document(kind: type[_T], document: Any) -> _T:
    """Read a document; keys that this version does not know are left out."""
    decode = _decoder(cast("Any", kind))
    decoded: _T = document if decode is None else decode(document)
    return decoded


@cache
def _decoder(kind: Any) -> Callable[[Any], Any] | None:
    """Return what makes a value of a document; None where the document is the value.

    Made once for each kind: of a plan with a thousand places each field is read.
    """
    arguments = get_args(kind)
    if isinstance(kind, type) and is_dataclass(kind):
        return _record_decoder(kind)
    if get_origin(kind) is tuple:
        item = _decoder(arguments[0])
        return lambda document: None if document is None else tuple(map(item, document) if item else document)
    if get_origin(kind) is dict and (value := _decoder(arguments[1])):
        return lambda document: None if document is None else {name: value(each) for name, each in document.items()}
    if get_origin(kind) in (Union, types.UnionType):
        candidates = [each for each in arguments if is_dataclass(each) or get_origin(each) is tuple]
        return _decoder(candidates[0]) if candidates else None
    return None


def _record_decoder(kind: type) -> Callable[[Any], Any]:
    def decode(document: Any) -> Any:
        if document is None:
            return None
        decoders = _field_decoders(kind)
        known = ((name, decoders[name], value) for name, value in document.items() if name in decoders)
        return kind(**{name: read(value) if read else value for name, read, value in known})

    return decode


@cache
def _field_decoders(kind: type) -> dict[str, Callable[[Any], Any] | None]:
    """Return the decoder of each field; asked for when a record is read, for it may have others of its own kind."""
    return {name: _decoder(hint) for name, hint in get_type_hints(kind).items()}


_TIMEOUT = 30.0


class NotRunningError(SystemFault):
    """No daemon answers at the address."""


class LostAnswerError(SystemFault):
    """The request may or may not have arrived."""


class ApiCaller:
    """Talks to one daemon."""

    def __init__(self, server: str = "", timeout: float = _TIMEOUT, token: str = "") -> None:
        """Prepare; the connection is made when it is needed.

        Args:
            server: `unix:/path` or `http://host:port`; empty: as for the commands, $COSCHED_SERVER or where the
                configuration says.
            timeout: seconds for one answer.
            token: says who you are where the socket does not; empty: $COSCHED_TOKEN, else the first line of
                $COSCHED_TOKEN_FILE, else none.

        Raises:
            UserError: the address is neither, the configuration is wrong, the token's file can be read by everybody, or
                the token would be on its way.
        """
        self.server = server or os.environ.get("COSCHED_SERVER", "") or configured_address(os.environ)
        transport, base = _transport(self.server)
        headers = {"User-Agent": f"cosched/{__version__}"} | _authorization(token)
        if "Authorization" in headers:
            _check_secrecy(self.server)
        self._socket = Path(self.server.removeprefix("unix:")) if self.server.startswith("unix:") else None
        self._answered = False
        with _transport_errors(self.server):
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
        response = self._response(method, path, body, params=params, headers=headers)
        if "json" not in response.headers.get("Content-Type", ""):
            raise foreign_answer(response)
        return response.json()

    def _response(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        params: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
    ) -> httpx2.Response:
        if self._socket is not None:
            # Asked first because the HTTP library leaves a socket that cannot connect to the garbage collector.
            _check_listening(self.server, self._socket, answered=self._answered)
        content = None if body is None else _encoded(body)
        headers = {**(headers or {}), "Content-Type": "application/json"} if content is not None else headers
        with _transport_errors(self.server):
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


def _check_listening(server: str, path: Path, *, answered: bool) -> None:
    """Find out whether somebody listens; where somebody has answered before, whether the socket is still there.

    Raises:
        CoschedError: nobody does, or this user may not open the socket.
    """
    if answered and path.exists():
        return
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(_TIMEOUT)
        try:
            probe.connect(str(path))
        except TimeoutError:
            return  # it is busy
        except OSError as error:
            raise _unreachable(server, error) from error


def _transport(server: str) -> tuple[httpx2.HTTPTransport, str]:
    if server.startswith("unix:/"):
        return httpx2.HTTPTransport(uds=server.removeprefix("unix:"), verify=False), "http://cosched"
    if server.startswith(("http://", "https://")):
        # The authorities of this machine are read where there is something to verify only: it takes 40 ms.
        return httpx2.HTTPTransport(verify=server.startswith("https://")), server
    raise UserError(f"{server!r} is not the address of a server: write unix:/path or http://host:port")


def _check_secrecy(server: str) -> None:
    """Refuse to send a token where others can read it.

    Raises:
        UserError: the address is another machine's, without TLS.
    """
    parts = urlsplit(server)
    if parts.scheme == "http" and not is_loopback_host(parts.hostname or ""):
        raise UserError(
            f"everybody on the way to {server} could read the token: write https://, or reach the daemon by its socket"
        )


@contextmanager
def _transport_errors(server: str) -> Iterator[None]:
    try:
        yield
    except httpx2.ConnectError as error:
        raise _unreachable(server, error) from error
    except UnicodeEncodeError as error:
        raise _no_text(error) from error
    except (httpx2.InvalidURL, httpx2.UnsupportedProtocol) as error:
        raise UserError(
            f"{server!r} is not the address of a server ({error}): write unix:/path or http://host:port"
        ) from error
    except httpx2.TransportError as error:
        what = str(error) or type(error).__name__
        raise LostAnswerError(f"cosched at {server} did not answer ({what}): try again, or look at its log") from error


def _unreachable(server: str, error: BaseException) -> CoschedError:
    """Return why nobody answered, as the innermost cause has it."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, PermissionError):
            return UserError(
                f"you may not open {server}: ask cosched's administrator for a socket that users may open "
                "([server] listen, socket_mode), or for a token, and name that address with COSCHED_SERVER"
            )
        if isinstance(cause, ssl.SSLCertVerificationError):
            return UserError(
                f"the certificate of {server} is not trusted ({cause.verify_message}): "
                "name the file of its authority with SSL_CERT_FILE"
            )
        cause = cause.__cause__ or cause.__context__
    return NotRunningError(f"cosched is not running at {server}: start it with `cosched serve`")


def _error(response: httpx2.Response) -> UserError | SystemFault:
    try:
        detail = str(response.json()["detail"])
    except (ValueError, KeyError, TypeError):
        detail = str(foreign_answer(response))
    if response.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return SystemFault(detail)
    return UserError(detail)


def foreign_answer(response: httpx2.Response) -> SystemFault:
    """Return what is said of an answer that is none of cosched's, as a proxy or another program gives it."""
    return SystemFault(f"the server answered {response.status_code} {response.reason_phrase}: is that cosched?")


def segment(identifier: str) -> str:
    """Return an identifier as one segment of a path; a number is taken for its text.

    Raises:
        UserError: it is not text.
    """
    text = str(identifier)
    try:
        return quote(text, safe="") if text not in ("", ".", "..") else quote(f" {text}")
    except UnicodeEncodeError as error:
        raise _no_text(error) from error


def _no_text(error: UnicodeEncodeError) -> UserError:
    near = str(error.object)[max(error.start - 20, 0) : error.end]
    return UserError(f"{near!r} is not UTF-8 text: leave out what cannot be read as text")


def _refused(value: object) -> Any:
    """Refuse a value that JSON has not; called in place of the encoder's own error, which names the type alone."""
    kind = type(value).__name__
    instead = "its .timestamp() or .isoformat()" if isinstance(value, date) else f"str({kind}) or a number"
    raise UserError(f"{str(value)[:80]!r} is a {kind}, which a request cannot carry: give {instead}")


def _encoded(body: Any) -> bytes:
    try:
        return json.dumps(body, allow_nan=False, ensure_ascii=False, default=_refused).encode()
    except UnicodeEncodeError as error:
        raise _no_text(error) from error
    except ValueError as error:
        parts = [each for each in (body if isinstance(body, list) else [body]) if isinstance(each, dict)]
        numbers = [(key, value) for each in parts for key, value in each.items() if isinstance(value, float)]
        wrong = dict.fromkeys(key for key, value in numbers if not math.isfinite(value))
        which = ", ".join(wrong) or "a number of the request"
        raise UserError(f"{which} is infinite or not a number: give a finite one") from error
