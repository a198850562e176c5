"""Learnable spectral densities of the views, and the random feature maps that are drawn from them."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from mvlvm import defaults
from mvlvm.parameters import Gradients, correlation, in_unit, positive, raw_positive
from mvlvm.spectral.affine import (
    Array,
    BivariateCoefficients,
    affine_frequencies,
    affine_frequencies_vjp,
    as_gradients,
    as_small_arrays,
    sigmoid,
    softplus,
)
from mvlvm.spectral.blocks import FrequencyGradients
from mvlvm.spectral.density import (
    BivariateMixture,
    SpectralPoints,
    StationaryMixture,
    stationary_sample,
    two_step_sample,
)
from mvlvm.spectral.features import (
    Frequencies,
    envelope_form,
    expected_features,
    features_and_jacobian,
    random_features,
)

# From the gradients with respect to frequencies to those with respect to the parameters of a mixture.
FrequenciesVJP = Callable[[FrequencyGradients], Gradients]


@dataclass(frozen=True)
class FeatureMap:
    """The random feature map phi of one view for one draw of its spectral points [eq:RFF_NGSM].

    Attributes:
        points: the spectral points.
        alpha: the mixture weights.
        constant: value of an additional constant feature, for views that cannot be centred; zero for none.
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
        """Return the features of latents."""
        return self._with_last(random_features(X, self.points, self.alpha), self.constant)

    def frequencies(self) -> Frequencies:
        """Return the spectral points in envelope form, without the constant feature."""
        return envelope_form(self.points, self.alpha)

    def expectation(self, mean: Float[Tensor, "N D"], std: Float[Tensor, "N D"]) -> Float[Tensor, "N F"]:
        """Return the expected features of normally distributed latents."""
        return self._with_last(expected_features(mean, std, self.points, self.alpha), self.constant)

    def with_jacobian(
        self, X: Float[Tensor, "N D"], dtype: torch.dtype | None = None
    ) -> tuple[Float[Tensor, "N F"], Float[Tensor, "N D F"]]:
        """Return the features of latents and their Jacobian with respect to the latents, by default in their dtype."""
        Phi, jacobian = features_and_jacobian(X, self.points, self.alpha, dtype)
        return self._with_last(Phi, self.constant), self._with_last(jacobian, 0.0)

    def double(self) -> "FeatureMap":
        """Return the same map in float64."""
        points = SpectralPoints(self.points.w1.double(), self.points.w2.double())
        return FeatureMap(points, self.alpha.double(), self.constant)

    def _with_last(self, features: Float[Tensor, "*n F"], value: float) -> Float[Tensor, "*n F1"]:
        if self.constant == 0.0:
            return features
        return torch.cat([features, features.new_full((*features.shape[:-1], 1), value)], dim=-1)


class AbstractMixture(nn.Module, ABC):
    """A learnable spectral density.

    In latent dimensions that a view does not use, all its frequencies are zero: the density has zero mean and variance
    there, and the features are constant along them.

    Args:
        n_mixtures: number of components of the mixture, Q.
        n_components: number of latent dimensions D; all of them are used until `use` is called.

    Attributes:
        unit: the weights are learned as multiples of it, so that steps of the optimiser are relative to the variance
            of the view.
    """

    used: Float[Tensor, " D"]

    def __init__(self, n_mixtures: int, n_components: int) -> None:
        super().__init__()
        self.raw_alpha = _initial_weights(n_mixtures)
        self.unit = 1.0
        # known from the model's dimensions, so not part of a saved state
        self.register_buffer("used", torch.ones(n_components), persistent=False)
        self._uses_all = True

    def use(self, dimensions: Bool[Tensor, " D"]) -> None:
        """Set the latent dimensions that the view depends on."""
        self.used, self._uses_all = dimensions.to(self.used), bool(dimensions.all())

    @property
    def alpha(self) -> Float[Tensor, " Q"]:
        """The weights of the mixture, whose sum is the variance of the kernel at the origin."""
        return self.unit * positive(self.raw_alpha)

    @torch.no_grad()
    def keep(self, dimensions: Bool[Tensor, " D"]) -> None:
        """Remove all other latent dimensions."""
        self.used = self.used[dimensions]
        for name, parameter in list(self.named_parameters()):
            if parameter.ndim > 1:  # means and standard deviations are (Q, D), all others (Q,)
                setattr(self, name, nn.Parameter(parameter[:, dimensions].contiguous()))

    def _masked(self, values: Float[Tensor, "Q D"]) -> Float[Tensor, "Q D"]:
        """Set the entries of dimensions that are not used to zero."""
        return values if self._uses_all else self.used * values

    def _masked_array(self, values: Float[Array, "*k Q D"], used: Float[Array, " D"]) -> Float[Array, "*k Q D"]:
        return values if self._uses_all else used * values

    @abstractmethod
    def density(self) -> BivariateMixture | StationaryMixture:
        """Return the density with the current parameters."""

    @abstractmethod
    def base_draws(self, n_points: int, generator: torch.Generator) -> Float[Tensor, "K Q P D"]:
        """Draw the standard normal variables from which spectral points are computed."""

    @abstractmethod
    def feature_map(self, draws: Float[Tensor, "K Q P D"]) -> FeatureMap:
        """Return the feature map of base draws; it is differentiable with respect to the parameters."""

    @abstractmethod
    def frequencies(self, draws: Float[Tensor, "K Q P D"]) -> tuple[Frequencies, FrequenciesVJP]:
        """Return the frequencies of base draws without autograd, and their vector-Jacobian product.

        `frequencies_by_autograd` is an implementation for any mixture.
        """

    def forward(self, n_points: int, generator: torch.Generator) -> FeatureMap:
        """Draw spectral points and return their feature map."""
        return self.feature_map(self.base_draws(n_points, generator))


