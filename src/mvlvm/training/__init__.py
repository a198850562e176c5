"""The training loop: Adam with a learning-rate schedule, CUDA graphs, and the history of a run."""
