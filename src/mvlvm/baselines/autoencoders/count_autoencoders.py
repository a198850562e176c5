"""Autoencoders of counts: NBVAE with negative binomial counts, and DCA with zero-inflated counts.

The size of a row is its sum, e.g. the library size of a cell or the length of a text. Networks model proportions: the
mean of a count is the size of its row times the proportion of its column.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from mvlvm.baselines.autoencoders.base import (
    AbstractAutoencoder,
    AbstractAutoencoderNetwork,
    GaussianEncoder,
    library_sizes,
    mlp,
)
from mvlvm.baselines.baseline_input import DataKind
from mvlvm.baselines.training import seeded_linear
from mvlvm.evidence.elbo import latent_kl
from mvlvm.likelihoods.counts import NegativeBinomial
from mvlvm.shapes import Scalar

# Lower limit of standard deviations, so that columns that hardly vary are not inflated.
_MIN_LOG_STD = 1e-2


def log_mean_proportions(Y: Float[Tensor, "N M"]) -> Float[Tensor, " M"]:
    """Return the (M,) log proportions of the columns among all counts; a column of zeros counts as 0.5."""
    return (Y.sum(dim=0).clamp(min=0.5) / Y.sum().clamp(min=1.0)).log()


def log_means(Y: Float[Tensor, "N M"], log_shares: Float[Tensor, "N M"]) -> Float[Tensor, "N M"]:
    """Return the (N, M) logarithms of the expected counts, given the row sizes of Y and log proportions."""
    return library_sizes(Y).log() + log_shares


class CountNormalizer(nn.Module):
    r"""Normalises counts to $\log(1 + y s / l)$, standardised; l is the row size, s the median row size.

    Args:
        n_columns: number of columns, M.
    """

    usual_size: Float[Tensor, ""]
    mean: Float[Tensor, " M"]
    std: Float[Tensor, " M"]

    def __init__(self, n_columns: int) -> None:
        super().__init__()
        self.register_buffer("usual_size", torch.tensor(1.0))
        self.register_buffer("mean", torch.zeros(n_columns))
        self.register_buffer("std", torch.ones(n_columns))

    def initialize(self, Y: Float[Tensor, "N M"]) -> None:
        """Estimate the median size, and the mean and standard deviation of every column."""
        self.usual_size = library_sizes(Y).median()
        logs = self._logs(Y)
        self.mean, self.std = logs.mean(dim=0), logs.std(dim=0, correction=0).clamp(min=_MIN_LOG_STD)

    def forward(self, Y: Float[Tensor, "N M"]) -> Float[Tensor, "N M"]:
        """Return the (N, M) normalised counts."""
        return (self._logs(Y) - self.mean) / self.std

    def _logs(self, Y: Float[Tensor, "N M"]) -> Float[Tensor, "N M"]:
        return (Y * (self.usual_size / library_sizes(Y))).log1p()


def zero_inflated_log_density(
    Y: Float[Tensor, "N M"], log_density: Float[Tensor, "N M"], dropout_logit: Float[Tensor, "N M"]
) -> Float[Tensor, "N M"]:
    r"""Return the (N, M) log densities of counts with dropout, i.e. some counts are recorded as zeros.

    $$ \log\big( \pi\, [y = 0] + (1 - \pi)\, p(y) \big) $$

    Args:
        Y: the counts.
        log_density: log p(y) without dropout.
        dropout_logit: the logit of $\pi$, the dropout probability.
    """
    kept = logsigmoid(-dropout_logit) + log_density
    return torch.where(Y == 0, torch.logaddexp(logsigmoid(dropout_logit), kept), kept)


class NegativeBinomialNetwork(AbstractAutoencoderNetwork):
    """An encoder of counts, and a decoder to the proportions of the columns.

    Args:
        n_columns: number of columns, M.
        n_components: number of latent dimensions, D.
        hidden: widths of the hidden layers.
        generator: random number generator of the initialisation.
    """

    def __init__(self, n_columns: int, n_components: int, hidden: list[int], generator: torch.Generator) -> None:
        super().__init__()
        self.read = CountNormalizer(n_columns)
        self.encoder = GaussianEncoder(mlp([n_columns, *hidden, 2 * n_components], generator))
        self.body = mlp([n_components, *hidden], generator)
        self.shares = seeded_linear(hidden[-1], n_columns, generator)
        self.likelihood = NegativeBinomial(torch.ones(n_columns))

    def initialize(self, Y: Float[Tensor, "N M"]) -> None:
        """Initialise at the mean proportions and at the moment estimates of the dispersions."""
        self.read.initialize(Y)
        with torch.no_grad():
            self.shares.bias.copy_(log_mean_proportions(Y))
        self.likelihood = NegativeBinomial.start(Y)

    def objective(self, Y: Float[Tensor, "N M"], generator: torch.Generator) -> Scalar:
        r"""Estimate $E_q \log p(y | x) - KL(q(x | y) \| p(x))$ per row, with one sample."""
        q = self.encoder(self.read(Y))
        f = log_means(Y, self._log_shares(q.sample(generator)))
        return (self.likelihood.log_density(Y, f).sum() - latent_kl(q.mean, q.std)) / len(Y)

    def encode(self, Y: Float[Tensor, "N M"]) -> Float[Tensor, "N D"]:
        """Return the (N, D) means of q."""
        return self.encoder(self.read(Y)).mean

    def decode(self, X: Float[Tensor, "N D"]) -> Float[Tensor, "N M"]:
        """Return the (N, M) proportions of the columns."""
        return self._log_shares(X).exp()

    def _log_shares(self, X: Float[Tensor, "N D"]) -> Float[Tensor, "N M"]:
        return self.shares(self.body(X).relu()).log_softmax(dim=1)


class NBVAE(AbstractAutoencoder):
    r"""The negative binomial variational autoencoder, for overdispersed counts.

    $$ x_n \sim N(0, I), \qquad y_{nm} | x_n \sim NB(l_n\, \mathrm{softmax}(f(x_n))_m,\ r_m), \qquad
       \mathrm{var} = \mathrm{mean} + \mathrm{mean}^2 / r $$

    l_n is the size of row n, the sum of its counts, and r_m the trainable dispersion of column m. In the paper r also
    depends on x, and there are no sizes. The encoder uses log proportions. Several views of counts are concatenated
    without scaling.

    Attributes:
        embedding_: (N, D) means of q(x | y).

    References:
        Zhao, Rai, Du, Buntine, Phung, Zhou. Variational autoencoders for sparse and overdispersed discrete data.
        AISTATS 2020.
    """

    kind = DataKind.COUNTS

    def _build_network(self, generator: torch.Generator) -> NegativeBinomialNetwork:
        return NegativeBinomialNetwork(sum(self._widths.values()), self.n_components, self._hidden_widths(), generator)


# Dropout is initially assumed to be rare.
_INITIAL_DROPOUT_LOGIT = -2.0


class ZeroInflatedNetwork(AbstractAutoencoderNetwork):
    """An encoder of counts to a bottleneck, and a decoder to proportions of the columns and dropout probabilities."""

    def __init__(self, n_columns: int, n_components: int, hidden: list[int], generator: torch.Generator) -> None:
        super().__init__()
        self.read = CountNormalizer(n_columns)
        self.encoder = mlp([n_columns, *hidden, n_components], generator)
        self.body = mlp([n_components, *hidden], generator)
        self.log_shares = seeded_linear(hidden[-1], n_columns, generator)
        self.dropout_logits = seeded_linear(hidden[-1], n_columns, generator)
        self.likelihood = NegativeBinomial(torch.ones(n_columns))

    def initialize(self, Y: Float[Tensor, "N M"]) -> None:
        """Initialise at the mean proportions, at the moment estimates of the dispersions, and at little dropout."""
        self.read.initialize(Y)
        with torch.no_grad():
            self.log_shares.bias.copy_(log_mean_proportions(Y))
            self.dropout_logits.bias.fill_(_INITIAL_DROPOUT_LOGIT)
        self.likelihood = NegativeBinomial.start(Y)

    def objective(self, Y: Float[Tensor, "N M"], generator: torch.Generator) -> Scalar:
        """Return the log likelihood per row; the generator is not used."""
        features = self.body(self.encode(Y)).relu()
        log_density = self.likelihood.log_density(Y, log_means(Y, self.log_shares(features)))
        return zero_inflated_log_density(Y, log_density, self.dropout_logits(features)).sum() / len(Y)

    def encode(self, Y: Float[Tensor, "N M"]) -> Float[Tensor, "N D"]:
        """Return the (N, D) bottleneck."""
        return self.encoder(self.read(Y))

    def decode(self, X: Float[Tensor, "N D"]) -> Float[Tensor, "N M"]:
        """Return the (N, M) expected proportions without dropout."""
        return self.log_shares(self.body(X).relu()).exp()


class DCA(AbstractAutoencoder):
    r"""The deep count autoencoder, for counts with dropout (zero inflation).

    $$ y_{nm} \sim \pi_m(x_n)\, \delta_0 + (1 - \pi_m(x_n))\, NB(l_n \exp f_m(x_n),\ r_m), \qquad x_n = g(y_n) $$

    l_n is the size of row n, the sum of its counts, and r_m the dispersion of column m: the paper's variant with one
    dispersion per gene. The encoder g uses standardised logarithms of normalised counts, as in the paper; there is no
    batch normalisation. Several views of counts are concatenated without scaling. `reconstruct` returns the expected
    counts without dropout.

    Attributes:
        embedding_: (N, D) bottleneck x.

    References:
        Eraslan, Simon, Mircea, Mueller, Theis. Single-cell RNA-seq denoising using a deep count autoencoder.
        Nature Communications 2019.
    """

    kind = DataKind.COUNTS

    def _build_network(self, generator: torch.Generator) -> ZeroInflatedNetwork:
        return ZeroInflatedNetwork(sum(self._widths.values()), self.n_components, self._hidden_widths(), generator)
