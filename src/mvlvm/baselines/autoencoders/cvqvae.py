r"""CVQ-VAE: a vector-quantised autoencoder whose unused codes are reinitialised by online clustering.

With n_k the fraction of a minibatch whose nearest code is e_k, the usage N_k is a moving average over steps, and the
code moves towards an anchor z_k, a latent of the minibatch drawn with a probability that decreases with its distance:

$$ N_k \leftarrow \gamma N_k + (1 - \gamma)\, n_k, \qquad a_k = \exp(-10 K N_k / (1 - \gamma) - \epsilon), \qquad
   e_k \leftarrow (1 - a_k)\, e_k + a_k z_k $$

A code with average usage does not move, because a_k is close to zero; an unused code jumps, because a_k is close to
one.
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
    """Return the (N,) indices of the nearest codes."""
    return torch.cdist(X, codes).argmin(dim=1)


def draw_anchors(
    X: Float[Tensor, "N D"], codes: Float[Tensor, "C D"], generator: torch.Generator
) -> Float[Tensor, "C D"]:
    """Draw a latent for every code, (C, D), with probabilities proportional to exp(-distance^2)."""
    probabilities = (-torch.cdist(codes, X).square()).softmax(dim=1)
    return X[torch.multinomial(probabilities, 1, generator=generator).squeeze(1)]


def update_usage(usage: Float[Tensor, " C"], nearest: Int[Tensor, " N"]) -> Float[Tensor, " C"]:
    """Return the (C,) moving averages of the usage after another minibatch."""
    fraction = torch.bincount(nearest, minlength=len(usage)) / len(nearest)
    return DECAY * usage + (1 - DECAY) * fraction


def update_codes(
    codes: Float[Tensor, "C D"], usage: Float[Tensor, " C"], anchors: Float[Tensor, "C D"]
) -> Float[Tensor, "C D"]:
    """Return the (C, D) codes after moving them towards their anchors; rarely used codes move farther."""
    a = torch.exp(-10 * len(codes) * usage / (1 - DECAY) - _EPSILON)[:, None]
    return (1 - a) * codes + a * anchors


class Codebook(nn.Module):
    """Trainable codes and their usage.

    Args:
        n_codes: number of codes, C.
        n_components: number of latent dimensions, D.
        generator: random number generator of the initialisation.
    """

    usage: Float[Tensor, " C"]

    def __init__(self, n_codes: int, n_components: int, generator: torch.Generator) -> None:
        super().__init__()
        uniform = torch.rand(n_codes, n_components, generator=generator)
        self.codes = nn.Parameter((2 * uniform - 1) / n_codes)
        self.register_buffer("usage", torch.zeros(n_codes))

    def forward(self, X: Float[Tensor, "N D"]) -> Float[Tensor, "N D"]:
        """Return the (N, D) nearest codes of the latents."""
        return self.codes[nearest_codes(X, self.codes)]

    @torch.no_grad()
    def move(self, X: Float[Tensor, "N D"], generator: torch.Generator) -> None:
        """Update the usage with a minibatch of latents, and move unused codes."""
        self.usage = update_usage(self.usage, nearest_codes(X, self.codes))
        self.codes.copy_(update_codes(self.codes, self.usage, draw_anchors(X, self.codes, generator)))


# Weight beta of the commitment loss (van den Oord et al. 2017).
_COMMITMENT = 0.25


class VectorQuantisedNetwork(AbstractAutoencoderNetwork):
    """An encoder, a codebook for its outputs, and a decoder of codes."""

    def __init__(self, encoder: nn.Module, codebook: Codebook, decoder: nn.Module) -> None:
        super().__init__()
        self.encoder, self.codebook, self.decoder = encoder, codebook, decoder

    def initialize(self, Y: Float[Tensor, "N M"]) -> None:
        """Do nothing: the codes are updated during training."""

    def objective(self, Y: Float[Tensor, "N M"], generator: torch.Generator) -> Scalar:
        r"""Update the codebook and return the negative loss, where sg is the stop-gradient operator.

        $$ |y - \hat y|^2 / M + |sg(x) - e|^2 / D + \beta |x - sg(e)|^2 / D $$
        """
        X = self.encoder(Y)
        self.codebook.move(X.detach(), generator)
        codes = self.codebook(X)
        straight_through = X + (codes - X).detach()  # value of the code, gradient of the latent
        commitment = mse_loss(codes, X.detach()) + _COMMITMENT * mse_loss(X, codes.detach())
        return -mse_loss(self.decoder(straight_through), Y) - commitment

    def encode(self, Y: Float[Tensor, "N M"]) -> Float[Tensor, "N D"]:
        """Return the (N, D) latents before quantisation."""
        return self.encoder(Y)

    def decode(self, X: Float[Tensor, "N D"]) -> Float[Tensor, "N M"]:
        """Quantise the latents and return the (N, M) decoded rows."""
        return self.decoder(self.codebook(X))


class CVQVAE(AbstractAutoencoder):
    r"""CVQ-VAE: every latent is replaced by the nearest code, and unused codes are moved to latents.

    $$ x_n = g(y_n), \qquad k_n = \arg\min_k |x_n - e_k|, \qquad \hat y_n = f(e_{k_n}) $$

    The codebook is updated online as in the paper, with anchors drawn by Euclidean distance; the paper's optional
    contrastive loss is omitted. A row has one code, so that rows with the same code have the same reconstruction.
    Several views are concatenated, each standardised and scaled to equal total variance.

    Attributes:
        embedding_: (N, D) encoder outputs x before quantisation, because many rows share a code.

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
        """Store the parameters.

        Args:
            n_components: number of latent dimensions, D.
            n_codes: size of the codebook.
            n_hidden: width of the two hidden layers, of encoder and decoder.
            batch_size: rows per step.
            max_iter: number of Adam steps.
            learning_rate: learning rate of Adam.
            random_state: random seed.
            verbose: 1 shows a progress bar.
        """
        super().__init__(n_components, n_hidden, batch_size, max_iter, learning_rate, random_state, verbose)
        self.n_codes = n_codes

    def _build_network(self, generator: torch.Generator) -> VectorQuantisedNetwork:
        check_integer(self.n_codes, "n_codes", at_least=2)
        M, D, hidden = sum(self._widths.values()), self.n_components, self._hidden_widths()
        return VectorQuantisedNetwork(
            mlp([M, *hidden, D], generator), Codebook(self.n_codes, D, generator), mlp([D, *hidden, M], generator)
        )
