"""The variational autoencoder."""

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.baselines.autoencoders.base import (
    AbstractAutoencoder,
    AbstractAutoencoderNetwork,
    GaussianDecoder,
    GaussianEncoder,
    mlp,
)
from mvlvm.evidence.elbo import latent_kl
from mvlvm.shapes import Scalar


class VariationalNetwork(AbstractAutoencoderNetwork):
    """An encoder q(x | y) and a decoder p(y | x)."""

    def __init__(self, encoder: GaussianEncoder, decoder: GaussianDecoder) -> None:
        super().__init__()
        self.encoder, self.decoder = encoder, decoder

    def begin_at(self, Y: Float[Tensor, "N M"]) -> None:
        """Do nothing: scaled views need no start of their own."""

    def bound(self, Y: Float[Tensor, "N M"], generator: torch.Generator) -> Scalar:
        r"""Estimate $E_q \log p(y | x) - KL(q(x | y) \| p(x))$ per row, by one draw."""
        q = self.encoder(Y)
        reconstruction = self.decoder.log_density(Y, q.sample(generator)).sum()
        return (reconstruction - latent_kl(q.mean, q.std)) / len(Y)

    def place(self, Y: Float[Tensor, "N M"]) -> Float[Tensor, "N D"]:
        """Give the means of q."""
        return self.encoder(Y).mean

    def rebuild(self, X: Float[Tensor, "N D"]) -> Float[Tensor, "N M"]:
        """Give the decoder's mean."""
        return self.decoder(X)


class VAE(AbstractAutoencoder):
    r"""The variational autoencoder, with normal noise of one variance that is learned.

    $$ x_n \sim N(0, I), \qquad y_n | x_n \sim N(f(x_n), s I), \qquad q(x_n | y_n) = N(\mu(y_n), S(y_n)) $$

    f, mu and S, which is diagonal, are networks of two hidden mlp. Several views are taken side by side, each
    standardised and of the same total variance.

    Attributes:
        embedding_: (N, D) the means of q.

    References:
        Kingma, Welling. Auto-encoding variational Bayes. ICLR 2014.
    """

    def _untrained(self, generator: torch.Generator) -> VariationalNetwork:
        M, D, hidden = sum(self._widths.values()), self.n_components, self._hidden()
        return VariationalNetwork(
            GaussianEncoder(mlp([M, *hidden, 2 * D], generator)), GaussianDecoder(mlp([D, *hidden, M], generator))
        )
