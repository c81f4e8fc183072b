"""The protocol between agents: messages, their XML, advertised services, round-trip times."""
