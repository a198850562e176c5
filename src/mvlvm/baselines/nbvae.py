"""The variational autoencoder of overdispersed counts."""

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.baselines.admitting import Kind
from mvlvm.baselines.autoencoding import AbstractAutoencoder, AbstractNetwork
from mvlvm.baselines.count_decoders import CountInput, log_mean_shares, log_means
from mvlvm.baselines.learning import seeded_linear
from mvlvm.baselines.networks import GaussianEncoder, layers
from mvlvm.evidence.elbo import latent_kl
from mvlvm.likelihoods.counts import NegativeBinomial
from mvlvm.shapes import Scalar


class NegativeBinomialNetwork(AbstractNetwork):
    """An encoder of counts, and a decoder into shares of a row's size.

    Args:
        n_columns: M.
        n_components: D.
        hidden: widths of the hidden layers.
        generator: of the start.
    """

    def __init__(self, n_columns: int, n_components: int, hidden: list[int], generator: torch.Generator) -> None:
        super().__init__()
        self.read = CountInput(n_columns)
        self.encoder = GaussianEncoder(layers([n_columns, *hidden, 2 * n_components], generator))
        self.body = layers([n_components, *hidden], generator)
        self.shares = seeded_linear(hidden[-1], n_columns, generator)
        self.likelihood = NegativeBinomial(torch.ones(n_columns))

    def begin_at(self, Y: Float[Tensor, "N M"]) -> None:
        """Start at the columns' shares and at the dispersions of their moments."""
        self.read.begin_at(Y)
        with torch.no_grad():
            self.shares.bias.copy_(log_mean_shares(Y))
        self.likelihood = NegativeBinomial.start(Y)

    def bound(self, Y: Float[Tensor, "N M"], generator: torch.Generator) -> Scalar:
        r"""Estimate $E_q \log p(y | x) - KL(q(x | y) \| p(x))$ per row, by one draw."""
        q = self.encoder(self.read(Y))
        f = log_means(Y, self._log_shares(q.sample(generator)))
        return (self.likelihood.log_density(Y, f).sum() - latent_kl(q.mean, q.std)) / len(Y)

    def place(self, Y: Float[Tensor, "N M"]) -> Float[Tensor, "N D"]:
        """Give the means of q."""
        return self.encoder(self.read(Y)).mean

    def rebuild(self, X: Float[Tensor, "N D"]) -> Float[Tensor, "N M"]:
        """Give the columns' shares."""
        return self._log_shares(X).exp()

    def _log_shares(self, X: Float[Tensor, "N D"]) -> Float[Tensor, "N M"]:
        return self.shares(self.body(X).relu()).log_softmax(dim=1)


class NBVAE(AbstractAutoencoder):
    r"""The negative binomial variational autoencoder, for counts that vary more than Poisson variables.

    $$ x_n \sim N(0, I), \qquad y_{nm} | x_n \sim NB(l_n\, \mathrm{softmax}(f(x_n))_m,\ r_m), \qquad
       \mathrm{var} = \mathrm{mean} + \mathrm{mean}^2 / r $$

    l_n is the size of row n, the sum of its counts, and r_m the dispersion of column m, which is learned; the paper has
    r depend on x as well, and no sizes. The encoder reads the logarithms of shares. Several views of counts are taken
    side by side as they are.

    Attributes:
        embedding_: (N, D) the means of q(x | y).

    References:
        Zhao, Rai, Du, Buntine, Phung, Zhou. Variational autoencoders for sparse and overdispersed discrete data.
        AISTATS 2020.
    """

    kind = Kind.COUNTS

    def _untrained(self, generator: torch.Generator) -> NegativeBinomialNetwork:
        return NegativeBinomialNetwork(sum(self._widths.values()), self.n_components, self._hidden(), generator)
