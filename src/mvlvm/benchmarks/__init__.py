"""Benchmarks: time, memory, accuracy and scaling of fits, compared with other libraries."""
