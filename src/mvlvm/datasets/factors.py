"""Views of known factors: which of them a view shares with the other, and how many there are."""

import numpy as np
import torch
from jaxtyping import Float

from mvlvm.checks import check_integer, check_number
from mvlvm.datasets.dataset import Dataset
from mvlvm.datasets.entry import Entry
from mvlvm.datasets.store import FileStore
from mvlvm.kernels.stationary import rbf_kernel
from mvlvm.linalg.cholesky import cholesky

# Lengthscale for one factor of unit variance; it grows with the root of their number, as the distances do. Functions
# are then bent, but not folded: a straight line explains about three quarters of them.
_LENGTHSCALE = 2.0


def shared_private(
    store: FileStore, seed: int, *, n_samples: int = 300, n_features: int = 20, n_shared: int = 1, n_private: int = 1,
    noise_std: float = 0.1,
) -> Dataset:  # fmt: skip
    """Draw two views, "a" and "b", of factors that both see and of factors that only one of them sees.

    The truth holds "shared", the (N, n_shared) factors of both, and "private", view name -> its own.

    Args:
        store: not used; no file is read.
        seed: of all draws.
        n_samples: N.
        n_features: columns of every view, M.
        n_shared: factors of both views.
        n_private: factors of each view alone.
        noise_std: standard deviation of the noise added to every entry.
    """
    n_samples = check_integer(n_samples, "n_samples", at_least=2)
    check_integer(n_features, "n_features", at_least=1)
    check_integer(n_shared, "n_shared", at_least=1)
    check_integer(n_private, "n_private", at_least=0)
    check_number(noise_std, "noise_std", positive=False)
    rng = np.random.default_rng(seed)
    shared = rng.standard_normal((n_samples, n_shared))
    private = {view: rng.standard_normal((n_samples, n_private)) for view in ("a", "b")}
    seen = {view: np.hstack([shared, own]) for view, own in private.items()}
    return Dataset(
        {view: _functions_of(Z, n_features, noise_std, rng) for view, Z in seen.items()},
        truth={"shared": shared, "private": private},
    )


def factors(
    store: FileStore, seed: int, *, n_factors: int = 5, n_samples: int = 300, n_features: int = 40,
    noise_std: float = 0.1,
) -> Dataset:  # fmt: skip
    """Draw two views of the same factors, whose number is known.

    The truth holds the "latents", the (N, n_factors) factors.

    Args:
        store: not used; no file is read.
        seed: of all draws.
        n_factors: how many.
        n_samples: N.
        n_features: columns of every view, M.
        noise_std: standard deviation of the noise added to every entry.
    """
    check_integer(n_factors, "n_factors", at_least=1)
    n_samples = check_integer(n_samples, "n_samples", at_least=2)
    check_integer(n_features, "n_features", at_least=1)
    check_number(noise_std, "noise_std", positive=False)
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n_samples, n_factors))
    return Dataset(
        {view: _functions_of(Z, n_features, noise_std, rng) for view in ("a", "b")}, truth={"latents": Z}
    )  # fmt: skip


def _functions_of(
    Z: Float[np.ndarray, "N K"], n_features: int, noise_std: float, rng: np.random.Generator
) -> Float[np.ndarray, "N M"]:
    """Draw columns that are smooth functions of factors, Gaussian processes with an RBF kernel, plus noise."""
    latents = torch.as_tensor(Z / (_LENGTHSCALE * Z.shape[1] ** 0.5))
    signal, noise = rng.standard_normal((2, len(Z), n_features))
    try:
        K = rbf_kernel(latents, latents)
    except RuntimeError as error:  # how torch says that
        raise MemoryError(f"kernel matrices of {len(Z)} x {len(Z)} do not fit into memory") from error
    return cholesky(K).numpy() @ signal + noise_std * noise


ENTRIES = {
    "shared-private": Entry(
        recipe=shared_private,
        views=("a", "b"),
        labelled=False,
        simulated=True,
        description=(
            "Two views of factors that both see and of factors that only one of them sees, smooth functions of them "
            "plus noise. The true factors are known. Drawn anew by random_state."
        ),
        origin="Made here: every column is a draw of a Gaussian process with an RBF kernel.",
        licence="Free.",
    ),
    "factors": Entry(
        recipe=factors,
        views=("a", "b"),
        labelled=False,
        simulated=True,
        description=(
            "Two views of a known number of factors, smooth functions of them plus noise. The true factors are known. "
            "Drawn anew by random_state."
        ),
        origin="Made here: every column is a draw of a Gaussian process with an RBF kernel.",
        licence="Free.",
    ),
}
