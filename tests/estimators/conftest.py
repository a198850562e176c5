import pytest

from mvlvm import NGMVLVM
from mvlvm.datasets import load


@pytest.fixture(scope="session")
def small_curve():
    return load("s-curve", kernels={"rbf": "rbf", "gibbs": "gibbs"}, n_samples=60, n_features=8, random_state=0)


@pytest.fixture(scope="session")
def fitted(small_curve):
    return NGMVLVM(max_iter=40, tol=0.0, n_points=10, random_state=0).fit(small_curve.views)
