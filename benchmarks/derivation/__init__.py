"""Programs whose counts are solved, and how well: `python -m benchmarks.derivation`."""
