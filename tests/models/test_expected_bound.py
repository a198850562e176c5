import statistics

import pytest
import torch

from mvlvm import defaults
from mvlvm.models.expected_bound import expected_bound
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.multiview import MultiViewLVM
from mvlvm.models.observed import ObservedView
from tests.mixtures import normal
from tests.models.fixed_features import fixed_view


@pytest.mark.parametrize(("precision", "n_draws"), [(1e9, 4), (0.0, 20)])
def test_draws_end_when_the_bound_is_sure(precision, n_draws, generator, monkeypatch):
    model = MultiViewLVM(GaussianLatent(normal((30, 2), generator), 0.3), [fixed_view(generator)])
    views = [ObservedView(normal((30, 3), generator))]
    values, elbo = [], model.elbo

    def remember(*arguments):
        bound = elbo(*arguments)
        values.append(bound.value.item())
        return bound

    monkeypatch.setattr(model, "elbo", remember)
    monkeypatch.setattr(defaults, "BOUND_PRECISION", precision)
    found = expected_bound(model, views, torch.Generator().manual_seed(0), n_entries=90)
    assert len(values) == n_draws
    assert statistics.stdev(values) > 0
    assert found == pytest.approx(statistics.fmean(values), rel=1e-12)
