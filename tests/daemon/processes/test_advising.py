"""The process itself."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

from cosched.agents.advice import AdviserSnapshot, ObservedDomain, ObservedTask
from cosched.agents.agent_settings import AdvertisingBounds, AgentSettings, PeerRole
from cosched.daemon.processes.advising import AdviceRequest, answer
from cosched.prediction.profile import PredictionSource, Profile

pytestmark = pytest.mark.daemon

SETTINGS = AgentSettings("here", "9a1f5e0c-36a1-4a51-9a5b-0d2f3c6f8b1e")
SEEN = tuple(ObservedTask(5.0 * number, 30.0, Profile((40.0, 20.0), PredictionSource.USER)) for number in range(10))
QUESTION = AdviceRequest(
    AdviserSnapshot(SETTINGS, 2, SEEN, (ObservedDomain("b", "b", PeerRole.NEIGHBOUR, 4, "fast", 1.0, 0.0),)),
    AdvertisingBounds(2.0, 60.0, 2, 600.0),
    0.0,
)


def ask(data: bytes) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "cosched.daemon.processes.advising", "0"]
    return subprocess.run(command, input=data, capture_output=True, timeout=300, check=False)


def test_one_question_gets_one_answer() -> None:
    done = ask(pickle.dumps(QUESTION))
    assert done.returncode == 0
    assert pickle.loads(done.stdout) == answer(QUESTION)


def test_nonsense_ends_it_with_a_fault() -> None:
    assert ask(b"nonsense").returncode != 0
