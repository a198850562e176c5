"""How to train."""

from dataclasses import dataclass

from mvlvm import defaults


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """The settings of the loop.

    Args:
        max_iter: the most steps to take, the paper's T.
        learning_rate: of Adam, at the start; it falls along a cosine.
        tol: stop when the bound rises by less than this per window of steps; zero never stops early.
        betas: of Adam.
        window: steps over which the bound is averaged before it is compared.
    """

    max_iter: int = defaults.MAX_ITER
    learning_rate: float = defaults.LEARNING_RATE
    tol: float = 0.0
    betas: tuple[float, float] = defaults.ADAM_BETAS
    window: int = defaults.STOPPING_WINDOW
