"""Where people and programs come in: the server of API and pages as the configuration has it."""

from __future__ import annotations

import socket
from functools import partial
from typing import TYPE_CHECKING

from cosched.access.access import Access
from cosched.access.private_file import read_secret
from cosched.access.proxies import parse_proxies
from cosched.access.settings import AccessSettings
from cosched.errors import UserError
from cosched.portal.api import build
from cosched.service.web import Tls, WebServer, host_names, open_sockets
from cosched.store.credentials import Credentials

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.portal.insight import Insight
    from cosched.portal.interface import Service
    from cosched.service.clock import Clock
    from cosched.service.configuration import Configuration
    from cosched.store.store import Store

__all__ = ["web_server"]


def web_server(
    configuration: Configuration, service: Service, insight: Insight, store: Store, clock: Clock
) -> WebServer:
    """Open the sockets and return the server, not yet started.

    Raises:
        UserError: certificate or key will not do.
        SystemFault: an address cannot be had.
    """
    server = configuration.server
    access = Access(Credentials(store), _settings(configuration), clock.now)
    tls = None if server.certificate is None or server.key is None else Tls(server.certificate, server.key)
    sockets = open_sockets(server.addresses, int(server.socket_mode, 8))
    names = host_names(server.addresses, server.names)
    try:
        app = build(service, access, names, partial(_portal, configuration, sockets), insight)
        return WebServer(app, sockets, tls)
    except BaseException:
        for each in sockets:
            each.close()
        raise


def _settings(configuration: Configuration) -> AccessSettings:
    access = configuration.access
    file = access.proxy_secret_file
    secret = "" if file is None else read_secret(file, "the file with the proxy's secret")
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


def _portal(configuration: Configuration, sockets: Sequence[socket.socket]) -> str:
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
