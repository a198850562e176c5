"""Simulated data with known ground truth: the S-curve of the paper, and views with shared and private factors."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from jaxtyping import Float
from sklearn.datasets import make_s_curve
from torch import Tensor

from mvlvm.checks import check_choice, check_integer, check_number
from mvlvm.datasets.cache import FileCache
from mvlvm.datasets.dataset import Dataset, DatasetEntry, as_list
from mvlvm.kernels.classical import gibbs_kernel, rbf_kernel
from mvlvm.linalg.cholesky import cholesky

Kernel = Callable[[Float[Tensor, "N D"], Float[Tensor, "K D"]], Float[Tensor, "N K"]]

# Kernels of App. D.1.1.
TRUE_KERNELS: dict[str, Kernel] = {"rbf": rbf_kernel, "gibbs": gibbs_kernel}

# Lengthscale for a single factor of unit variance; it is multiplied by the square root of the number of factors, the
# rate at which distances grow. The functions are then nonlinear but rarely folded: a linear regression explains about
# three quarters of their variance.
_LENGTHSCALE = 2.0


def s_curve(
    cache: FileCache, seed: int, *, kernels: Mapping[str, str] | Sequence[str] = ("rbf", "gibbs"),
    n_samples: int = 500, n_features: int = 100, noise_std: float = 0.1,
) -> Dataset:  # fmt: skip
    """Simulate views of S-shaped latents, each column a draw from a Gaussian process (App. D.1.1).

    `truth` contains "latents", the (N, 2) latents ordered along the curve, "angle", their (N,) positions on the curve
    in radians from the centre, and "kernels", the true (N, N) kernel matrix of each view.

    Args:
        cache: unused; no file is read.
        seed: seed of the simulation.
        kernels: kernel of each view, "rbf" or "gibbs", as a list (views are named view1, view2, ...) or a dict.
        n_samples: number of rows, N.
        n_features: number of columns of each view, M.
        noise_std: standard deviation of the additive noise.
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
    except (RuntimeError, ValueError) as error:  # raised by torch and NumPy if memory is exhausted
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
        raise ValueError(
            "kernels must specify the kernel of at least one view. Got none. Use, for example, ['rbf', 'gibbs']."
        )
    for view in named:
        if not isinstance(view, str):
            raise ValueError(f"kernels must have strings as view names. Got {view!r}.")
    for kernel in named.values():
        check_choice(kernel, "kernels", tuple(TRUE_KERNELS))
    return named


def _flat_s(n_samples: int, rng: np.random.Generator) -> tuple[Float[np.ndarray, "N 2"], Float[np.ndarray, " N"]]:
    """Draw points on an S-shaped curve; both coordinates have unit variance, like the prior of the latents."""
    space, angle = make_s_curve(n_samples, random_state=int(rng.integers(2**31)))
    order = np.argsort(angle)
    X = space[order][:, [0, 2]]  # drop the second coordinate, the width of scikit-learn's S-shaped sheet
    return X / X.std(axis=0), angle[order]


def _draw_columns(
    K: Float[Tensor, "N N"], n_features: int, noise_std: float, rng: np.random.Generator
) -> Float[np.ndarray, "N M"]:
    """Draw columns from N(0, K + noise_std^2 I)."""
    signal, noise = rng.standard_normal((2, len(K), n_features))
    return cholesky(K).numpy() @ signal + noise_std * noise


