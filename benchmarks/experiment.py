"""What an experiment is, and how much work it may be."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mvlvm import NGMVLVM

Numbers = dict[str, Any]


@dataclass(frozen=True)
class Effort:
    """How much work a cell may be. The defaults are those of the page; fewer are for trying the script.

    Attributes:
        most_steps: an upper limit to the steps of our fits.
        mofa_iter: the most iterations of mofapy2, which stops earlier when it has converged.
        chained_rounds: rounds of `IterativeImputer`.
        speed_rows: rows to fit, and rows to place, when time is taken.
        device: where our model is fitted, "auto", "cpu" or "cuda".
    """

    most_steps: int = 1000
    mofa_iter: int = 1000
    chained_rounds: int = 5
    speed_rows: int = 10_000
    device: str = "auto"

    def fit(self, views: Mapping[str, Any], *, seed: int, n_components: int | str = 2, max_iter: int = 500,
            scale: str = "auto", likelihood: str | Mapping[str, str] = "gaussian",
            n_private: Mapping[str, int] | None = None) -> NGMVLVM:  # fmt: skip
        """Fit our model."""
        est = NGMVLVM(
            n_components=n_components, n_private=n_private, max_iter=min(max_iter, self.most_steps), scale=scale,
            likelihood=likelihood, device=self.device, random_state=seed,
        )  # fmt: skip
        return est.fit(views)


Method = Callable[[int, Effort], Numbers]


@dataclass(frozen=True)
class Experiment:
    """Methods that do the same task.

    Attributes:
        name: what the command line calls it.
        methods: method name -> what gives its numbers on a seed.
        most_seeds: how many seeds it needs at most.
    """

    name: str
    methods: Mapping[str, Method]
    most_seeds: int | None = None
