"""Transport carries letters between agents over mutual TLS; only this part does I/O."""
