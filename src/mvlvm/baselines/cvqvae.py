"""The vector-quantised autoencoder with a codebook that is clustered online."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from mvlvm import defaults
from mvlvm.baselines.autoencoding import AbstractAutoencoder, AbstractNetwork
from mvlvm.baselines.codebook import Codebook
from mvlvm.baselines.networks import layers
from mvlvm.checks import check_integer
from mvlvm.randomness import RandomStateLike
from mvlvm.shapes import Scalar

# How much latents are to stay near their codes, the weight beta of van den Oord et al. 2017.
_COMMITMENT = 0.25


class QuantisedNetwork(AbstractNetwork):
    """An encoder into latents, a code for each, and a decoder of codes."""

    def __init__(self, encoder: nn.Module, codebook: Codebook, decoder: nn.Module) -> None:
        super().__init__()
        self.encoder, self.codebook, self.decoder = encoder, codebook, decoder

    def begin_at(self, Y: Float[Tensor, "N M"]) -> None:
        """Do nothing: codes find their places by themselves."""

    def bound(self, Y: Float[Tensor, "N M"], generator: torch.Generator) -> Scalar:
        r"""Move unused codes, and give the negative loss, in which sg stops gradients.

        $$ |y - \hat y|^2 / M + |sg(x) - e|^2 / D + \beta |x - sg(e)|^2 / D $$
        """
        X = self.encoder(Y)
        self.codebook.move(X.detach(), generator)
        codes = self.codebook(X)
        straight_through = X + (codes - X).detach()  # the code's value, with the latent's gradient
        commitment = mse_loss(codes, X.detach()) + _COMMITMENT * mse_loss(X, codes.detach())
        return -mse_loss(self.decoder(straight_through), Y) - commitment

    def place(self, Y: Float[Tensor, "N M"]) -> Float[Tensor, "N D"]:
        """Give the latents before they are quantised."""
        return self.encoder(Y)

    def rebuild(self, X: Float[Tensor, "N D"]) -> Float[Tensor, "N M"]:
        """Quantise, and decode."""
        return self.decoder(self.codebook(X))


class CVQVAE(AbstractAutoencoder):
    r"""CVQ-VAE: every row's latent becomes the nearest of a few codes, and codes nobody uses are moved to latents.

    $$ x_n = g(y_n), \qquad k_n = \arg\min_k |x_n - e_k|, \qquad \hat y_n = f(e_{k_n}) $$

    The codebook is updated online as in the paper, with anchors drawn by Euclidean distance; the paper's optional
    contrastive loss is left out. A row has one code, so that rows of one code are rebuilt alike. Several
    views are taken side by side, each standardised and of the same total variance.

    Attributes:
        embedding_: (N, D) the encoder's output x before quantisation: codes would put many rows at one place.

    References:
        Zheng, Vedaldi. Online clustered codebook. ICCV 2023.
        van den Oord, Vinyals, Kavukcuoglu. Neural discrete representation learning. NeurIPS 2017.
    """

    def __init__(
        self,
        n_components: int = defaults.N_COMPONENTS,
        n_codes: int = 64,
        n_hidden: int = 128,
        batch_size: int = 128,
        max_iter: int = 2500,
        learning_rate: float = 1e-3,
        random_state: RandomStateLike = None,
        verbose: int = 0,
    ) -> None:
        """Store the parameters of every autoencoder here, and the number of codes.

        Args:
            n_components: latent dimensions, D.
            n_codes: codes in the book.
            n_hidden: width of the two hidden layers, of encoder and decoder.
            batch_size: rows per step.
            max_iter: steps.
            learning_rate: of Adam.
            random_state: of all draws.
            verbose: 1 shows progress.
        """
        super().__init__(n_components, n_hidden, batch_size, max_iter, learning_rate, random_state, verbose)
        self.n_codes = n_codes

    def _untrained(self, generator: torch.Generator) -> QuantisedNetwork:
        check_integer(self.n_codes, "n_codes", at_least=2)
        M, D, hidden = sum(self._widths.values()), self.n_components, self._hidden()
        return QuantisedNetwork(
            layers([M, *hidden, D], generator), Codebook(self.n_codes, D, generator), layers([D, *hidden, M], generator)
        )
