"""Counts in and out of networks: how rows of different sizes are made alike, and how likely counts are.

The size of a row is its sum, the library size of a cell or the length of a text. A network knows only shares: the mean
of a count is its row's size times the share of its column.

The variational autoencoder of overdispersed counts.

The deep count autoencoder.
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
from mvlvm.baselines.training import seeded_linear
from mvlvm.baselines.validation import DataKind
from mvlvm.evidence.elbo import latent_kl
from mvlvm.likelihoods.counts import NegativeBinomial
from mvlvm.shapes import Scalar

# Columns that hardly vary are not blown up.
_MIN_LOG_STD = 1e-2


def log_mean_proportions(Y: Float[Tensor, "N M"]) -> Float[Tensor, " M"]:
    """Give the logarithm of every column's share of all counts; a column of zeros counts as half an event."""
    return (Y.sum(dim=0).clamp(min=0.5) / Y.sum().clamp(min=1.0)).log()


def log_means(Y: Float[Tensor, "N M"], log_shares: Float[Tensor, "N M"]) -> Float[Tensor, "N M"]:
    """Give the logarithms of the expected counts in rows of the sizes of Y's."""
    return library_sizes(Y).log() + log_shares


class CountNormalizer(nn.Module):
    r"""Counts as a network reads them: $\log(1 + y s / l)$, standardised; l is the size of the row, s the usual one.

    Args:
        n_columns: M.
    """

    usual_size: Float[Tensor, ""]
    mean: Float[Tensor, " M"]
    std: Float[Tensor, " M"]

    def __init__(self, n_columns: int) -> None:
        super().__init__()
        self.register_buffer("usual_size", torch.tensor(1.0))
        self.register_buffer("mean", torch.zeros(n_columns))
        self.register_buffer("std", torch.ones(n_columns))

    def begin_at(self, Y: Float[Tensor, "N M"]) -> None:
        """Take the median size, and every column's mean and standard deviation, from the data."""
        self.usual_size = library_sizes(Y).median()
        logs = self._logs(Y)
        self.mean, self.std = logs.mean(dim=0), logs.std(dim=0, correction=0).clamp(min=_MIN_LOG_STD)

    def forward(self, Y: Float[Tensor, "N M"]) -> Float[Tensor, "N M"]:
        """Give what a network reads."""
        return (self._logs(Y) - self.mean) / self.std

    def _logs(self, Y: Float[Tensor, "N M"]) -> Float[Tensor, "N M"]:
        return (Y * (self.usual_size / library_sizes(Y))).log1p()


def zero_inflated_log_density(
    Y: Float[Tensor, "N M"], log_density: Float[Tensor, "N M"], dropout_logit: Float[Tensor, "N M"]
) -> Float[Tensor, "N M"]:
    r"""Give the log density of counts of which some are lost, and so seen as zeros.

    $$ \log\big( \pi\, [y = 0] + (1 - \pi)\, p(y) \big) $$

    Args:
        Y: the counts.
        log_density: log p(y), without losses.
        dropout_logit: the logit of $\pi$, the probability of a loss.
    """
    kept = logsigmoid(-dropout_logit) + log_density
    return torch.where(Y == 0, torch.logaddexp(logsigmoid(dropout_logit), kept), kept)


class NegativeBinomialNetwork(AbstractAutoencoderNetwork):
    """An encoder of counts, and a decoder into shares of a row's size.

    Args:
        n_columns: M.
        n_components: D.
        hidden: widths of the hidden mlp.
        generator: of the start.
    """

    def __init__(self, n_columns: int, n_components: int, hidden: list[int], generator: torch.Generator) -> None:
        super().__init__()
        self.read = CountNormalizer(n_columns)
        self.encoder = GaussianEncoder(mlp([n_columns, *hidden, 2 * n_components], generator))
        self.body = mlp([n_components, *hidden], generator)
        self.shares = seeded_linear(hidden[-1], n_columns, generator)
        self.likelihood = NegativeBinomial(torch.ones(n_columns))

    def begin_at(self, Y: Float[Tensor, "N M"]) -> None:
        """Start at the columns' shares and at the dispersions of their moments."""
        self.read.begin_at(Y)
        with torch.no_grad():
            self.shares.bias.copy_(log_mean_proportions(Y))
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

    kind = DataKind.COUNTS

    def _untrained(self, generator: torch.Generator) -> NegativeBinomialNetwork:
        return NegativeBinomialNetwork(sum(self._widths.values()), self.n_components, self._hidden(), generator)


# A loss is a rare thing until the data say otherwise.
_INITIAL_DROPOUT_LOGIT = -2.0


class ZeroInflatedNetwork(AbstractAutoencoderNetwork):
    """Counts to a bottleneck, and from there to shares of a row's size and to probabilities of losses."""

    def __init__(self, n_columns: int, n_components: int, hidden: list[int], generator: torch.Generator) -> None:
        super().__init__()
        self.read = CountNormalizer(n_columns)
        self.encoder = mlp([n_columns, *hidden, n_components], generator)
        self.body = mlp([n_components, *hidden], generator)
        self.log_shares = seeded_linear(hidden[-1], n_columns, generator)
        self.dropout_logits = seeded_linear(hidden[-1], n_columns, generator)
        self.likelihood = NegativeBinomial(torch.ones(n_columns))

    def begin_at(self, Y: Float[Tensor, "N M"]) -> None:
        """Start at the columns' shares, at the dispersions of their moments, and at few losses."""
        self.read.begin_at(Y)
        with torch.no_grad():
            self.log_shares.bias.copy_(log_mean_proportions(Y))
            self.dropout_logits.bias.fill_(_INITIAL_DROPOUT_LOGIT)
        self.likelihood = NegativeBinomial.start(Y)

    def bound(self, Y: Float[Tensor, "N M"], generator: torch.Generator) -> Scalar:
        """Give the log likelihood per row; nothing is drawn."""
        features = self.body(self.place(Y)).relu()
        log_density = self.likelihood.log_density(Y, log_means(Y, self.log_shares(features)))
        return zero_inflated_log_density(Y, log_density, self.dropout_logits(features)).sum() / len(Y)

    def place(self, Y: Float[Tensor, "N M"]) -> Float[Tensor, "N D"]:
        """Give the bottleneck."""
        return self.encoder(self.read(Y))

    def rebuild(self, X: Float[Tensor, "N D"]) -> Float[Tensor, "N M"]:
        """Give the columns' shares, as they are where nothing is lost."""
        return self.log_shares(self.body(X).relu()).exp()


class DCA(AbstractAutoencoder):
    r"""The deep count autoencoder, for counts of which some are lost and seen as zeros.

    $$ y_{nm} \sim \pi_m(x_n)\, \delta_0 + (1 - \pi_m(x_n))\, NB(l_n \exp f_m(x_n),\ r_m), \qquad x_n = g(y_n) $$

    l_n is the size of row n, the sum of its counts, and r_m the dispersion of column m: the paper's variant with one
    dispersion per gene. The encoder g reads standardised logarithms of normalised counts, as in the paper; there is no
    batch normalisation. Several views of counts are taken side by side as they are. `reconstruct` gives the counts as
    they would be without losses.

    Attributes:
        embedding_: (N, D) the bottleneck, x.

    References:
        Eraslan, Simon, Mircea, Mueller, Theis. Single-cell RNA-seq denoising using a deep count autoencoder.
        Nature Communications 2019.
    """

    kind = DataKind.COUNTS

    def _untrained(self, generator: torch.Generator) -> ZeroInflatedNetwork:
        return ZeroInflatedNetwork(sum(self._widths.values()), self.n_components, self._hidden(), generator)
