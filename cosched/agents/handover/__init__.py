"""Hand-over moves a task to another domain exactly once: negotiation, giving, taking."""
