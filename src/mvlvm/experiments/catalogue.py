"""The catalogue of experiments: the tables and figures of the paper, and additional evaluations."""

from mvlvm.experiments.classification_tables import CHALLENGING, LATENTS, MULTI_VIEW, SINGLE_VIEW
from mvlvm.experiments.experiment import Experiment
from mvlvm.experiments.held_out import HELD_OUT
from mvlvm.experiments.missing_pixels import MISSING
from mvlvm.experiments.reconstruction import CHANNEL, RECONSTRUCTION, ROTATED
from mvlvm.experiments.s_curve import TOY
from mvlvm.experiments.sensitivity import HEAT_MAPS, VIEWS, WALL_TIME
from mvlvm.experiments.theorem_four import THEOREM_FOUR

_ALL = (
    TOY, MULTI_VIEW, WALL_TIME, CHANNEL, SINGLE_VIEW, HEAT_MAPS, VIEWS, ROTATED, CHALLENGING, RECONSTRUCTION, LATENTS,
    MISSING, THEOREM_FOUR, HELD_OUT,
)  # fmt: skip
EXPERIMENTS = {experiment.name: experiment for experiment in _ALL}


def get_experiment(name: str) -> Experiment:
    """Return the experiment with the given name.

    Raises:
        ValueError: no experiment has this name.
    """
    if name not in EXPERIMENTS:
        raise ValueError(f"There is no experiment {name!r}. Known experiments are: {', '.join(EXPERIMENTS)}.")
    return EXPERIMENTS[name]
