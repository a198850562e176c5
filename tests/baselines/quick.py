"""Parameters that make every baseline quick, for tests that do not look at quality. A method without any has none."""

_SMALL_NETWORK = {"n_hidden": 8, "max_iter": 10}

QUICK: dict[str, dict[str, int]] = {
    "VAE": _SMALL_NETWORK,
    "NBVAE": _SMALL_NETWORK,
    "DCA": _SMALL_NETWORK,
    "CVQ-VAE": _SMALL_NETWORK | {"n_codes": 8},
    "MVAE": _SMALL_NETWORK,
    "MMVAE": _SMALL_NETWORK,
}
