from __future__ import annotations

import os
import stat
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cosched.agents.transport import peer_client
from cosched.agents.transport.remote_output import PeerReply
from cosched.api.documents import AdvertisingView, AdviceView, NetworkView, OutlookView
from cosched.cli.main import run
from cosched.cli.peer import network_lines

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def configs(tmp_path: Path) -> dict[str, str]:
    found = {}
    for name, port in (("a", 1), ("b", 2)):
        path = tmp_path / f"{name}.toml"
        path.write_text(
            f'[domain]\nname = "{name}"\nstate = "{tmp_path}/{name}"\n[agent]\nlisten = "127.0.0.1:{port}"\n'
        )
        found[name] = str(path)
    return found


def introduced(configs: dict[str, str], folder: Path) -> Path:
    made = folder / "b.peer.toml"
    assert run(["peer", "init", "--config", configs["b"], "--out", str(made)]) == 0
    assert run(["peer", "init", "--config", configs["a"], "--out", str(folder / "a.peer.toml")]) == 0
    assert run(["peer", "add", str(made), "--config", configs["a"], "--role", "upper"]) == 0
    return folder / "a" / "peers.d" / "b.toml"


def test_a_neighbour_is_let_in_paused_and_removed(configs: dict[str, str], tmp_path: Path) -> None:
    path = introduced(configs, tmp_path)
    assert 'role = "upper"' in path.read_text()
    assert run(["peer", "pause", "b", "--config", configs["a"]]) == 0
    assert "paused = true" in path.read_text()
    assert run(["peer", "resume", "b", "--config", configs["a"]]) == 0
    assert "paused = false" in path.read_text()
    assert run(["peer", "remove", "b", "--config", configs["a"]]) == 0
    assert not path.exists()


def test_the_key_is_private_and_kept(configs: dict[str, str], tmp_path: Path) -> None:
    introduced(configs, tmp_path)
    key = tmp_path / "a" / "agent.key"
    before = key.read_bytes()
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert run(["peer", "init", "--config", configs["a"], "--out", str(tmp_path / "again.toml")]) == 0
    assert key.read_bytes() == before
    assert (tmp_path / "again.toml").read_text() == (tmp_path / "a.peer.toml").read_text()


def test_a_state_folder_that_it_makes_is_its_users_alone_whatever_the_umask(
    configs: dict[str, str], tmp_path: Path
) -> None:
    """It was open to everybody to write where the mask said so, and `serve` took it."""
    before = os.umask(0)
    try:
        assert run(["peer", "init", "--config", configs["a"], "--out", str(tmp_path / "a.peer.toml")]) == 0
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "a" / "agent.key").stat().st_mode) == 0o600


@pytest.mark.parametrize("listen", ["0.0.0.0:8651", "[::]:8651"])
def test_neighbours_are_given_an_address_that_they_can_call(
    listen: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, made = tmp_path / "a.toml", tmp_path / "a.peer.toml"
    text = f'[domain]\nname = "a"\nstate = "{tmp_path}/a"\n[agent]\nlisten = "{listen}"\n'
    config.write_text(text)
    assert run(["peer", "init", "--config", str(config), "--out", str(made)]) == 1
    assert "set [agent] address" in capsys.readouterr().err
    assert not made.exists()
    config.write_text(text + 'address = "a.example.org:8651"\n')
    assert run(["peer", "init", "--config", str(config), "--out", str(made)]) == 0
    assert 'address = "a.example.org:8651"' in made.read_text()


def test_who_does_not_answer_is_the_systems_fault(
    configs: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    introduced(configs, tmp_path)
    assert run(["peer", "ping", "b", "--config", configs["a"]]) == 2
    said = capsys.readouterr().err
    assert "b at 127.0.0.1:2 does not answer" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [(200, b"<a/>", "is not the agent of b"), (403, b"you have been removed", "refuses (you have been removed)")],
)
def test_a_neighbour_is_pinged_only_where_it_says_its_name(
    configs: dict[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    status: int,
    body: bytes,
    words: str,
) -> None:
    """Whatever came was printed as the name of who answers, with exit code 0."""
    introduced(configs, tmp_path)
    replies = [PeerReply(status, body, {}), PeerReply(200, b"b", {})]
    monkeypatch.setattr(peer_client, "call_peer", lambda *_: replies.pop(0))
    assert run(["peer", "ping", "b", "--config", configs["a"]]) == 2
    assert words in capsys.readouterr().err
    assert run(["peer", "ping", "b", "--config", configs["a"]]) == 0
    assert capsys.readouterr().out == "b answers at 127.0.0.1:2\n"


@pytest.mark.parametrize("command", [["ping", "x"], ["pause", "x"], ["remove", "x"], ["add", "/none.toml"]])
def test_an_unknown_neighbour_is_the_users_fault(
    configs: dict[str, str], command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["peer", *command, "--config", configs["a"]]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_nobody_is_its_own_neighbour(configs: dict[str, str], tmp_path: Path) -> None:
    introduced(configs, tmp_path)
    assert run(["peer", "add", str(tmp_path / "a.peer.toml"), "--config", configs["a"]]) == 1


def test_without_an_agent_the_commands_say_what_to_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "c.toml"
    path.write_text(f'[domain]\nstate = "{tmp_path}/c"\n')
    assert run(["peer", "init", "--config", str(path)]) == 1
    assert "[agent] listen" in capsys.readouterr().err


WAY = AdvertisingView(period=10.0, push=True, scope=1, lifetime=60.0)
BETTER = AdvertisingView(period=5.0, push=False, scope=0, lifetime=30.0)
NETWORK = NetworkView(
    since=1e9,
    offered=3,
    in_vain=1,
    forwarded=2,
    came_back=1,
    taken=4,
    hops=1.5,
    staleness=2.0,
    misjudged=3.0,
    letters_each=7.25,
    spreading=20,
    sent={},
    received={},
    advertising=WAY,
    adviser="advise",
    advice=None,
    fault="",
)
ADVICE = AdviceView(
    time=1e9,
    present=WAY,
    present_outlook=OutlookView(late=0.5, lateness=0.1, letters=9.0),
    best=BETTER,
    best_outlook=OutlookView(late=0.25, lateness=0.1, letters=4.0),
    tried=7,
    tasks=12,
    adopted=False,
)


def test_what_was_done_is_said_in_lines() -> None:
    lines = network_lines(NETWORK)
    assert lines[1] == "offered:     tasks 3 times, 1 of them in vain"
    assert "over 1.5 hops" in lines[3]
    assert lines[4].startswith("letters:     7.2 for each task")
    assert "2.0 s old" in lines[5]
    assert lines[-1] == "adviser:     advise"


def test_what_never_happened_is_left_out() -> None:
    lines = network_lines(replace(NETWORK, hops=None, staleness=None, letters_each=None, fault="no advice yet"))
    assert not any("None" in line or "known" in line for line in lines)
    assert lines[-1] == "adviser:     advise; no advice yet"


def test_advice_is_held_against_what_is_done() -> None:
    lines = network_lines(replace(NETWORK, advice=ADVICE))
    assert "  better:    asked for every 5.0 s, scope 0, believed for 30 s: 25.0 % late, 4.0 letters a task" in lines
    assert lines[-1].startswith("  instead of told every 10 s")
    assert "  adopted:" in "\n".join(network_lines(replace(NETWORK, advice=replace(ADVICE, adopted=True))))
    stays = network_lines(replace(NETWORK, advice=replace(ADVICE, best=WAY)))
    assert stays[-1].startswith("  stay with  told every 10 s")
