"""Parameters that make every baseline quick, for tests that do not look at quality. A method without any has none."""

_SPARSE = {"n_inducing": 10, "batch_size": 50, "max_iter": 8}

QUICK: dict[str, dict[str, int]] = {
    "GPLVM-SVI": _SPARSE,
    "DGPLVM": _SPARSE,
    "MV-GPLVM": {"max_iter": 6},
    "MV-NGPLVM": {"max_iter": 6},
    "MV-GPLVM-SVI": _SPARSE,
    "MV-DGPLVM": _SPARSE,
}
