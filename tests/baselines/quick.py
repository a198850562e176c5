"""Parameters that make every baseline quick, for tests that do not look at quality. A method without any has none."""

QUICK: dict[str, dict[str, int]] = {}
