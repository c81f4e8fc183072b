from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.agents.agent_settings import PeerRole
from cosched.agents.transport import tls
from cosched.agents.transport.allow_list import PeerAllowList, PeerEntry, read_peer_entry
from cosched.errors import UserError

if TYPE_CHECKING:
    from pathlib import Path


def an_entry(name: str = "b", **changes: object) -> PeerEntry:
    values = {
        "name": name,
        "address": "b.example:8642",
        "certificate": tls.make_certificate(name)[1].decode(),
        **changes,
    }
    return PeerEntry.model_validate(values)


def test_what_is_written_is_what_is_read(tmp_path: Path) -> None:
    book = PeerAllowList(tmp_path / "peers.d")
    entry = an_entry(role=PeerRole.UPPER, paused=True)
    before = book.fingerprint()
    book.put(entry)
    assert book.entries() == [entry]
    assert book.fingerprint() != before
    book.remove("b")
    assert book.entries() == []


def test_one_certificate_is_one_neighbour(tmp_path: Path) -> None:
    book = PeerAllowList(tmp_path)
    entry = an_entry()
    book.put(entry)
    book.put(entry.model_copy(update={"name": "c"}))
    with pytest.raises(UserError, match="same certificate"):
        book.entries()


def test_an_unknown_name_says_which_are_known(tmp_path: Path) -> None:
    book = PeerAllowList(tmp_path)
    book.put(an_entry())
    with pytest.raises(UserError, match="known are b"):
        book.get("x")


@pytest.mark.parametrize(
    ("text", "words"),
    [("name = ", "is not TOML"), ('name = "../x"', "name"), ('name = "b"', "address"), ("\xff", "certificate")],
)
def test_a_wrong_file_is_named_with_what_is_wrong(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "b.toml"
    if text == "\xff":
        text = an_entry().text.replace("BEGIN", "BEGUN")
    path.write_text(text)
    with pytest.raises(UserError, match=words) as caught:
        read_peer_entry(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "address", ["b", "b:99999", "b:0", "http://b:1", "b:1/x", "b..example:1", f"{64 * 'b'}.example:1"]
)
def test_an_address_is_host_and_port(tmp_path: Path, address: str) -> None:
    path = tmp_path / "b.toml"
    path.write_text(an_entry(address=address).text)
    with pytest.raises(UserError, match="host:port"):
        read_peer_entry(path)


def test_an_address_may_be_ipv6() -> None:
    assert an_entry(address="[::1]:8642").host_and_port == ("::1", 8642)
