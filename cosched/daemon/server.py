"""The server of API and pages: our sockets, and uvicorn on a supervised thread.

Start at `web_server`, which follows the configuration.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import ssl
import stat
import threading
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import structlog
import uvicorn
import uvloop
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from cosched.access.authentication import AccessSettings, Authenticator
from cosched.access.principals import peer_uid
from cosched.access.proxies import parse_proxies
from cosched.errors import SystemFault, UserError
from cosched.portal.application import build_application
from cosched.secret_files import read_secret
from cosched.store.credentials import Credentials

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fastapi import FastAPI

    from cosched.addresses import ListenAddress
    from cosched.app.services import DomainServices
    from cosched.daemon.clock import Clock
    from cosched.daemon.config.sections import Configuration
    from cosched.store.store import Store

__all__ = ["TlsFiles", "WebServer", "host_names", "open_socket", "open_sockets", "web_server"]

_log = structlog.get_logger("cosched.web")

_BACKLOG = 128
_LARGEST_HEAD = 64 << 10  # bytes
_START_AGAIN = 1.0  # seconds before a server that ended by itself is started again


def open_sockets(listen: Iterable[ListenAddress], mode: int = stat.S_IRUSR | stat.S_IWUSR) -> list[socket.socket]:
    """Return listening sockets, all or none; see `open_socket`."""
    with ExitStack() as stack:
        opened = [stack.enter_context(open_socket(each, mode)) for each in listen]
        stack.pop_all()
    return opened


def open_socket(listen: ListenAddress, mode: int = stat.S_IRUSR | stat.S_IWUSR) -> socket.socket:
    """Return a listening socket; a unix socket gets this mode.

    A unix socket that a dead daemon left over is replaced.

    Raises:
        SystemFault: another daemon listens there, or the address cannot be had.
    """
    if listen.path:
        return _unix_socket(Path(listen.path), mode)
    try:
        family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
        return socket.create_server((listen.host, listen.port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise SystemFault(
            f"cannot listen on {listen.host}:{listen.port} ({error.strerror}): end what uses the port, "
            "or choose another in [server] listen"
        ) from error


def host_names(listen: Iterable[ListenAddress], names: Iterable[str] = ()) -> frozenset[str]:
    """Return the names by which clients may call the server on its ports.

    Args:
        listen: the addresses that the server listens at.
        names: more of them, by which users know it.
    """
    hosts = {f"[{each.host}]" if ":" in each.host else each.host for each in listen if each.host}
    return frozenset({"localhost", "127.0.0.1", "[::1]", *hosts, *(name.lower() for name in names)})


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Files in PEM format: the certificate with its chain, and its key."""

    certificate: Path
    key: Path


class _Connection(HttpToolsProtocol):
    """Find the user at a unix socket's other end (`request.state.peer`), and bound uvicorn's own protocol.

    The parser would take a head without end into memory, and of requests sent before the last was answered only the
    newest would learn that the client has gone: an event stream among them would never end.
    """

    _unread = 0  # bytes since the last head, or part of a body, was whole
    _earlier: tuple[RequestResponseCycle, ...] = ()  # requests before the newest whose answers are under way

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn's own is so
        super().connection_made(transport)
        self.app_state = {**self.app_state, "peer": peer_uid(transport.get_extra_info("socket"))}

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        for cycle in self._earlier:
            cycle.disconnected = True
            cycle.message_event.set()

    def data_received(self, data: bytes) -> None:
        self._unread += len(data)
        super().data_received(data)
        if self._unread > _LARGEST_HEAD and not self.transport.is_closing():
            self.send_400_response("The head of the request is too large.")

    def on_headers_complete(self) -> None:
        self._unread = 0
        if self.cycle is not None:
            self._earlier = tuple(each for each in (*self._earlier, self.cycle) if not each.response_complete)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._unread = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._unread = 0
        super().on_message_complete()


