"""Real resource managers for tests, benchmarks and the demonstration; nothing is installed on the machine."""
