"""The deep count autoencoder."""

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.baselines.admitting import Kind
from mvlvm.baselines.autoencoding import AbstractAutoencoder, AbstractNetwork
from mvlvm.baselines.count_decoders import CountInput, log_mean_shares, log_means, zero_inflated
from mvlvm.baselines.learning import seeded_linear
from mvlvm.baselines.networks import layers
from mvlvm.likelihoods.counts import NegativeBinomial
from mvlvm.shapes import Scalar

# A loss is a rare thing until the data say otherwise.
_START_DROPOUT_LOGIT = -2.0


class ZeroInflatedNetwork(AbstractNetwork):
    """Counts to a bottleneck, and from there to shares of a row's size and to probabilities of losses."""

    def __init__(self, n_columns: int, n_components: int, hidden: list[int], generator: torch.Generator) -> None:
        super().__init__()
        self.read = CountInput(n_columns)
        self.encoder = layers([n_columns, *hidden, n_components], generator)
        self.body = layers([n_components, *hidden], generator)
        self.log_shares = seeded_linear(hidden[-1], n_columns, generator)
        self.dropout_logits = seeded_linear(hidden[-1], n_columns, generator)
        self.likelihood = NegativeBinomial(torch.ones(n_columns))

    def begin_at(self, Y: Float[Tensor, "N M"]) -> None:
        """Start at the columns' shares, at the dispersions of their moments, and at few losses."""
        self.read.begin_at(Y)
        with torch.no_grad():
            self.log_shares.bias.copy_(log_mean_shares(Y))
            self.dropout_logits.bias.fill_(_START_DROPOUT_LOGIT)
        self.likelihood = NegativeBinomial.start(Y)

    def bound(self, Y: Float[Tensor, "N M"], generator: torch.Generator) -> Scalar:
        """Give the log likelihood per row; nothing is drawn."""
        features = self.body(self.place(Y)).relu()
        log_density = self.likelihood.log_density(Y, log_means(Y, self.log_shares(features)))
        return zero_inflated(Y, log_density, self.dropout_logits(features)).sum() / len(Y)

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

    kind = Kind.COUNTS

    def _untrained(self, generator: torch.Generator) -> ZeroInflatedNetwork:
        return ZeroInflatedNetwork(sum(self._widths.values()), self.n_components, self._hidden(), generator)
