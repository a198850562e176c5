"""The commands `python -m benchmarks`."""
