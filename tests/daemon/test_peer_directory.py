from __future__ import annotations

import socket
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from cosched.agents.transport import tls
from cosched.agents.transport.allow_list import PeerAllowList
from cosched.agents.transport.peer_server import PeerServer
from cosched.agents.transport.remote_output import OutputQuery
from cosched.daemon.peer_directory import PeerDirectory
from cosched.errors import SystemFault
from tests.agents.identities import UUID, Box, Identity, an_identity
from tests.waiting import until

if TYPE_CHECKING:
    from pathlib import Path

OUTPUT = OutputQuery(UUID, "out")


@pytest.fixture
def us(tmp_path: Path) -> Identity:
    return an_identity(tmp_path, "a")


@pytest.fixture
def files(tmp_path: Path, us: Identity) -> PeerAllowList:
    """The peers' files: ours, which the directory passes over, and a neighbour's."""
    found = PeerAllowList(tmp_path / "peers.d")
    found.put(us.entry(1))
    found.put(an_identity(tmp_path, "b").entry(1))
    return found


@pytest.fixture
def directory(files: PeerAllowList, us: Identity) -> PeerDirectory:
    return PeerDirectory(files.folder, "a", us.files)


def test_a_directory_has_all_entries_but_its_own_and_tells_listeners(directory: PeerDirectory) -> None:
    told: list[list[str]] = []
    directory.subscribe(lambda entries: told.append([entry.name for entry in entries]))
    directory.read()
    assert list(directory.entries) == ["b"]
    assert told == [["b"]]


def test_while_a_file_is_wrong_the_former_entries_stay(directory: PeerDirectory, files: PeerAllowList) -> None:
    directory.read()
    wrong = files.folder / "c.toml"
    wrong.write_text("name = ")
    directory.read()
    assert "c.toml is not TOML" in directory.fault
    assert list(directory.entries) == ["b"]
    wrong.unlink()
    directory.read()
    assert directory.fault == ""


def test_a_changed_file_is_read_again_until_the_directory_stops(
    directory: PeerDirectory, files: PeerAllowList, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cosched.daemon.peer_directory._WATCH", 0.01)
    directory.start()
    files.remove("b")
    until(lambda: not directory.entries)
    directory.stop()


def test_neighbours_are_taken_up_again_once_our_own_key_can_be_used(
    directory: PeerDirectory, files: PeerAllowList, us: Identity, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a new key, whose certificate was not there yet, the watch ended: changes were taken up no more."""
    monkeypatch.setattr("cosched.daemon.peer_directory._WATCH", 0.01)
    server = PeerServer(("127.0.0.1", 0), us.files, "a", Box().put, Box().output)
    told: list[list[str]] = []
    directory.subscribe(server.set_peers)
    directory.subscribe(lambda entries: told.append([entry.name for entry in entries]))
    directory.start()
    try:
        key, certificate = tls.make_certificate("a")
        us.key.write_bytes(key)
        files.remove("b")
        until(lambda: "cannot be used" in directory.fault)
        us.certificate.write_bytes(certificate)
        until(lambda: directory.fault == "")
        assert told == [["b"], []]
    finally:
        directory.stop()
        server.stop()


def test_output_of_a_former_neighbour_is_refused_with_what_to_do(directory: PeerDirectory) -> None:
    with pytest.raises(SystemFault, match="c, where that output is, is no neighbour any more: `cosched peer add` it"):
        directory.output("c", OUTPUT)


def test_output_of_a_neighbour_that_does_not_answer_is_a_fault(
    directory: PeerDirectory, files: PeerAllowList, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    files.put(an_identity(tmp_path, "d").entry(port))
    directory.read()
    with pytest.raises(SystemFault, match=r"d, where that output is, does not give it .*: try again later"):
        directory.output("d", OUTPUT)


def test_a_neighbour_that_is_silent_holds_few_of_those_who_ask_for_output(
    directory: PeerDirectory, files: PeerAllowList, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forty questions for it held all threads that answer people, for whom no page came meanwhile."""
    monkeypatch.setattr("cosched.daemon.peer_directory._OUTPUT", 2.0)
    with socket.create_server(("127.0.0.1", 0), backlog=64) as silent, ThreadPoolExecutor(40) as pool:
        files.put(an_identity(tmp_path, "d").entry(silent.getsockname()[1]))
        directory.read()
        asked = [pool.submit(directory.output, "d", OUTPUT) for _ in range(40)]
        said = Counter("not answered yet" in str(each.exception(60)) for each in asked)
    assert said == {True: 32, False: 8}
