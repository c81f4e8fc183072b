"""The server of API and pages: our sockets, and uvicorn on a supervised thread.

Start at `web_server`, which follows the configuration.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import structlog
import uvicorn
import uvloop

from cosched.access.authentication import AccessSettings, Authenticator
from cosched.access.proxies import parse_proxies
from cosched.daemon.web.connections import ConnectionPlaces, ServerLimits
from cosched.daemon.web.listener import BoundedServer
from cosched.daemon.web.sockets import host_names, open_sockets
from cosched.errors import UserError
from cosched.portal.application import build_application
from cosched.secret_files import read_secret
from cosched.store.credentials import Credentials

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fastapi import FastAPI

    from cosched.app.services import DomainServices
    from cosched.daemon.clock import Clock
    from cosched.daemon.config.sections import Configuration
    from cosched.store.store import Store

__all__ = ["TlsFiles", "WebServer", "web_server"]

_log = structlog.get_logger("cosched.web")

_START_AGAIN = 1.0  # seconds before a server that ended by itself is started again


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Files in PEM format: the certificate with its chain, and its key."""

    certificate: Path
    key: Path


class WebServer:
    """Serves an application on a thread; a server that ends by itself is started again.

    Attributes:
        fault: why it was started again, until it is stopped; empty while all is well.
    """

    def __init__(
        self,
        app: FastAPI,
        listening: Sequence[socket.socket],
        tls: TlsFiles | None = None,
        limits: ServerLimits | None = None,
    ) -> None:
        """Set up.

        Args:
            app: the application to serve.
            listening: sockets, ours from now on.
            tls: for the ports among them.
            limits: limits of connections; None for a daemon's.

        Raises:
            UserError: certificate or key will not do.
        """
        self.fault = ""
        self._app = app
        self._sockets = tuple(listening)
        self._tls = tls
        self._limits = limits or ServerLimits()
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
            except BaseException as error:  # uvicorn ends threads with SystemExit, which nothing else would notice
                why = repr(error)
                _log.exception("the server failed")
            if not self._stopping.is_set():
                self.fault = f"the server of API and pages failed ({why}): it is started again"
                _log.error("starting the server again", why=why)
                self._stopping.wait(_START_AGAIN)

    async def _serve(self) -> None:
        unix = [each for each in self._sockets if each.family == socket.AF_UNIX]
        ports = [each for each in self._sockets if each.family != socket.AF_UNIX]
        limits = self._limits
        both = [
            (_server(self._app, None, ConnectionPlaces(limits.unix, limits.unbound)), unix),
            (_server(self._app, self._tls, ConnectionPlaces(limits.ports, limits.unbound)), ports),
        ]
        self._servers = tuple(server for server, sockets in both if sockets)
        if self._stopping.is_set():
            return
        # Duplicates, which uvicorn closes: ours stay open for a server that is started again.
        await asyncio.gather(*(server.serve([each.dup() for each in sockets]) for server, sockets in both if sockets))


def _server(app: FastAPI, tls: TlsFiles | None, places: ConnectionPlaces) -> uvicorn.Server:
    return BoundedServer(
        uvicorn.Config(
            app,
            http="httptools",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=5,
            ws="none",
            ssl_certfile=None if tls is None else tls.certificate,
            ssl_keyfile=None if tls is None else tls.key,
        ),
        places,
    )


def _check(tls: TlsFiles) -> None:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(tls.certificate, tls.key)
    except (OSError, ssl.SSLError) as error:
        raise UserError(
            f"the certificate {tls.certificate} with the key {tls.key} cannot be used "
            f"({error.strerror or error}): correct [server] certificate and key"
        ) from error


def web_server(
    configuration: Configuration, services: DomainServices, store: Store, clock: Clock, lead_key: str = ""
) -> WebServer:
    """Open the sockets and return the server, not yet started.

    Args:
        configuration: where to listen, and who may ask.
        services: what can be asked.
        store: has credentials.
        clock: the daemon's time.
        lead_key: key of the tokens of elastic tasks' leads.

    Raises:
        UserError: certificate or key will not do.
        SystemFault: an address cannot be had.
    """
    server = configuration.server
    settings = replace(_access_settings(configuration), lead_key=lead_key)
    access = Authenticator(Credentials(store), settings, clock.now)
    tls = None if server.certificate is None or server.key is None else TlsFiles(server.certificate, server.key)
    sockets = open_sockets(server.addresses, int(server.socket_mode, 8))
    names = host_names(server.addresses, server.names)
    try:
        app = build_application(services, access, names, partial(_portal_address, configuration, sockets))
        return WebServer(app, sockets, tls, ServerLimits(unbound=settings.proxies.at))
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
