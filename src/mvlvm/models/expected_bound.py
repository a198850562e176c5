"""The evidence lower bound of a trained model, as precise as one can tell apart."""

import statistics
from collections.abc import Sequence

import torch

from mvlvm import defaults
from mvlvm.models.multiview import MultiViewLVM
from mvlvm.models.observed import ObservedView


@torch.no_grad()
def expected_bound(
    model: MultiViewLVM, views: Sequence[ObservedView], generator: torch.Generator, *, n_entries: int
) -> float:
    """Average the bound over draws of latents and spectral points, until its standard error is small.

    Small is `defaults.BOUND_PRECISION` in nats per entry; there are four draws at least, and at most
    `defaults.N_DRAWS_BOUND`. Draws of many rows differ less, so large data sets need few.

    Args:
        model: trained.
        views: what was seen.
        generator: of the draws.
        n_entries: how many entries were seen.
    """
    model.settle(views, 0)  # the precision that the noise asks for
    values: list[float] = []
    while len(values) < defaults.N_DRAWS_BOUND:
        values.append(model.elbo(views, generator).value.item())
        if len(values) >= defaults.FEWEST_DRAWS_BOUND:
            standard_error = statistics.stdev(values) / len(values) ** 0.5
            if standard_error <= defaults.BOUND_PRECISION * n_entries:
                break
    return statistics.fmean(values)
