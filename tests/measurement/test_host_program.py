"""The commands run here as a job would run them; what they measure is not judged."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.errors import SystemFault
from cosched.measurement.host_program import BUILT_ELSEWHERE, BUILT_HERE, HostProgram, read_measurement
from cosched.measurement.machine import CompilerChoice, MachineBench
from cosched.measurement.messages import MESSAGE_SIZES
from tests.testbed.software.compiler import compiler

if TYPE_CHECKING:
    from pathlib import Path


pytestmark = pytest.mark.xdist_group("host-program")  # compiled once


@pytest.fixture(scope="module")
def shipped() -> dict[str, bytes]:
    with MachineBench(CompilerChoice(compiler(), "-O0"), 0.0) as bench:  # to optimise is most of a compiler's work
        return bench.compiled()


def done(command: tuple[str, ...], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TMPDIR": str(folder), "COSCHED_HOSTS": "here", "COSCHED_RANK": "0"}
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=500, env=environment)


@pytest.mark.daemon
def test_a_host_is_measured_by_what_it_compiles_and_nothing_is_left(tmp_path: Path) -> None:
    found = done(HostProgram(CompilerChoice(compiler(), "-O0"), {}, "", 0).alone(loopback=True), tmp_path)
    assert found.returncode == 0, found.stderr
    measured = read_measurement("here", found.stdout)
    assert (measured.built, measured.processors > 0) == (BUILT_HERE, True)
    assert measured.compiler.endswith("-O0")
    groups = {name.split()[0] for name in measured.samples}
    assert groups == {"operation", "memory", "noise", "shm", "network"}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.daemon
def test_a_host_without_a_compiler_runs_what_came_along(tmp_path: Path, shipped: dict[str, bytes]) -> None:
    program = HostProgram(CompilerChoice("no-such-compiler"), shipped, "cc 12 -O2", 0)
    found = done(program.alone(loopback=False), tmp_path)
    assert found.returncode == 0, found.stderr
    measured = read_measurement("here", found.stdout)
    assert (measured.built, measured.compiler) == (BUILT_ELSEWHERE, "cc 12 -O2")
    assert not [name for name in measured.samples if name.startswith("network")]


@pytest.mark.daemon
def test_without_compiler_and_programs_it_says_so(tmp_path: Path) -> None:
    found = done(HostProgram(CompilerChoice("no-such-compiler"), {}, "", 0).alone(loopback=False), tmp_path)
    assert found.returncode == 4
    assert "no C compiler here" in found.stderr


@pytest.mark.daemon
def test_two_processes_with_a_token_meet_and_time_messages(tmp_path: Path, shipped: dict[str, bytes]) -> None:
    command = HostProgram(CompilerChoice("no-such-compiler"), shipped, "cc", 0).pair(secrets.token_hex(8))
    environment = {**os.environ, "TMPDIR": str(tmp_path), "COSCHED_HOSTS": "slot1@localhost,other"}
    ranks = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**environment, "COSCHED_RANK": rank})
        for rank in ("0", "1")
    ]
    said = [rank.communicate(timeout=500)[0] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0]
    measured = read_measurement("both", said[0])
    assert set(measured.samples) == {
        f"network {test} {size}" for test in ("pingpong", "send", "receive") for size in MESSAGE_SIZES
    }


@pytest.mark.daemon
def test_a_stranger_is_told_no_token_and_let_go(tmp_path: Path, shipped: dict[str, bytes]) -> None:
    """The token was sent to whoever connected, who could say it back and be measured with."""
    program, token = tmp_path / "messages", secrets.token_hex(8)
    program.write_bytes(shipped["messages"])
    program.chmod(0o700)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]  # a few from it on are tried
    words = [str(program), "1", "0", f"listen:{port}:{token}", "8"]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as first:
        stranger = _connected(port)
        stranger.settimeout(60)
        assert stranger.recv(64) == b""  # let go after two seconds without a word
        with _connected(port) as other:
            other.settimeout(60)
            other.sendall(b"0" * 16)
            assert other.recv(64) == b""
        words[3] = f"connect:{port}:{token}:127.0.0.1"
        assert subprocess.run(words, stdout=subprocess.PIPE, timeout=240, check=False).returncode == 0
        assert first.wait(60) == 0
    stranger.close()


def _connected(port: int) -> socket.socket:
    """Connect to the program that listens at one of a few ports."""
    until = time.monotonic() + 25
    while True:
        for each in range(port, port + 8):
            with suppress(OSError):
                return socket.create_connection(("127.0.0.1", each), timeout=5)
        assert time.monotonic() < until
        time.sleep(0.02)


@given(st.text(max_size=80))
def test_what_is_no_measurement_is_refused(text: str) -> None:
    with pytest.raises(SystemFault, match="measure once more"):
        read_measurement("here", text)


@pytest.mark.parametrize("word", ["0", "-1", "nan", "inf", "x"])
def test_a_time_that_cannot_be_is_refused(word: str) -> None:
    text = f"fact compiler cc\nfact built here\nfact processors 2\noperation ADL {word}\n"
    with pytest.raises(SystemFault, match="for a time"):
        read_measurement("here", text)
