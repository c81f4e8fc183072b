from __future__ import annotations

from cosched.agents.letter_sequence import LetterSequence
from cosched.agents.outbox import AgentOutbox
from cosched.agents.protocol.letters import Inquiry


def test_a_letter_for_no_neighbour_is_dropped_and_not_counted() -> None:
    outbox = AgentOutbox({"b": LetterSequence("a", "b", 1)})
    outbox.send("b", Inquiry())
    outbox.send("c", Inquiry())
    assert [send.letter.receiver for send in outbox.sends] == ["b"]
    assert outbox.statistics.figures(0.0).sent == {"inquiry": 1}
    outbox.begin()
    assert outbox.sends == []
    assert outbox.statistics.figures(0.0).sent == {"inquiry": 1}  # of this life, not of this event
