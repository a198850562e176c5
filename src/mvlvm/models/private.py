"""Which view sees which latent dimensions: first those that all share, then every view's own."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from jaxtyping import Bool
from torch import Tensor


@dataclass(frozen=True)
class Dimensions:
    """The latent dimensions of a model.

    Attributes:
        n_shared: how many all views share.
        private: view name -> how many of its own, in the order in which they follow; views that have some.
    """

    n_shared: int
    private: Mapping[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """All of them, D."""
        return self.n_shared + sum(self.private.values())

    @property
    def shared(self) -> slice:
        """Where the shared ones are."""
        return slice(0, self.n_shared)

    def of_view(self, name: str) -> slice:
        """Give the place of a view's own dimensions."""
        before = self.n_shared
        for view, n in self.private.items():
            if view == name:
                return slice(before, before + n)
            before += n
        return slice(before, before)

    def seen_by(self, name: str) -> Bool[Tensor, " D"]:
        """Give whether a view sees each dimension."""
        seen = torch.zeros(self.total, dtype=torch.bool)
        seen[self.shared] = True
        seen[self.of_view(name)] = True
        return seen

    def names(self) -> list[str]:
        """Give every dimension a name: x0, x1, ..., and the view's name with a number for its own."""
        own = [f"{view}:{k}" for view, n in self.private.items() for k in range(n)]
        return [f"x{k}" for k in range(self.n_shared)] + own
