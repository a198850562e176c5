r"""Codes that stand for latents, and how those that nobody uses are moved to where latents are.

With n_k the share of a batch that is nearest to code e_k, its usage is averaged over steps, and it moves towards an
anchor z_k, a latent of the batch that is drawn with a probability that falls with its distance from e_k:

$$ N_k \leftarrow \gamma N_k + (1 - \gamma)\, n_k, \qquad a_k = \exp(-10 K N_k / (1 - \gamma) - \epsilon), \qquad
   e_k \leftarrow (1 - a_k)\, e_k + a_k z_k $$

A code with its fair share of latents stays, because a_k is almost nothing; a dead one jumps, because a_k is almost one.

The vector-quantised autoencoder with a codebook that is clustered online.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from mvlvm import defaults
from mvlvm.baselines.autoencoders.base import AbstractAutoencoder, AbstractAutoencoderNetwork, mlp
from mvlvm.checks import check_integer
from mvlvm.randomness import RandomStateLike
from mvlvm.shapes import Scalar

# The paper's gamma and epsilon.
DECAY = 0.99
_EPSILON = 1e-3


def nearest_codes(X: Float[Tensor, "N D"], codes: Float[Tensor, "C D"]) -> Int[Tensor, " N"]:
    """Give the code that is nearest to every latent."""
    return torch.cdist(X, codes).argmin(dim=1)


def draw_anchors(
    X: Float[Tensor, "N D"], codes: Float[Tensor, "C D"], generator: torch.Generator
) -> Float[Tensor, "C D"]:
    """Draw a latent for every code, with probabilities as exp(-distance^2)."""
    chances = (-torch.cdist(codes, X).square()).softmax(dim=1)
    return X[torch.multinomial(chances, 1, generator=generator).squeeze(1)]


def update_usage(usage: Float[Tensor, " C"], nearest: Int[Tensor, " N"]) -> Float[Tensor, " C"]:
    """Give the usage of every code after one more batch."""
    share = torch.bincount(nearest, minlength=len(usage)) / len(nearest)
    return DECAY * usage + (1 - DECAY) * share


def update_codes(
    codes: Float[Tensor, "C D"], usage: Float[Tensor, " C"], anchors: Float[Tensor, "C D"]
) -> Float[Tensor, "C D"]:
    """Give the codes after they moved towards their anchors, the less they are used the farther."""
    a = torch.exp(-10 * len(codes) * usage / (1 - DECAY) - _EPSILON)[:, None]
    return (1 - a) * codes + a * anchors


class Codebook(nn.Module):
    """Codes that are learned, and how much each is used.

    Args:
        n_codes: C.
        n_components: D.
        generator: of the start.
    """

    usage: Float[Tensor, " C"]

    def __init__(self, n_codes: int, n_components: int, generator: torch.Generator) -> None:
        super().__init__()
        start = torch.rand(n_codes, n_components, generator=generator)
        self.codes = nn.Parameter((2 * start - 1) / n_codes)
        self.register_buffer("usage", torch.zeros(n_codes))

    def forward(self, X: Float[Tensor, "N D"]) -> Float[Tensor, "N D"]:
        """Give the nearest code of every latent."""
        return self.codes[nearest_codes(X, self.codes)]

    @torch.no_grad()
    def move(self, X: Float[Tensor, "N D"], generator: torch.Generator) -> None:
        """Count who is used by a batch of latents, and move who is not."""
        self.usage = update_usage(self.usage, nearest_codes(X, self.codes))
        self.codes.copy_(update_codes(self.codes, self.usage, draw_anchors(X, self.codes, generator)))


# How much latents are to stay near their codes, the weight beta of van den Oord et al. 2017.
_COMMITMENT = 0.25


class VectorQuantisedNetwork(AbstractAutoencoderNetwork):
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
            n_hidden: width of the two hidden mlp, of encoder and decoder.
            batch_size: rows per step.
            max_iter: steps.
            learning_rate: of Adam.
            random_state: of all draws.
            verbose: 1 shows progress.
        """
        super().__init__(n_components, n_hidden, batch_size, max_iter, learning_rate, random_state, verbose)
        self.n_codes = n_codes

    def _untrained(self, generator: torch.Generator) -> VectorQuantisedNetwork:
        check_integer(self.n_codes, "n_codes", at_least=2)
        M, D, hidden = sum(self._widths.values()), self.n_components, self._hidden()
        return VectorQuantisedNetwork(
            mlp([M, *hidden, D], generator), Codebook(self.n_codes, D, generator), mlp([D, *hidden, M], generator)
        )
