"""Parameters that make every baseline quick, for tests that do not look at quality. A method without any has none."""

from typing import Any

_OUR_OWN = {"n_mixtures": 1, "n_points": 5, "max_iter": 3, "tol": 0.0, "n_draws_predict": 1}
QUICK: dict[str, dict[str, Any]] = {
    "latent Dirichlet allocation": {"max_iter": 1},
    "HPF": {"max_iter": 5},
    "t-SNE": {"max_iter": 250},
    "UMAP": {"max_iter": 5},
    "BGPLVM": {"max_iter": 3, "n_inducing": 5},
    "ARFLVM": _OUR_OWN,
    "GFA": {"max_iter": 5},
    "MOFA": {"max_iter": 5},
    "MRD": {"max_iter": 3, "n_inducing": 5},
    "MV-ARFLVM": _OUR_OWN,
_SMALL_NETWORK = {"n_hidden": 8, "max_iter": 10}

QUICK: dict[str, dict[str, int]] = {
    "VAE": _SMALL_NETWORK,
    "NBVAE": _SMALL_NETWORK,
    "DCA": _SMALL_NETWORK,
    "CVQ-VAE": _SMALL_NETWORK | {"n_codes": 8},
    "MVAE": _SMALL_NETWORK,
    "MMVAE": _SMALL_NETWORK,
_SPARSE = {"n_inducing": 10, "batch_size": 50, "max_iter": 8}

QUICK: dict[str, dict[str, int]] = {
    "GPLVM-SVI": _SPARSE,
    "DGPLVM": _SPARSE,
    "MV-GPLVM": {"max_iter": 6},
    "MV-NGPLVM": {"max_iter": 6},
    "MV-GPLVM-SVI": _SPARSE,
    "MV-DGPLVM": _SPARSE,
QUICK: dict[str, dict[str, int]] = {
    "RFLVM": {"n_points": 8, "max_iter": 8, "n_samples": 4},
    "MV-RFLVM": {"n_points": 8, "max_iter": 8, "n_samples": 4},
}
