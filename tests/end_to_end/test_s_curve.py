"""The S-curve, seeds 0 to 4: latents and kernels are found again."""

from functools import cache

import numpy as np
import pytest
import torch

from mvlvm import NGMVLVM
from mvlvm.datasets import load
from mvlvm.evaluation import affine_r2, gram_correlation
from mvlvm.models.starting import pca_start

SEEDS = range(5)
SCENARIOS = {"rbf+rbf": {"one": "rbf", "two": "rbf"}, "rbf+gibbs": {"one": "rbf", "two": "gibbs"}}


def recover(scenario, seed):
    data = load("s-curve", kernels=SCENARIOS[scenario], random_state=seed)
    start = pca_start([torch.as_tensor(Y - Y.mean(axis=0)) for Y in data.views.values()], 2).numpy()
    est = NGMVLVM(max_iter=700, tol=0.0, random_state=seed).fit(data.views)
    return {
        "start": affine_r2(data.truth["latents"], start),
        "r2": affine_r2(data.truth["latents"], est.embedding_),
        "kernels": [gram_correlation(data.truth["kernels"][name], est.kernel_matrix(name)) for name in data.views],
    }


@cache  # a worker computes the scenarios that its tests look at, and each only once
def recovered(scenario):
    return [recover(scenario, seed) for seed in SEEDS]


def test_two_stationary_views_recover_the_latents_on_every_seed():
    assert min(run["r2"] for run in recovered("rbf+rbf")) >= 0.99


def test_a_non_stationary_view_recovers_the_latents_and_never_loses_to_its_start():
    runs = recovered("rbf+gibbs")
    assert np.median([run["r2"] for run in runs]) >= 0.95
    assert min(run["r2"] - run["start"] for run in runs) >= -0.02


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_kernels_of_both_views_are_recovered(scenario):
    medians = np.median([run["kernels"] for run in recovered(scenario)], axis=0)
    assert medians.min() >= 0.8
