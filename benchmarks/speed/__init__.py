"""Studies of time and memory: training steps, accuracy against time, comparison with other methods, wall time."""
