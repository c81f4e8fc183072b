from __future__ import annotations

import os
import pwd
import socket

from cosched.access.principals import Role, peer_uid, user_name, user_role

NOBODY = 4_000_000_000  # no user has it


def test_the_kernel_says_who_is_at_the_other_end() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert peer_uid(ours) == os.getuid()


def test_a_port_does_not_say_it() -> None:
    with socket.socket() as port:
        assert peer_uid(port) is None


def test_names_and_roles() -> None:
    assert user_name(0) == pwd.getpwuid(0).pw_name
    assert user_name(NOBODY) == "uid4000000000"
    assert user_role(0) is user_role(os.geteuid()) is Role.ADMINISTRATOR
    assert user_role(NOBODY) is None
