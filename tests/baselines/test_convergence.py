"""Who stops before being done says so."""

import warnings

import numpy as np
import pytest
import torch
from torch import nn

import mvlvm
from mvlvm import baselines
from mvlvm.baselines.learning import raise_bound
from tests.baselines.test_linear_factors import views_of_one_factor

METHODS = [
    ("GFA", "cca_zoo", {"tol": 1e-2}, "GFA took max_iter=2 rounds.*factors did not stand still to tol=0.01"),
    ("MOFA", "mofapy2", {}, "MOFA took max_iter=2 rounds.*bound was not flat"),
    ("BGPLVM", "GPy", {"n_inducing": 5}, "BGPLVM ended at max_iter=2.*not converged: maximum"),
    ("MRD", "GPy", {"n_inducing": 5}, "MRD ended at max_iter=2.*not converged: maximum"),
]
ENOUGH = {"GFA": 3000, "MOFA": 1000, "BGPLVM": 20_000, "MRD": 20_000}


@pytest.mark.parametrize(("name", "package", "parameters", "message"), METHODS, ids=[entry[0] for entry in METHODS])
def test_too_few_rounds_are_told_of_and_enough_are_not(name, package, parameters, message):
    pytest.importorskip(package)
    views, _ = views_of_one_factor(n_rows=25)
    with pytest.warns(mvlvm.ConvergenceWarning, match=message + ".*Raise max_iter"):
        baselines.get(name)(n_components=1, max_iter=2, random_state=0, **parameters).fit(views)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        baselines.get(name)(n_components=1, max_iter=ENOUGH[name], random_state=0, **parameters).fit(views)


def test_an_interrupted_fit_is_told_of():
    module, n_asked = nn.Linear(1, 1), 0

    def bound(generator):
        nonlocal n_asked
        n_asked += 1
        if n_asked == 4:
            raise KeyboardInterrupt
        return -module(torch.ones(1, 1)).square().sum().double()

    with pytest.warns(mvlvm.ConvergenceWarning, match="interrupted after 3 of 50 steps"):
        raise_bound(module, bound, max_iter=50, learning_rate=0.1, seed=0)


def test_a_view_without_noise_breaks_group_factors_in_words():
    pytest.importorskip("cca_zoo")
    labels = np.arange(60) % 3
    Y = np.random.default_rng(0).normal(size=(60, 8)) + 3 * np.eye(8)[labels]
    with pytest.raises(mvlvm.NumericalError, match="broke down.*3 factors explain without any noise.*take MOFA"):
        baselines.get("GFA")(n_components=3, max_iter=200, random_state=0).fit({"Y": Y, "class": np.eye(3)[labels]})
