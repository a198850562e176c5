"""Every table and figure of the paper, and what it lacks: one entry each."""

from mvlvm.experiments import multi_view, single_view
from mvlvm.experiments.experiment import Experiment

EXPERIMENTS = {experiment.name: experiment for experiment in (multi_view.EXPERIMENT, single_view.EXPERIMENT)}


def experiment_of(name: str) -> Experiment:
    """Give an experiment by name.

    Raises:
        ValueError: there is none of that name.
    """
    if name not in EXPERIMENTS:
        raise ValueError(f"There is no experiment {name!r}. Known are: {', '.join(EXPERIMENTS)}.")
    return EXPERIMENTS[name]
