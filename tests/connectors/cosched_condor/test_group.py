"""The processes of a task that is launched once: who may start commands on their hosts, and when they end."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cosched_condor import group
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.daemon


_PYTHON = "/usr/bin/python3" if Path("/usr/bin/python3").exists() else "python3"
_PATIENCE = 60.0


class Group:
    """A first process and its helpers on this machine, in a folder of their own."""

    def __init__(self, folder: Path, hosts: tuple[str, ...]) -> None:
        self.folder = folder
        self.hosts = hosts
        self.processes: list[subprocess.Popen[str]] = []
        ad = folder / "machine.ad"
        ad.write_text('MyAddress = "<127.0.0.1:9618?addrs=127.0.0.1-9618>"\n')
        self._variables = {**os.environ, "COSCHED_HOSTS": ",".join(hosts), "_CONDOR_MACHINE_AD": str(ad)}

    def start(self, rank: int, *command: str) -> subprocess.Popen[str]:
        """Start one process of the group."""
        return self._popen(rank, "run", str(self.folder), *command)

    def agent(self, *words: str, rank: int = 0) -> subprocess.Popen[str]:
        """Call the agent as MPI's launchers do."""
        return self._popen(rank, "agent", str(self.folder), *words)

    def _popen(self, rank: int, *arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [_PYTHON, "-I", group.__file__, *arguments],
            env={**self._variables, "COSCHED_RANK": str(rank)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.processes.append(process)
        return process

    def whole(self, gate: Path) -> subprocess.Popen[str]:
        """Start all; the first one's program runs until the gate is there. Return the first."""
        script = 'touch "$0.open"; while [ ! -e "$0" ]; do sleep 0.02; done; exit 5'
        first = self.start(0, "/bin/sh", "-c", script, str(gate))
        for rank in range(1, len(self.hosts)):
            self.start(rank)
        _await(gate.with_name(f"{gate.name}.open"))
        return first

    def place(self) -> tuple[str, int]:
        """Return where the first process listens."""
        host, port = json.loads((self.folder / group.ADDRESS).read_text())
        return host, port


def _await(file: Path) -> None:
    until(file.exists, f"nobody made {file.name}")


def _codes(*processes: subprocess.Popen[str]) -> list[int]:
    return [process.wait(_PATIENCE) for process in processes]


@pytest.fixture
def group_of_two(tmp_path: Path) -> Iterator[Group]:
    made = Group(tmp_path, ("alpha.example.org", "beta.example.org"))
    yield made
    (tmp_path / "gate").touch()  # a program whose first process was killed ends, too
    for process in made.processes:
        process.kill()
        process.communicate(timeout=_PATIENCE)


def test_a_command_runs_on_its_host_with_streams_both_ways_and_its_exit_code(
    group_of_two: Group, tmp_path: Path
) -> None:
    first = group_of_two.whole(tmp_path / "gate")
    for name in ("beta.example.org", "beta"):  # a launcher may cut the domain off
        script = 'read line; echo "$COSCHED_RANK $line"; echo words >&2; exit 3'
        out, err = (asked := group_of_two.agent(name, script)).communicate("hello\n", _PATIENCE)
        assert (out, err, asked.returncode) == ("1 hello\n", "words\n", 3)
    out, _ = group_of_two.agent("alpha.example.org", "echo here $COSCHED_RANK").communicate(timeout=_PATIENCE)
    assert out == "here 0\n"
    (tmp_path / "gate").touch()
    assert _codes(*group_of_two.processes[:2]) == [5, 0]
    assert first.returncode == 5


def test_nothing_of_a_program_outlives_its_group(group_of_two: Group, tmp_path: Path) -> None:
    """HTCondor counted jobs as ended two seconds late, when the machine's init had noticed the end of an orphan."""
    left = tmp_path / "left"
    leave = 'setsid sleep 30 & echo $! > "$0.new"; mv "$0.new" "$0"; exit 3'
    assert _codes(group_of_two.start(0, "/bin/sh", "-c", leave, str(left)), group_of_two.start(1)) == [3, 0]
    assert not Path(f"/proc/{int(left.read_text())}").exists()  # not even for init to notice


def test_a_command_that_ends_while_it_is_still_sent_input_leaves_no_error() -> None:
    """The thread that sends it wrote a traceback among the errors of the user's program."""
    program = """
import asyncio, threading
from cosched_condor import group

class Link:
    async def send(self, *_):
        begun.set()
        await asyncio.sleep(3600)

async def end_while_sending():
    thread = threading.Thread(target=group._send_input, args=(Link(), asyncio.get_running_loop()))
    thread.start()
    await asyncio.to_thread(begun.wait)
    return thread

begun = threading.Event()
asyncio.run(end_while_sending()).join()
"""
    done = subprocess.run([sys.executable, "-c", program], input="word", capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_an_agent_says_nothing_where_its_group_ends_before_its_command(group_of_two: Group, tmp_path: Path) -> None:
    """A program that was done left "the group has ended" among its errors, from a launcher's daemon that was later."""
    group_of_two.whole(tmp_path / "gate")
    asked = group_of_two.agent("beta", f"touch {tmp_path / 'begun'}; sleep 600")
    _await(tmp_path / "begun")
    (tmp_path / "gate").touch()
    assert asked.communicate(timeout=_PATIENCE) == ("", "")
    assert asked.returncode == group.NOT_ALL_CAME


def test_the_secret_is_for_its_user_alone_and_goes_with_the_program(group_of_two: Group, tmp_path: Path) -> None:
    group_of_two.whole(tmp_path / "gate")
    for name in (group.SECRET, group.ADDRESS):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    assert group_of_two.place()[0] == "127.0.0.1"  # the address that HTCondor uses, and no other
    (tmp_path / "gate").touch()
    assert _codes(*group_of_two.processes) == [5, 0]
    assert not list(tmp_path.glob("group.*"))


def _hello(place: tuple[str, int], proof: bytes, role: bytes = b"A") -> bytes:
    """Greet the first process without its secret and return all that it answers."""
    with socket.create_connection(place, _PATIENCE) as stranger:
        answer = stranger.recv(32)
        stranger.sendall(secrets.token_bytes(32) + role + bytes(4) + proof)
        stranger.settimeout(_PATIENCE)
        with contextlib.suppress(ConnectionError):
            return stranger.recv(1000)
        return b"" if answer else b"no nonce"


@pytest.mark.parametrize("role", [b"A", b"H"])
def test_who_does_not_know_the_secret_gets_nothing(group_of_two: Group, tmp_path: Path, role: bytes) -> None:
    group_of_two.whole(tmp_path / "gate")
    assert _hello(group_of_two.place(), secrets.token_bytes(32), role) == b""
    out, _ = group_of_two.agent("beta", "echo still here").communicate(timeout=_PATIENCE)
    assert out == "still here\n"


def test_a_recorded_greeting_is_of_no_use_again(group_of_two: Group, tmp_path: Path) -> None:
    """The first process's nonce is new for each connection."""
    group_of_two.whole(tmp_path / "gate")
    secret, place, rank = (tmp_path / group.SECRET).read_bytes(), group_of_two.place(), bytes(4)
    with socket.create_connection(place, _PATIENCE) as known:
        nonce, own = known.recv(32), secrets.token_bytes(32)
        greeting = own + b"A" + rank + group._proof(secret, b"client", nonce, own, b"A", rank)
        known.sendall(greeting)
        assert known.recv(32) == group._proof(secret, b"server", nonce, own, b"A", rank)
    with socket.create_connection(place, _PATIENCE) as again:
        again.recv(32)
        again.sendall(greeting)
        again.settimeout(_PATIENCE)
        assert again.recv(32) == b""


@pytest.mark.parametrize(
    "frame",
    [
        group._HEAD.pack(2, group.START, 0) + b"[]" + bytes(32),
        group._HEAD.pack((1 << 20) + 1, group.START, 0),
    ],
    ids=["not authenticated", "too long"],
)
def test_a_frame_that_somebody_else_wrote_ends_the_connection(
    group_of_two: Group, tmp_path: Path, frame: bytes
) -> None:
    group_of_two.whole(tmp_path / "gate")
    secret, rank = (tmp_path / group.SECRET).read_bytes(), bytes(4)
    with socket.create_connection(group_of_two.place(), _PATIENCE) as known:
        nonce, own = known.recv(32), secrets.token_bytes(32)
        known.sendall(own + b"A" + rank + group._proof(secret, b"client", nonce, own, b"A", rank))
        known.recv(32)
        known.sendall(frame)
        known.settimeout(_PATIENCE)
        with contextlib.suppress(ConnectionError):
            assert known.recv(32) == b""


def test_a_helper_believes_nobody_else(group_of_two: Group, tmp_path: Path) -> None:
    """What listens at a forged address does not know the secret, and gets no command run."""
    with socket.create_server(("127.0.0.1", 0)) as forged:
        (tmp_path / group.SECRET).touch(mode=0o600)
        (tmp_path / group.SECRET).write_bytes(secrets.token_bytes(32))
        (tmp_path / group.ADDRESS).touch(mode=0o600)
        (tmp_path / group.ADDRESS).write_text(json.dumps(forged.getsockname()))
        helper = group_of_two.start(1)
        forged.settimeout(_PATIENCE)
        met, _ = forged.accept()
        with met:
            met.sendall(bytes(32))
            met.recv(69, socket.MSG_WAITALL)
            met.sendall(bytes(32))
            assert _codes(helper) == [group.NOT_ALL_CAME]


def test_a_secret_that_others_can_read_is_refused(group_of_two: Group, tmp_path: Path) -> None:
    for name in (group.SECRET, group.ADDRESS):
        (tmp_path / name).write_text("[]")
        (tmp_path / name).chmod(0o644)
    helper = group_of_two.start(1)
    assert _codes(helper) == [group.NOT_ALL_CAME]
    assert "not this user's own" in helper.communicate()[1]


def test_a_host_that_is_lost_ends_the_program(group_of_two: Group, tmp_path: Path) -> None:
    first = group_of_two.whole(tmp_path / "gate")
    group_of_two.processes[1].kill()
    assert _codes(first) == [group.NOT_ALL_CAME]
    assert "beta.example.org has left the group" in first.communicate()[1]


def test_the_end_of_the_first_process_ends_what_runs_on_the_others(group_of_two: Group, tmp_path: Path) -> None:
    first = group_of_two.whole(tmp_path / "gate")
    group_of_two.agent("beta", f"echo $$ > {tmp_path}/pid.new; mv {tmp_path}/pid.new {tmp_path}/pid; exec sleep 600")
    _await(tmp_path / "pid")
    first.kill()
    assert _codes(group_of_two.processes[1]) == [1]
    assert not Path("/proc", (tmp_path / "pid").read_text().strip()).exists()


def test_an_order_to_end_reaches_the_program(group_of_two: Group, tmp_path: Path) -> None:
    first = group_of_two.whole(tmp_path / "gate")
    first.terminate()
    assert _codes(first, group_of_two.processes[1]) == [143, 0]


def test_a_first_process_does_not_wait_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COSCHED_HOSTS", "alpha,beta")
    monkeypatch.setenv("COSCHED_RANK", "0")
    monkeypatch.setattr(group, "_own_address", lambda: "127.0.0.1")
    assert group.main(["run", str(tmp_path), "/bin/true"], patience=0.05) == group.NOT_ALL_CAME


def test_a_host_of_another_task_is_refused(group_of_two: Group, tmp_path: Path) -> None:
    group_of_two.whole(tmp_path / "gate")
    asked = group_of_two.agent("gamma", "true")
    assert "none of this task's hosts" in asked.communicate(timeout=_PATIENCE)[1]
    assert asked.returncode == 255