def shared_private(
    cache: FileCache, seed: int, *, n_samples: int = 300, n_features: int = 20, n_shared: int = 1, n_private: int = 1,
    noise_std: float = 0.1,
) -> Dataset:  # fmt: skip
    """Simulate two views, "a" and "b", with shared and view-specific (private) factors.

    `truth` contains "shared", the (N, n_shared) shared factors, and "private", the (N, n_private) factors of each view.

    Args:
        cache: unused; no file is read.
        seed: seed of the simulation.
        n_samples: number of rows, N.
        n_features: number of columns of each view, M.
        n_shared: number of shared factors.
        n_private: number of private factors of each view.
        noise_std: standard deviation of the additive noise.
    """
    n_samples = check_integer(n_samples, "n_samples", at_least=2)
    check_integer(n_features, "n_features", at_least=1)
    check_integer(n_shared, "n_shared", at_least=1)
    check_integer(n_private, "n_private", at_least=0)
    check_number(noise_std, "noise_std", positive=False)
    rng = np.random.default_rng(seed)
    shared = rng.standard_normal((n_samples, n_shared))
    private = {view: rng.standard_normal((n_samples, n_private)) for view in ("a", "b")}
    factors_of = {view: np.hstack([shared, own]) for view, own in private.items()}
    return Dataset(
        {view: _smooth_functions(Z, n_features, noise_std, rng) for view, Z in factors_of.items()},
        truth={"shared": shared, "private": private},
    )


def factors(
    cache: FileCache, seed: int, *, n_factors: int = 5, n_samples: int = 300, n_features: int = 40,
    noise_std: float = 0.1,
) -> Dataset:  # fmt: skip
    """Simulate two views of the same known number of factors.

    `truth` contains "latents", the (N, n_factors) factors.

    Args:
        cache: unused; no file is read.
        seed: seed of the simulation.
        n_factors: number of factors.
        n_samples: number of rows, N.
        n_features: number of columns of each view, M.
        noise_std: standard deviation of the additive noise.
    """
    check_integer(n_factors, "n_factors", at_least=1)
    n_samples = check_integer(n_samples, "n_samples", at_least=2)
    check_integer(n_features, "n_features", at_least=1)
    check_number(noise_std, "noise_std", positive=False)
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n_samples, n_factors))
    return Dataset(
        {view: _smooth_functions(Z, n_features, noise_std, rng) for view in ("a", "b")}, truth={"latents": Z}
    )  # fmt: skip


def _smooth_functions(
    Z: Float[np.ndarray, "N K"], n_features: int, noise_std: float, rng: np.random.Generator
) -> Float[np.ndarray, "N M"]:
    """Draw (N, M) columns from a Gaussian process of the factors with an RBF kernel, plus noise."""
    latents = torch.as_tensor(Z / (_LENGTHSCALE * Z.shape[1] ** 0.5))
    signal, noise = rng.standard_normal((2, len(Z), n_features))
    try:
        K = rbf_kernel(latents, latents)
    except RuntimeError as error:  # raised by torch if memory is exhausted
        raise MemoryError(f"kernel matrices of {len(Z)} x {len(Z)} do not fit into memory") from error
    return cholesky(K).numpy() @ signal + noise_std * noise


ENTRIES = {
    "s-curve": DatasetEntry(
        loader=s_curve,
        views=("view1", "view2"),
        labelled=False,
        simulated=True,
        description=(
            "Views of an S-shaped latent curve, each column a draw from a Gaussian process with an RBF or a Gibbs "
            "kernel, plus noise. The true latents and kernels are known. Simulated on loading, depending on "
            "random_state."
        ),
        origin="Simulated following App. D.1.1 of the paper, with scikit-learn's make_s_curve scaled to unit variance.",
        licence="Free.",
    ),
    "shared-private": DatasetEntry(
        loader=shared_private,
        views=("a", "b"),
        labelled=False,
        simulated=True,
        description=(
            "Two views that are smooth functions of shared and private factors, plus noise. The true factors are "
            "known. Simulated on loading, depending on random_state."
        ),
        origin="Simulated: every column is a draw from a Gaussian process with an RBF kernel.",
        licence="Free.",
    ),
    "factors": DatasetEntry(
        loader=factors,
        views=("a", "b"),
        labelled=False,
        simulated=True,
        description=(
            "Two views that are smooth functions of a known number of factors, plus noise. The true factors are known. "
            "Simulated on loading, depending on random_state."
        ),
        origin="Simulated: every column is a draw from a Gaussian process with an RBF kernel.",
        licence="Free.",
    ),
}
