"""The S-curve: latents and kernels are found again, on seeds 0 to 2, and in slow tests on 3 and 4 too."""

from functools import cache

import numpy as np
import pytest
import torch

from mvlvm import NGMVLVM
from mvlvm.datasets import load
from mvlvm.evaluation import affine_r2, gram_correlation
from mvlvm.init.pca import pca_init

SEEDS = [range(3), pytest.param(range(5), marks=pytest.mark.slow)]
SCENARIOS = {"rbf+rbf": {"one": "rbf", "two": "rbf"}, "rbf+gibbs": {"one": "rbf", "two": "gibbs"}}


@cache  # a worker computes what its tests look at, and each only once
def recover(scenario, seed):
    data = load("s-curve", kernels=SCENARIOS[scenario], random_state=seed)
    start = pca_init([torch.as_tensor(Y - Y.mean(axis=0)) for Y in data.views.values()], 2).numpy()
    est = NGMVLVM(max_iter=700, tol=0.0, random_state=seed).fit(data.views)
    return {
        "start": affine_r2(data.truth["latents"], start),
        "r2": affine_r2(data.truth["latents"], est.embedding_),
        "kernels": [gram_correlation(data.truth["kernels"][name], est.kernel_matrix(name)) for name in data.views],
    }


def recovered(scenario, seeds):
    return [recover(scenario, seed) for seed in seeds]


@pytest.mark.parametrize("seeds", SEEDS)
def test_two_stationary_views_recover_the_latents_on_every_seed(seeds):
    assert min(run["r2"] for run in recovered("rbf+rbf", seeds)) >= 0.99


@pytest.mark.parametrize("seeds", SEEDS)
def test_a_non_stationary_view_recovers_the_latents_and_never_loses_to_its_start(seeds):
    runs = recovered("rbf+gibbs", seeds)
    assert np.median([run["r2"] for run in runs]) >= 0.95
    assert min(run["r2"] - run["start"] for run in runs) >= -0.02


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_kernels_of_both_views_are_recovered(scenario, seeds):
    medians = np.median([run["kernels"] for run in recovered(scenario, seeds)], axis=0)
    assert medians.min() >= 0.8
