"""Parameters that make every baseline quick, for tests that do not look at quality. A method without any has none."""

QUICK: dict[str, dict[str, int]] = {
    "RFLVM": {"n_points": 8, "max_iter": 8, "n_samples": 4},
    "MV-RFLVM": {"n_points": 8, "max_iter": 8, "n_samples": 4},
}
