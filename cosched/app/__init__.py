"""The application layer: what can be asked of a domain, whoever asks."""
