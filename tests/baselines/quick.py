"""Parameters that make every baseline quick, for tests that do not look at quality. A method without any has none."""

QUICK: dict[str, dict[str, int]] = {
    "RFLVM": {"n_points": 6, "max_iter": 5, "n_samples": 2},
    "MV-RFLVM": {"n_points": 6, "max_iter": 5, "n_samples": 2},
}
