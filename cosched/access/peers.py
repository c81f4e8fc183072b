"""The user at the other end of a unix socket, as the kernel knows it."""

from __future__ import annotations

import os
import pwd
import socket
import struct

from cosched.access.principal import Role

__all__ = ["peer_uid", "user_name", "user_role"]

_CREDENTIALS = struct.Struct("3i")  # struct ucred of unix(7): process, user, group


def peer_uid(connection: socket.socket) -> int | None:
    """Return the user id of the process that opened this connection; None unless it is a unix socket."""
    if connection.family != socket.AF_UNIX:
        return None
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    uid: int = _CREDENTIALS.unpack(raw)[1]
    return uid


def user_name(uid: int) -> str:
    """Return the login name of a user id, "uid1234" where the system knows none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid{uid}"


def user_role(uid: int) -> Role | None:
    """Return the role that a user id has by itself: root and the daemon's own user can do everything anyway."""
    return Role.ADMINISTRATOR if uid in (0, os.geteuid()) else None
