"""The divergence of the latent posterior from its prior, term (b) of the bound."""

from jaxtyping import Float
from torch import Tensor

from mvlvm.shapes import Scalar


def latent_kl(
    mean: Float[Tensor, "N D"], std: Float[Tensor, "N D"], weight: Float[Tensor, " N"] | None = None
) -> Scalar:
    r"""Give the divergence of q(X) from the standard normal prior [eq:evaluation_term_2].

    $$ \tfrac12 \sum_n \big( \operatorname{tr} S_n + \mu_n^\top \mu_n - \log|S_n| - D \big),
       \qquad S_n = \operatorname{diag}(\mathrm{std}_n^2) $$

    Summed over samples, not averaged: the bound weighs it by one.

    Args:
        mean: posterior means $\mu_n$.
        std: posterior standard deviations, positive.
        weight: how often each sample counts; None is once.
    """
    mean, std = mean.double(), std.double()
    if weight is None:
        return 0.5 * (std**2 + mean**2 - 1).sum() - std.log().sum()
    return (weight[:, None].double() * (0.5 * (std**2 + mean**2 - 1) - std.log())).sum()
