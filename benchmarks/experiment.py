"""Definition of an experiment, and the effort of a run."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mvlvm import NGMVLVM

Numbers = dict[str, Any]


@dataclass(frozen=True)
class Effort:
    """Limits on the work of a cell. The defaults are those of the page; smaller values are for trying the script.

    Attributes:
        most_steps: upper limit on the number of steps of our fits.
        mofa_iter: largest number of iterations of mofapy2, which stops earlier at convergence.
        chained_rounds: number of iterations of `IterativeImputer`.
        speed_rows: number of training rows, and of new rows, in the timing of `transform`.
        device: device of our fits, "auto", "cpu" or "cuda".
    """

    most_steps: int = 1000
    mofa_iter: int = 1000
    chained_rounds: int = 5
    speed_rows: int = 10_000
    device: str = "auto"

    def fit(self, views: Mapping[str, Any], *, seed: int, n_components: int | str = 2, max_iter: int = 500,
            scale: str = "auto", likelihood: str | Mapping[str, str] = "gaussian",
            n_private: Mapping[str, int] | None = None) -> NGMVLVM:  # fmt: skip
        """Fit our model and return it."""
        est = NGMVLVM(
            n_components=n_components, n_private=n_private, max_iter=min(max_iter, self.most_steps), scale=scale,
            likelihood=likelihood, device=self.device, random_state=seed,
        )  # fmt: skip
        return est.fit(views)


Method = Callable[[int, Effort], Numbers]


@dataclass(frozen=True)
class Experiment:
    """Methods for the same task.

    Attributes:
        name: name on the command line.
        methods: method name -> function that returns its numbers for a seed.
        most_seeds: largest number of seeds needed.
    """

    name: str
    methods: Mapping[str, Method]
    most_seeds: int | None = None
