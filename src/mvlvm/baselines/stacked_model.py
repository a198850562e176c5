"""Latents of rows, and a stack of sparse processes from them to every view: the bound that is raised for both."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from mvlvm import defaults
from mvlvm.baselines.learning import raise_bound, some_rows
from mvlvm.baselines.process_stack import Noise, ProcessStack, noise_of_all_rows, noise_of_each_row
from mvlvm.evidence.elbo import latent_kl
from mvlvm.inference.row_likelihood import pairwise_row_log_density
from mvlvm.models.latent import GaussianLatent
from mvlvm.randomness import Stream, make_generator
from mvlvm.row_blocks import row_blocks
from mvlvm.shapes import Scalar

# For new rows, which start at the training row that explains them best.
_PLACING_STEPS = 60
_PLACING_RATE = 0.05


class StackedModel(nn.Module):
    """q(X), and one stack per view.

    Args:
        X: where the latent means start.
        Z: where inducing points start.
        widths: columns of every view.
        n_layers: of every stack.
    """

    def __init__(
        self, X: Float[Tensor, "N D"], Z: Float[Tensor, "U D"], widths: Sequence[int], n_layers: int
    ) -> None:  # fmt: skip
        super().__init__()
        self.latent = GaussianLatent(X.double(), defaults.INITIAL_LATENT_STD)
        self.stacks = nn.ModuleList(ProcessStack(Z, width, n_layers) for width in widths)

    @property
    def each(self) -> list[ProcessStack]:
        """The stacks."""
        return [stack for stack in self.stacks if isinstance(stack, ProcessStack)]

    def bound(
        self, Ys: Sequence[Float[Tensor, "N _"]], rows: Int[Tensor, " B"], generator: torch.Generator
    ) -> Scalar:  # fmt: skip
        """Estimate the bound on the log evidence of all views from some rows and one draw of their latents."""
        of_rows = rows_bound(self.latent, self.each, Ys, rows, noise_of_each_row(generator))
        return len(self.latent.mean) / len(rows) * of_rows - sum(stack.kl() for stack in self.each)

    def learn(
        self,
        Ys: Sequence[Float[Tensor, "N _"]],
        *,
        batch_size: int,
        max_iter: int,
        learning_rate: float,
        seed: int,
        verbose: int,
    ) -> None:
        """Raise the bound, some rows at a time."""
        for stack, Y in zip(self.each, Ys, strict=True):
            stack.settle(self.latent.mean, Y)
        N = len(self.latent.mean)
        raise_bound(
            self, lambda draws: self.bound(Ys, some_rows(N, batch_size, draws), draws),
            max_iter=max_iter, learning_rate=learning_rate, seed=seed, verbose=verbose,
        )  # fmt: skip

    def place(self, Ys: Sequence[Float[Tensor, "K _"]], which: Sequence[int]) -> Float[Tensor, "K D"]:
        """Give the means of q(x) of new rows, raised with everything else as it is.

        Args:
            Ys: some views of them.
            which: the stacks of these views.
        """
        stacks = [self.each[i] for i in which]
        portions = row_blocks(len(Ys[0]), max(len(self.latent.mean), *(Y.shape[1] for Y in Ys)))
        return torch.cat([self._placed([Y[rows] for Y in Ys], stacks) for rows in portions])

    def _placed(self, Ys: Sequence[Float[Tensor, "K _"]], stacks: Sequence[ProcessStack]) -> Float[Tensor, "K D"]:
        X = self.latent.mean.detach()
        with torch.no_grad():
            fits = [pairwise_row_log_density(Y, *stack.predicted(X)) for stack, Y in zip(stacks, Ys, strict=True)]
        best = torch.stack(fits).sum(dim=0).argmax(dim=1)
        latent = GaussianLatent(X[best], defaults.INITIAL_LATENT_STD)
        rows = torch.arange(len(latent.mean))
        raise_bound(
            latent, lambda draws: rows_bound(latent, stacks, Ys, rows, noise_of_all_rows(draws)),
            max_iter=_PLACING_STEPS, learning_rate=_PLACING_RATE, seed=0,
        )  # fmt: skip
        return latent.mean.detach()


def rows_bound(
    latent: GaussianLatent,
    stacks: Sequence[ProcessStack],
    Ys: Sequence[Float[Tensor, "N _"]],
    rows: Int[Tensor, " B"],
    noise: Noise,
) -> Scalar:
    """Estimate what some rows add to the bound: their expected log likelihood less the divergence of their latents."""
    mean, std = latent.mean[rows], latent.std[rows]
    X = mean + std * noise(mean)
    fits = [stack.expected_log_likelihood(X, Y[rows], noise).sum() for stack, Y in zip(stacks, Ys, strict=True)]
    return sum(fits, start=-latent_kl(mean, std))


def start_inducing(X: Float[Tensor, "N D"], n_inducing: int, seed: int) -> Float[Tensor, "U D"]:
    """Give the places of some rows, no more than there are."""
    return X[some_rows(len(X), n_inducing, make_generator(seed, Stream.INITIALISATION))]
