"""One view as a Gaussian process of the latent, with nothing approximated."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mvlvm import defaults
from mvlvm.baselines.learned_kernels import AbstractLearnedKernel
from mvlvm.evidence.exact import exact_log_evidence
from mvlvm.linalg.cholesky import add_to_diagonal, factor
from mvlvm.parameters import positive, raw_positive
from mvlvm.shapes import Scalar

# Classes as a view can be fitted without an error; with less noise than this their covariance is singular in rounding.
LEAST_NOISE_VARIANCE = 1e-6


@dataclass(frozen=True)
class Conditional:
    """What a process says of new rows, given the training rows.

    Attributes:
        kernel: k.
        X: the latents of the training rows.
        weights: (K + s I)^-1 Y.
        inverse: (K + s I)^-1.
        noise_variance: s.
    """

    kernel: AbstractLearnedKernel
    X: Float[Tensor, "N D"]
    weights: Float[Tensor, "N M"]
    inverse: Float[Tensor, "N N"]
    noise_variance: Scalar

    def mean(self, X: Float[Tensor, "K D"]) -> Float[Tensor, "K M"]:
        """Give the mean of new entries, k(x, X) (K + s I)^-1 Y, in O(N M) per row."""
        return self.kernel(X, self.X) @ self.weights

    def predicted(self, X: Float[Tensor, "K D"]) -> tuple[Float[Tensor, "K M"], Float[Tensor, "K M"]]:
        """Give mean and variance of new entries, in O(N^2 + N M) per row.

        The variance is k(x, x) - k(x, X) (K + s I)^-1 k(X, x) + s, the same for all columns.
        """
        cross = self.kernel(X, self.X)
        mean, explained = cross @ self.weights, ((cross @ self.inverse) * cross).sum(dim=1)
        variance = (self.kernel.variance - explained).clamp_min(0.0) + self.noise_variance
        return mean, variance[:, None].expand_as(mean)


class ExactProcess(nn.Module):
    """The columns of a view as independent processes of one kernel, with noise.

    Args:
        kernel: of the view.
    """

    def __init__(self, kernel: AbstractLearnedKernel) -> None:
        super().__init__()
        self.kernel = kernel
        start = raw_positive(defaults.INITIAL_NOISE_VARIANCE)
        self.raw_noise_variance = nn.Parameter(torch.tensor(start, dtype=torch.float64))

    @property
    def noise_variance(self) -> Scalar:
        """Of an entry around its function."""
        return LEAST_NOISE_VARIANCE + positive(self.raw_noise_variance)

    def log_evidence(self, X: Float[Tensor, "N D"], Y: Float[Tensor, "N M"]) -> Scalar:
        """Give the log density of the view with its functions integrated out [eq:gplvm_mle]."""
        return exact_log_evidence(Y, self.kernel(X, X), self.noise_variance)

    @torch.no_grad()
    def given(self, X: Float[Tensor, "N D"], Y: Float[Tensor, "N M"]) -> Conditional:
        """Factor once, for all predictions."""
        covariance = factor(add_to_diagonal(self.kernel(X, X), self.noise_variance))
        return Conditional(self.kernel, X, covariance.solve(Y), covariance.inverse(), self.noise_variance)
