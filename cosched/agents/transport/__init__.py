"""Transport carries letters between agents over mutual TLS. The only part of the agents with I/O."""
