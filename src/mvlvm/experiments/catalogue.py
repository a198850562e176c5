"""Every table and figure of the paper, and what it lacks: one entry each."""

from mvlvm.experiments import (
    challenging,
    channel,
    heat_maps,
    held_out,
    latents,
    missing,
    multi_view,
    reconstruction,
    rotated,
    single_view,
    theorem_four,
    toy,
    views,
    wall_time,
)
from mvlvm.experiments.experiment import Experiment

_ALL = (
    toy, multi_view, wall_time, channel, single_view, heat_maps, views, rotated, challenging, reconstruction, latents,
    missing, theorem_four, held_out,
)  # fmt: skip
EXPERIMENTS = {room.EXPERIMENT.name: room.EXPERIMENT for room in _ALL}


def experiment_of(name: str) -> Experiment:
    """Give an experiment by name.

    Raises:
        ValueError: there is none of that name.
    """
    if name not in EXPERIMENTS:
        raise ValueError(f"There is no experiment {name!r}. Known are: {', '.join(EXPERIMENTS)}.")
    return EXPERIMENTS[name]
