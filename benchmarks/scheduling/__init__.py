"""Plan quality and speed against peers: `python -m benchmarks.scheduling`."""
