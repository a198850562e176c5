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

    def initialize(self, Y: Float[Tensor, "N M"]) -> None:
        """Do nothing: scaled views need no data-dependent initialisation."""

    def objective(self, Y: Float[Tensor, "N M"], generator: torch.Generator) -> Scalar:
        r"""Estimate $E_q \log p(y | x) - KL(q(x | y) \| p(x))$ per row, with one sample."""
        q = self.encoder(Y)
        reconstruction = self.decoder.log_density(Y, q.sample(generator)).sum()
        return (reconstruction - latent_kl(q.mean, q.std)) / len(Y)

    def encode(self, Y: Float[Tensor, "N M"]) -> Float[Tensor, "N D"]:
        """Return the (N, D) means of q."""
        return self.encoder(Y).mean

    def decode(self, X: Float[Tensor, "N D"]) -> Float[Tensor, "N M"]:
        """Return the (N, M) means of the decoder."""
        return self.decoder(X)


class VAE(AbstractAutoencoder):
    r"""The variational autoencoder, with Gaussian noise of one trainable variance.

    $$ x_n \sim N(0, I), \qquad y_n | x_n \sim N(f(x_n), s I), \qquad q(x_n | y_n) = N(\mu(y_n), S(y_n)) $$

    f, mu and the diagonal S are networks with two hidden layers. Several views are concatenated, each standardised and
    scaled to equal total variance.

    Attributes:
        embedding_: (N, D) means of q.

    References:
        Kingma, Welling. Auto-encoding variational Bayes. ICLR 2014.
    """

    def _build_network(self, generator: torch.Generator) -> VariationalNetwork:
        M, D, hidden = sum(self._widths.values()), self.n_components, self._hidden_widths()
        return VariationalNetwork(
            GaussianEncoder(mlp([M, *hidden, 2 * D], generator)), GaussianDecoder(mlp([D, *hidden, M], generator))
        )
