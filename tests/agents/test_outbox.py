from __future__ import annotations

from cosched.agents.outbox import AgentOutbox, LetterSequence
from cosched.agents.protocol.messages import Inquiry


def test_what_is_for_nobody_is_dropped_and_not_counted() -> None:
    effects = AgentOutbox({"b": LetterSequence("a", "b", 1)})
    effects.send("b", Inquiry())
    effects.send("c", Inquiry())
    assert [send.letter.receiver for send in effects.sends] == ["b"]
    assert effects.statistics.sent == {"inquiry": 1}
    effects.begin()
    assert effects.sends == []
    assert effects.statistics.sent == {"inquiry": 1}  # of this life, not of this event
