"""The API's server: a socket that is ours alone, and uvicorn on a thread of its own."""

from __future__ import annotations

import errno
import os
import socket
import stat
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from cosched.access.peers import peer_uid
from cosched.errors import SystemFault

if TYPE_CHECKING:
    import asyncio

    from fastapi import FastAPI

    from cosched.service.listen import Listen

__all__ = ["WebServer", "host_names", "open_socket"]

_BACKLOG = 128


def open_socket(listen: Listen) -> socket.socket:
    """Return a listening socket. A unix socket gets mode 0600; one left over by a daemon that died is replaced.

    Raises:
        SystemFault: another daemon listens there, or the address cannot be had.
    """
    if listen.path:
        return _unix_socket(Path(listen.path))
    try:
        family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
        return socket.create_server((listen.host, listen.port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise SystemFault(f"cannot listen on {listen.host}:{listen.port} ({error.strerror}): end what uses the port, "
                          "or choose another in [server] listen") from error  # fmt: skip


def host_names(listen: Listen) -> frozenset[str] | None:
    """Return the names by which clients may call the server; None for a unix socket, where the name means nothing."""
    if listen.path:
        return None
    return frozenset({"localhost", "127.0.0.1", "[::1]", f"[{listen.host}]" if ":" in listen.host else listen.host})


class _KnowsPeer(H11Protocol):
    """Puts the user id at the other end of a unix socket into the state of each request: `request.state.peer`."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn's own is so
        super().connection_made(transport)
        self.app_state = {**self.app_state, "peer": peer_uid(transport.get_extra_info("socket"))}


class WebServer:
    """Serves an application on a thread until `stop`."""

    def __init__(self, app: FastAPI, listening: socket.socket) -> None:
        self._name = listening.getsockname() if listening.family == socket.AF_UNIX else ""
        config = uvicorn.Config(app, http=_KnowsPeer, lifespan="off", log_config=None, access_log=False,
                                server_header=False, timeout_graceful_shutdown=5, ws="none")  # fmt: skip
        self._server = uvicorn.Server(config)
        self._socket = listening
        self._thread = threading.Thread(target=self._server.run, args=([listening],), name="web", daemon=True)

    def start(self) -> None:
        """Begin to serve; requests that come before are answered then."""
        self._thread.start()

    def stop(self) -> None:
        """Answer the requests under way, then close the socket and take its name away."""
        self._server.should_exit = True
        if self._thread.ident is not None:
            self._thread.join()
        self._socket.close()
        if self._name:
            Path(self._name).unlink(missing_ok=True)


def _unix_socket(path: Path) -> socket.socket:
    listening = socket.socket(socket.AF_UNIX)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _clear(path)
        _bind_private(listening, path)
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        raise SystemFault(f"cannot listen on unix:{path} ({error.strerror}): correct its folder, "
                          "or choose another in [server] listen") from error  # fmt: skip
    except BaseException:
        listening.close()
        raise
    return listening


def _bind_private(listening: socket.socket, path: Path) -> None:
    # The mode of the socket's own inode is what bind() gives the file: no moment with another, and no umask touched.
    os.fchmod(listening.fileno(), stat.S_IRUSR | stat.S_IWUSR)
    listening.bind(str(path))
    path.chmod(stat.S_IRUSR | stat.S_IWUSR)


def _clear(path: Path) -> None:
    """Take away a socket at which nobody listens any more."""
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