class SpectralMixture(AbstractMixture):
    """The bivariate mixture of the NG-SM kernel.

    Args:
        n_mixtures: Q.
        n_components: D.
        generator: draws the initial means.
    """

    def __init__(self, n_mixtures: int, n_components: int, generator: torch.Generator) -> None:
        super().__init__(n_mixtures, n_components)
        self.mu1 = _initial_means(n_mixtures, n_components, generator)
        self.mu2 = _initial_means(n_mixtures, n_components, generator)
        self.raw_sigma1 = _initial_deviations(n_mixtures, n_components)
        self.raw_sigma2 = _initial_deviations(n_mixtures, n_components)
        self.raw_rho = nn.Parameter(torch.full((n_mixtures,), defaults.INITIAL_RAW_RHO))

    def density(self) -> BivariateMixture:
        """Return the density with the current parameters."""
        return BivariateMixture(
            alpha=self.alpha, mu1=self._masked(self.mu1), mu2=self._masked(self.mu2),
            sigma1=self._masked(positive(self.raw_sigma1)), sigma2=self._masked(positive(self.raw_sigma2)),
            rho=correlation(self.raw_rho),
        )  # fmt: skip

    def base_draws(self, n_points: int, generator: torch.Generator) -> Float[Tensor, "2 Q P D"]:
        """Draw both standard normal variables of Prop. 1."""
        return _standard_normal(2, self.mu1, n_points, generator)

    def feature_map(self, draws: Float[Tensor, "2 Q P D"]) -> FeatureMap:
        """Compute spectral points from base draws by Prop. 1."""
        density = self.density()
        return FeatureMap(two_step_sample(density, draws[0], draws[1]), density.alpha)

    def frequencies(self, draws: Float[Tensor, "2 Q P D"]) -> tuple[Frequencies, FrequenciesVJP]:
        """Return the frequencies of base draws, and their vector-Jacobian product."""
        parameters = [self.raw_alpha, self.mu1, self.mu2, self.raw_sigma1, self.raw_sigma2, self.raw_rho]
        xp, (raw_alpha, *raw, used, eps) = as_small_arrays(*parameters, self.used, draws)
        alpha, coefficients = self.unit * softplus(raw_alpha, xp), BivariateCoefficients(raw, xp)

        def vjp(gradients: FrequencyGradients) -> Gradients:
            of_coefficients, of_alpha = affine_frequencies_vjp(gradients, eps, alpha, xp)
            of_density = coefficients.vjp(self._masked_array(of_coefficients, used))
            return as_gradients(parameters, [self.unit * of_alpha * sigmoid(raw_alpha, xp), *of_density])

        return affine_frequencies(self._masked_array(coefficients.values(), used), eps, alpha, xp), vjp


