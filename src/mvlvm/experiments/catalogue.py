"""Every table and figure of the paper, and what it lacks: one entry each."""

from mvlvm.experiments import (
    challenging,
    heat_maps,
    held_out,
    multi_view,
    single_view,
    theorem_four,
    toy,
    views,
    wall_time,
)
from mvlvm.experiments.experiment import Experiment

_ALL = (toy, multi_view, wall_time, single_view, heat_maps, views, challenging, theorem_four, held_out)
EXPERIMENTS = {room.EXPERIMENT.name: room.EXPERIMENT for room in _ALL}


def experiment_of(name: str) -> Experiment:
    """Give an experiment by name.

    Raises:
        ValueError: there is none of that name.
    """
    if name not in EXPERIMENTS:
        raise ValueError(f"There is no experiment {name!r}. Known are: {', '.join(EXPERIMENTS)}.")
    return EXPERIMENTS[name]
