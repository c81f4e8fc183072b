"""Listening sockets: ports, and unix sockets with the modes that they are to have."""

from __future__ import annotations

import errno
import os
import socket
import stat
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from cosched.errors import SystemFault

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cosched.addresses import ListenAddress

__all__ = ["host_names", "open_socket", "open_sockets"]

_BACKLOG = 1024  # connections that the system keeps until they are accepted; a burst at a unix socket fails beyond


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