class TiedSpectralMixture(AbstractMixture):
    """The stationary mixture of the SM kernel, w_1 = w_2.

    Args:
        n_mixtures: Q.
        n_components: D.
        generator: draws the initial means.
    """

    def __init__(self, n_mixtures: int, n_components: int, generator: torch.Generator) -> None:
        super().__init__(n_mixtures, n_components)
        self.mu = _initial_means(n_mixtures, n_components, generator)
        self.raw_sigma = _initial_deviations(n_mixtures, n_components)

    def density(self) -> StationaryMixture:
        """Return the density with the current parameters."""
        return StationaryMixture(
            alpha=self.alpha,
            mu=self._masked(self.mu),
            sigma=self._masked(positive(self.raw_sigma)),
        )

    def base_draws(self, n_points: int, generator: torch.Generator) -> Float[Tensor, "1 Q P D"]:
        """Draw the standard normal variable that both frequencies share."""
        return _standard_normal(1, self.mu, n_points, generator)

    def feature_map(self, draws: Float[Tensor, "1 Q P D"]) -> FeatureMap:
        """Compute tied spectral points from base draws."""
        density = self.density()
        return FeatureMap(stationary_sample(density, draws[0]), density.alpha)

    def frequencies(self, draws: Float[Tensor, "1 Q P D"]) -> tuple[Frequencies, FrequenciesVJP]:
        """Return the frequencies of base draws, and their vector-Jacobian product."""
        parameters = [self.raw_alpha, self.mu, self.raw_sigma]
        xp, (raw_alpha, mu, raw_sigma, used, eps) = as_small_arrays(*parameters, self.used, draws)
        alpha, coefficients = self.unit * softplus(raw_alpha, xp), xp.stack([mu, softplus(raw_sigma, xp)])[:, None]

        def vjp(gradients: FrequencyGradients) -> Gradients:
            of_coefficients, of_alpha = affine_frequencies_vjp(gradients, eps, alpha, xp)
            of_mu, of_sigma = self._masked_array(of_coefficients, used)[:, 0]
            weights = self.unit * of_alpha * sigmoid(raw_alpha, xp)
            return as_gradients(parameters, [weights, of_mu, of_sigma * sigmoid(raw_sigma, xp)])

        return affine_frequencies(self._masked_array(coefficients, used), eps, alpha, xp), vjp


def frequencies_by_autograd(
    mixture: AbstractMixture, draws: Float[Tensor, "K Q P D"]
) -> tuple[Frequencies, FrequenciesVJP]:
    """Return the frequencies of base draws of any mixture, and their vector-Jacobian product by autograd."""
    with torch.enable_grad():
        frequencies = mixture.feature_map(draws).frequencies()
    parts, parameters = [part for part in frequencies if part is not None], list(mixture.parameters())

    def vjp(gradients: FrequencyGradients) -> Gradients:
        of_parts = [*gradients.frequencies.split(len(frequencies.amplitude)), gradients.amplitude]
        found = torch.autograd.grad(parts, parameters, of_parts, allow_unused=True)
        return {p: gradient for p, gradient in zip(parameters, found, strict=True) if gradient is not None}

    carrier, envelope, amplitude = frequencies
    detached = None if envelope is None else envelope.detach()
    return Frequencies(carrier.detach(), detached, amplitude.detach()), vjp


# Values of the parameter `kernel`.
STATIONARY = "sm"
MIXTURES: dict[str, type[SpectralMixture] | type[TiedSpectralMixture]] = {
    "ngsm": SpectralMixture,
    STATIONARY: TiedSpectralMixture,
}


def kernel_name(mixture: AbstractMixture) -> str:
    """Return the value of the parameter `kernel` that stands for this mixture."""
    return next(name for name, kind in MIXTURES.items() if type(mixture) is kind)


@torch.no_grad()
def absorb_unit(mixture: AbstractMixture) -> None:
    """Set the unit of the weights to one; their values stay the same."""
    mixture.raw_alpha.copy_(in_unit(mixture.raw_alpha, mixture.unit))
    mixture.unit = 1.0


def _initial_weights(n_mixtures: int) -> nn.Parameter:
    return nn.Parameter(torch.full((n_mixtures,), raw_positive(1 / n_mixtures)))


def _initial_means(n_mixtures: int, n_components: int, generator: torch.Generator) -> nn.Parameter:
    shape = (n_mixtures, n_components)
    return nn.Parameter(defaults.INITIAL_MU_SPREAD * torch.randn(shape, generator=generator, device=generator.device))


def _initial_deviations(n_mixtures: int, n_components: int) -> nn.Parameter:
    """Initialise narrower densities in higher dimensions, so that rows are as similar as in two."""
    sigma = defaults.INITIAL_SIGMA * min(1.0, 2 / n_components) ** 0.5
    return nn.Parameter(torch.full((n_mixtures, n_components), raw_positive(sigma)))


def _standard_normal(
    n: int, like: Float[Tensor, "Q D"], n_points: int, generator: torch.Generator
) -> Float[Tensor, "n Q P D"]:
    Q, D = like.shape
    return torch.randn((n, Q, n_points, D), generator=generator, device=generator.device).to(like)
