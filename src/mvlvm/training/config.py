"""How to train."""

from dataclasses import dataclass

from mvlvm import defaults


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """The settings of the loop.

    Args:
        max_iter: the most steps to take, the paper's T.
        learning_rate: of Adam, until it falls.
        tol: the bound is flat when it rises by less than this from one window of steps to the next; zero is never flat.
        betas: of Adam.
        window: steps over which the bound is averaged before it is compared.
        cooling: steps over which the learning rate falls at the end.
    """

    max_iter: int = defaults.MAX_ITER
    learning_rate: float = defaults.LEARNING_RATE
    tol: float = 0.0
    betas: tuple[float, float] = defaults.ADAM_BETAS
    window: int = defaults.STOPPING_WINDOW
    cooling: int = defaults.COOLING_STEPS

    @property
    def n_cooling(self) -> int:
        """Steps of cooling: no more than half of all."""
        return min(self.cooling, self.max_iter // 2)

    @property
    def most_held(self) -> int:
        """The most steps at the full learning rate."""
        return self.max_iter - self.n_cooling
