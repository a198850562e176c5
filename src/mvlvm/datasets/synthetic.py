"""Data made by a known process, so that what was learned can be held against the truth."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from jaxtyping import Float
from sklearn.datasets import make_s_curve
from torch import Tensor

from mvlvm.checks import check_choice, check_integer, check_number
from mvlvm.datasets.choosing import as_list
from mvlvm.datasets.dataset import Dataset
from mvlvm.datasets.entry import Entry
from mvlvm.datasets.store import FileStore
from mvlvm.kernels.gibbs import gibbs_kernel
from mvlvm.kernels.stationary import rbf_kernel
from mvlvm.linalg.cholesky import cholesky

Kernel = Callable[[Float[Tensor, "N D"], Float[Tensor, "K D"]], Float[Tensor, "N K"]]

# The kernels of App. D.1.1.
TRUE_KERNELS: dict[str, Kernel] = {"rbf": rbf_kernel, "gibbs": gibbs_kernel}


def s_curve(
    store: FileStore, seed: int, *, kernels: Mapping[str, str] | Sequence[str] = ("rbf", "gibbs"),
    n_samples: int = 500, n_features: int = 100, noise_std: float = 0.1,
) -> Dataset:  # fmt: skip
    """Draw views of a two-dimensional S, each column a Gaussian process of the latent (App. D.1.1).

    The truth holds the "latents", ordered along the curve, the "angle" at which each lies, in radians from the middle,
    and the "kernels", the true kernel matrix of each view.

    Args:
        store: not used; no file is read.
        seed: of all draws.
        kernels: "rbf" or "gibbs" for every view: a list, whose views are named view1, view2, ..., or a dict.
        n_samples: N.
        n_features: columns of every view, M.
        noise_std: standard deviation of the noise added to every entry.
    """
    named = _named_kernels(kernels)
    check_integer(n_samples, "n_samples", at_least=2)
    check_integer(n_features, "n_features", at_least=1)
    check_number(noise_std, "noise_std", positive=False)
    rng = np.random.default_rng(seed)
    try:
        X, angle = _flat_s(n_samples, rng)
        latents = torch.as_tensor(X)
        grams = {view: TRUE_KERNELS[kernel](latents, latents) for view, kernel in named.items()}
    except (RuntimeError, ValueError) as error:  # how torch and NumPy say that
        raise MemoryError(f"kernel matrices of {n_samples} x {n_samples} do not fit into memory") from error
    return Dataset(
        {view: _draw_columns(K, n_features, noise_std, rng) for view, K in grams.items()},
        truth={"latents": X, "angle": angle, "kernels": {view: K.numpy() for view, K in grams.items()}},
    )


def _named_kernels(kernels: Mapping[str, str] | Sequence[str]) -> dict[str, str]:
    if isinstance(kernels, Mapping):
        named = dict(kernels)
    else:
        named = {f"view{i}": name for i, name in enumerate(as_list(kernels, "kernels"), 1)}
    if not named:
        raise ValueError("kernels must name the kernel of at least one view. Got none. Give ['rbf', 'gibbs'].")
    for view in named:
        if not isinstance(view, str):
            raise ValueError(f"kernels must have texts as the names of views. Got {view!r}.")
    for kernel in named.values():
        check_choice(kernel, "kernels", tuple(TRUE_KERNELS))
    return named


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


ENTRIES = {
    "s-curve": Entry(
        recipe=s_curve,
        views=("view1", "view2"),
        labelled=False,
        simulated=True,
        description=(
            "Views of an S-shaped latent curve, each column a draw of a Gaussian process with an RBF or a Gibbs "
            "kernel, plus noise. The true latents and kernels are known. Drawn anew by random_state."
        ),
        origin="Made here after App. D.1.1 of the paper, on scikit-learn's make_s_curve scaled to unit variance.",
        licence="Free.",
    ),
}
