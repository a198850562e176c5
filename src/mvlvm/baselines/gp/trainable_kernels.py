"""Kernels with trainable parameters: a variance and a lengthscale for every latent dimension."""

from abc import ABC, abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mvlvm.kernels.classical import gibbs_kernel, rbf_kernel
from mvlvm.parameters import positive, raw_positive
from mvlvm.shapes import Scalar

# Initial b of the Gibbs kernel: the paper's lengthscale is exp(-||x|| / 2) (App. D.1.1).
_INITIAL_DECAY = 0.5


class AbstractTrainableKernel(nn.Module, ABC):
    """A variance times a correlation of the latents divided by the lengthscales, in float64.

    Args:
        n_dims: number of latent dimensions, D.
        variance: initial variance.
    """

    def __init__(self, n_dims: int, variance: float = 1.0) -> None:
        super().__init__()
        self.raw_variance = nn.Parameter(torch.tensor(raw_positive(variance), dtype=torch.float64))
        self.raw_lengthscale = nn.Parameter(torch.full((n_dims,), raw_positive(1.0), dtype=torch.float64))

    @property
    def variance(self) -> Scalar:
        """Prior variance k(x, x), the same for all x."""
        return positive(self.raw_variance)

    def forward(self, X1: Float[Tensor, "N D"], X2: Float[Tensor, "K D"]) -> Float[Tensor, "N K"]:
        """Return the (N, K) kernel matrix."""
        lengthscale = positive(self.raw_lengthscale)
        return self.variance * self.correlation(X1 / lengthscale, X2 / lengthscale)

    @abstractmethod
    def correlation(self, X1: Float[Tensor, "N D"], X2: Float[Tensor, "K D"]) -> Float[Tensor, "N K"]:
        """Return the (N, K) correlation matrix of latents in units of the lengthscales."""


class TrainableRBF(AbstractTrainableKernel):
    r"""The squared exponential kernel, $s^2 \exp(-\tfrac12 \sum_d (x_d - y_d)^2 / \ell_d^2)$."""

    def correlation(self, X1: Float[Tensor, "N D"], X2: Float[Tensor, "K D"]) -> Float[Tensor, "N K"]:
        """Return the (N, K) correlation matrix."""
        return rbf_kernel(X1, X2)


class TrainableGibbs(AbstractTrainableKernel):
    r"""The Gibbs kernel of z = x / l, whose lengthscale $\exp(-b \|z\|)$ depends on the input.

    Its exponent is D/2, not the paper's 1/2 (docs/errata.md). b is initialised with the paper's 1/2 and trained; for
    b = 0 the kernel is the squared exponential.

    Args:
        n_dims: number of latent dimensions, D.
    """

    def __init__(self, n_dims: int) -> None:
        super().__init__(n_dims)
        self.shrinkage = nn.Parameter(torch.tensor(_INITIAL_DECAY, dtype=torch.float64))

    def correlation(self, X1: Float[Tensor, "N D"], X2: Float[Tensor, "K D"]) -> Float[Tensor, "N K"]:
        """Return the (N, K) correlation matrix."""
        return gibbs_kernel(X1, X2, self._lengthscale)

    def _lengthscale(self, Z: Float[Tensor, "N D"]) -> Float[Tensor, " N"]:
        return torch.exp(-self.shrinkage * torch.linalg.vector_norm(Z, dim=1))
