from __future__ import annotations

import socket

from demo.ports import free_ports, handed_out_from


def test_ports_are_free_and_each_is_another() -> None:
    assert len(set(free_ports(20))) == 20


def test_no_port_is_one_that_the_system_gives_to_whoever_asks_for_any() -> None:
    """A daemon that is killed and started again found its port taken by a connection of somebody else's."""
    with socket.create_server(("127.0.0.1", 0)) as any_port:
        assert any_port.getsockname()[1] >= handed_out_from()
    assert max(free_ports(200)) < handed_out_from()
