import math

import pytest
import torch
from scipy import stats

from mvlvm.likelihoods.student_t import log_student_t_plus_normal


def scalar(value):
    return torch.tensor(value, dtype=torch.float64)


@pytest.mark.parametrize("nu", [2.1, 3.5, 40.0])
@pytest.mark.parametrize("delta", [0.0, 1.0, 30.0, 1e4])
def test_density_without_normal_variance_matches_scipy(delta, nu):
    # one entry per call, because the range of the integral is chosen for all entries of a call
    density = log_student_t_plus_normal(scalar([delta]), scalar([0.0]), scalar(0.49), scalar(nu))
    assert density.item() == pytest.approx(stats.t.logpdf(delta, nu, scale=0.7), abs=1e-7)


def test_density_with_many_degrees_of_freedom_is_normal():
    density = log_student_t_plus_normal(scalar([1.5]), scalar([2.0]), scalar(0.5), scalar(1e5))
    # the densities differ by about 1 / nu
    assert density.item() == pytest.approx(stats.norm.logpdf(1.5, scale=math.sqrt(2.5)), abs=1e-5)
