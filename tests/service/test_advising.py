"""The process itself."""

from __future__ import annotations

import pickle
import subprocess
import sys

from cosched.agent.settings import AgentSettings, Bounds, Role
from cosched.prediction.profile import Profile, Source
from cosched.service.advising import Question, answer
from cosched.simulation.adviser import Observed, Seen, Situation

SETTINGS = AgentSettings("here", "9a1f5e0c-36a1-4a51-9a5b-0d2f3c6f8b1e")
SEEN = tuple(Seen(5.0 * number, 30.0, Profile((40.0, 20.0), Source.USER)) for number in range(10))
QUESTION = Question(
    Situation(SETTINGS, 2, SEEN, (Observed("b", "b", Role.NEIGHBOUR, 4, "fast", 1.0, 0.0),)),
    Bounds(2.0, 60.0, 2, 600.0),
    0.0,
)


def ask(data: bytes) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "cosched.service.advising"]
    return subprocess.run(command, input=data, capture_output=True, timeout=60, check=False)


def test_one_question_gets_one_answer() -> None:
    done = ask(pickle.dumps(QUESTION))
    assert done.returncode == 0
    assert pickle.loads(done.stdout) == answer(QUESTION)


def test_nonsense_ends_it_with_a_fault() -> None:
    assert ask(b"nonsense").returncode != 0