class WebServer:
    """Serves an application on a thread; a server that ends by itself is started again.

    Attributes:
        fault: why it was started again, until it is stopped; empty while all is well.
    """

    def __init__(self, app: FastAPI, listening: Sequence[socket.socket], tls: TlsFiles | None = None) -> None:
        """Set up.

        Args:
            app: the application to serve.
            listening: sockets, ours from now on.
            tls: for the ports among them.

        Raises:
            UserError: certificate or key will not do.
        """
        self.fault = ""
        self._app = app
        self._sockets = tuple(listening)
        self._tls = tls
        self._names = [each.getsockname() for each in listening if each.family == socket.AF_UNIX]
        self._servers: tuple[uvicorn.Server, ...] = ()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="web", daemon=True)
        if tls is not None:
            _check(tls)

    @property
    def addresses(self) -> list[str]:
        """Return the addresses, with the numbers of ports that the system has chosen."""
        names = [each.getsockname() for each in self._sockets]
        return [f"unix:{name}" if isinstance(name, str) else f"{name[0]}:{name[1]}" for name in names]

    def start(self) -> None:
        """Begin to serve; requests that come before are answered then."""
        self._thread.start()

    def stop(self) -> None:
        """Answer the requests under way, then close the sockets and take their names away."""
        self._stopping.set()
        for server in self._servers:
            server.should_exit = True
        if self._thread.ident is not None:
            self._thread.join()
        for listening in self._sockets:
            listening.close()
        for name in self._names:
            Path(name).unlink(missing_ok=True)

    def _run(self) -> None:
        while not self._stopping.is_set():
            why = "it ended by itself"
            try:
                uvloop.run(self._serve())
            except BaseException as error:  # uvicorn ends threads with SystemExit, which nobody else would notice
                why = repr(error)
                _log.exception("the server failed")
            if not self._stopping.is_set():
                self.fault = f"the server of API and pages failed ({why}): it is started again"
                _log.error("starting the server again", why=why)
                self._stopping.wait(_START_AGAIN)

    async def _serve(self) -> None:
        unix = [each for each in self._sockets if each.family == socket.AF_UNIX]
        ports = [each for each in self._sockets if each.family != socket.AF_UNIX]
        both = [(_server(self._app, None), unix), (_server(self._app, self._tls), ports)]
        self._servers = tuple(server for server, sockets in both if sockets)
        if self._stopping.is_set():
            return
        # Duplicates, which uvicorn closes: ours stay open for a server that is started again.
        await asyncio.gather(*(server.serve([each.dup() for each in sockets]) for server, sockets in both if sockets))


def _server(app: FastAPI, tls: TlsFiles | None) -> uvicorn.Server:
    return uvicorn.Server(
        uvicorn.Config(
            app,
            http=_Connection,
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=5,
            ws="none",
            ssl_certfile=None if tls is None else tls.certificate,
            ssl_keyfile=None if tls is None else tls.key,
        )
    )


def _check(tls: TlsFiles) -> None:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(tls.certificate, tls.key)
    except (OSError, ssl.SSLError) as error:
        raise UserError(
            f"the certificate {tls.certificate} with the key {tls.key} cannot be used "
            f"({error.strerror or error}): correct [server] certificate and key"
        ) from error


def _unix_socket(path: Path, mode: int) -> socket.socket:
    listening = socket.socket(socket.AF_UNIX)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _remove_stale_socket(path)
        _bind(listening, path, mode)
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        raise SystemFault(
            f"cannot listen on unix:{path} ({error.strerror}): correct its folder, or choose another in [server] listen"
        ) from error
    except BaseException:
        listening.close()
        raise
    return listening


def _bind(listening: socket.socket, path: Path, mode: int) -> None:
    # The mode of the socket's own inode is what bind() gives the file: no moment with another, and no umask touched.
    os.fchmod(listening.fileno(), mode)
    listening.bind(str(path))
    path.chmod(mode)


def _remove_stale_socket(path: Path) -> None:
    """Remove a socket that no process listens at."""
    try:
        if not stat.S_ISSOCK(path.stat().st_mode):
            raise SystemFault(f"{path} exists and is no socket: move it away, or choose another in [server] listen")
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except OSError as error:
            if error.errno != errno.ECONNREFUSED:
                raise
            path.unlink()
        else:
            raise SystemFault(f"another cosched listens on unix:{path}: stop it, or choose another in [server] listen")


def web_server(configuration: Configuration, services: DomainServices, store: Store, clock: Clock) -> WebServer:
    """Open the sockets and return the server, not yet started.

    Raises:
        UserError: certificate or key will not do.
        SystemFault: an address cannot be had.
    """
    server = configuration.server
    access = Authenticator(Credentials(store), _access_settings(configuration), clock.now)
    tls = None if server.certificate is None or server.key is None else TlsFiles(server.certificate, server.key)
    sockets = open_sockets(server.addresses, int(server.socket_mode, 8))
    names = host_names(server.addresses, server.names)
    try:
        app = build_application(services, access, names, partial(_portal_address, configuration, sockets))
        return WebServer(app, sockets, tls)
    except BaseException:
        for each in sockets:
            each.close()
        raise


def _access_settings(configuration: Configuration) -> AccessSettings:
    access = configuration.access
    secret = read_secret(access.proxy_secret_file, "the file with the proxy's secret")
    return AccessSettings(
        administrators=frozenset(access.administrators),
        operators=frozenset(access.operators),
        proxies=parse_proxies(access.proxy, secret),
        proxy_header=access.proxy_header.lower(),
        session=access.session,
        longest_token=access.longest_token,
        requests=access.requests,
        waiting=access.waiting,
    )


def _portal_address(configuration: Configuration, sockets: Sequence[socket.socket]) -> str:
    """Return the address of the pages: that of the first port.

    Raises:
        UserError: the daemon listens on no port.
    """
    port = next((each for each in sockets if each.family != socket.AF_UNIX), None)
    if port is None:
        raise UserError("cosched listens on no port that a browser could open: add 127.0.0.1:8080 to [server] listen")
    scheme = "http" if configuration.server.certificate is None else "https"
    name, number = port.getsockname()[:2]
    if configuration.server.names:
        name = configuration.server.names[0]
    return f"{scheme}://[{name}]:{number}" if ":" in name else f"{scheme}://{name}:{number}"
