from __future__ import annotations

from cosched.agents.agent_outcome import AgentOutcome
from cosched.agents.letter_sequence import LetterSequence
from cosched.agents.protocol.letters import Inquiry


def test_a_letter_for_no_neighbour_is_dropped_and_not_counted() -> None:
    outcome = AgentOutcome({"b": LetterSequence("a", "b", 1)})
    outcome.send("b", Inquiry())
    outcome.send("c", Inquiry())
    assert [send.letter.receiver for send in outcome.sends] == ["b"]
    assert outcome.statistics.figures(0.0).sent == {"inquiry": 1}
    outcome.begin()
    assert outcome.sends == []
    assert outcome.statistics.figures(0.0).sent == {"inquiry": 1}  # of this life, not of this event
