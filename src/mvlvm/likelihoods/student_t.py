r"""Real entries with noise that has heavy tails, so that single wild entries do little harm.

$$ \log p(y | f) = \log\frac{\Gamma(\frac{\nu + 1}2)}{\Gamma(\frac\nu2) \sqrt{\pi \nu s^2}}
   - \frac{\nu + 1}2 \log\Big( 1 + \frac{(y - f)^2}{\nu s^2} \Big) $$
"""

import math
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mvlvm import defaults
from mvlvm.likelihoods.base import AbstractLikelihood, Response
from mvlvm.likelihoods.heavy_tail import expected_log_one_plus_square
from mvlvm.likelihoods.scale_mixture import log_student_t_plus_normal
from mvlvm.parameters import positive, raw_positive

# With two degrees of freedom or less the noise would have no variance.
_FEWEST_DEGREES = 2.0
_START_DEGREES = 4.0
# The median absolute deviation of a normal variable of variance one.
_NORMAL_DEVIATION = 0.6744897501960817
_PORTION = 2**20


class StudentT(AbstractLikelihood):
    """(y - f) / s has Student's t distribution; s and the degrees of freedom are the view's.

    Args:
        scale: where s starts.
        degrees_of_freedom: where nu starts, above 2.
    """

    name: ClassVar[str] = "student-t"
    real_valued: ClassVar[bool] = True

    def __init__(self, scale: float, degrees_of_freedom: float = _START_DEGREES) -> None:
        super().__init__()
        raw = [raw_positive(scale**2), raw_positive(degrees_of_freedom - _FEWEST_DEGREES)]
        self.raw_squared_scale, self.raw_degrees = (nn.Parameter(torch.tensor(x, dtype=torch.float64)) for x in raw)

    @classmethod
    def start(cls, Y: Float[Tensor, "N M"]) -> "StudentT":
        """Start where Gaussian views do, with a share of a variance that wild entries do not raise."""
        deviation = (Y - Y.nanmedian(dim=0).values).abs().nanmedian(dim=0).values / _NORMAL_DEVIATION
        variance = deviation.nan_to_num(nan=0.0).square().mean().item()
        scale = math.sqrt(defaults.START_NOISE_VARIANCE * (variance if variance > 0 else 1.0))
        return cls(scale).to(Y.dtype).to(Y.device)

    def offset(self, Y: Float[Tensor, "N M"]) -> Float[Tensor, " M"]:
        """Give the median of every column."""
        return Y.nanmedian(dim=0).values.nan_to_num(nan=0.0)

    def respond(
        self, mean: Float[Tensor, "N M"], variance: Float[Tensor, "N M"], *, include_noise: bool = True
    ) -> Response:
        """Give mean and variance of y, or those of f."""
        c, nu = self._width_and_degrees(mean)
        return Response(mean, variance + c / (nu - 2) if include_noise else variance)

    def sample(self, f: Float[Tensor, "N M"], generator: torch.Generator) -> Float[Tensor, "N M"]:
        """Draw real numbers: a normal variable over the root of a gamma variable."""
        c, nu = self._width_and_degrees(f)
        # torch's public gamma sampler takes no generator
        gamma = torch._standard_gamma((0.5 * nu).expand_as(f), generator=generator)  # pyright: ignore[reportPrivateImportUsage]
        noise = torch.randn(f.shape, generator=generator, dtype=f.dtype, device=f.device)
        return f + noise * (0.5 * c / gamma).sqrt()

    def describe(self) -> dict[str, Tensor]:
        """Give the scale s and the degrees of freedom."""
        degrees = _FEWEST_DEGREES + positive(self.raw_degrees)
        return {"scale": positive(self.raw_squared_scale).sqrt().detach(), "degrees_of_freedom": degrees.detach()}

    def _width_and_degrees(self, like: Tensor) -> tuple[Tensor, Tensor]:
        """Give nu s^2 and nu."""
        nu = _FEWEST_DEGREES + positive(self.raw_degrees).to(like)
        return nu * positive(self.raw_squared_scale).to(like), nu

    def _log_density(self, Y: Tensor, f: Tensor) -> Tensor:
        c, nu = self._width_and_degrees(f)
        return _at_the_top(c, nu) - 0.5 * (nu + 1) * ((Y - f).square() / c).log1p()

    def _expected(self, Y: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        c, nu = self._width_and_degrees(mean)
        return _at_the_top(c, nu) - 0.5 * (nu + 1) * expected_log_one_plus_square((Y - mean) / c.sqrt(), variance / c)

    def _pairwise(self, Y: Tensor, seen: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        n_rows = max(1, _PORTION // max(1, mean.numel()))
        rows = [
            (self._expected(y[:, None], mean, variance.expand(len(y), -1, -1)) * s[:, None]).sum(dim=2)
            for y, s in zip(Y.split(n_rows), seen.split(n_rows), strict=True)
        ]
        return torch.cat(rows)

    def _log_predictive(self, Y: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        c, nu = (parameter.detach() for parameter in self._width_and_degrees(mean))
        return log_student_t_plus_normal(Y - mean, variance, c / nu, nu)


def _at_the_top(c: Tensor, nu: Tensor) -> Tensor:
    """Give the log density at y = f."""
    return torch.lgamma(0.5 * (nu + 1)) - torch.lgamma(0.5 * nu) - 0.5 * (math.pi * c).log()
