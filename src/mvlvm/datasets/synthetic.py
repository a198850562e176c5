"""Data made by a known process, so that what was learned can be held against the truth."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from sklearn.datasets import make_s_curve
from torch import Tensor

from mvlvm.kernels.gibbs import gibbs_kernel
from mvlvm.kernels.stationary import rbf_kernel
from mvlvm.linalg.cholesky import cholesky
from mvlvm.randomness import RandomStateLike, seed_from

Kernel = Callable[[Float[Tensor, "N D"], Float[Tensor, "K D"]], Float[Tensor, "N K"]]

# The kernels of App. D.1.1.
TRUE_KERNELS: dict[str, Kernel] = {"rbf": rbf_kernel, "gibbs": gibbs_kernel}


@dataclass(frozen=True)
class SCurve:
    """Views of a latent S-shaped curve, and everything they were made from.

    Attributes:
        views: the observed views by name.
        latents: the true latents, ordered along the curve.
        angle: where on the curve each row lies, in radians from its middle.
        kernels: the true kernel matrix of each view.
    """

    views: dict[str, Float[np.ndarray, "N M"]]
    latents: Float[np.ndarray, "N D"]
    angle: Float[np.ndarray, " N"]
    kernels: dict[str, Float[np.ndarray, "N N"]]


def s_curve(
    kernels: Mapping[str, str],
    *,
    n_samples: int = 500,
    n_features: int = 100,
    noise_std: float = 0.1,
    random_state: RandomStateLike = None,
) -> SCurve:
    """Draw views of a two-dimensional S, each column a Gaussian process of the latent (App. D.1.1).

    Args:
        kernels: view name -> "rbf" or "gibbs".
        n_samples: N.
        n_features: columns of every view, M.
        noise_std: standard deviation of the noise added to every entry.
        random_state: seed.

    Example:
        >>> data = s_curve({"a": "rbf", "b": "gibbs"}, n_samples=20, n_features=3, random_state=0)
        >>> {name: Y.shape for name, Y in data.views.items()}
        {'a': (20, 3), 'b': (20, 3)}
    """
    unknown = [kernel for kernel in kernels.values() if kernel not in TRUE_KERNELS]
    if unknown:
        raise ValueError(f"Unknown kernel '{unknown[0]}' for the S-curve. Known are: {', '.join(TRUE_KERNELS)}.")
    rng = np.random.default_rng(seed_from(random_state))
    X, angle = _flat_s(n_samples, rng)
    latents = torch.as_tensor(X)
    grams = {name: TRUE_KERNELS[kernel](latents, latents) for name, kernel in kernels.items()}
    return SCurve(
        views={name: _draw_columns(K, n_features, noise_std, rng) for name, K in grams.items()},
        latents=X,
        angle=angle,
        kernels={name: K.numpy() for name, K in grams.items()},
    )


def _flat_s(n_samples: int, rng: np.random.Generator) -> tuple[Float[np.ndarray, "N 2"], Float[np.ndarray, " N"]]:
    """Draw points on an S whose two coordinates have unit variance, like the latent's prior."""
    space, angle = make_s_curve(n_samples, random_state=int(rng.integers(2**31)))
    order = np.argsort(angle)
    X = space[order][:, [0, 2]]  # scikit-learn's S is a sheet; its second coordinate is the width
    return X / X.std(axis=0), angle[order]


def _draw_columns(
    K: Float[Tensor, "N N"], n_features: int, noise_std: float, rng: np.random.Generator
) -> Float[np.ndarray, "N M"]:
    """Draw columns from N(0, K + noise_std^2 I)."""
    signal, noise = rng.standard_normal((2, len(K), n_features))
    return cholesky(K).numpy() @ signal + noise_std * noise
