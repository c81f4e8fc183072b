"""The protocol between agents: letters, their XML, advertised services, round-trip times."""
