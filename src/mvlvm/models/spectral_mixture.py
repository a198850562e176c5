"""A feature map with its spectral points drawn: what a mixture module returns when it is called.

The free parameters of a view's spectral density; calling the module draws a feature map from it.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from mvlvm import defaults
from mvlvm.parameters import correlation, positive, raw_positive
from mvlvm.spectral.density import BivariateMixture
from mvlvm.spectral.features import (
    Frequencies,
    envelope_form,
    expected_features,
    features_and_jacobian,
    random_features,
)
from mvlvm.spectral.sampling import SpectralPoints, StationaryMixture, stationary_sample, two_step_sample


@dataclass(frozen=True)
class FeatureMap:
    """phi of one view, for one draw of its spectral points.

    Attributes:
        points: the spectral points.
        alpha: the weights of the mixtures.
        constant: one more feature of this value everywhere, for views that cannot be centred; zero for none.
    """

    points: SpectralPoints
    alpha: Float[Tensor, " Q"]
    constant: float = 0.0

    @property
    def n_features(self) -> int:
        """The number of features, F."""
        Q, P, _ = self.points.w1.shape
        return 2 * Q * P + (self.constant != 0.0)

    def __call__(self, X: Float[Tensor, "N D"]) -> Float[Tensor, "N F"]:
        """Give the features of latents."""
        return self._with_last(random_features(X, self.points, self.alpha), self.constant)

    def frequencies(self) -> Frequencies:
        """Give the spectral points in envelope form; a constant feature has none."""
        return envelope_form(self.points, self.alpha)

    def expectation(self, mean: Float[Tensor, "N D"], std: Float[Tensor, "N D"]) -> Float[Tensor, "N F"]:
        """Give the expected features of normally distributed latents."""
        return self._with_last(expected_features(mean, std, self.points, self.alpha), self.constant)

    def with_jacobian(self, X: Float[Tensor, "N D"]) -> tuple[Float[Tensor, "N F"], Float[Tensor, "D N F"]]:
        """Give the features of latents, and their derivatives by the latents."""
        Phi, slopes = features_and_jacobian(X, self.points, self.alpha)
        return self._with_last(Phi, self.constant), self._with_last(slopes, 0.0)

    def double(self) -> "FeatureMap":
        """Give the same map in float64."""
        points = SpectralPoints(self.points.w1.double(), self.points.w2.double())
        return FeatureMap(points, self.alpha.double(), self.constant)

    def _with_last(self, features: Float[Tensor, "*n F"], value: float) -> Float[Tensor, "*n F1"]:
        if self.constant == 0.0:
            return features
        return torch.cat([features, features.new_full((*features.shape[:-1], 1), value)], dim=-1)


class AbstractMixture(nn.Module, ABC):
    """A learnable spectral density.

    A view that does not see a latent dimension has all its frequencies at zero there: the density has neither mean nor
    spread in it, and the features do not change along it.

    Args:
        n_components: D; all of them are seen until `see` says otherwise.
    """

    seen: Float[Tensor, " D"]

    def __init__(self, n_components: int) -> None:
        super().__init__()
        # which dimensions a view sees is known from the model's layout, so it is no part of a saved state
        self.register_buffer("seen", torch.ones(n_components), persistent=False)
        self._sees_all = True

    def see(self, dimensions: Bool[Tensor, " D"]) -> None:
        """Say which latent dimensions the view sees."""
        self.seen, self._sees_all = dimensions.to(self.seen), bool(dimensions.all())

    @torch.no_grad()
    def keep(self, dimensions: Bool[Tensor, " D"]) -> None:
        """Forget all other latent dimensions."""
        self.seen = self.seen[dimensions]
        for name, parameter in list(self.named_parameters()):
            if parameter.ndim > 1:  # means and deviations are (Q, D), all else does not know of dimensions
                setattr(self, name, nn.Parameter(parameter[:, dimensions].contiguous()))

    def _where_seen(self, values: Float[Tensor, "Q D"]) -> Float[Tensor, "Q D"]:
        """Put zeros where a dimension is not seen."""
        return values if self._sees_all else self.seen * values

    @abstractmethod
    def density(self) -> BivariateMixture | StationaryMixture:
        """Give the density that the parameters stand for."""

    @abstractmethod
    def base_draws(self, n_points: int, generator: torch.Generator) -> Float[Tensor, "K Q P D"]:
        """Draw the standard normal numbers that spectral points are made of."""

    @abstractmethod
    def feature_map(self, draws: Float[Tensor, "K Q P D"]) -> FeatureMap:
        """Give the feature map of base draws, smooth in the parameters."""

    def forward(self, n_points: int, generator: torch.Generator) -> FeatureMap:
        """Draw spectral points and give the feature map they make."""
        return self.feature_map(self.base_draws(n_points, generator))


class SpectralMixture(AbstractMixture):
    """The bivariate mixture of the NG-SM kernel.

    Args:
        n_mixtures: Q.
        n_components: D.
        generator: draws the means the optimiser starts from.
    """

    def __init__(self, n_mixtures: int, n_components: int, generator: torch.Generator) -> None:
        super().__init__(n_components)
        self.raw_alpha = _start_weights(n_mixtures)
        self.mu1 = _start_means(n_mixtures, n_components, generator)
        self.mu2 = _start_means(n_mixtures, n_components, generator)
        self.raw_sigma1 = _start_deviations(n_mixtures, n_components)
        self.raw_sigma2 = _start_deviations(n_mixtures, n_components)
        self.raw_rho = nn.Parameter(torch.full((n_mixtures,), defaults.INITIAL_RAW_RHO))

    def density(self) -> BivariateMixture:
        """Give the density that the parameters stand for."""
        return BivariateMixture(
            alpha=positive(self.raw_alpha), mu1=self._where_seen(self.mu1), mu2=self._where_seen(self.mu2),
            sigma1=self._where_seen(positive(self.raw_sigma1)), sigma2=self._where_seen(positive(self.raw_sigma2)),
            rho=correlation(self.raw_rho),
        )  # fmt: skip

    def base_draws(self, n_points: int, generator: torch.Generator) -> Float[Tensor, "2 Q P D"]:
        """Draw both epsilons of Prop. 1."""
        return _standard_normal(2, self.mu1, n_points, generator)

    def feature_map(self, draws: Float[Tensor, "2 Q P D"]) -> FeatureMap:
        """Turn base draws into spectral points by Prop. 1."""
        density = self.density()
        return FeatureMap(two_step_sample(density, draws[0], draws[1]), density.alpha)


class TiedSpectralMixture(AbstractMixture):
    """The stationary mixture of the SM kernel, w_1 = w_2.

    Args:
        n_mixtures: Q.
        n_components: D.
        generator: draws the means the optimiser starts from.
    """

    def __init__(self, n_mixtures: int, n_components: int, generator: torch.Generator) -> None:
        super().__init__(n_components)
        self.raw_alpha = _start_weights(n_mixtures)
        self.mu = _start_means(n_mixtures, n_components, generator)
        self.raw_sigma = _start_deviations(n_mixtures, n_components)

    def density(self) -> StationaryMixture:
        """Give the density that the parameters stand for."""
        return StationaryMixture(
            alpha=positive(self.raw_alpha),
            mu=self._where_seen(self.mu),
            sigma=self._where_seen(positive(self.raw_sigma)),
        )

    def base_draws(self, n_points: int, generator: torch.Generator) -> Float[Tensor, "1 Q P D"]:
        """Draw the one epsilon that both frequencies share."""
        return _standard_normal(1, self.mu, n_points, generator)

    def feature_map(self, draws: Float[Tensor, "1 Q P D"]) -> FeatureMap:
        """Turn base draws into tied spectral points."""
        density = self.density()
        return FeatureMap(stationary_sample(density, draws[0]), density.alpha)


# The names a user can give for `kernel`.
MIXTURES: dict[str, type[SpectralMixture] | type[TiedSpectralMixture]] = {
    "ngsm": SpectralMixture,
    "sm": TiedSpectralMixture,
}


def kernel_name(mixture: AbstractMixture) -> str:
    """Give the name under which a user asks for this kind of mixture."""
    return next(name for name, kind in MIXTURES.items() if type(mixture) is kind)


def _start_weights(n_mixtures: int) -> nn.Parameter:
    return nn.Parameter(torch.full((n_mixtures,), raw_positive(1 / n_mixtures)))


def _start_means(n_mixtures: int, n_components: int, generator: torch.Generator) -> nn.Parameter:
    shape = (n_mixtures, n_components)
    return nn.Parameter(defaults.INITIAL_MU_SPREAD * torch.randn(shape, generator=generator, device=generator.device))


def _start_deviations(n_mixtures: int, n_components: int) -> nn.Parameter:
    """Start narrower the more dimensions there are, so that rows look as alike as they do in two."""
    sigma = defaults.INITIAL_SIGMA * min(1.0, 2 / n_components) ** 0.5
    return nn.Parameter(torch.full((n_mixtures, n_components), raw_positive(sigma)))


def _standard_normal(
    n: int, like: Float[Tensor, "Q D"], n_points: int, generator: torch.Generator
) -> Float[Tensor, "n Q P D"]:
    Q, D = like.shape
    return torch.randn((n, Q, n_points, D), generator=generator, device=generator.device).to(like)
