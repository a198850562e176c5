"""What a fit by any method leaves behind, and who the methods are."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from mvlvm.benchmarks.task import Task
from mvlvm.views.scaling import fit_scaling

ViewArrays = Mapping[str, Float[np.ndarray, "N _"]]
NewViews = Mapping[str, Float[np.ndarray, "K _"]]


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """A fit.

    Attributes:
        latents: what rows became.
        n_steps: steps or iterations taken, where they are counted.
        step_ends: seconds from the start of training to the end of every step, where they are known.
        stopped: whether it was stopped at its limit.
        rebuilt: view name -> the view as the method sees it, for methods that can go back.
        bound: on the log evidence in nats, for our own.
    """

    latents: Float[np.ndarray, "N _"]
    n_steps: int | None = None
    step_ends: Sequence[float] = ()
    stopped: bool = False
    rebuilt: ViewArrays | None = None
    bound: float | None = None


@dataclass(frozen=True, kw_only=True)
class Method:
    """A method that can be measured.

    Attributes:
        family: "ours", "plain" (the paper's equations), "Gaussian process", "factor analysis" or "other".
        package: what must be installed, by the name under which it is imported.
        setting: how it was used, in words.
        fit: takes centred and scaled views and a task.
        predict: takes training views, one view of new rows and a task, and gives the new rows of the other view.
        fewest_views: how many views it needs.
    """

    family: str
    package: str
    setting: str
    fit: Callable[[ViewArrays, Task], Fitted]
    predict: Callable[[ViewArrays, NewViews, Task], Float[np.ndarray, "K _"]] | None = None
    fewest_views: int = 1


def standardised(views: ViewArrays) -> dict[str, Float[np.ndarray, "N _"]]:
    """Centre and scale views as the library does by default, and leave constant columns out."""
    return {name: fit_scaling(name, Y, "auto").apply(Y) for name, Y in views.items()}
