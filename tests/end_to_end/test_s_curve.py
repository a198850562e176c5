"""Latents and kernels of the S-curve are recovered on seeds 0 to 2, and in slow tests also on seeds 3 and 4."""

from functools import cache

import numpy as np
import pytest
import torch

from mvlvm import NGMVLVM
from mvlvm.datasets import load
from mvlvm.evaluation import affine_r2, gram_correlation
from mvlvm.init.pca import pca_init

SEEDS = [range(3), pytest.param(range(5), marks=pytest.mark.slow)]
pytestmark = pytest.mark.usefixtures("no_type_checks")  # they would take more time than the fits
SCENARIOS = {"rbf+rbf": {"one": "rbf", "two": "rbf"}, "rbf+gibbs": {"one": "rbf", "two": "gibbs"}}


@cache  # the tests of a scenario run in the same worker
def recover(scenario, seed):
    data = load("s-curve", kernels=SCENARIOS[scenario], random_state=seed)
    initial = pca_init([torch.as_tensor(Y - Y.mean(axis=0)) for Y in data.views.values()], 2).numpy()
    est = NGMVLVM(max_iter=700, tol=0.0, random_state=seed).fit(data.views)
    return {
        "initial": affine_r2(data.truth["latents"], initial),
        "r2": affine_r2(data.truth["latents"], est.embedding_),
        "kernels": [gram_correlation(data.truth["kernels"][name], est.kernel_matrix(name)) for name in data.views],
    }


def recover_all(scenario, seeds):
    return [recover(scenario, seed) for seed in seeds]


@pytest.mark.xdist_group("rbf+rbf")
@pytest.mark.parametrize("seeds", SEEDS)
def test_two_stationary_views_recover_the_latents_on_every_seed(seeds):
    assert min(run["r2"] for run in recover_all("rbf+rbf", seeds)) >= 0.99


@pytest.mark.xdist_group("rbf+gibbs")
@pytest.mark.parametrize("seeds", SEEDS)
def test_views_with_a_non_stationary_kernel_recover_the_latents_at_least_as_well_as_pca(seeds):
    runs = recover_all("rbf+gibbs", seeds)
    assert np.median([run["r2"] for run in runs]) >= 0.95
    assert min(run["r2"] - run["initial"] for run in runs) >= -0.02


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("scenario", [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in SCENARIOS])
def test_kernels_of_both_views_are_recovered(scenario, seeds):
    medians = np.median([run["kernels"] for run in recover_all(scenario, seeds)], axis=0)
    assert medians.min() >= 0.8
