r"""Codes that stand for latents, and how those that nobody uses are moved to where latents are.

With n_k the share of a batch that is nearest to code e_k, its usage is averaged over steps, and it moves towards an
anchor z_k, a latent of the batch that is drawn with a probability that falls with its distance from e_k:

$$ N_k \leftarrow \gamma N_k + (1 - \gamma)\, n_k, \qquad a_k = \exp(-10 K N_k / (1 - \gamma) - \epsilon), \qquad
   e_k \leftarrow (1 - a_k)\, e_k + a_k z_k $$

A code with its fair share of latents stays, because a_k is almost nothing; a dead one jumps, because a_k is almost one.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

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


def averaged_usage(usage: Float[Tensor, " C"], nearest: Int[Tensor, " N"]) -> Float[Tensor, " C"]:
    """Give the usage of every code after one more batch."""
    share = torch.bincount(nearest, minlength=len(usage)) / len(nearest)
    return DECAY * usage + (1 - DECAY) * share


def moved_codes(
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
        self.usage = averaged_usage(self.usage, nearest_codes(X, self.codes))
        self.codes.copy_(moved_codes(self.codes, self.usage, draw_anchors(X, self.codes, generator)))
