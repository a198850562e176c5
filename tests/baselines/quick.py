"""Parameters for fast fits in tests that do not assess quality; unlisted methods use their defaults."""

from typing import Any

_OUR_OWN = {"n_mixtures": 1, "n_points": 5, "max_iter": 3, "tol": 0.0, "n_draws_predict": 1}
_SMALL_NETWORK = {"n_hidden": 8, "max_iter": 10}
_SPARSE = {"n_inducing": 10, "batch_size": 50, "max_iter": 8}

QUICK: dict[str, dict[str, Any]] = {
    "latent Dirichlet allocation": {"max_iter": 1},
    "t-SNE": {"max_iter": 250},
    "UMAP": {"max_iter": 5},
    "HPF": {"max_iter": 5},
    "BGPLVM": {"max_iter": 3, "n_inducing": 5},
    "GPyTorch GPLVM": _SPARSE,
    "GPLVM-SVI": _SPARSE,
    "DGPLVM": _SPARSE,
    "VAE": _SMALL_NETWORK,
    "NBVAE": _SMALL_NETWORK,
    "DCA": _SMALL_NETWORK,
    "CVQ-VAE": _SMALL_NETWORK | {"n_codes": 8},
    "RFLVM": {"n_points": 6, "max_iter": 5, "n_samples": 2},
    "ARFLVM": _OUR_OWN,
    "MV-GPLVM": {"max_iter": 6},
    "MV-NGPLVM": {"max_iter": 6},
    "MV-GPLVM-SVI": _SPARSE,
    "MV-DGPLVM": _SPARSE,
    "MV-RFLVM": {"n_points": 6, "max_iter": 5, "n_samples": 2},
    "MV-ARFLVM": _OUR_OWN,
    "MVAE": _SMALL_NETWORK,
    "MMVAE": _SMALL_NETWORK,
    "MOFA": {"max_iter": 5},
    "GFA": {"max_iter": 5},
    "MRD": {"max_iter": 3, "n_inducing": 5},
}
