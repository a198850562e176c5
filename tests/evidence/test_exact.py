import pytest
import torch

from mvlvm.errors import NumericalError
from mvlvm.evidence import exact_log_evidence
from mvlvm.kernels import ngsm_kernel
from tests.mixtures import normal, random_mixture
from tests.oracles import view_log_density


def test_evidence_is_the_normal_log_density_of_all_columns(generator):
    X, Y = normal((15, 2), generator), normal((15, 4), generator)
    K = ngsm_kernel(X, X, random_mixture(2, 2, generator))
    covariance = (K + 0.2 * torch.eye(15, dtype=torch.float64)).numpy()
    value = exact_log_evidence(Y, K, torch.tensor(0.2, dtype=torch.float64))
    assert value.item() == pytest.approx(view_log_density(Y.numpy(), covariance), rel=1e-10)


def test_float32_input_is_computed_in_float64(generator):
    X, Y = normal((15, 2), generator).float(), normal((15, 4), generator).float()
    K = X @ X.T  # of rank two: in float32 it would be indistinguishable from an indefinite matrix at this noise
    s = torch.tensor(1e-6)
    expected = exact_log_evidence(Y.double(), K.double(), s.double())
    assert torch.equal(exact_log_evidence(Y, K, s), expected)


def test_indefinite_kernel_matrix_raises_an_error(generator):
    K = torch.diag(torch.tensor([1.0, -2.0], dtype=torch.float64))
    with pytest.raises(NumericalError, match="not positive definite"):
        exact_log_evidence(normal((2, 1), generator), K, torch.tensor(0.1, dtype=torch.float64))
